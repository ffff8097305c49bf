//! Tests of the protection by the running code of sums that forget, against mpmath and against planted mistakes.

use super::*;
use crate::{
    noise::Noise,
    release::{
        Factor, Factorization,
        blt::Blt,
        testing::{Seeded, check_factor_deviation, columns},
    },
};

const VECTORS: &str = include_str!("../../../../../vectors/forgetting.csv");

fn half_life(steps: f64) -> HalfLife {
    HalfLife::new(steps, &Schedule::EveryRound).unwrap()
}

fn blt(steps: f64) -> Blt {
    Blt::forgetting(STEPS, 8, half_life(steps)).unwrap()
}

#[test]
fn norms_are_those_of_the_elliptic_integral() {
    let mut lines = 0;
    for line in VECTORS.lines().skip(1) {
        let mut numbers = line.split(',').map(str::parse::<f64>);
        let mut next = || numbers.next().unwrap();
        let (steps, forgotten, norm) = (next().unwrap(), next().unwrap(), next().unwrap());
        assert!((half_life(steps).forgotten() / forgotten - 1.0).abs() < 1e-14);
        let blt = blt(steps);
        let (column, row) = (blt.column_norm(), blt.prefix_deviation(STEPS));
        // Eight buffers are not the square root, but as good: the product of the norms decides.
        assert!((column * row / norm - 1.0).abs() < 3e-4, "{steps}: {column} {row} {norm}");
        assert!((column * column / norm - 1.0).abs() < 2e-3, "{steps}: {column} {norm}");
        // What ten visits in ten steps cost, beside ten in one step.
        if let (true, Ok(apart)) = (steps <= 50.0, next()) {
            let ten = window(&self::column(&blt, steps), 10);
            assert!((ten / (10.0 * column) / apart - 1.0).abs() < 2e-3, "{steps}: {ten} {apart}");
        }
        lines += 1;
    }
    assert_eq!(lines, 7);
}

/// The first column of C, from what the running code does, until nothing is left of it.
fn column(running: &Blt, steps: f64) -> Vec<f64> {
    let kept = half_life(steps).kept_after(1);
    columns(&Factor::Blt(running.clone()), kept, 30 * steps as usize + 20, 1).swap_remove(0)
}

fn norm(entries: impl IntoIterator<Item = f64>) -> f64 {
    entries.into_iter().map(|entry| entry * entry).sum::<f64>().sqrt()
}

/// Norm of the sum of `width` consecutive columns.
fn window(column: &[f64], width: usize) -> f64 {
    let entry = |row: usize| {
        (0..width).filter_map(|shift| column.get(row.checked_sub(shift)?)).sum::<f64>()
    };
    norm((0..column.len() + width).map(entry))
}

#[test]
fn the_norm_is_that_of_the_running_code_and_planted_mistakes_are_too_cheap() {
    for steps in [1.0, 10.0] {
        let blt = blt(steps);
        let first = column(&blt, steps);
        assert!((norm(first.clone()) / blt.column_norm() - 1.0).abs() < 1e-9);
        assert!(first.iter().all(|entry| *entry > -1e-12), "entries of 0 or more");
        // Whether a price for k visits is below what the running code lets k visits in one step move.
        let too_cheap = |price: f64, column: &[f64], k: f64| {
            k * norm(column.iter().copied()) > price * (1.0 + 1e-9)
        };
        for k in [1, 10] {
            assert!(!too_cheap(blt.person_norm(k), &first, k as f64));
        }
        // The norm of ten different columns; that of the first steps only; a C whose poles are scaled by g and whose weights are not.
        assert!(too_cheap(window(&first, 10), &first, 10.0));
        assert!(too_cheap(norm(first[..3].iter().copied()), &first, 1.0));
        let unscaled = blt.clone().with_weights_times(1.0 / half_life(steps).kept_after(1));
        assert!(too_cheap(blt.column_norm(), &column(&unscaled, steps), 1.0));
    }
}

/// Visits in any steps, each for the person or against them. The planted price is that of ten different columns.
#[test]
fn ten_visits_in_one_step_or_in_several_move_no_more_than_ten_times_one() {
    const VISITS: usize = 10;
    let blt = blt(10.0);
    let first = column(&blt, 10.0);
    let moved = |steps: &[usize], signs: &[f64]| {
        let entry = |row: usize| {
            let visits = steps.iter().zip(signs);
            visits.filter_map(|(step, sign)| Some(sign * first.get(row.checked_sub(*step)?)?)).sum()
        };
        norm((0..first.len() + 50).map(entry))
    };
    let (price, planted) = (blt.person_norm(VISITS as u64), window(&first, VISITS));
    let mut source = Seeded(9);
    for spread in [1_u64, 2, 5, 20] {
        let mut dearest = 0.0_f64;
        for _ in 0..200 {
            let steps = [(); VISITS].map(|()| source.below(spread) as usize);
            let signs = [(); VISITS].map(|()| if source.uniform() < 0.2 { -1.0 } else { 1.0 });
            dearest = dearest.max(moved(&steps, &signs)).max(moved(&steps, &[1.0; VISITS]));
        }
        assert!(dearest <= price * (1.0 + 1e-9), "{spread}: {dearest} above {price}");
        assert!(dearest > planted, "{spread}: {dearest} against {planted}");
    }
    // The planted price is right for ten visits in ten steps, and for nothing else.
    let apart: Vec<usize> = (0..VISITS).collect();
    assert!((moved(&apart, &[1.0; VISITS]) / planted - 1.0).abs() < 1e-9);
    assert!((moved(&[0; VISITS], &[1.0; VISITS]) / price - 1.0).abs() < 1e-9);
}

/// False alarms: see `testing`.
#[test]
fn the_noise_of_every_sum_is_what_is_said() {
    let forgets = Factor::Blt(Blt::forgetting(31, 8, half_life(5.0)).unwrap());
    let slower = Factor::Blt(Blt::forgetting(31, 8, half_life(10.0)).unwrap());
    check_factor_deviation(&forgets, &slower);
}

#[test]
fn bad_half_lives_are_refused() {
    for (forget, schedule, field) in [
        (0.0, Schedule::EveryRound, "forget"),
        (-3.0, Schedule::EveryRound, "forget"),
        (f64::NAN, Schedule::EveryRound, "forget"),
        (f64::INFINITY, Schedule::EveryRound, "forget"),
        (0.5, Schedule::Clock, "at least the gap"),
        (50.0, Schedule::constant(64), "at least the gap between them, 64"),
        (1e18, Schedule::Clock, "2^32 releases"),
        (5000.0, Schedule::default(), "schedule"),
        (5000.0, Schedule::Geometric { first: 8, rate: 0.1 }, "constant gaps"),
    ] {
        let error = HalfLife::new(forget, &schedule).unwrap_err().to_string();
        assert!(error.contains(field), "{forget} {schedule:?}: {error}");
    }
    assert!(HalfLife::new(64.0, &Schedule::constant(64)).is_ok());
}
