//! A private running sum: takes contributions, returns releases.
//!
//! ```text
//! numbers -> clip -> Contribution -> absorb -> (when the schedule says so) Release
//! ```
//!
//! **Guarantee.** Everything released over the whole horizon, to an adversary who chooses later contributions
//! after seeing earlier releases, is [`PrivateSum::event`] for one person's replaced data.
//!
//! **Rollback.** No key is saved, and every release is drawn under a new key of the system, so that no noise is ever added twice. But a
//! stream restored from an older copy releases sums about the same people a second time. So the caller tells `resume` how many releases
//! have been made, and `resume` refuses an older state; `resume_charged` accepts it, with a larger mu. *Proof of the charge.* Releases up
//! to the saved state are the same numbers in every replay. After it, each replay draws independently of the others, and one person moves
//! its values by at most a full `||C Delta||` in units of the noise. The squares of 1 + replays independent parts add up: `mu sqrt(1 +
//! replays)`. Under Wishart noise each replay is one more tree, of whose nodes that person touches one a level: the events of all of them
//! compose.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    ContributionSums, Release, Schedule,
    clip::{Clipper, power_of_two},
    contribution::Contribution,
    engine::Engine,
    params::{Plan, PrivateSumPlan},
    promise::Promise,
};
use crate::{
    Error, Result,
    error::finite_vector,
    noise::Noise,
    privacy::{Event, Guarantee},
    refuse_if, wire,
};

/// A running sum of people's contributions, released under noise.
///
/// ```
/// use reticent::{noise::SecureNoise, release::{Calibration, Domain, PrivateSumParams, Schedule}};
///
/// let budget = Calibration::Budget { epsilon: 1.0, delta: 1e-6 };
/// let params = PrivateSumParams {
///     schedule: Schedule::EveryRound,
///     ..PrivateSumParams::new(Domain::regression(2, 1.0, 1.0), Some(1000), budget)
/// };
/// let mut sum = params.check()?.start(SecureNoise::from_system()?);
/// let contribution = sum.clip_with_reward(&[0.6, 0.8], 1.0)?;
/// let release = sum.absorb(&contribution)?.expect("every round releases");
/// assert_eq!((release.round(), release.upper_triangle().len(), release.vector().len()), (1, 3, 2));
/// assert!(release.deviations()[1] > 1.5);
/// println!("{}", sum.guarantee(1e-6)?);
///
/// let bytes = sum.save();
/// let resumed = reticent::release::PrivateSum::<SecureNoise>::resume(&bytes, 1)?;
/// assert_eq!(resumed.rounds(), 1);
/// # Ok::<(), reticent::Error>(())
/// ```
pub struct PrivateSum<N> {
    pub(super) state: State<N>,
}

/// Prints no sums, because exact sums in a log would bypass the noise.
impl<N> std::fmt::Debug for PrivateSum<N> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("PrivateSum")
            .field("rounds", &self.state.round)
            .field("releases", &self.state.released)
            .finish_non_exhaustive()
    }
}

/// Everything that is saved. Private, so that a stream is restored only through `resume`. The kind of a saved state contains the name of its
/// noise source, so that a stream on simulation noise cannot be resumed as one on secure noise.
#[derive(Serialize, Deserialize)]
pub(super) struct State<N> {
    pub(super) plan: Plan,
    /// Contributions so far.
    round: u64,
    /// Steps the mechanism has taken.
    pub(super) step: u64,
    /// Round of the next release.
    next: u64,
    /// Releases made, those of abandoned branches included.
    released: u64,
    replays: u64,
    /// Exact sum since the last release.
    pub(super) pending: Vec<i128>,
    pub(super) noise: N,
}

impl<N: Noise> PrivateSum<N> {
    pub(super) fn start(plan: Plan, noise: N) -> Self {
        let pending = vec![0; plan.clipper.domain().coordinates()];
        let next = plan.schedule.first();
        PrivateSum {
            state: State { plan, round: 0, step: 0, next, released: 0, replays: 0, pending, noise },
        }
    }

