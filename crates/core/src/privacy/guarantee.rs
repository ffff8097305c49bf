//! The privacy guarantee, as one sentence, as a table and as JSON.
//!
//! A guarantee is computed from a priced [`Curve`], never from a claim: in `paper` mode it shows the publication's claim beside the number
//! that holds. It is the price of an event. Only code that owns the aggregator or randomiser which stated the event is known to do what the
//! event describes; the guarantee of any other code is [`Guarantee::stated`], and every form of it says "stated, not checked".

use std::fmt;

use serde::Serialize;

use super::{
    Accountant, CheckedClaim, Claim, Curve, Event, Mode, Neighbours, Provenance, Tightness,
    TrustModel, Unit,
    conditions::{check_model, conditions_of},
};
use crate::{Result, error::probability, wire};

/// The delta at which a pure guarantee is stated, since every guarantee has one.
pub(crate) const PURE_DELTA: f64 = 1e-12;

/// A privacy guarantee with its conditions and warnings.
///
/// ```
/// use reticent::privacy::{Event, Guarantee, TrustModel};
/// let event = Event::Gaussian { sensitivity: 1.0, sigma: 3.730631634816464 };
/// let guarantee = Guarantee::of(&event, TrustModel::Joint, 1e-5)?;
/// assert!((guarantee.epsilon() - 1.0).abs() < 1e-10);
/// println!("{guarantee}");
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Serialize)]
pub struct Guarantee {
    model: TrustModel,
    epsilon: f64,
    delta: f64,
    provenance: Provenance,
    neighbours: Neighbours,
    unit: Unit,
    mode: Mode,
    claimed: Option<CheckedClaim>,
    tightness: Tightness,
    /// The epsilon that holds with delta = 0, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pure_epsilon: Option<f64>,
    /// The run used seeded noise, which protects no person.
    simulated: bool,
    conditions: Vec<String>,
    warnings: Vec<String>,
    /// (epsilon, delta) pairs along the curve.
    #[serde(rename = "curve")]
    points: Vec<(f64, f64)>,
    #[serde(skip)]
    curve: Curve,
}

impl wire::Checked for Guarantee {}
/// Written and not read: see [`wire::from_json`].
impl wire::Message for Guarantee {
    const KIND: wire::Kind = wire::kinds::GUARANTEE;
}

impl Guarantee {
    /// Prices `event`, which describes everything that is released from one interaction, and states the smallest epsilon that holds with
    /// `delta`.
    pub fn of(event: &Event, model: TrustModel, delta: f64) -> Result<Self> {
        probability("delta", delta)?;
        check_model(event, model)?;
        let curve = Accountant::price(event)?;
        let epsilon = curve.epsilon(delta)?;
        let mut guarantee = Guarantee {
            model,
            epsilon,
            delta,
            provenance: Provenance::Computed,
            neighbours: Neighbours::ReplaceOne,
            unit: Unit::Interaction,
            mode: Mode::Exact,
            claimed: None,
            tightness: curve.tightness(),
            // An infinite epsilon is not worth reporting.
            pure_epsilon: event.total_pure_epsilon().filter(|epsilon| epsilon.is_finite()),
            simulated: false,
            conditions: conditions_of(event),
            warnings: Vec::new(),
            points: Vec::new(),
            curve,
        };
        for delta in [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12] {
            let epsilon = guarantee.curve.epsilon(delta)?;
            if epsilon.is_finite() {
                guarantee.points.push((epsilon, delta));
            }
        }
        if delta > 1e-3 {
            guarantee.warnings.push(format!(
                "delta = {delta} lets a mechanism publish one person in {:.0} outright; stay below 1e-3",
                1.0 / delta
            ));
        }
        Ok(guarantee)
    }

    /// As [`Guarantee::of`] for a person who takes part at most `at_most` times, each time with `event`.
    pub fn of_person(event: &Event, at_most: u64, model: TrustModel, delta: f64) -> Result<Self> {
        Self::of_mixture(&[(event.clone(), at_most)], model, delta)
    }

    /// As [`Guarantee::of`] for a person who takes part at most the given number of times with each of these events.
    pub fn of_mixture(parts: &[(Event, u64)], model: TrustModel, delta: f64) -> Result<Self> {
        let repeated = |(event, times): &(Event, u64)| Event::Repeated {
            event: Box::new(event.clone()),
            times: *times,
        };
        let all = match parts {
            [one] => repeated(one),
            several => Event::Composed { events: several.iter().map(repeated).collect() },
        };
        let at_most = parts.iter().fold(0, |sum: u64, (_, times)| sum.saturating_add(*times));
        Ok(Self::of(&all, model, delta)?.with_unit(Unit::Person { at_most }))
    }

