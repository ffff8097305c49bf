//! Sections of the sheet of a central loop.

use maud::{Markup, html};

use super::{
    grouped,
    loop_sheet::{Sections, features, several},
};
use crate::{
    certificate::Certificate,
    config::{CentralPlan, Combine, Ledger, Period, REMEMBERED, Span},
    time::date_time,
};

pub(super) fn sections(plan: &CentralPlan, certificate: &Certificate) -> Sections {
    Sections {
        window: "calendar window",
        replaced: "visits or by none",
        unit: match plan.ledger {
            Ledger::Decision => "one decision",
            Ledger::Person { period: Period::Ever, .. } => "one person's visits",
            Ledger::Person { .. } => "one person's visits of one calendar window",
        },
        hides_taking_part: true,
        data: html! { (periods(plan, certificate)) (collected(plan)) },
        kept: kept(plan),
        seen: seen(),
        origin: origin(certificate),
    }
}

fn periods(plan: &CentralPlan, certificate: &Certificate) -> Markup {
    html! {
        h2 { "People who come back" }
        @match plan.ledger {
            Ledger::Person { period: Period::Each(span), .. } => {
                (several(certificate, html! { "calendar windows of " (span) }))
                p.quiet { "The last column is a year: it meets up to that many windows, which are counted from 1970-01-01 UTC. What a person does in several windows adds up under the same noise: at the same delta, epsilon grows faster than their number. No number holds for ever." }
            },
            Ledger::Person { most, period: Period::Ever } => {
                p { "At most " (most) @if most == 1 { " visit" } @else { " visits" } " of a person "  @if most == 1 { "is" } @else { "are" } " ever learnt from: the number above holds however often they come back." }
            },
            Ledger::Decision => {
                p { "Every decision adds to what is known about a person who comes back: the number holds for one decision, and none holds for a person." }
            },
        }
    }
}

fn collected(plan: &CentralPlan) -> Markup {
    let (low, high) = plan.params.reward.range;
    let default = plan.learner_params.default_reward;
    html! {
        h2 { "Data collected" }
        dl.facts {
            (features(plan.features.params()))
            dt { "reward" } dd {
                @match plan.params.reward.combine { Combine::First => "the first", Combine::Sum => "the total" }
                " within " (plan.params.reward.window) ", taken as " (low) " to " (high) "; " (default) " if none comes"
            }
            @if let Ledger::Person { .. } = plan.ledger {
                dt { "person" } dd { "a string of the caller's, kept only as a keyed hash" }
            }
        }
        p.quiet {
            @match plan.params.retain {
                Some(_) => "Everything else in a rank request is kept with it, and not learnt from.",
                None => "Everything else in a rank request is not learnt from. One keyed hash of the whole request is kept, to recognise repetitions.",
            }
        }
    }
}

fn kept(plan: &CentralPlan) -> Markup {
    let remembered =
        Span::milliseconds(REMEMBERED).map_or_else(String::new, |span| span.to_string());
    let tick = Span::milliseconds(plan.tick).map_or_else(String::new, |span| span.to_string());
    html! {
        h2 { "Retention" }
        dl.facts {
            dt { "features, reward" } dd {
                @match plan.params.retain {
                    Some(retain) => { (retain) ", with the whole rank request and answer" },
                    None => { "until the next release after the reward window (" (plan.params.reward.window) " and " (tick) ")" },
                }
            }
            dt { "event ids, answers" } dd { (remembered) " after the window; ids, persons and rank requests as keyed hashes, to recognise repetitions. Of an erased person only the ids stay" }
            @if let Ledger::Person { .. } = plan.ledger {
                dt { "number of visits" } dd { "stays, beside a keyed hash, after erasure too: else erasing would give new visits" }
            }
            dt { "sums" } dd {
                @match (plan.params.learner.horizon, plan.params.learner.forget) {
                    (Some(_), _) => "stay: no person can be distinguished or taken out",
                    (None, _) => "fade; no person can be distinguished or taken out",
                }
            }
        }
        p.quiet { "Backups and free pages of the store hold copies until they are overwritten." }
    }
}

fn seen() -> Markup {
    html! {
        h2 { "Visibility" }
        dl.facts {
            dt { "a person" } dd { "the decisions made for them" }
            dt { "read keys" } dd { "releases, and what follows from them" }
            dt { "admin keys, operator" } dd { "everything that is kept: the number above does not protect against them" }
        }
    }
}

fn origin(certificate: &Certificate) -> Markup {
    html! {
        h2 { "Origin and verification" }
        dl.facts {
            dt { "made" } dd { (date_time(certificate.made)) " by Reticent " (certificate.version) ", loop " (certificate.name) ", generation " code { (certificate.params_hash) } }
            @match &certificate.chain {
                Some(chain) => {
                    dt { "release" } dd { (grouped(certificate.release)) }
                    dt { "hash of the chain" } dd { code { (chain) } }
                    dt { "to verify" } dd {
                        "save the listing of " code { "/v1/loops/" (certificate.name) "/releases" } " and run "
                        code { "reticent certify --chain FILE --head " (certificate.release) "." (chain.chars().take(32).collect::<String>()) }
                        ": it shows that the releases up to this one were not replaced, left out or added."
                    }
                },
                None => { dt { "release" } dd { "none: this page was made from the file of loops, without a service" } },
            }
        }
    }
}
