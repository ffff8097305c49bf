//! The learner of `examples/classes.toml` as a product would run it, with secure noise:
//!
//! ```sh
//! python3 examples/make_classes.py && cargo run --release -p reticent --example classes
//! ```

use reticent::{
    bandit::{Arms, JointParams},
    features::{FeaturesParams, Report, Value},
    noise::SecureNoise,
    randomize::Bounds,
    release::Structure,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::fs::read_to_string("results/classes/signals.csv")?;
    let mut lines = file.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let people: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    // Public, as the ranges of the numbers are.
    let states = ["a", "b", "c", "d", "e", "f", "g"];
    let ranges: Vec<String> =
        (0..9).map(|i| format!(r#""x{i}": {{ "range": [0, 15] }}"#)).collect();
    let context = format!(r#"{{ "context": {{ {} }}, "constant": false }}"#, ranges.join(", "));
    let features = serde_json::from_str::<FeaturesParams>(&context)?.check()?;
    let bounds = Bounds {
        rewards: (0.0, 1.0),
        intercept: Some(0.5_f64.sqrt()),
        structure: Structure { blocks: states.len(), shared: 0 },
        ..Bounds::unit(features.dimension() + 1)
    };
    let params = JointParams::new(bounds, 1.0, 1e-6, Some(people.len() as u64));
    let mut learner = params.check()?.start(SecureNoise::from_system()?);

    let (mut right, mut report) = (0, Report::default());
    let no_action = Value::from_iter::<[(&str, &str); 0]>([]);
    for cells in &people {
        let record = Value::from_iter(names.iter().copied().zip(cells.iter().copied()).take(9));
        // As a table has it: the direction of the features, and a constant as long as it.
        let mut row = features.vector(&record, &no_action, &mut report);
        let length = row.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-300);
        row.iter_mut().for_each(|x| *x /= length);
        row.push(1.0);
        row.iter_mut().for_each(|x| *x *= 0.5_f64.sqrt());
        let rows: Vec<_> = (0..states.len()).map(|block| (block, &row)).collect();
        let arms = Arms::in_blocks(row.len(), &rows)?;
        let decision = learner.decide(&arms)?;
        let correct = cells.get(9) == Some(&states[decision.arm]);
        learner.observe(decision.ticket, if correct { 1.0 } else { 0.0 })?;
        right += usize::from(correct);
    }
    println!("right: {:.4} of {} people", right as f64 / people.len() as f64, people.len());
    println!("{}", learner.guarantee()?);
    Ok(())
}