    /// Adds one contribution, and releases the sum if the schedule says so. With [`Schedule::Clock`] the release is made by the next
    /// [`PrivateSum::tick`]. An error changes nothing.
    pub fn absorb(&mut self, contribution: &Contribution) -> Result<Option<Release>> {
        self.takes_exact()?;
        self.absorb_with(contribution.clipper(), 1, |sums| contribution.add_to(sums))
    }

    /// Adds many contributions, up to the next release and not beyond it ([`PrivateSum::until_release`]): the same numbers as if they
    /// had come one by one. `sums` is then emptied, so that no contribution is counted twice. An error changes nothing.
    pub fn absorb_sums(&mut self, sums: &mut ContributionSums) -> Result<Option<Release>> {
        self.takes_exact()?;
        let count = sums.count();
        if count == 0 {
            return Ok(None);
        }
        let release = self.absorb_with(sums.clipper(), count, |total| sums.add_to(total))?;
        sums.clear();
        Ok(release)
    }

    /// Adds the contributions of `count` people that a simulation summed itself, in the units of the data: the upper triangle by rows, which is merged
    /// where the domain merges sums, then the vector.
    ///
    /// Compiles only for simulation noise ([`Noise::PROTECTS_PEOPLE`] is false).
    pub fn absorb_simulated(&mut self, sums: &[f64], count: u64) -> Result<Option<Release>> {
        const { assert!(!N::PROTECTS_PEOPLE, "people's contributions are clipped one by one") };
        let clipper = self.state.plan.clipper.clone();
        let mut sums = match clipper.domain().pattern() {
            None => ContributionSums::of_numbers(clipper, sums, count)?,
            Some(pattern) => {
                let dense = clipper.domain().dense();
                finite_vector("sums", sums, dense.coordinates())?;
                let (matrix, vector) = sums.split_at(dense.matrix_coordinates());
                let merged = [&pattern.merge(matrix), vector].concat();
                ContributionSums::of_numbers(clipper, &merged, count)?
            }
        };
        self.absorb_sums(&mut sums)
    }

    /// Takes what one person contributes, in the units of the data, after a randomiser whose event the plan was made with.
    pub(crate) fn absorb_randomized(&mut self, numbers: &[f64]) -> Result<Option<Release>> {
        let clipper = self.state.plan.clipper.clone();
        if !self.is_randomized() {
            let remedy = "this stream adds its own noise: clip the contribution and absorb it";
            return Err(Error::invalid("contribution", "randomised", remedy));
        }
        let sums = ContributionSums::of_numbers(clipper.clone(), numbers, 1)?;
        self.absorb_with(&clipper, 1, |total| sums.add_to(total))
    }

    /// Returns whether contributions come with their noise.
    pub(crate) fn is_randomized(&self) -> bool {
        matches!(self.state.plan.engine, Engine::Randomized(_))
    }

    /// Refuses exact contributions to sums that have no noise but that of reports.
    fn takes_exact(&self) -> Result<()> {
        let remedy = "this stream takes reports: give contributions one by one to its learner";
        refuse_if(self.is_randomized(), "contribution", "data as they are", remedy)
    }

    fn absorb_with(
        &mut self,
        clipper: &Clipper,
        count: u64,
        add: impl Fn(&mut [i128]),
    ) -> Result<Option<Release>> {
        self.expect(clipper)?;
        let state = &mut self.state;
        if state.plan.schedule == Schedule::Clock {
            if state.round >= state.plan.horizon {
                return Err(Error::HorizonExceeded {
                    round: state.round + 1,
                    horizon: state.round,
                });
            }
            add(&mut state.pending);
            return Ok(None);
        }
        let round = state.round.saturating_add(count);
        let due = round == state.next;
        let exhausted = state.step == state.plan.engine.capacity();
        if round > state.plan.horizon || (round >= state.next && exhausted) {
            // The horizon has been reached.
            return Err(Error::HorizonExceeded { round, horizon: state.round });
        }
        if round > state.next {
            let most = state.next - state.round;
            let remedy =
                format!("the next release comes after {most}; expected at most that many at once");
            return Err(Error::invalid("contributions", count, remedy));
        }
        if !due {
            add(&mut state.pending);
            state.round = round;
            return Ok(None);
        }
        let mut entries = state.pending.clone();
        add(&mut entries);
        self.step(&entries, round).map(Some)
    }

