//! The matrix mechanism: `A = B C` for the lower triangular all-ones matrix A.
//!
//! The only computation that touches data is `y = C x + z`, in integers; `B y` is post-processing. With
//! noise of deviation sigma, one person who moves x by Delta costs `mu = ||C Delta|| / sigma`, and prefix t
//! carries noise of deviation `sigma ||B[t, .]||`. C is lower triangular, so the guarantee holds for
//! streams chosen adaptively (Denisov, McMahan, Rush, Smith, Thakurta, NeurIPS 2022, Theorem 2.1).
//!
//! In every factorisation here C has nonnegative entries, so columns have nonnegative inner products and
//! the worst person moves every contribution the same way: `person_norm` needs no signs.

use serde::{Deserialize, Serialize};

use super::{
    blt::{Blt, BltSums},
    honaker::{Honaker, HonakerSums},
    padded::{PaddedSums, PaddedTree},
    toeplitz::{Toeplitz, ToeplitzSums},
    tree::{Tree, TreeSums},
};
#[cfg(feature = "schema")]
use crate::schema::{Count, add_names};
use crate::{Error, Result, named::named, refuse_if};

/// Buffers of the default mechanism.
const DEFAULT_BUFFERS: usize = 8;

/// Properties of a factorisation; none depends on data.
pub trait Factorization {
    /// Number of steps the factorisation was built for.
    fn steps(&self) -> u64;

    /// `max ||sum_i C e_{t_i}||` over any `contributions` different steps t_i.
    fn person_norm(&self, contributions: u64) -> f64;

    /// `||B[step, .]||`: deviation of the noise in prefix `step` (from 1), per unit of sigma.
    fn prefix_deviation(&self, step: u64) -> f64;

    /// Noise draws per coordinate over all steps.
    fn draws(&self) -> f64;

    /// Rounding error of the difference of two streams in one entry of y; 0 when C is integral.
    fn rounding(&self) -> f64 {
        0.0
    }

    /// `max ||C e_t||`: the mu of one contribution, per unit of `Delta / sigma`.
    fn column_norm(&self) -> f64 {
        self.person_norm(1)
    }
}

/// Factorisation of a stream, or the choice to randomise contributions one by one: in files and in Python `"blt"`, or with parameters `{ blt = { buffers = 4 } }`.
///
/// ```
/// use reticent::release::{Factorization, Mechanism};
/// let blt = Mechanism::default().factorize(1_000_000)?;
/// let tree = Mechanism::Tree { levels: None }.factorize(1_000_000)?;
/// let worst = |f: &dyn Factorization, step| f.column_norm() * f.prefix_deviation(step);
/// assert!(worst(&*blt, 1_000_000) < 5.5);
/// assert!(worst(&*tree, (1 << 19) - 1) > 19.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Mechanism", transform = add_names::<Self>))]
pub enum Mechanism {
    /// Binary tree: every prefix is a sum of at most `log2 n + 1` noisy nodes.
    Tree {
        /// Levels that the calibration counts; `None` for those that can complete within the horizon.
        #[cfg_attr(feature = "schema", schemars(with = "Option<Count>"))]
        levels: Option<u32>,
    },
    /// Binary tree whose nodes are averaged with the sums of their children: less noise at the same privacy.
    Honaker,
    /// Square-root Toeplitz: near-optimal, memory and time per step linear in the step.
    Toeplitz,
    /// Buffered linear Toeplitz: as good as the square root, in constant memory.
    Blt {
        /// Number of buffers, 1 or more (beyond 16 nothing is gained, and no more are used); 8 is within 0.3 % of the square root up to 10^9 steps.
        #[serde(default = "default_buffers")]
        #[cfg_attr(feature = "schema", schemars(with = "Count"))]
        buffers: usize,
    },
    /// Every contribution is randomised by itself, as people's devices do, and the sums have no other noise: for a
    /// [joint bandit](crate::bandit::JointParams) with a large budget.
    Reports,
    /// Binary tree with the noise of every level in every prefix: the pan-private tree. More noise than `tree` at the same privacy; for what is
    /// published with it.
    PaddedTree {
        /// Levels, and noises in every prefix; `None` for those that can complete within the horizon.
        #[cfg_attr(feature = "schema", schemars(with = "Option<Count>"))]
        levels: Option<u32>,
    },
}

fn default_buffers() -> usize {
    DEFAULT_BUFFERS
}

named!(Mechanism, "{ blt = { buffers = 4 } }", {
    "tree": Mechanism::Tree { .. } => Mechanism::Tree { levels: None },
    "honaker": Mechanism::Honaker => Mechanism::Honaker,
    "toeplitz": Mechanism::Toeplitz => Mechanism::Toeplitz,
    "blt": Mechanism::Blt { .. } => Mechanism::default(),
    "reports": Mechanism::Reports => Mechanism::Reports,
    "padded_tree": Mechanism::PaddedTree { .. } => Mechanism::PaddedTree { levels: None },
});

impl Default for Mechanism {
    fn default() -> Self {
        Mechanism::Blt { buffers: DEFAULT_BUFFERS }
    }
}

impl Mechanism {
    /// The factorisation for `steps` steps.
    pub fn factorize(&self, steps: u64) -> Result<Box<dyn Factorization>> {
        Ok(match self.build(steps)? {
            Factor::Tree(factor) => Box::new(factor),
            Factor::Honaker(factor) => Box::new(factor),
            Factor::Toeplitz(factor) => Box::new(factor),
            Factor::Blt(factor) => Box::new(factor),
            Factor::PaddedTree(factor) => Box::new(factor),
        })
    }

