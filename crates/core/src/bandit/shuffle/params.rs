//! Calibration through the shuffler.
//!
//! *Amplified.* The largest local epsilon whose reports, shuffled in batches of B of which `honest` people randomise, are
//! (epsilon, delta)-DP by [`crate::privacy::shuffle`]; found by bisection, never above what the accountant says. It prices the reports of
//! the randomiser that people would use at that level: PrivUnit hides better in a batch than its epsilon alone tells.
//!
//! *Vector sum.* The sum of a batch has the noise of `honest` people, so each takes `1/sqrt(honest)` of what one alone would need.
//! A person's k reports may all fall into one batch, where their shifts add up against noise drawn once: `k mu / sqrt(honest)`. Spread
//! over batches they cost `sqrt(sum k_i^2) mu / sqrt(honest)`, which is no more. Permuted reports of one person in one batch have
//! no such price here, and one report a person is all that is promised.

use serde::{Deserialize, Serialize};

use super::{
    Aggregation, ShuffleServer, Shuffler,
    confirm::shuffled_event,
    repeats::{MEMORY, by_contents},
    shuffler::{Batch, Handing, Shuffled},
};
use crate::{
    Error, Result,
    bandit::{LocalParams, LocalPlan, Rule},
    error::requested_epsilon,
    noise::Noise,
    privacy::{Accountant, Claim, Event, Guarantee, TrustModel, Unit, check_delta, gaussian, grid},
    randomize::{
        Bounds, CONDITIONS, CalibratedMethod, GramGaussian, Levels, Method, Person, ReportParams,
        Spent,
    },
    refuse_if,
    release::Calibration,
};

/// No local report is weaker than this.
const MOST_LOCAL_EPSILON: f64 = 64.0;

/// Parameters of the shuffle protocol.
///
/// ```
/// use reticent::{bandit::{Aggregation, ShuffleParams}, randomize::Bounds};
/// let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(5) };
/// let plan = ShuffleParams::new(bounds, 1.0, 1e-6, 1000, Aggregation::Sum).check()?;
/// assert!(plan.guarantee()?.epsilon() <= 1.0 + 1e-9);
/// assert!(plan.local_guarantee()?.epsilon() > 10.0); // without the shuffler
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShuffleParams {
    /// Bounds that data are clipped to.
    pub bounds: Bounds,
    /// Requested epsilon, after shuffling.
    pub epsilon: f64,
    /// Requested delta, after shuffling.
    pub delta: f64,
    /// B: reports in a batch.
    pub batch: u64,
    /// Number of people of a batch randomise honestly; by default all.
    pub honest: Option<u64>,
    /// Number of times one person reports at most.
    pub contributions_per_person: u64,
    /// Permuted reports (amplified) or sums (vector sum).
    pub aggregation: Aggregation,
    /// Rule by which noisy sums become a policy.
    pub rule: Rule,
    /// The randomiser; by default Gaussian noise on x x^T and x z for sums, and the best pure one for permuted reports.
    pub method: Option<Method>,
    /// Noise of one report in place of what the budget needs, for sums; the guarantee is that of the noise.
    pub calibration: Option<Calibration>,
    /// Claim that the guarantee is compared with: `paper` mode.
    pub claim: Option<Claim>,
}

impl ShuffleParams {
    /// Parameters with all people honest, one report a person, exact calibration.
    pub fn new(
        bounds: Bounds,
        epsilon: f64,
        delta: f64,
        batch: u64,
        aggregation: Aggregation,
    ) -> Self {
        ShuffleParams {
            bounds,
            epsilon,
            delta,
            batch,
            honest: None,
            contributions_per_person: 1,
            aggregation,
            rule: Rule::default(),
            method: None,
            calibration: None,
            claim: None,
        }
    }

