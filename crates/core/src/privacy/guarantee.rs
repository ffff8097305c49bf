//! What may be promised: one sentence for a person, one table for legal, one JSON for a machine.
//!
//! A guarantee is made from a priced [`Curve`], never from a claim: in `paper` mode the claim stands beside
//! the number that really holds.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    Result,
    error::{not_negative, probability},
};

use super::{Accountant, Curve, Event, Tightness};

/// Who is trusted with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustModel {
    /// Everybody sees everything: no privacy.
    None,
    /// A curator sees the data; everything later people see is protected (joint differential privacy).
    Joint,
    /// A shuffler breaks the link between people and weakly randomised reports.
    Shuffle,
    /// Nobody: each report is randomised before it leaves the person.
    Local,
}

/// What counts as one unit of protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// One interaction: a person who comes twice is two units.
    Interaction,
    /// One person, who takes part at most this often.
    Person {
        /// The most often one person takes part.
        at_most: u64,
    },
}

/// Which data sets are neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Neighbours {
    /// One unit's data are replaced by any other data.
    ReplaceOne,
}

/// Whose constants are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Calibrated by the accountant: what is requested is what holds.
    #[default]
    Exact,
    /// The publication's constants, for reproduction.
    Paper,
}

/// What a publication says its constants give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The epsilon claimed.
    pub epsilon: f64,
    /// The delta claimed.
    pub delta: f64,
    /// Where it is claimed.
    pub source: String,
    /// The delta that really holds at the claimed epsilon.
    pub true_delta: f64,
}

impl Claim {
    /// Whether the claim is true of the mechanism as built.
    pub fn holds(&self) -> bool {
        self.true_delta <= self.delta
    }
}

/// A privacy guarantee with everything it rests on.
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
    neighbours: Neighbours,
    unit: Unit,
    mode: Mode,
    claimed: Option<Claim>,
    tightness: Tightness,
    conditions: Vec<String>,
    warnings: Vec<String>,
    /// (epsilon, delta) pairs along the curve.
    #[serde(rename = "curve")]
    points: Vec<(f64, f64)>,
    #[serde(skip)]
    curve: Curve,
}

impl Guarantee {
    /// Prices `event` and states the smallest epsilon that holds with `delta`.
    pub fn of(event: &Event, model: TrustModel, delta: f64) -> Result<Self> {
        probability("delta", delta)?;
        let curve = Accountant::price(event)?;
        let epsilon = curve.epsilon(delta)?;
        let mut guarantee = Guarantee {
            model,
            epsilon,
            delta,
            neighbours: Neighbours::ReplaceOne,
            unit: Unit::Interaction,
            mode: Mode::Exact,
            claimed: None,
            tightness: curve.tightness(),
            conditions: conditions_of(event),
            warnings: Vec::new(),
            points: Vec::new(),
            curve,
        };
        for exponent in [3, 4, 5, 6, 7, 8, 9, 10, 12] {
            let delta = 10f64.powi(-exponent);
            guarantee.points.push((guarantee.curve.epsilon(delta)?, delta));
        }
        if delta > 1e-3 {
            guarantee.warnings.push(format!(
                "delta = {delta} lets a mechanism publish one person in {:.0} outright; stay below 1e-3",
                1.0 / delta
            ));
        }
        Ok(guarantee)
    }

    /// The unit protected, where it is not one interaction. The event must already account for it.
    pub fn with_unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// One more thing the guarantee rests on.
    pub fn with_condition(mut self, condition: impl Into<String>) -> Self {
        self.conditions.push(condition.into());
        self
    }

    /// How many people there are, so that a delta above one in that many is warned of.
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

    /// Marks the guarantee as that of a publication's constants, beside what the publication claims.
    pub fn with_claim(
        mut self,
        epsilon: f64,
        delta: f64,
        source: impl Into<String>,
    ) -> Result<Self> {
        not_negative("claimed epsilon", epsilon)?;
        probability("claimed delta", delta)?;
        let true_delta = self.curve.delta(epsilon)?;
        self.mode = Mode::Paper;
        self.claimed = Some(Claim { epsilon, delta, source: source.into(), true_delta });
        Ok(self)
    }

    /// Marks a run on simulation noise: the numbers are those of the same run on secure noise.
    pub fn simulated(mut self) -> Self {
        self.warnings.push(
            "simulation: seeded noise protects nobody; the same run on secure noise would have this guarantee".into(),
        );
        self
    }

    /// The smallest epsilon that holds with [`Guarantee::delta`].
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// The delta asked for.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// Who is trusted with what.
    pub fn model(&self) -> TrustModel {
        self.model
    }

