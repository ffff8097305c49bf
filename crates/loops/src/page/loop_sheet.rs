//! The sheet of a loop for a data-protection officer: plain words, one A4 page.

use maud::{Markup, html};
use reticent::features::{Encoding, FeaturesParams};

use super::{central, epsilon_text, meaning, percent, promise, promise_by_window, reports};
use crate::{
    certificate::{Certificate, Condition, Enforcement, Together},
    config::Plan,
    periods::Periods,
};

/// Words and sections of a sheet that depend on the mechanism.
pub(super) struct Sections {
    /// Windows in which contributions are counted.
    pub window: &'static str,
    /// Data that may take the place of what is protected.
    pub replaced: &'static str,
    /// The protected unit.
    pub unit: &'static str,
    /// True if the releases also hide that there was anything at all.
    pub hides_taking_part: bool,
    /// Epsilon of several windows, and the data.
    pub data: Markup,
    /// Time for which data are kept.
    pub kept: Markup,
    /// Parties and the data that they see.
    pub seen: Markup,
    /// Origin of the page.
    pub origin: Markup,
}

/// The sheet of one loop.
pub fn loop_sheet(plan: &Plan, certificate: &Certificate, together: &Together) -> Markup {
    let sections = match plan {
        Plan::Central(plan) => central::sections(plan, certificate),
        Plan::Reports(plan) => reports::sections(plan, certificate),
    };
    let Sections { window, replaced, unit, hides_taking_part, data, kept, seen, origin } = sections;
    html! {
        article.sheet {
            (heading(plan.name(), plan.params().purpose.as_deref()))
            h2 { "Guarantee" }
            (numbers(certificate, window))
            p { strong { "Protected: " } (certificate.protects) "; replaced by any other " (replaced) "." }
            (meaning(&certificate.guarantee, certificate.best_guess, unit, hides_taking_part))
            @for warning in certificate.guarantee.warnings() { p.notice { (warning) } }
            div.columns {
                div { (data) }
                div { h2 { "All loops together" } (together_words(together)) (kept) }
            }
            (seen)
            (conditions(&certificate.conditions))
            (origin)
        }
    }
}

/// The top of a loop's sheet.
fn heading(name: &str, purpose: Option<&str>) -> Markup {
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
fn numbers(certificate: &Certificate, windows: &str) -> Markup {
    let Certificate { guarantee, best_guess, period, year, .. } = certificate;
    match (period, year) {
        (Some(period), Some(year)) => {
            let window = format!("one {windows} of {period}");
            promise_by_window(guarantee, *best_guess, &window, year.epsilon)
        }
        _ => promise(guarantee, *best_guess),
    }
}

/// Epsilon of several windows, the last of which are those of a year.
fn rows(certificate: &Certificate) -> impl Iterator<Item = &Periods> {
    certificate.periods.iter().chain(&certificate.year)
}

/// A table of epsilon of several windows.
pub(super) fn several(certificate: &Certificate, windows: Markup) -> Markup {
    html! {
        table {
            thead { tr { th { (windows) } @for row in rows(certificate) { th.number { (row.periods) } } } }
            tbody { tr { td { "epsilon at delta " span.nowrap { (format!("{:e}", certificate.guarantee.delta())) } } @for row in rows(certificate) { td.number { (epsilon_text(row.epsilon)) } } } }
        }
    }
}

/// The guarantee of all loops together, in words.
pub fn together_words(together: &Together) -> Markup {
    html! {
        @if let (Some(guarantee), Some(best_guess)) = (&together.guarantee, together.best_guess) {
            p {
                "For " (together.unit) " in " @if together.generations.len() > 1 { "all of " } (together.generations.join(", ")) ", epsilon is " strong { (epsilon_text(guarantee.epsilon())) } " at delta " span.nowrap { (format!("{:e}", guarantee.delta())) }
                ", best odds " (percent(best_guess)) ", for one period of each."
            }
        } @else { p { "No loop counts visits." } }
        @if !together.without_persons.is_empty() {
            p { "Not in this number, because visits are not counted: " (together.without_persons.join(", ")) "." }
        }
    }
}

/// Features in words.
pub(super) fn features(params: &FeaturesParams) -> Markup {
    html! {
        @for (name, how) in &params.context { dt { (name) } dd { (encoding(how)) } }
        @for (name, how) in &params.action { dt { (name) " (of the action)" } dd { (encoding(how)) } }
    }
}

/// A feature in words.
fn encoding(encoding: &Encoding) -> String {
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

/// A text in which what stands between backticks is code.
fn with_code(text: &str) -> Markup {
    html! { @for (index, part) in text.split('`').enumerate() { @if index % 2 == 1 { code { (part) } } @else { (part) } } }
}

/// The conditions of a number as a list, each with what enforces it.
pub fn conditions(conditions: &[Condition]) -> Markup {
    html! {
        h2 { "Conditions" }
        ul.checklist {
            @for condition in conditions {
                li {
                    @let class = match condition.enforcement {
                        Enforcement::Enforced => "mark good",
                        Enforcement::Assumed => "mark watch",
                    };
                    span class=(class) { (condition.enforcement.word()) }
                    span { (condition.text) span.quiet { " (" (with_code(&condition.by)) ")" } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::ServiceFile, page::file_page};

    fn plans(text: &str) -> Vec<Plan> {
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
        let page = file_page(&plans, 0).unwrap();
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
            (Certificate::of_plan(&plans[0], 0).unwrap(), file_page(&plans, 0).unwrap())
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