    /// A batch that suits this many rounds, found by simulation: `sqrt(8 n / epsilon) exp(-epsilon / (d - 1))` reports, at most n/16.
    ///
    /// A batch costs noise once and rounds of waiting in proportion to its size, so small budgets want large batches. The angle between a
    /// vector and what PrivUnit reports of it falls as `exp(-epsilon / (d - 1))`: where it is small there is nothing to gain from a batch.
    ///
    /// ```
    /// use reticent::bandit::ShuffleParams;
    /// assert_eq!(ShuffleParams::suited_batch(5, 0.5, 20_000), 499);
    /// assert_eq!(ShuffleParams::suited_batch(5, 100.0, 20_000), 1);
    /// ```
    pub fn suited_batch(dimension: usize, epsilon: f64, rounds: u64) -> u64 {
        let n = rounds as f64;
        let angle = libm::exp(-epsilon / dimension.saturating_sub(1).max(1) as f64);
        let suited = ((8.0 * n / epsilon).sqrt() * angle).min(n / 16.0);
        // The conversion saturates.
        (suited as u64).clamp(1, 1 << 24)
    }

    /// The batch as it is given, or else the one that suits this many rounds, if their number is known; refuses one that they cannot fill.
    pub fn batch_or_suited(
        batch: Option<u64>,
        dimension: usize,
        epsilon: f64,
        rounds: Option<u64>,
    ) -> Result<u64> {
        let suited = || rounds.map(|n| ShuffleParams::suited_batch(dimension, epsilon, n));
        let Some(batch) = batch.or_else(suited) else {
            let remedy = "expected the reports of a batch, or `horizon`, the number of all reports, for the batch that suits them";
            return Err(Error::invalid("batch", "missing", remedy));
        };
        if let Some(rounds) = rounds {
            let remedy =
                format_args!("no batch would ever be full; expected at most the {rounds} rounds");
            refuse_if(batch > rounds, "batch", batch, remedy)?;
        }
        Ok(batch)
    }

    /// The form in which one report carries the most information at this batch: permuted reports where budgets are large, sums elsewhere.
    pub fn suited_aggregation(&self) -> Result<Aggregation> {
        let information = |aggregation| -> Result<f64> {
            let params = ShuffleParams { aggregation, ..self.clone() };
            Ok(params.check()?.local().reports().information())
        };
        let sum = information(Aggregation::Sum)?;
        // Not every budget can be permuted.
        let permuted = information(Aggregation::Permute).unwrap_or(0.0);
        Ok(if permuted > sum { Aggregation::Permute } else { Aggregation::Sum })
    }

    /// Calibrates, or says which parameter stands in the way.
    pub fn check(&self) -> Result<ShufflePlan> {
        self.bounds.structure.expect_dense("the shuffle bandit")?;
        requested_epsilon(self.epsilon)?;
        check_delta(self.delta, self.calibration.is_some(), self.claim.as_ref())?;
        refuse_if(
            !(1..=1 << 24).contains(&self.batch),
            "batch",
            self.batch,
            "expected 1 to 16777216",
        )?;
        let honest = self.honest.unwrap_or(self.batch);
        let remedy = format_args!("expected 1 to batch = {}", self.batch);
        refuse_if(!(1..=self.batch).contains(&honest), "honest", honest, remedy)?;
        let refused = self.aggregation == Aggregation::Permute && self.contributions_per_person > 1;
        let remedy = "permuted reports of one person may meet in one batch; expected 1; or let the shuffler sum";
        refuse_if(refused, "contributions_per_person", self.contributions_per_person, remedy)?;
        let base = ReportParams {
            method: self.method.clone(),
            contributions_per_person: self.contributions_per_person,
            ..ReportParams::new(self.bounds, self.epsilon, self.delta)
        };
        let report = match (self.calibration, self.aggregation) {
            (Some(_), Aggregation::Sum) => {
                ReportParams { calibration: self.calibration, ..summable(base) }
            }
            // Amplification is proved for pure reports.
            (Some(calibration), Aggregation::Permute) => {
                let remedy = "the noise of permuted reports follows from the budget: leave it out, or let the shuffler sum";
                return Err(Error::invalid("calibration", calibration, remedy));
            }
            (None, Aggregation::Sum) => self.summed(&summable(base), honest)?,
            (None, Aggregation::Permute) => {
                let base = ReportParams { delta: 0.0, ..base };
                at_level(&base, self.weakest_local(&base, honest)?)
            }
        };
        let local = LocalParams { rule: self.rule.clone(), ..report.into() };
        let plan = ShufflePlan { params: self.clone(), honest, local: local.check()? };
        if self.aggregation == Aggregation::Sum {
            plan.randomizer().summed()?;
        }
        Ok(plan)
    }

