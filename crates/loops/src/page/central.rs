//! The sheet of a central loop for a data-protection officer: plain words, one A4 page.

use maud::{Markup, html};
use reticent::features::Encoding;

use super::{epsilon_text, grouped, meaning, percent, promise, promise_by_window};
use crate::{
    certificate::{Certificate, Condition, Enforcement, Together},
    config::{Combine, Ledger, LoopPlan, Period, REMEMBERED, Span},
    periods::Periods,
    time::date_time,
};

/// The top of a loop's sheet.
pub(super) fn heading(name: &str, purpose: Option<&str>) -> Markup {
    html! {
        header {
            h1 { "Privacy certificate: " (name) }
            p { strong { "Purpose. " } @match purpose {
                Some(purpose) => (purpose),
                None => span.quiet { "not stated: give the loop a line " code { "purpose" } },
            } }
        }
    }
}

/// The numbers of a loop, large: those of a year beside those of a window, where contributions are counted by windows.
pub(super) fn numbers(certificate: &Certificate, windows: &str) -> Markup {
    let Certificate { guarantee, best_guess, period, year, .. } = certificate;
    match (period, year) {
        (Some(period), Some(year)) => {
            let window = format!("one {windows} of {period}");
            promise_by_window(guarantee, *best_guess, &window, year.epsilon)
        }
        _ => promise(guarantee, *best_guess),
    }
}

/// The sheet of one loop.
pub fn loop_sheet(plan: &LoopPlan, certificate: &Certificate, together: &Together) -> Markup {
    let protected = match plan.ledger {
        Ledger::Decision => "one decision",
        Ledger::Person { period: Period::Ever, .. } => "one person's visits",
        Ledger::Person { .. } => "one person's visits of one calendar window",
    };
    html! {
        article.sheet {
            (heading(&plan.name, plan.params.purpose.as_deref()))
            h2 { "What is promised" }
            (numbers(certificate, "calendar window"))
            p { strong { "Protected: " } (certificate.protects) "; replaced by any other visits or by none." }
            (meaning(&certificate.guarantee, certificate.best_guess, protected, true))
            @for warning in certificate.guarantee.warnings() { p.notice { (warning) } }
            div.columns {
                div { (periods(plan, certificate)) (collected(plan)) }
                div { h2 { "All loops together" } (together_words(together)) (kept(plan)) }
            }
            (seen())
            (conditions(&certificate.conditions))
            (facts(certificate))
        }
    }
}

/// Epsilon of several windows, the last of which are those of a year.
pub(super) fn rows(certificate: &Certificate) -> impl Iterator<Item = &Periods> {
    certificate.periods.iter().chain(&certificate.year)
}

