//! Duration of a round of a simulated bandit, its environment included.

use reticent::{Result, bandit::Policy};

use super::{Figure, stopwatch::nanoseconds};
use crate::environment::{
    GapParams,
    blocks::{Blocks, GapBlocks, Sums},
};

/// The paper's experiments: d = 5, K = 25.
const DIMENSION: usize = 5;
const ARMS: usize = 25;
/// Rounds between two releases of the default schedule, once it is capped.
const BLOCK: u64 = 1024;

pub fn figures() -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (what, gap, rounds, width, drift) in [
        ("no gap, textbook policy after 1e6 rounds", 0.0, 1_000_000, 6.0, 0.0),
        ("gap 0.1, textbook policy after 1e6 rounds", 0.1, 1_000_000, 6.0, 0.0),
        ("no gap, private policy after 1e6 rounds", 0.0, 1_000_000, 8.0, 300.0),
        ("no gap, textbook policy after 1e4 rounds", 0.0, 10_000, 6.0, 0.0),
        ("no gap, policy of width 300 after 1e6 rounds", 0.0, 1_000_000, 300.0, 0.0),
    ] {
        let params = GapParams { gap, ..GapParams::new(DIMENSION, ARMS) };
        let mut blocks = GapBlocks::new(params.check()?.fresh(1));
        // A first policy from a few thousand random choices, then the one to be measured.
        let mut sums = Sums::new(DIMENSION);
        blocks.advance(2_000, &mut sums);
        blocks.follow(&learned(&sums, 6.0, 0.0)?)?;
        blocks.advance(rounds, &mut sums);
        let policy = learned(&sums, width, drift)?;
        figures.push(measure(what, &mut blocks, &policy)?);
    }
    let mut blocks = GapBlocks::new(GapParams::new(DIMENSION, ARMS).check()?.fresh(1));
    figures.push(measure(
        "no gap, cold policy that can rule out no arm",
        &mut blocks,
        &unit(0.1)?,
    )?);
    figures.push(measure("no gap, flat policy", &mut blocks, &unit(0.0)?)?);
    Ok(figures)
}

fn measure(what: &str, blocks: &mut GapBlocks, policy: &Policy) -> Result<Figure> {
    let mut sums = Sums::new(DIMENSION);
    blocks.follow(policy)?;
    let time = nanoseconds(20, || {
        // A release's cost is part of the round's.
        let followed = blocks.follow(policy);
        blocks.advance(BLOCK, &mut sums);
        followed
    });
    let what = format!("a round, d = {DIMENSION}, K = {ARMS}, {what}");
    Ok(Figure::new(what, time / BLOCK as f64, "ns").beside(100.0, "required, at most"))
}

/// A policy that knows nothing, with one direction a little less certain than the others.
fn unit(uneven: f64) -> Result<Policy> {
    let mut whitening = Vec::new();
    for i in 0..DIMENSION {
        whitening.extend((0..=i).map(|j| f64::from(u8::from(i == j))));
    }
    whitening[0] += uneven;
    Policy::from_parts(vec![0.0; DIMENSION], whitening, 1.0, 0.0)
}

/// LinUCB with regulariser 1 after these rounds.
#[allow(clippy::needless_range_loop)] // Triangular loops read best with both indices.
fn learned(sums: &Sums, width: f64, drift: f64) -> Result<Policy> {
    // V = L L^T by columns, W = L^-1 by forward substitution, theta = W^T W u.
    let unit = |i: usize, j: usize| f64::from(u8::from(i == j));
    let mut factor = [[0.0; DIMENSION]; DIMENSION];
    let mut inverse = [[0.0; DIMENSION]; DIMENSION];
    let mut gram = sums.gram.iter();
    for j in 0..DIMENSION {
        for (i, entry) in (j..DIMENSION).zip(&mut gram) {
            let known: f64 = (0..j).map(|k| factor[i][k] * factor[j][k]).sum();
            let left = entry + unit(i, j) - known;
            factor[i][j] = if i == j { left.sqrt() } else { left / factor[j][j] };
        }
    }
    for i in 0..DIMENSION {
        for j in 0..=i {
            let known: f64 = (j..i).map(|k| factor[i][k] * inverse[k][j]).sum();
            inverse[i][j] = (unit(i, j) - known) / factor[i][i];
        }
    }
    let mut theta = vec![0.0; DIMENSION];
    for row in &inverse {
        let white: f64 = row.iter().zip(&sums.moment).map(|(w, u)| w * u).sum();
        theta.iter_mut().zip(row).for_each(|(theta, w)| *theta += w * white);
    }
    let whitening = inverse.iter().enumerate().flat_map(|(i, row)| row[..=i].to_vec());
    Policy::from_parts(theta, whitening.collect(), width, drift)
}