    /// A tick of the caller's clock: adds these contributions (possibly none) to those absorbed since the last tick, and releases the sum.
    /// `sums` is then emptied. An error changes nothing.
    ///
    /// Times, the number of releases and [`Release::round`], which counts ticks, do not depend on how many contributions there were.
    ///
    /// ```
    /// use reticent::{noise::SecureNoise, release::{Calibration, Domain, ContributionSums, PrivateSumParams, Schedule}};
    /// let budget = Calibration::Budget { epsilon: 1.0, delta: 1e-6 };
    /// let params = PrivateSumParams {
    ///     schedule: Schedule::Clock,
    ///     contributions_per_person: 3,
    ///     ..PrivateSumParams::new(Domain::regression(2, 1.0, 1.0), Some(1000), budget)
    /// };
    /// let mut sum = params.check()?.start(SecureNoise::from_system()?);
    /// let mut since = ContributionSums::new(sum.clipper().clone());
    /// since.add(&sum.clip_with_reward(&[0.6, 0.8], 1.0)?)?;
    /// since.add(&sum.clip_with_reward(&[0.8, 0.6], 0.0)?)?;
    /// let release = sum.tick(&mut since)?;
    /// assert_eq!((release.round(), since.count()), (1, 0));
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn tick(&mut self, sums: &mut ContributionSums) -> Result<Release> {
        self.expect(sums.clipper())?;
        let State { plan, round, .. } = &self.state;
        let refused = plan.schedule != Schedule::Clock;
        let remedy = "releases of this stream count contributions: give `schedule` = clock for releases by a clock";
        refuse_if(refused, "schedule", plan.schedule, remedy)?;
        let round = round + 1;
        if round > plan.horizon || self.state.step >= plan.engine.capacity() {
            return Err(Error::HorizonExceeded { round, horizon: plan.horizon });
        }
        let mut entries = self.state.pending.clone();
        sums.add_to(&mut entries);
        let release = self.step(&entries, round)?;
        sums.clear();
        Ok(release)
    }

    pub(crate) fn expect(&self, clipper: &Clipper) -> Result<()> {
        if *clipper == self.state.plan.clipper {
            return Ok(());
        }
        let remedy = "its bounds or grid differ: make it with this stream's own `clip`";
        Err(Error::invalid("contribution", "another stream's", remedy))
    }

    /// A source that is independent of the noise, for random numbers that are published.
    pub(crate) fn split_noise(&mut self) -> Result<N> {
        self.state.noise.split()
    }

    /// Releases the sum at `round`; `entries` is the sum of the contributions since the last release.
    fn step(&mut self, entries: &[i128], round: u64) -> Result<Release> {
        let state = &mut self.state;
        let step = state.step + 1;
        state.noise.rekey()?;
        let (units, deviations) = state.plan.engine.step(step, round, entries, &mut state.noise)?;
        state.pending.fill(0);
        state.round = round;
        state.step = step;
        state.next = state.plan.schedule.next(round);
        state.released += 1;
        let exponents = state.plan.clipper.exponents();
        let sums = units.iter().zip(exponents).map(|(sum, e)| sum * power_of_two(-e)).collect();
        let domain = state.plan.clipper.domain().clone();
        Ok(Release::new(domain, round, step, sums, deviations))
    }

    /// Number of more contributions trigger the next release; `None` if no number of them does.
    pub fn until_release(&self) -> Option<u64> {
        let State { next, round, plan, .. } = &self.state;
        let counted = plan.schedule != Schedule::Clock;
        (counted && !self.is_exhausted() && *next <= plan.horizon).then(|| next - round)
    }

