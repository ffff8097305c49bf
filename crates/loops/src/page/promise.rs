//! Epsilon and delta, and their meaning for an attacker who tries to find out about a person.

use maud::{Markup, html};
use reticent::privacy::{Guarantee, Provenance};

/// A probability in per cent with one digit after the point, rounded up: what is printed is never better than the truth.
pub fn percent(probability: f64) -> String {
    let tenths = (probability * 1000.0 - 1e-9).ceil();
    format!("{:.1} %", (tenths / 10.0).clamp(0.0, 100.0))
}

/// Epsilon as people read it: two digits, rounded up, so that what is printed is never better than the truth; all four where they are needed.
pub fn epsilon_text(epsilon: f64) -> String {
    if !epsilon.is_finite() || epsilon >= 1e6 {
        return "no bound".into();
    }
    let digits = if epsilon < 0.1 { 4 } else { 2 };
    let unit = 10f64.powi(digits);
    format!("{:.*}", digits as usize, ((epsilon * unit - 1e-7).ceil() / unit).max(0.0))
}

/// Delta as people read it.
fn one_in(delta: f64) -> String {
    match (1.0 / delta).floor() {
        times if !times.is_finite() => "0".to_string(),
        times if times >= 1e15 => format!("1 in {times:.1e}"),
        times => format!("1 in {}", grouped(times as u64)),
    }
}

/// A whole number with its thousands apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The numbers of a guarantee, large.
pub fn promise(guarantee: &Guarantee, best_guess: f64) -> Markup {
    html! {
        dl.promise {
            div { dt { "epsilon" } dd { (epsilon_text(guarantee.epsilon())) } }
            div { dt { "delta" } dd { (format!("{:e}", guarantee.delta())) } }
            div { dt { "an attacker's best odds" } dd { (percent(best_guess)) } }
        }
        @if guarantee.provenance() == Provenance::Stated {
            p.notice { strong { "Stated, not checked. " } "Nothing shows that the code does what these numbers are the price of." }
        }
    }
}

/// The same for one window of time, such as "one window of 30 days", and epsilon for a year, which meets several of them: equally large.
pub fn promise_by_window(
    guarantee: &Guarantee,
    best_guess: f64,
    window: &str,
    year: f64,
) -> Markup {
    html! {
        dl.promise {
            div { dt { "epsilon in " (window) } dd { (epsilon_text(guarantee.epsilon())) } }
            div { dt { "epsilon in a year" } dd { (epsilon_text(year)) } }
            div { dt { "delta" } dd { (format!("{:e}", guarantee.delta())) } }
            div { dt { "an attacker's best odds in " (window) } dd { (percent(best_guess)) } }
        }
    }
}

/// Meaning of the numbers, in plain words. `unit` is the protected unit, such as "all visits of one person"; `hides_taking_part` is true if the releases
/// also hide that there was anything at all.
pub fn meaning(
    guarantee: &Guarantee,
    best_guess: f64,
    unit: &str,
    hides_taking_part: bool,
) -> Markup {
    let (guess, delta) = (percent(best_guess), guarantee.delta());
    let example = match hides_taking_part {
        true => "whether there was anything at all",
        // That a device reports is seen; what it reports is protected.
        false => "what was chosen there, and how it was liked",
    };
    html! {
        p {
            "An attacker sees everything that is released and knows everything about all other people. They want to know which of two possibilities is true about "
            (unit) ", such as " (example) ". Without the releases they would guess right half of the time (50 %). With them they guess right "
            strong { "at best " (guess) } " of the time, whatever else they know and however much they compute."
        }
        p.quiet {
            "Whatever may be looked for in the releases, through " (unit) " its probability becomes at most " (factor(guarantee.epsilon()))
            " times as large (epsilon: e to its power)"
            ", and at most " (format!("{delta:e}")) " more than that (delta: " (one_in(delta))
            "). Delta is not how often that factor is exceeded for what is released, which may be more often."
        }
    }
}

/// `e^epsilon`, rounded up.
fn factor(epsilon: f64) -> String {
    let factor = epsilon.exp();
    match factor < 1e6 {
        true => format!("{:.2}", (factor * 100.0 - 1e-7).ceil() / 100.0),
        false => "more than a million".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent::privacy::{Event, TrustModel};

    #[test]
    fn printed_numbers_are_never_better_than_the_truth() {
        for (delta, text) in [(1e-6, "1 in 1,000,000"), (3e-6, "1 in 333,333"), (0.0, "0")] {
            assert_eq!(one_in(delta), text);
        }
        for (value, text) in [
            (1.0, "1.00"),
            (1.0001, "1.01"),
            (0.01234, "0.0124"),
            (0.0, "0.0000"),
            (f64::INFINITY, "no bound"),
        ] {
            assert_eq!(epsilon_text(value), text);
        }
        assert_eq!(
            (percent(0.5), percent(0.69146), percent(1.0)),
            ("50.0 %".into(), "69.2 %".into(), "100.0 %".into())
        );
        assert_eq!(one_in(1e-6), "1 in 1,000,000");
        assert_eq!((grouped(12), grouped(123_456)), ("12".into(), "123,456".into()));
        assert_eq!(factor(1.0), "2.72");
        assert_eq!(factor(f64::INFINITY), "more than a million");
    }

    /// Of Gaussian noise with mu = 0.2367, (1, 1e-6), the privacy loss exceeds 1 with probability Phi(mu/2 - 1/mu) = 2.0e-5: delta does not bound that. It is
    /// delta less its derivative, for delta(e) is the mean of (1 - exp(e - loss))+.
    #[test]
    fn delta_is_not_called_how_often_epsilon_is_exceeded() {
        let event = Event::Gaussian { sensitivity: 0.2367, sigma: 1.0 };
        let guarantee = Guarantee::of(&event, TrustModel::Joint, 1e-6).unwrap();
        let (curve, step) = (guarantee.curve(), 1e-4);
        let slope =
            (curve.delta(1.0 + step).unwrap() - curve.delta(1.0 - step).unwrap()) / (2.0 * step);
        let exceeds = curve.delta(1.0).unwrap() - slope;
        assert!((exceeds / 2.0093e-5 - 1.0).abs() < 1e-3, "{exceeds}");

        let text = meaning(&guarantee, 0.548, "the visits", true).into_string();
        assert!(
            text.contains("at most 2.72 times as large")
                && text.contains("at most 1e-6 more than that (delta: 1 in 1,000,000)"),
            "{text}"
        );
        assert!(
            text.contains("Delta is not how often")
                && !text.contains("exceptions")
                && !text.contains("once in"),
            "{text}"
        );
    }
}