    /// Gaussian reports whose sums meet the budget, what the grid costs included.
    fn summed(&self, base: &ReportParams, honest: u64) -> Result<ReportParams> {
        let share = (honest as f64).sqrt() / self.contributions_per_person.max(1) as f64;
        let with = |mu: f64| {
            let calibration = Some(Calibration::Mu(mu * share));
            ReportParams { calibration, ..base.clone() }
        };
        // A hair below, which pays for rounding and for most grids.
        let mu = gaussian::mu(self.epsilon, self.delta)? * (1.0 - 1e-9);
        let first = with(mu);
        let Event::GridGaussian { sigma, coordinates, .. } = first.check()?.event(0)? else {
            return Ok(first);
        };
        // A little more noise may come with a grid half as fine, and no coarser.
        let sigma = 0.5 * sigma * (honest as f64).sqrt();
        let most = grid::largest_mu(self.epsilon, self.delta, coordinates, sigma)?;
        Ok(if mu <= most { first } else { with(most * (1.0 - 1e-9)) })
    }

    /// The largest epsilon of one report that meets the budget after shuffling.
    fn weakest_local(&self, base: &ReportParams, honest: u64) -> Result<f64> {
        let meets = |local: f64| -> Result<bool> {
            let event = shuffled(&at_level(base, local).check()?.event(0)?, honest)?;
            // A little less than epsilon, because the guarantee finds its own epsilon by bisection.
            let delta = Accountant::price(&event)?.delta(self.epsilon * (1.0 - 1e-6))?;
            Ok(delta <= self.delta)
        };
        // Without any amplification epsilon holds.
        let (mut low, mut high) = (self.epsilon, MOST_LOCAL_EPSILON);
        if low >= high {
            return Ok(high);
        }
        if meets(high)? {
            return Ok(high);
        }
        while high - low > 1e-6 * high {
            let middle = 0.5 * (low + high);
            if meets(middle)? { low = middle } else { high = middle }
        }
        Ok(low)
    }
}

/// The same at one level of pure epsilon.
fn at_level(params: &ReportParams, epsilon: f64) -> ReportParams {
    ReportParams { levels: Levels::Public(vec![epsilon]), ..params.clone() }
}

/// Event of a permuted batch of such reports.
pub(super) fn shuffled(report: &Event, people: u64) -> Result<Event> {
    Ok(match *report {
        Event::PrivUnit { cap, inside } => Event::ShuffledPrivUnit { cap, inside, people },
        _ => {
            let epsilon = Accountant::price(report)?.epsilon(1e-300)?;
            Event::Shuffled { epsilon, people, binary: false }
        }
    })
}

/// The same with a randomiser whose reports may be summed, if none is given.
fn summable(params: ReportParams) -> ReportParams {
    let default = || Method::GramGaussian { split: GramGaussian::DEFAULT_SPLIT };
    ReportParams { method: Some(params.method.unwrap_or_else(default)), ..params }
}

/// Checked parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct ShufflePlan {
    params: ShuffleParams,
    honest: u64,
    local: LocalPlan,
}

impl ShufflePlan {
    /// The parameters that were checked.
    pub fn params(&self) -> &ShuffleParams {
        &self.params
    }

    /// Parameters that devices and server agree on.
    pub fn local(&self) -> &LocalPlan {
        &self.local
    }

    /// Randomiser of all devices: there is one level.
    fn randomizer(&self) -> &CalibratedMethod {
        &self.local.randomizers()[0]
    }

    /// A device: the same as without a shuffler, with weaker noise.
    pub fn person<N: Noise>(&self, noise: N) -> Result<Person<N>> {
        self.local.person(0, noise)
    }

    /// The device of a person who has reported before: `spent` is the record of their last device.
    pub fn person_after<N: Noise>(&self, spent: &Spent, noise: N) -> Result<Person<N>> {
        self.local.person_after(0, spent, noise)
    }

    /// Number of people of a batch the guarantee takes to randomise honestly.
    pub fn honest(&self) -> u64 {
        self.honest
    }