    /// As [`Guarantee::of`] for a person who takes part in several releases, in each of them at most the given number of times, all of which its event prices.
    pub fn of_releases(parts: Vec<(Event, u64)>, model: TrustModel, delta: f64) -> Result<Self> {
        let at_most = parts.iter().fold(0, |sum: u64, (_, times)| sum.saturating_add(*times));
        let events = parts.into_iter().map(|(event, _)| event).collect();
        let guarantee = Self::of(&Event::Composed { events }, model, delta)?;
        Ok(guarantee.with_unit(Unit::Person { at_most }))
    }

    /// The unit protected, where the event accounts for more than one interaction.
    pub(crate) fn with_unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// Adds a condition of the guarantee, unless it is listed already.
    pub fn with_condition(mut self, condition: impl Into<String>) -> Self {
        let condition = condition.into();
        if !self.conditions.contains(&condition) {
            self.conditions.push(condition);
        }
        self
    }

    /// Adds a warning if delta exceeds `1 / people`.
    pub fn with_people(mut self, people: u64) -> Self {
        if self.delta * people as f64 > 1.0 {
            self.warnings.push(format!(
                "delta = {} is above 1/n for n = {people} people; stay well below {:.1e}",
                self.delta,
                1.0 / people as f64
            ));
        }
        self
    }

    /// Puts a claim about the mechanism beside what holds, and marks the guarantee as that of their constants.
    pub fn with_claim(mut self, claim: &Claim) -> Result<Self> {
        claim.check()?;
        let Claim { epsilon, delta, source } = claim.clone();
        let (true_delta, tightness) = (self.curve.delta(epsilon)?, self.tightness);
        self.mode = Mode::Paper;
        self.claimed = Some(CheckedClaim { epsilon, delta, source, true_delta, tightness });
        Ok(self)
    }

    /// The same beside a claim, if there is one.
    pub(crate) fn beside(self, claim: Option<&Claim>) -> Result<Self> {
        match claim {
            Some(claim) => self.with_claim(claim),
            None => Ok(self),
        }
    }

    /// Marks a guarantee that a user states about code of their own, which the accountant has not seen. The mark cannot be removed.
    pub fn stated(mut self) -> Self {
        if self.provenance != Provenance::Stated {
            self.provenance = Provenance::Stated;
            self.warnings.push(
                "stated, not checked: nothing shows that the code does what this number is the price of; `audit` can only refute it".into(),
            );
        }
        self
    }

    /// Returns whether the guarantee was computed or stated.
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// Marks a run on simulation noise: its numbers are those that the same run on secure noise would have.
    pub fn simulated(mut self) -> Self {
        self.simulated = true;
        self.warnings.push(
            "simulation: seeded noise protects no person; the same run on secure noise would have this guarantee".into(),
        );
        self
    }

    /// The smallest epsilon that holds with [`Guarantee::delta`].
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// Epsilon to four digits after the point, never below the truth by more than 1e-9; with its mark if it is stated and not checked.
    pub fn epsilon_text(&self) -> String {
        match self.provenance {
            Provenance::Computed => rounded_up(self.epsilon),
            Provenance::Stated => format!("{} (stated, not checked)", rounded_up(self.epsilon)),
        }
    }

    /// The epsilon that holds with delta = 0, where there is one.
    pub fn pure_epsilon(&self) -> Option<f64> {
        self.pure_epsilon
    }

    /// The delta asked for.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// Trust model.
    pub fn model(&self) -> TrustModel {
        self.model
    }

    /// The unit protected.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The claim that was put beside it, in `paper` mode.
    pub fn claimed(&self) -> Option<&CheckedClaim> {
        self.claimed.as_ref()
    }

    /// The whole curve.
    pub fn curve(&self) -> &Curve {
        &self.curve
    }

    /// The conditions under which the guarantee holds.
    pub fn conditions(&self) -> &[String] {
        &self.conditions
    }