fn periods(plan: &LoopPlan, certificate: &Certificate) -> Markup {
    html! {
        h2 { "People who come back" }
        @match plan.ledger {
            Ledger::Person { period: Period::Each(span), .. } => {
                table {
                    thead { tr { th { "calendar windows of " (span) } @for row in rows(certificate) { th.number { (row.periods) } } } }
                    tbody { tr { td { "epsilon at delta " span.nowrap { (format!("{:e}", certificate.guarantee.delta())) } } @for row in rows(certificate) { td.number { (epsilon_text(row.epsilon)) } } } }
                }
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

/// The guarantee of all loops together, in words.
pub fn together_words(together: &Together) -> Markup {
    html! {
        @if let (Some(guarantee), Some(best_guess)) = (&together.guarantee, together.best_guess) {
            p {
                "A person in " @if together.generations.len() > 1 { "all of " } (together.generations.join(", ")) " has epsilon " strong { (epsilon_text(guarantee.epsilon())) } " at delta " span.nowrap { (format!("{:e}", guarantee.delta())) }
                ", best odds " (percent(best_guess)) ", for one period of each."
            }
        } @else { p { "No loop counts visits." } }
        @if !together.without_persons.is_empty() {
            p { "Not in this number, because visits are not counted: " (together.without_persons.join(", ")) "." }
        }
    }
}

/// A feature in words.
pub(super) fn encoding(encoding: &Encoding) -> String {
    match encoding {
        Encoding::Range(low, high) => format!("a number, taken as {low} to {high}"),
        Encoding::Categories(words) => format!("one of {}", words.join(", ")),
        Encoding::Hash { buckets } => format!("a word, as one of {buckets} groups"),
        Encoding::Cycle(period) => format!("a number, taken as its place in a cycle of {period}"),
        Encoding::Bins(edges) => {
            format!("a number, taken as one of {} intervals, between {edges:?}", edges.len() + 1)
        }
    }
}

fn collected(plan: &LoopPlan) -> Markup {
    let features = plan.features.params();
    let (low, high) = plan.params.reward.range;
    let default = plan.learner_params.default_reward;
    html! {
        h2 { "What is collected" }
        dl.facts {
            @for (name, how) in &features.context { dt { (name) } dd { (encoding(how)) } }
            @for (name, how) in &features.action { dt { (name) " (of the action)" } dd { (encoding(how)) } }
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

fn kept(plan: &LoopPlan) -> Markup {
    let remembered =
        Span::milliseconds(REMEMBERED).map_or_else(String::new, |span| span.to_string());
    let tick = Span::milliseconds(plan.tick).map_or_else(String::new, |span| span.to_string());
    html! {
        h2 { "For how long" }
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
        h2 { "Who sees what" }
        dl.facts {
            dt { "a person" } dd { "the decisions made for them" }
            dt { "read keys" } dd { "releases, and what follows from them" }
            dt { "admin keys, operator" } dd { "everything that is kept: the number above does not protect against them" }
        }
    }
}

/// A text in which what stands between backticks is code.
fn with_code(text: &str) -> Markup {
    html! { @for (index, part) in text.split('`').enumerate() { @if index % 2 == 1 { code { (part) } } @else { (part) } } }
}

/// The conditions of a number as a list, each with what enforces it.
pub fn conditions(conditions: &[Condition]) -> Markup {
    html! {
        h2 { "What the number rests on" }
        ul.checklist {
            @for condition in conditions {
                li {
                    @let class = match condition.enforcement {
                        Enforcement::Enforced => "mark good",
                        Enforcement::Trusted => "mark watch",
                    };
                    span class=(class) { (condition.enforcement.word()) }
                    span { (condition.text) span.quiet { " (" (with_code(&condition.by)) ")" } }
                }
            }
        }
    }
}

fn facts(certificate: &Certificate) -> Markup {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::ServiceFile, page::file_page};

    fn plans(text: &str) -> Vec<LoopPlan> {
        ServiceFile::parse(text).unwrap().check().unwrap()
    }

    #[test]
    fn a_sheet_states_what_the_file_says() {
        let plans = plans(
            r#"
            [loop.home]
            purpose = "Which story stands first."
            privacy = { epsilon = 1.0, delta = 1e-6, visits = 10, per = "30 days" }
            reward = { range = [0, 5], window = "30 minutes" }
            [loop.home.context]
            age = { range = [18, 80] }
            [loop.home.action]
            topic = { categories = ["news", "sport"] }
            [loop.search]
            privacy = { epsilon = 0.5, delta = 1e-6 }
            retain = "7 days"
            [loop.search.action]
            word = { hash = { buckets = 8 } }
            "#,
        );
        let page = file_page(&plans, &[], 0).unwrap();
        for words in [
            "Which story stands first.",
            "a number, taken as 18 to 80",
            "one of news, sport",
            "a word, as one of 8 groups",
            "one person, who takes part at most 10 times in each calendar window of 30 days",
            "epsilon in one calendar window of 30 days",
            "epsilon in a year",
            "one person's visits of one calendar window",
            "calendar windows of 30 days",
            "epsilon at delta <span class=\"nowrap\">1e-6</span>",
            "epsilon grows faster than their number",
            "no witness file is given (<code>--witness</code>)",
            "give the loop a line <code>purpose</code>",
            "the first within 30 minutes, taken as 0 to 5; 0 if none comes",
            "7 days, with the whole rank request and answer",
            "Not in this number, because visits are not counted: search.",
            "1970-01-01 00:00:00 UTC",
            "none: this page was made from the file of loops",
        ] {
            assert!(page.contains(words), "{words}");
        }
        assert!(!page.contains('`'));
        assert_eq!(page.matches("<article").count(), 2);
        let certificate = Certificate::of_plan(&plans[0], 0).unwrap();
        assert!(page.contains(&percent(certificate.best_guess)));
        // A year of 366 days meets 14 windows of 30 days, and its number is as large as that of one.
        let year = certificate.year.as_ref().unwrap();
        assert_eq!(year.periods, 14);
        assert!(year.epsilon > certificate.periods[2].epsilon);
        assert!(page.contains(&format!("<dd>{}</dd>", epsilon_text(year.epsilon))), "{page}");
        assert!(
            page.contains(&format!("<dd>{}</dd>", epsilon_text(certificate.guarantee.epsilon())))
        );
        assert_eq!(certificate.period.as_deref(), Some("30 days"));
        let said = "one person, who takes part at most 10 times in each calendar window of 30 days";
        assert!(certificate.sentence.contains(said), "{}", certificate.sentence);
        assert_eq!(
            page.matches("enforced</span>").count() + page.matches("assumed</span>").count(),
            certificate.conditions.len()
                + Certificate::of_plan(&plans[1], 0).unwrap().conditions.len()
        );
    }

    #[test]
    fn what_counts_for_ever_has_no_year_and_a_short_window_has_a_long_one() {
        let of = |per: &str| {
            let text = format!(
                "[loop.a]\nprivacy = {{ epsilon = 1.0, delta = 1e-6, visits = 2, per = \"{per}\" }}\n[loop.a.action]\nx = {{ range = [0, 1] }}\n"
            );
            let plans = plans(&text);
            (Certificate::of_plan(&plans[0], 0).unwrap(), file_page(&plans, &[], 0).unwrap())
        };
        let (ever, page) = of("ever");
        assert_eq!((ever.period.as_deref(), ever.year.as_ref()), (Some("ever"), None));
        assert!(ever.sentence.contains("at most 2 times ever") && !page.contains("in a year"));
        let (daily, page) = of("1 day");
        assert!(daily.sentence.contains("at most 2 times in each calendar window of 1 day"));
        assert_eq!(daily.year.unwrap().periods, 367);
        assert!(page.contains("epsilon in a year"));
        // Too many windows for any number to be stated.
        let (short, page) = of("1 second");
        assert!(short.year.unwrap().epsilon > 1e6 && page.contains("<dd>no bound</dd>"));
    }

    #[test]
    fn two_loops_cost_more_than_one() {
        let file = |loops: &[&str]| {
            loops.iter().map(|name| format!("[loop.{name}]\nprivacy = {{ epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\" }}\n[loop.{name}.action]\nx = {{ range = [0, 1] }}\n")).collect::<String>()
        };
        let epsilon = |loops: &[&str]| {
            Together::of_plans(&plans(&file(loops))).unwrap().guarantee.unwrap().epsilon()
        };
        let (one, three) = (epsilon(&["a"]), epsilon(&["a", "b", "c"]));
        // The specification's figure: three loops at epsilon 1 are 1.81.
        assert!((one - 1.0).abs() < 1e-3 && (three - 1.81).abs() < 0.01, "{one} {three}");
    }
}