    /// Number of numbers every report has.
    pub fn report_length(&self) -> usize {
        self.randomizer().report_length()
    }

    fn handing(&self) -> Result<Handing> {
        Ok(match self.params.aggregation {
            Aggregation::Permute => Handing::Permute {
                values: self.randomizer().report_length(),
                largest: self.randomizer().largest_entry(),
            },
            Aggregation::Sum => Handing::Sum { exponents: self.randomizer().summed()?.exponents() },
        })
    }

    /// Refuses what no device of this protocol makes: for a shuffler that reads reports, and for a server that opens sealed ones.
    pub fn check_values(&self, values: &[f64]) -> Result<()> {
        self.handing()?.check(Some(0), None, values)
    }

    /// The batch of this number of what these devices made, for a shuffler that keeps its own memory of waiting reports and of batches. One of
    /// another size than was agreed on is refused.
    pub fn batch<N: Noise>(
        &self,
        number: u64,
        reports: Vec<Vec<f64>>,
        noise: &mut N,
    ) -> Result<Batch> {
        let people = reports.len() as u64;
        let remedy = format_args!("a batch is of {} reports: wait for others", self.params.batch);
        refuse_if(people != self.params.batch, "batch", people, remedy)?;
        let handing = self.handing()?;
        reports.iter().try_for_each(|values| handing.check(Some(0), None, values))?;
        noise.rekey()?;
        let reports = reports.into_iter();
        let reports = reports.map(|values| Shuffled { level: Some(0), features: None, values });
        let contents = handing.close(reports.collect(), noise);
        Ok(Batch { protocol: self.local.protocol(), number, people, contents })
    }

    /// The component in between.
    pub fn shuffler<N: Noise>(&self, noise: N) -> Result<Shuffler<N>> {
        let handing = self.handing()?;
        let protocol = self.local.protocol();
        let bits = self.randomizer().entropy_bits();
        Ok(Shuffler::new(protocol, self.params.batch, handing, bits, noise))
    }

    /// The report server.
    pub fn server(&self) -> ShuffleServer {
        ShuffleServer::new(self.local.server(), self.params.batch, self.params.aggregation)
    }

    /// Event of all reports of one person, for those who see batches only.
    pub fn event(&self) -> Result<Event> {
        shuffled_event(self.local.reports(), self.params.aggregation, self.honest)
    }

    /// Guarantee for a person, if the shuffler can be trusted.
    pub fn guarantee(&self) -> Result<Guarantee> {
        let again = match by_contents(self.randomizer().entropy_bits()) {
            true => format!(
                "no report reaches the shuffler again after {MEMORY} others (before that it drops what has the contents of another, whatever its name)"
            ),
            false => format!(
                "no report reaches the shuffler again after {MEMORY} others or under another name (reports with few possible values cannot be distinguished by their contents)"
            ),
        };
        let kept = "a saved shuffler resumed with the true number of batches made, by one process at a time";
        self.guarantee_under([kept, &again])
    }

    /// The same behind a shuffler with a memory of its own: these are the conditions under which a report is in one batch only.
    pub fn guarantee_under<'a>(
        &self,
        once: impl IntoIterator<Item = &'a str>,
    ) -> Result<Guarantee> {
        let ShuffleParams { delta, batch, contributions_per_person, .. } = self.params;
        let guarantee = Guarantee::of(&self.event()?, TrustModel::Shuffle, delta)?
            .with_unit(Unit::Person { at_most: contributions_per_person });
        let guarantee = CONDITIONS.iter().fold(guarantee, |g, c| g.with_condition(*c));
        let guarantee = once.into_iter().fold(guarantee, |g, c| g.with_condition(c));
        let guarantee = guarantee
            .with_condition(format!(
                "batches of {batch}, of whom {} randomise honestly; none smaller leaves the shuffler",
                self.honest
            ))
            .with_condition("reports reach the shuffler unread and unchanged: against a reader of one on its way its local guarantee holds");
        guarantee.beside(self.params.claim.as_ref())
    }

    /// Guarantee for a person if the shuffler shows everything.
    pub fn local_guarantee(&self) -> Result<Guarantee> {
        self.local.guarantee(0)
    }
}