    /// The unit protected.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Whose constants are used.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The publication's claim, in `paper` mode.
    pub fn claimed(&self) -> Option<&Claim> {
        self.claimed.as_ref()
    }

    /// The whole curve.
    pub fn curve(&self) -> &Curve {
        &self.curve
    }

    /// What the guarantee rests on.
    pub fn conditions(&self) -> &[String] {
        &self.conditions
    }

    /// What a careful reader should be told.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The guarantee as an aligned table.
    pub fn table(&self) -> String {
        let mut rows = vec![
            ("trust model", self.model.to_string()),
            ("epsilon", format!("{:.10}", self.epsilon)),
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
            (
                "tightness",
                match self.tightness {
                    Tightness::Exact => "exact: attained, no smaller number is true",
                    Tightness::UpperBound => "upper bound",
                }
                .to_string(),
            ),
        ];
        if let Some(claim) = &self.claimed {
            rows.push(("claimed", claim.to_string()));
        }
        for (epsilon, delta) in self.points.iter().step_by(3) {
            rows.push(("also holds", format!("({epsilon:.4}, {delta:e})")));
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

/// What an event needs to be true in the world before its price means anything.
fn conditions_of(event: &Event) -> Vec<String> {
    fn visit(event: &Event, conditions: &mut Vec<String>) {
        let condition = match event {
            Event::Nothing => return,
            Event::Composed { events } => return events.iter().for_each(|event| visit(event, conditions)),
            Event::Repeated { event, .. } => return visit(event, conditions),
            Event::Shuffled { people, .. } => format!(
                "a shuffler that nobody colludes with, and {people} people in the batch who randomise honestly"
            ),
            Event::SecureSum { people, .. } => {
                format!("a secure sum that shows only the total, and {people} people who add their noise honestly")
            }
            Event::PrivUnit { .. } | Event::Pure { .. } | Event::Laplace { .. } | Event::Gaussian { .. } => {
                "data clipped to the declared bounds before noise; real arithmetic, outputs rounded to a public grid".into()
            }
            _ => "data clipped to the declared bounds before noise; integer arithmetic from there on".into(),
        };
        if !conditions.contains(&condition) {
            conditions.push(condition);
        }
    }
    let mut conditions = Vec::new();
    visit(event, &mut conditions);
    if !conditions.is_empty() {
        conditions
            .push("noise from a cryptographic generator that the adversary cannot predict".into());
    }
    conditions
}

impl fmt::Display for TrustModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TrustModel::None => "none",
            TrustModel::Joint => "joint (trusted curator)",
            TrustModel::Shuffle => "shuffle (trusted shuffler)",
            TrustModel::Local => "local (nobody trusted)",
        })
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unit::Interaction => f.write_str("one interaction"),
            Unit::Person { at_most: 1 } => f.write_str("one person, who takes part once"),
            Unit::Person { at_most } => {
                write!(f, "one person, who takes part at most {at_most} times")
            }
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "({}, {:e}) by {}; the delta that really holds there is {}: {}",
            self.epsilon,
            self.delta,
            self.source,
            if self.true_delta < 1e-99 {
                "below 1e-99".into()
            } else {
                format!("{:.3e}", self.true_delta)
            },
            if self.holds() { "the claim is true" } else { "the claim is FALSE" }
        )
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relation = match self.tightness {
            Tightness::Exact => "exactly",
            Tightness::UpperBound => "at most",
        };
        write!(
            f,
            "({relation} {:.4}, {:e})-differentially private for {}, trust model {}, replacing one unit's data",
            self.epsilon, self.delta, self.unit, self.model
        )?;
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
        let person = guarantee.with_unit(Unit::Person { at_most: 3 });
        assert_eq!(serde_json::to_value(&person).unwrap()["unit"]["person"]["at_most"], 3);
    }

    #[test]
    fn a_false_claim_is_called_false() {
        // Paper 0 at epsilon = 10, rewards in [-1, 1]: joint sensitivity 2 sqrt 2, not 2, and the classic
        // formula above epsilon = 1; local.md has the exact delta .916 for a claimed .1.
        let sigma = 2.0 * (2.0 * (1.25f64 / 0.1).ln()).sqrt() / 10.0;
        let event = Event::Gaussian { sensitivity: 2.0 * 2f64.sqrt(), sigma };
        let guarantee = Guarantee::of(&event, TrustModel::Local, 0.1)
            .unwrap()
            .with_claim(10.0, 0.1, "paper 0")
            .unwrap();
        let claim = guarantee.claimed().unwrap();
        assert!(!claim.holds());
        assert!((claim.true_delta - 0.916).abs() < 5e-4, "{}", claim.true_delta);
        assert!(guarantee.to_string().contains("FALSE"));
        assert!(guarantee.warnings()[0].contains("1e-3"));
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