    /// Warnings for the reader.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The guarantee as an aligned table.
    pub fn table(&self) -> String {
        let mut rows = Vec::new();
        if self.provenance == Provenance::Stated {
            rows.push(("certificate", self.provenance.to_string()));
        }
        rows.extend([
            ("trust model", self.model.to_string()),
            // A tiny epsilon is rounded up to four digits; larger ones are printed in full.
            (
                "epsilon",
                if self.epsilon < 1e-4 {
                    rounded_up(self.epsilon)
                } else {
                    self.epsilon.to_string()
                },
            ),
            ("delta", format!("{:e}", self.delta)),
            ("neighbours", "replace one unit's data".to_string()),
            ("unit", self.unit.to_string()),
            (
                "mode",
                match self.mode {
                    Mode::Exact => "exact",
                    Mode::Paper => "paper",
                }
                .to_string(),
            ),
        ]);
        // For a stated guarantee, tightness of the price says nothing about the code.
        if self.provenance == Provenance::Computed {
            let text = match self.tightness {
                Tightness::Exact => "exact: attained, no smaller number is true",
                Tightness::UpperBound => "upper bound",
            };
            rows.push(("tightness", text.to_string()));
        }
        if let Some(claim) = &self.claimed {
            rows.push(("claimed", claim.to_string()));
        }
        if let Some(epsilon) = self.pure_epsilon {
            rows.push(("also holds", format!("({}, 0), in real arithmetic", rounded_up(epsilon))));
        }
        for (epsilon, delta) in self.points.iter().step_by(3) {
            rows.push(("also holds", format!("({}, {delta:e})", rounded_up(*epsilon))));
        }
        rows.extend(self.conditions.iter().map(|condition| ("rests on", condition.clone())));
        rows.extend(self.warnings.iter().map(|warning| ("warning", warning.clone())));
        let mut table = String::new();
        let mut last = "";
        for (name, value) in rows {
            let shown = if name == last { "" } else { name };
            table.push_str(&format!("{shown:<12} {value}\n"));
            last = name;
        }
        table
    }
}