    /// Forgets all contributions and starts a new stream with this plan, on the same source of noise. The counts of releases and replays
    /// continue, so that `resume` detects an older state.
    pub(crate) fn restart(&mut self, plan: PrivateSumPlan) {
        let plan = plan.into_inner();
        let state = &mut self.state;
        state.pending = vec![0; plan.clipper.domain().coordinates()];
        (state.round, state.step, state.next) = (0, 0, plan.schedule.first());
        state.plan = plan;
    }

    /// Clips the vector of a vector or symmetric domain: see [`Clipper::clip`].
    pub fn clip(&self, vector: &[f64]) -> Result<Contribution> {
        self.state.plan.clipper.clip(vector)
    }

    /// Clips features and reward of a regression domain: see [`Clipper::clip_with_reward`].
    pub fn clip_with_reward(&self, features: &[f64], reward: f64) -> Result<Contribution> {
        self.state.plan.clipper.clip_with_reward(features, reward)
    }

    /// The same for features that belong to a block of parameters: see [`Clipper::clip_in_block`].
    pub fn clip_in_block(
        &self,
        block: usize,
        features: &[f64],
        reward: f64,
    ) -> Result<Contribution> {
        self.state.plan.clipper.clip_in_block(block, features, reward)
    }

    /// The clipper that turns numbers into contributions to this stream, for code that clips elsewhere.
    pub fn clipper(&self) -> &Clipper {
        &self.state.plan.clipper
    }

    /// The generator of the noise.
    pub(crate) fn source(&mut self) -> &mut N {
        &mut self.state.noise
    }

    /// Returns the generator when the stream is over.
    pub(crate) fn into_source(self) -> N {
        self.state.noise
    }

    /// Marks this state as one of several that continue from the same releases, as after a fork of the process: one more replay is charged,
    /// by the proof above, and simulation noise moves to another stream. `replays` is the number of branches counted before.
    pub fn branch(&mut self) -> Result<()> {
        self.state.noise.refresh()?;
        self.state.replays = self.state.replays.saturating_add(1);
        Ok(())
    }

    /// Returns whether two streams hold the same people's data to the last unit, whatever noise was added to what they released: for a check after an accident,
    /// which sums the contributions again. None for mechanisms whose state does not keep the data apart from the noise; a BLT does. The answer is
    /// about exact data and is internal: do not publish.
    ///
    /// ```
    /// use reticent::{noise::SecureNoise, release::{Calibration, Domain, ContributionSums, PrivateSumParams, Schedule}};
    /// let domain = Domain::Vector { dimension: 1, bound: 1.0 };
    /// let params = PrivateSumParams { schedule: Schedule::Clock, ..PrivateSumParams::new(domain, Some(9), Calibration::Mu(1.0)) };
    /// let sum_of = |numbers: &[f64]| {
    ///     let mut sum = params.check()?.start(SecureNoise::from_system()?);
    ///     let mut since = ContributionSums::new(sum.clipper().clone());
    ///     for number in numbers {
    ///         since.add(&sum.clip(&[*number])?)?;
    ///     }
    ///     sum.tick(&mut since)?;
    ///     Ok::<_, reticent::Error>(sum)
    /// };
    /// let sum = sum_of(&[0.5, 0.25])?;
    /// assert_eq!(sum.has_exact_sums_of(&sum_of(&[0.25, 0.5])?), Some(true));
    /// assert_eq!(sum.has_exact_sums_of(&sum_of(&[0.25, 0.5001])?), Some(false));
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn has_exact_sums_of(&self, other: &Self) -> Option<bool> {
        let (one, two) = (&self.state, &other.state);
        let engines = one.plan.engine.has_exact_sums_of(&two.plan.engine)?;
        let steps = (one.round, one.step, &one.pending) == (two.round, two.step, &two.pending);
        Some(engines && steps && one.plan.clipper == two.plan.clipper)
    }

    /// Contributions absorbed so far.
    pub fn rounds(&self) -> u64 {
        self.state.round
    }

