//! A confidence interval for a mean of bounded numbers that holds at any sample size, by betting.
//!
//! Line i has a weight `x_i` in [0, 1] and an outcome `u_i` in [0, 1]; lines are independent draws of one law. The interval is for
//!
//! ```text
//! m* = E x u / E x          (weights of 1: the mean of u)
//! ```
//!
//! Against a candidate m two bettors start with capital 1 and bet on every line, the first that outcomes lie above m, the second below:
//!
//! ```text
//! K+ = prod 1 + min(b_i, c/m)     x_i (u_i - m)
//! K- = prod 1 - min(b_i, c/(1-m)) x_i (u_i - m),        c = 3/4
//! b_i = sqrt(2 ln(2/alpha) / (n s_(i-1)^2))
//! ```
//!
//! The bets depend on earlier lines only (`s^2` is their variance, beginning with a guess of 1/4), and every factor is positive. At m = m* each
//! factor has mean 1, so K+ and K- are nonnegative martingales, and by Ville's inequality each of them ever reaches 2/alpha with probability
//! alpha/2 at most. The interval is all m at which neither did: it holds m* with probability 1 - alpha, and **each end by itself with
//! 1 - alpha/2**, for every n and every law. K+ falls and K- rises in m, so the ends are found by bisection.
//!
//! Reference: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, JRSS B 86 (2024), Theorem 3 with the predictable
//! plug-in bets of its Section 4.2; the weighted form is the moment condition `E x (u - m*) = 0`.

/// c: the largest share of its capital that a bettor may lose on one line.
const LARGEST_STAKE: f64 = 0.75;

/// Halvings of [0, 1]: below 1e-14.
const HALVINGS: usize = 48;

/// The interval for `E x u / E x` from pairs (x, u), both in [0, 1]; all of [0, 1] if there are none.
pub(crate) fn interval(lines: &[(f64, f64)], failure_probability: f64) -> (f64, f64) {
    let target = (2.0 / failure_probability).ln();
    let bets = bets(lines, target);
    // `side` is 1 for the bettor on more than m, -1 for the other.
    let refuted = |m: f64, side: f64| {
        let stake = LARGEST_STAKE / if side > 0.0 { m } else { 1.0 - m };
        let mut capital = 0.0;
        lines.iter().zip(&bets).any(|(&(x, u), bet)| {
            capital += (side * bet.min(stake) * x * (u - m)).ln_1p();
            capital >= target
        })
    };
    let end = |side: f64| {
        // One end where the capital certainly grows, and one where it never does.
        let (mut wins, mut loses) = if side > 0.0 { (0.0, 1.0) } else { (1.0, 0.0) };
        if !refuted(wins, side) {
            return wins;
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (wins + loses);
            *(if refuted(middle, side) { &mut wins } else { &mut loses }) = middle;
        }
        wins
    };
    (end(1.0), end(-1.0))
}

/// b_i, each from the lines before it.
fn bets(lines: &[(f64, f64)], target: f64) -> Vec<f64> {
    let (mut weight, mut sum, mut square) = (1.0, 0.5, 0.25);
    let bet = |(index, &(x, u)): (usize, &(f64, f64))| {
        let variance = square / (index as f64 + 1.0);
        weight += x;
        sum += x * u;
        square += (x * (u - sum / weight)).powi(2);
        (2.0 * target / (lines.len() as f64 * variance)).sqrt()
    };
    lines.iter().enumerate().map(bet).collect()
}