    pub(super) fn build(&self, steps: u64) -> Result<Factor> {
        refuse_if(steps == 0, "steps", steps, "expected a whole number above 0")?;
        refuse_if(steps > self.longest(), "steps", steps, self.beyond())?;
        Ok(match *self {
            Mechanism::Tree { levels } => Factor::Tree(Tree::new(steps, levels)?),
            Mechanism::PaddedTree { levels } => {
                Factor::PaddedTree(PaddedTree::new(Tree::new(steps, levels)?))
            }
            Mechanism::Honaker => Factor::Honaker(Honaker::new(steps)),
            Mechanism::Toeplitz => Factor::Toeplitz(Toeplitz::new(steps)),
            Mechanism::Blt { buffers } => Factor::Blt(Blt::new(steps, buffers)?),
            Mechanism::Reports => {
                let remedy =
                    "reports are made by a joint bandit and have no factorisation; expected blt";
                return Err(Error::invalid("mechanism", self, remedy));
            }
        })
    }

    /// The largest number of steps this mechanism takes.
    pub fn longest(&self) -> u64 {
        match self {
            Mechanism::Tree { .. }
            | Mechanism::PaddedTree { .. }
            | Mechanism::Honaker
            | Mechanism::Reports => 1 << 60,
            Mechanism::Toeplitz => 1 << 17,
            Mechanism::Blt { .. } => 1 << 32,
        }
    }

    fn beyond(&self) -> String {
        let instead = match self {
            Mechanism::Toeplitz => "use BLT, which needs constant memory",
            Mechanism::Blt { .. } => "release less often",
            _ => "expected a smaller number",
        };
        format!("this mechanism takes {} releases at most: {instead}", self.longest())
    }
}

/// A factorisation that has been built.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Factor {
    /// A binary tree.
    Tree(Tree),
    /// A binary tree with Honaker's estimator.
    Honaker(Honaker),
    /// The square-root Toeplitz factorisation.
    Toeplitz(Toeplitz),
    /// A buffered linear Toeplitz factorisation.
    Blt(Blt),
    /// A binary tree with the noise of every level in every prefix.
    PaddedTree(PaddedTree),
}

impl Factor {
    /// The properties that all factorisations share.
    pub(super) fn as_dyn(&self) -> &dyn Factorization {
        match self {
            Factor::Tree(factor) => factor,
            Factor::Honaker(factor) => factor,
            Factor::Toeplitz(factor) => factor,
            Factor::Blt(factor) => factor,
            Factor::PaddedTree(factor) => factor,
        }
    }

    pub(super) fn start(self, coordinates: usize) -> Running {
        match self {
            Factor::Tree(factor) => Running::Tree(TreeSums::new(factor, coordinates)),
            Factor::Honaker(factor) => Running::Honaker(HonakerSums::new(factor, coordinates)),
            Factor::Toeplitz(factor) => Running::Toeplitz(ToeplitzSums::new(factor, coordinates)),
            Factor::Blt(factor) => Running::Blt(BltSums::new(factor, coordinates)),
            Factor::PaddedTree(factor) => Running::PaddedTree(PaddedSums::new(factor, coordinates)),
        }
    }
}

/// Draws the noise of one coordinate.
pub(super) type Draw<'a> = &'a mut dyn FnMut(usize) -> i64;

/// The running state of a factorisation on a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Running {
    Tree(TreeSums),
    Honaker(HonakerSums),
    Toeplitz(ToeplitzSums),
    Blt(BltSums),
    PaddedTree(PaddedSums),
}

impl Running {
    /// Takes the next entry of every coordinate's stream and estimates the sums so far, in grid units.
    ///
    /// The caller keeps the number of steps within [`Factorization::steps`].
    pub(super) fn step(&mut self, entries: &[i128], draw: Draw) -> Vec<f64> {
        match self {
            Running::Tree(sums) => sums.step(entries, draw),
            Running::Honaker(sums) => sums.step(entries, draw),
            Running::Toeplitz(sums) => sums.step(entries, draw),
            Running::Blt(sums) => sums.step(entries, draw),
            Running::PaddedTree(sums) => sums.step(entries, draw),
        }
    }

    /// Returns whether the data without noise are the same to the last unit; none where they are not kept apart from the noise.
    pub(super) fn has_exact_sums_of(&self, other: &Running) -> Option<bool> {
        match (self, other) {
            (Running::Blt(sums), Running::Blt(other)) => Some(sums.has_exact_sums_of(other)),
            _ => None,
        }
    }

    /// Returns whether a deserialised state has the right shape and stands at `step`.
    pub(super) fn fits(&self, coordinates: usize, step: u64) -> bool {
        match self {
            Running::Tree(sums) => sums.fits(coordinates, step),
            Running::PaddedTree(sums) => sums.fits(coordinates, step),
            Running::Honaker(sums) => sums.fits(coordinates, step),
            Running::Toeplitz(sums) => sums.fits(coordinates, step),
            Running::Blt(sums) => sums.fits(coordinates) && step <= self.factor().steps(),
        }
    }

    pub(super) fn factor(&self) -> &dyn Factorization {
        match self {
            Running::Tree(sums) => sums.factor(),
            Running::Honaker(sums) => sums.factor(),
            Running::Toeplitz(sums) => sums.factor(),
            Running::Blt(sums) => sums.factor(),
            Running::PaddedTree(sums) => sums.factor(),
        }
    }
}