    /// The number of releases made so far, those before a charged replay included. `resume` needs this number.
    pub fn releases(&self) -> u64 {
        self.state.released
    }

    /// Returns whether the horizon has been reached: nothing can be absorbed any more.
    pub fn is_over(&self) -> bool {
        self.state.round >= self.state.plan.horizon
    }

    /// Returns whether no further release is scheduled, which may be some rounds before the horizon.
    pub fn is_exhausted(&self) -> bool {
        self.is_over() || self.state.step == self.state.plan.engine.capacity()
    }

    /// Number of times the stream was resumed from a state that had been used already.
    pub fn replays(&self) -> u64 {
        self.state.replays
    }

    /// The cost of the stream for one person, without replays.
    pub(crate) fn promise(&self) -> &Promise {
        &self.state.plan.promise
    }

    /// The event of the whole stream for one person, up to its horizon.
    pub fn event(&self) -> Event {
        self.state.plan.promise.after(self.state.replays)
    }

    /// The guarantee of the whole stream, at this delta; marked as simulated on simulation noise.
    pub fn guarantee(&self, delta: f64) -> Result<Guarantee> {
        let guarantee = {
            let State { plan, replays, .. } = &self.state;
            plan.promise.guarantee(*replays, delta, plan.people())?
        };
        Ok(if N::PROTECTS_PEOPLE { guarantee } else { guarantee.simulated() })
    }

    /// Standard deviation of the noise in every coordinate of release number `index`, past or future.
    pub fn deviations(&self, index: u64) -> Result<Vec<f64>> {
        self.state.plan.engine.checked_deviations(index)
    }
}

impl<N: Noise + DeserializeOwned> State<N> {
    /// Reads a state and checks that its parts fit each other, which a checksum cannot.
    fn load(bytes: &[u8]) -> Result<Self> {
        let state: Self = wire::load_on(wire::kinds::PRIVATE_SUM, N::NAME, bytes)?;
        let coordinates = state.plan.clipper.domain().coordinates();
        let fits = state.pending.len() == coordinates
            && state.plan.engine.fits(coordinates, state.step)
            && state.round <= state.plan.horizon
            && state.round < state.next;
        if fits {
            return Ok(state);
        }
        Err(Error::CorruptState {
            size: bytes.len(),
            reason: "its parts are inconsistent".into(),
            remedy: "restore another copy, or start a new stream with a new budget".into(),
        })
    }
}

impl<N: Noise + Serialize + DeserializeOwned> PrivateSum<N> {
    /// The whole state, people's data included: protect these bytes like the data. They contain no key of the noise.
    pub fn save(&self) -> Vec<u8> {
        wire::save_on(wire::kinds::PRIVATE_SUM, N::NAME, &self.state)
    }

    /// Continues from saved bytes (on simulation noise bit for bit), if no release has been made since they were saved.
    ///
    /// `releases_made` is the number of releases made so far, from the caller's own log.
    pub fn resume(bytes: &[u8], releases_made: u64) -> Result<Self> {
        let state = State::load(bytes)?;
        wire::expect_newest("releases", state.released, releases_made)?;
        Ok(PrivateSum { state })
    }

    /// Continues from a state that is older than `releases_made`, and charges the replay to the guarantee.
    ///
    /// `charged_before` is how many replays this stream had been charged for before this call, from the caller's log
    /// (see [`PrivateSum::replays`]), because the old bytes do not contain later charges. A stale state is charged for one
    /// more; a state that is not stale is resumed as by [`PrivateSum::resume`] and adds nothing to the count.
    pub fn resume_charged(bytes: &[u8], releases_made: u64, charged_before: u64) -> Result<Self> {
        let mut state: State<N> = State::load(bytes)?;
        state.replays = state.replays.max(charged_before);
        if state.released < releases_made {
            state.noise.refresh()?;
            state.replays = state.replays.saturating_add(1);
            state.released = releases_made;
        }
        Ok(PrivateSum { state })
    }
}

#[cfg(test)]
mod tests;
