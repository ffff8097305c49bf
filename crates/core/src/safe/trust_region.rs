//! The largest value of a quadratic on a sphere, in the quadratic's eigenbasis.
//!
//! ```text
//! max sum lambda_i z_i^2 + 2 b_i z_i   subject to   ||z|| = r
//! ```
//!
//! The maximiser is `z_i = b_i / (eta - lambda_i)` with `eta >= max lambda` such that the norm is r (More and Sorensen 1983). With
//! `eta = max lambda + delta` no difference of nearly equal numbers occurs. Where b has no part along the top eigenvectors and the rest is
//! too short (the hard case), the missing length is laid along the first of them, upwards: the rule that breaks that tie.

/// Eigenvalues this close to the largest, relative to the spread, are one eigenvalue.
const SAME: f64 = 1e-14;

/// Writes the maximiser into `z`.
pub(super) fn maximize_on_sphere(lambda: &[f64], b: &[f64], radius: f64, z: &mut Vec<f64>) {
    let top = lambda.iter().fold(f64::NEG_INFINITY, |most, &l| most.max(l));
    let size = lambda.iter().fold(0.0, |most: f64, l| most.max(l.abs()));
    let gap = |l: f64| {
        let gap = top - l;
        if gap <= SAME * size { 0.0 } else { gap }
    };
    z.clear();
    z.resize(b.len(), 0.0);
    let length = b.iter().map(|b| b * b).sum::<f64>().sqrt();
    let top_length = b.iter().zip(lambda).filter(|(_, l)| gap(**l) == 0.0);
    let top_length = top_length.map(|(b, _)| b * b).sum::<f64>().sqrt();
    // No coordinate is longer than the whole: each bounds delta from below.
    let from_below = |delta: f64, (b, l): (&f64, &f64)| delta.max(b.abs() / radius - gap(*l));
    let mut delta = b.iter().zip(lambda).fold(top_length / radius, from_below);
    // ||z|| and sum z_i^2 / (delta + gap_i), the parts of Newton's step on 1/||z||.
    let mut place = |delta: f64| {
        let (mut square, mut slope) = (0.0, 0.0);
        for ((z, b), l) in z.iter_mut().zip(b).zip(lambda) {
            let distance = delta + gap(*l);
            *z = if *b == 0.0 { 0.0 } else { b / distance };
            square += *z * *z;
            slope += if *z == 0.0 { 0.0 } else { *z * *z / distance };
        }
        (square.sqrt(), slope)
    };
    if length > 0.0 {
        // From the left of the root Newton's method on 1/||z|| climbs to it without a safeguard.
        let (mut low, mut high) = (delta, length / radius);
        for _ in 0..60 {
            let (norm, slope) = place(delta);
            let excess = (norm - radius) / radius;
            if excess.abs() <= 4.0 * f64::EPSILON || slope == 0.0 {
                break;
            }
            if excess > 0.0 {
                low = delta;
            } else {
                if delta == 0.0 {
                    break;
                }
                high = delta;
            }
            let newton = delta + norm * norm / slope * excess;
            let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
            if next == delta {
                break;
            }
            delta = next;
        }
    }
    let norm = z.iter().map(|z| z * z).sum::<f64>().sqrt();
    if norm < radius * (1.0 - 1e-12) && top_length == 0.0 {
        let missing = ((radius - norm) * (radius + norm)).sqrt();
        if let Some(first) = lambda.iter().position(|l| gap(*l) == 0.0) {
            z[first] = missing;
        }
    } else if norm > 0.0 {
        z.iter_mut().for_each(|z| *z *= radius / norm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{noise::Noise, release::testing::Seeded};

    fn value(lambda: &[f64], b: &[f64], z: &[f64]) -> f64 {
        (0..z.len()).map(|i| lambda[i] * z[i] * z[i] + 2.0 * b[i] * z[i]).sum()
    }

    #[test]
    fn no_point_of_the_sphere_is_better() {
        let mut noise = Seeded(2);
        let mut z = Vec::new();
        for case in 0..2000 {
            let n = 1 + noise.below(5) as usize;
            let mut lambda: Vec<f64> = (0..n).map(|_| noise.uniform() * 4.0 - 2.0).collect();
            let mut b: Vec<f64> = (0..n).map(|_| noise.uniform() * 2.0 - 1.0).collect();
            match case % 5 {
                1 => b[n - 1] = 0.0,
                2 => {
                    // The hard case: nothing along the top, and a short rest.
                    lambda[0] = 3.0;
                    b[0] = 0.0;
                    b.iter_mut().for_each(|b| *b *= 0.1);
                }
                3 => lambda.fill(1.0),
                4 => b.iter_mut().for_each(|b| *b *= 1e-9),
                _ => {}
            }
            let radius = 0.1 + 3.0 * noise.uniform();
            maximize_on_sphere(&lambda, &b, radius, &mut z);
            let norm = z.iter().map(|z| z * z).sum::<f64>().sqrt();
            assert!((norm / radius - 1.0).abs() < 1e-12, "case {case}: {norm} {radius}");
            let best = value(&lambda, &b, &z);
            // First order: the gradient is a multiple eta of z; second order: eta >= every lambda. Both are sufficient.
            let eta: f64 =
                (0..n).map(|i| (lambda[i] * z[i] + b[i]) * z[i]).sum::<f64>() / norm.powi(2);
            for i in 0..n {
                assert!((lambda[i] * z[i] + b[i] - eta * z[i]).abs() < 1e-9, "case {case}");
                assert!(eta > lambda[i] - 1e-9, "case {case}");
            }
            for _ in 0..20 {
                let other: Vec<f64> = (0..n).map(|_| noise.standard_normal()).collect();
                let size = other.iter().map(|z| z * z).sum::<f64>().sqrt();
                let other: Vec<f64> = other.iter().map(|z| z * radius / size).collect();
                assert!(value(&lambda, &b, &other) <= best + 1e-10);
            }
        }
    }
}
