//! Bounds of paper 0 on regret, as numbers: Theorem 3.4, Corollary 3.6 and Theorem E.1, without their O(.) and O~(.).
//!
//! The text hides constants: 2 in Theorem 3.4, which its proof has and this number too; gamma of Lemma 3.3 in Corollary 3.6, which is 1 here; P of
//! Theorem E.1, which is given. So Corollary 3.6 and Theorem E.1 say how regret grows, and bound nothing by themselves.

/// Theorem 3.4: with a confidence set of this width, `beta^2 = M_T + K_T`, regret after T rounds in d dimensions is at most
/// `2 beta sqrt(2 T d ln(1 + T/d))`.
pub fn of_width(width: f64, dimension: usize, rounds: u64) -> f64 {
    let (d, t) = (dimension as f64, rounds as f64);
    2.0 * width * (2.0 * t * d * (t / d).ln_1p()).sqrt()
}

/// Quantities of Corollary 3.6.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corollary36 {
    /// d.
    pub dimension: usize,
    /// epsilon and delta of one report.
    pub epsilon: f64,
    /// See `epsilon`.
    pub delta: f64,
    /// alpha, at least 1/T.
    pub alpha: f64,
    /// R: the sub-Gaussian scale of a reward.
    pub reward_noise: f64,
    /// D: predictions are not longer.
    pub radius: f64,
    /// G: gradients are not longer.
    pub gradient_bound: f64,
    /// lambda_min: the least eigenvalue of `E[x x^T]`.
    pub smallest_eigenvalue: f64,
}

impl Corollary36 {
    /// Corollary 3.6, with the threshold `T^(-1/4)`:
    ///
    /// ```text
    /// ((R + D sqrt(ln(1/delta))/epsilon) sqrt(ln(T/alpha)) + sqrt(D Delta^2 ln(T/alpha) sqrt(T H ln T)) + ln T sqrt(H ln(1/delta))/epsilon)
    ///     sqrt(d T ln(T/d)),        H = G^2/(lambda + Delta^2)^2 + G D/(lambda + Delta^2)
    /// ```
    ///
    /// The text lacks the outer root of the second term, which its own K_T has. T is above d.
    pub fn regret(&self, rounds: u64) -> f64 {
        let threshold = (rounds as f64).powf(-0.25);
        self.with_ridge(rounds, self.extra_noise(threshold))
    }

    /// `Delta^2`: the threshold where lambda_min is not above it, else 0.
    pub fn extra_noise(&self, threshold: f64) -> f64 {
        if self.smallest_eigenvalue <= threshold { threshold } else { 0.0 }
    }

    fn with_ridge(&self, rounds: u64, ridge: f64) -> f64 {
        let t = rounds as f64;
        let (log, private) = ((t / self.alpha).ln(), (1.0 / self.delta).ln().sqrt() / self.epsilon);
        let convexity = self.smallest_eigenvalue + ridge;
        let (g, d) = (self.gradient_bound, self.radius);
        let h = (g / convexity).powi(2) + g * d / convexity;
        let width = (self.reward_noise + d * private) * log.sqrt()
            + (d * ridge * log * (t * h * t.ln()).sqrt()).sqrt()
            + t.ln() * h.sqrt() * private;
        width * (self.dimension as f64 * t * (t / self.dimension as f64).ln()).sqrt()
    }
}

/// Theorem E.1: without a horizon, `P ln^(3/2)(t) (sqrt d t^(3/4) + sqrt d t^(5/8)/epsilon)`. The constant P depends on D, G, R, delta and alpha.
pub fn anytime(constant: f64, dimension: usize, epsilon: f64, rounds: u64) -> f64 {
    let t = rounds as f64;
    constant
        * t.ln().powf(1.5)
        * (dimension as f64).sqrt()
        * (t.powf(0.75) + t.powf(0.625) / epsilon)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: Corollary36 = Corollary36 {
        dimension: 5,
        epsilon: 1.0,
        delta: 0.1,
        alpha: 5e-5,
        reward_noise: 1.0,
        radius: 1.0,
        gradient_bound: 48.0,
        smallest_eigenvalue: 0.125,
    };

    /// Numbers of the paper's own figure (T = 20000, d = 5), by other code.
    #[test]
    fn the_numbers_are_those_of_the_formulas() {
        let near = |value: f64, expected: f64| {
            assert!((value / expected - 1.0).abs() < 1e-6, "{value} beside {expected}");
        };
        near(of_width(10.0, 5, 20_000), 25_759.347_21);
        near(SETTING.regret(20_000), 5_272_499.786);
        let flat = Corollary36 { smallest_eigenvalue: 0.0, ..SETTING };
        near(flat.regret(20_000), 8_421_990.841);
        near(anytime(1.0, 5, 1.0, 20_000), 151_190.128_6);
    }

    /// `sqrt T` where arms explore by themselves, `T^(3/4)` where they do not, up to logarithms.
    #[test]
    fn growth_is_what_the_text_says() {
        let slope = |of: &dyn Fn(u64) -> f64| {
            let (one, two) = (of(1 << 40), of(1 << 50));
            (two / one).log2() / 10.0
        };
        let flat = Corollary36 { smallest_eigenvalue: 0.0, ..SETTING };
        let (good, bad) = (slope(&|t| SETTING.regret(t)), slope(&|t| flat.regret(t)));
        assert!((0.5..0.57).contains(&good) && (0.75..0.82).contains(&bad), "{good} {bad}");
        assert!((0.75..0.82).contains(&slope(&|t| anytime(1.0, 5, 1.0, t))));
        // Privacy costs where it is bought.
        let loose = Corollary36 { epsilon: 10.0, ..SETTING };
        assert!(loose.regret(20_000) < 0.2 * SETTING.regret(20_000));
    }

    /// The number of the set with all its constants says nothing at the paper's horizon, as the report of `literal` says.
    #[test]
    fn theorem_3_4_is_vacuous_at_the_papers_horizon() {
        // No width below 1 is proved: ||theta*|| alone is 1.
        assert!(of_width(10.0, 5, 20_000) > 0.9 * 20_000.0);
        assert!(of_width(1.0, 5, 20_000) < 20_000.0);
    }
}