/// `value` rounded up to four digits; an excess of less than 1e-9 over a digit is taken for rounding error.
fn rounded_up(value: f64) -> String {
    if !value.is_finite() || value >= 1e9 {
        return value.to_string();
    }
    if value > 0.0 && value < 1e-3 {
        // Three digits after the point of the mantissa, upwards.
        let unit = libm::pow(10f64, libm::log10(value).floor() - 3.0);
        return format!("{:.3e}", ((value - 1e-9 * value) / unit).ceil() * unit);
    }
    format!("{:.4}", (((value - 1e-9) * 1e4).ceil() / 1e4).max(0.0))
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relation = match (self.provenance, self.tightness) {
            (Provenance::Stated, _) => "said to be",
            (Provenance::Computed, Tightness::Exact) => "exactly",
            (Provenance::Computed, Tightness::UpperBound) => "at most",
        };
        if self.provenance == Provenance::Stated {
            f.write_str("STATED, NOT CHECKED: ")?;
        }
        if self.simulated {
            f.write_str("SIMULATION, protects no person; on secure noise ")?;
        }
        write!(
            f,
            "({relation} {}, {:e})-differentially private for {}, trust model {}, replacing one unit's data",
            rounded_up(self.epsilon),
            self.delta,
            self.unit,
            self.model
        )?;
        if let Some(epsilon) = self.pure_epsilon {
            write!(f, "; ({}, 0) in real arithmetic", rounded_up(epsilon))?;
        }
        if let Some(claim) = &self.claimed {
            write!(f, "; claimed {claim}")?;
        }
        f.write_str(".")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaussian(sigma: f64) -> Event {
        Event::Gaussian { sensitivity: 1.0, sigma }
    }

    #[test]
    fn json_has_the_fields_others_rely_on() {
        let guarantee = Guarantee::of(&gaussian(4.0), TrustModel::Local, 1e-6).unwrap();
        let json = serde_json::to_value(&guarantee).unwrap();
        for field in [
            "model",
            "epsilon",
            "delta",
            "neighbours",
            "unit",
            "mode",
            "claimed",
            "conditions",
            "curve",
        ] {
            assert!(json.get(field).is_some(), "{field}");
        }
        assert_eq!(json["model"], "local");
        assert_eq!(json["unit"], "interaction");
        assert_eq!(json["mode"], "exact");
        let person = Guarantee::of_person(&gaussian(4.0), 3, TrustModel::Local, 1e-6).unwrap();
        let thrice = Event::Gaussian { sensitivity: 3f64.sqrt(), sigma: 4.0 };
        let thrice = Guarantee::of(&thrice, TrustModel::Local, 1e-6).unwrap();
        assert!((person.epsilon() / thrice.epsilon() - 1.0).abs() < 1e-12);
        assert_eq!(serde_json::to_value(&person).unwrap()["unit"]["person"]["at_most"], 3);
    }

    #[test]
    fn pure_privacy_is_called_pure_and_adds_up() {
        let laplace = Event::Laplace { sensitivity: 1.0, scale: 2.0 };
        let pure = |event: &Event| {
            Guarantee::of_person(event, 3, TrustModel::Local, 1e-9).unwrap().pure_epsilon()
        };
        assert_eq!(pure(&laplace), Some(1.5));
        let both = Event::Composed { events: vec![laplace.clone(), Event::Pure { epsilon: 1.0 }] };
        assert_eq!(pure(&both), Some(4.5));
        let with_gaussian = Event::Composed { events: vec![laplace, gaussian(4.0)] };
        assert_eq!(pure(&with_gaussian), None);
        let guarantee = Guarantee::of(&both, TrustModel::Local, 1e-9).unwrap();
        assert!(guarantee.to_string().contains("(1.5000, 0) in real arithmetic"), "{guarantee}");
        assert!(guarantee.table().contains("(1.5000, 0)"), "{}", guarantee.table());
    }

    #[test]
    fn a_false_claim_is_called_false() {
        // Paper 0 at epsilon = 10, rewards in [-1, 1]: joint sensitivity 2 sqrt 2, not 2, and the classic
        // formula above epsilon = 1; local.md has the exact delta .916 for a claimed .1.
        let sigma = 2.0 * (2.0 * (1.25f64 / 0.1).ln()).sqrt() / 10.0;
        let event = Event::Gaussian { sensitivity: 2.0 * 2f64.sqrt(), sigma };
        let guarantee = Guarantee::of(&event, TrustModel::Local, 0.1)
            .unwrap()
            .with_claim(&Claim::new(10.0, 0.1, "paper 0"))
            .unwrap();
        let claim = guarantee.claimed().unwrap();
        assert!(!claim.holds());
        assert!((claim.true_delta - 0.916).abs() < 5e-4, "{}", claim.true_delta);
        assert!(guarantee.to_string().contains("FALSE"));
        assert!(guarantee.warnings()[0].contains("1e-3"));
    }

    #[test]
    fn the_printed_epsilon_is_never_below_the_number() {
        let text = |sigma: f64, delta| {
            Guarantee::of(&gaussian(sigma), TrustModel::Joint, delta).unwrap().epsilon_text()
        };
        assert_eq!(text(3.730631634816464, 1e-5), "1.0000");
        assert_eq!(text(3.7305, 1e-5), "1.0001");
        assert!(text(1e5, 1e-8).parse::<f64>().unwrap() > 2e-5);
    }

    #[test]
    fn a_simulated_run_says_so_in_its_sentence() {
        let guarantee = Guarantee::of(&gaussian(4.0), TrustModel::Joint, 1e-6).unwrap();
        assert!(!guarantee.to_string().contains("SIMULATION"));
        assert!(guarantee.simulated().to_string().starts_with("SIMULATION"));
    }

    #[test]
    fn a_stated_guarantee_says_so_in_every_form() {
        let computed = Guarantee::of(&gaussian(4.0), TrustModel::Joint, 1e-6).unwrap();
        assert_eq!(serde_json::to_value(&computed).unwrap()["provenance"], "computed");
        let computed = format!("{computed} {} {}", computed.table(), computed.epsilon_text());
        assert!(!computed.to_lowercase().contains("stated"), "{computed}");
        let stated = Guarantee::of(&gaussian(4.0), TrustModel::Joint, 1e-6).unwrap().stated();
        assert_eq!(serde_json::to_value(&stated).unwrap()["provenance"], "stated");
        assert!(stated.to_string().starts_with("STATED, NOT CHECKED: (said to be"), "{stated}");
        assert!(stated.table().contains("stated, not checked"));
        assert!(!stated.table().contains("attained"));
        assert!(stated.epsilon_text().ends_with("(stated, not checked)"));
        // The mark stays after later changes.
        let later = stated.stated().with_condition("x").with_people(5).simulated();
        let later = later.with_claim(&Claim::new(1.0, 1e-6, "a publication")).unwrap();
        assert_eq!(later.provenance(), Provenance::Stated);
        assert_eq!(later.warnings().iter().filter(|w| w.contains("not checked")).count(), 1);
    }

    #[test]
    fn a_trust_model_that_the_event_contradicts_is_refused() {
        let shuffled = Event::Shuffled { epsilon: 2.0, people: 1000, binary: true };
        assert!(Guarantee::of(&shuffled, TrustModel::Local, 1e-6).is_err());
        assert!(Guarantee::of(&gaussian(1.0), TrustModel::None, 1e-6).is_err());
        let twice = Event::Repeated { event: Box::new(shuffled.clone()), times: 2 };
        assert!(Guarantee::of(&twice, TrustModel::Local, 1e-6).is_err());
        let guarantee = Guarantee::of(&shuffled, TrustModel::Shuffle, 1e-6).unwrap();
        assert!(guarantee.conditions().iter().any(|c| c.contains("binary randomised response")));
    }

    #[test]
    fn delta_above_one_over_n_is_warned_of() {
        let guarantee = Guarantee::of(&gaussian(4.0), TrustModel::Joint, 1e-4).unwrap();
        assert!(guarantee.clone().with_people(1000).warnings().is_empty());
        assert_eq!(guarantee.with_people(100_000).warnings().len(), 1);
    }

    #[test]
    fn the_table_shows_every_condition() {
        let event = Event::SecureSum { sensitivity: 1.0, sigma: 1.0, people: 100 };
        let table = Guarantee::of(&event, TrustModel::Shuffle, 1e-6).unwrap().table();
        assert!(table.contains("100 people who add their noise honestly"), "{table}");
    }
}
