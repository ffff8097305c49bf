use super::*;
use crate::{noise::Noise, release::testing::Seeded};

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn combine(rows: &[Vec<f64>], multipliers: &[f64], column: usize) -> f64 {
    rows.iter().zip(multipliers).map(|(row, z)| row[column] * z).sum()
}

/// Checks an outcome against the definition of its certificate.
fn certify(rows: &[Vec<f64>], bounds: &[f64], objective: &[f64], outcome: &Outcome) -> bool {
    let n = objective.len();
    match outcome {
        Outcome::Optimal { value, point, multipliers } => {
            let feasible = rows.iter().zip(bounds).all(|(row, b)| dot(row, point) <= b + 1e-8);
            let dual = (0..n).all(|j| (combine(rows, multipliers, j) - objective[j]).abs() < 1e-8);
            let equal = (dot(multipliers, bounds) - value).abs() < 1e-7 * (1.0 + value.abs());
            feasible && dual && equal && multipliers.iter().all(|&z| z >= 0.0)
        }
        Outcome::Unbounded { direction } => {
            rows.iter().all(|row| dot(row, direction) <= 1e-9) && dot(objective, direction) > 1e-9
        }
        Outcome::Infeasible { multipliers } => {
            multipliers.iter().all(|&z| z >= 0.0)
                && (0..n).all(|j| combine(rows, multipliers, j).abs() < 1e-8)
                && dot(multipliers, bounds) < -1e-12
        }
        Outcome::Stalled => false,
    }
}

#[test]
fn every_outcome_has_a_valid_certificate_on_random_programs() {
    let mut noise = Seeded(3);
    let mut seen = [0; 3];
    for case in 0..3000 {
        let n = 1 + noise.below(6) as usize;
        let p = 1 + noise.below(20) as usize;
        // Small integers make ties and degenerate corners common.
        let integer = case % 2 == 0;
        let mut number = || {
            let real = 2.0 * noise.uniform() - 1.0;
            if integer { (3.0 * real).round() } else { real }
        };
        let rows: Vec<Vec<f64>> = (0..p).map(|_| (0..n).map(|_| number()).collect()).collect();
        let objective: Vec<f64> = (0..n).map(|_| number()).collect();
        let bounds: Vec<f64> = (0..p).map(|_| number() + 0.5).collect();
        let outcome = maximize(&rows, &bounds, &objective);
        assert!(certify(&rows, &bounds, &objective, &outcome), "{case}: {outcome:?}");
        seen[match outcome {
            Outcome::Optimal { .. } => 0,
            Outcome::Unbounded { .. } => 1,
            _ => 2,
        }] += 1;
    }
    assert!(seen.iter().all(|&count| count > 300), "{seen:?}");
    // The checker rejects a wrong certificate.
    let wrong = Outcome::Optimal { value: 1.0, point: vec![1.0], multipliers: vec![0.9] };
    assert!(!certify(&[vec![1.0]], &[1.0], &[1.0], &wrong));
}

#[test]
fn beales_example_of_cycling_ends() {
    let mut dictionary = Dictionary::default();
    dictionary.restart(&[0.0, 0.0, 1.0]);
    let columns = [
        (0.75, [0.25, 0.5, 0.0]),
        (-150.0, [-60.0, -90.0, 0.0]),
        (0.02, [-1.0 / 25.0, -1.0 / 50.0, 1.0]),
        (-6.0, [9.0, 3.0, 0.0]),
    ];
    for (cost, column) in columns {
        dictionary.push(cost, 0.0, &column);
    }
    assert_eq!(dictionary.solve(), Status::Optimal);
    let value: f64 =
        columns.iter().enumerate().map(|(k, (c, _))| c * dictionary.value(3 + k)).sum();
    assert!((value - 0.05).abs() < 1e-12, "{value}");
    assert!(dictionary.steps() < 40);
}

#[test]
fn columns_added_later_end_where_columns_added_at_once_do() {
    let mut noise = Seeded(8);
    for _ in 0..200 {
        let (p, n) = (2 + noise.below(5) as usize, 3 + noise.below(8) as usize);
        let mut number = |low: f64| low + (1.0 - low) * noise.uniform();
        let bounds: Vec<f64> = (0..p).map(|_| number(0.1)).collect();
        let columns: Vec<(f64, Vec<f64>)> =
            (0..n).map(|_| (number(-1.0), (0..p).map(|_| number(-0.2)).collect())).collect();
        let solve = |stages: &[usize]| {
            let mut dictionary = Dictionary::default();
            dictionary.restart(&bounds);
            let mut status = Status::Optimal;
            let mut from = 0;
            for &to in stages {
                for (cost, column) in &columns[from..to] {
                    dictionary.push(*cost, 0.0, column);
                }
                status = dictionary.solve();
                from = to;
                if status != Status::Optimal {
                    break;
                }
            }
            let mut value = 0.0;
            dictionary.for_each_value(|k, x| value += columns[k].0 * x);
            (status == Status::Optimal).then_some(value)
        };
        let (once, stepwise) = (solve(&[n]), solve(&[n / 3, n / 2, n]));
        match (once, stepwise) {
            (Some(a), Some(b)) => assert!((a - b).abs() < 1e-9, "{a} {b}"),
            (a, b) => assert!(a.is_none() && b.is_none()),
        }
    }
}

#[test]
fn ties_go_to_the_second_objective() {
    // x + y <= 1, both worth 1: the second objective decides.
    for (second, expected) in [([0.0, 1.0], [0.0, 1.0]), ([1.0, 0.0], [1.0, 0.0])] {
        let mut dictionary = Dictionary::default();
        dictionary.restart(&[1.0]);
        let x = dictionary.push(1.0, second[0], &[1.0]);
        let y = dictionary.push(1.0, second[1], &[1.0]);
        assert_eq!(dictionary.solve(), Status::Optimal);
        assert_eq!([dictionary.value(x), dictionary.value(y)], expected);
    }
}

/// The artificial variable of phase one is not visited, and columns pushed after it get consecutive numbers.
#[test]
fn the_artificial_variable_leaves_no_trace() {
    // x + y >= 1 (violated at 0), x <= 2, y <= 2.
    let mut dictionary = Dictionary::default();
    dictionary.restart(&[-1.0, 2.0, 2.0]);
    dictionary.push(-1.0, 0.0, &[-1.0, 1.0, 0.0]);
    dictionary.push(-2.0, 0.0, &[-1.0, 0.0, 1.0]);
    assert_eq!(dictionary.solve(), Status::Optimal);
    let third = dictionary.push(-0.5, 0.0, &[-1.0, 1.0, 0.0]);
    assert_eq!(third, 3 + 2);
    assert_eq!(dictionary.solve(), Status::Optimal);
    let mut values = [0.0; 3];
    dictionary.for_each_value(|k, x| values[k] = x);
    assert_eq!(values, [0.0, 0.0, 1.0]);
    // x + y >= 9 is infeasible: the artificial variable stays in the dictionary and is not visited either.
    dictionary.restart(&[-9.0, 2.0, 2.0]);
    dictionary.push(-1.0, 0.0, &[-1.0, 1.0, 0.0]);
    dictionary.push(-2.0, 0.0, &[-1.0, 0.0, 1.0]);
    assert_eq!(dictionary.solve(), Status::Infeasible);
    dictionary.for_each_value(|k, _| assert!(k < 2));
}
