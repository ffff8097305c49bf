//! Time of a tick and size of what is stored, with a number for each entry of `x x^T` and with merged sums.
//!
//! `cargo run --release -p reticent --example merged_sums`

use std::time::Instant;

use reticent::{
    bandit::Rule,
    features::{Encoding, FeaturesParams, Value, Weighting},
    noise::SecureNoise,
    release::{Calibration, ContributionSums, Domain, Merging, PrivateSumParams, Schedule},
    wire::to_json,
};

fn words(count: usize) -> Encoding {
    Encoding::Categories((0..count).map(|word| word.to_string()).collect())
}

/// Features of a radio (260 coordinates) and of a news site (512).
fn tables() -> [FeaturesParams; 2] {
    let crossed = |mut params: FeaturesParams, pairs: &[[&str; 2]]| {
        params.cross.with = pairs.iter().map(|pair| pair.map(String::from).to_vec()).collect();
        params.weighting = Weighting::Groups;
        params
    };
    let radio = FeaturesParams::new(
        [("hour", words(12)), ("country", words(10)), ("device", words(4))],
        [("genre", words(10)), ("language", words(8)), ("length", Encoding::Range(0.0, 1.0))],
    );
    let pairs = [["hour", "genre"], ["country", "language"], ["device", "genre"]];
    let action = [("topic", words(15)), ("length", Encoding::Range(0.0, 1.0))];
    let news = FeaturesParams::new([("segment", words(33))], action);
    [crossed(radio, &pairs), crossed(news, &[["segment", "topic"]])]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const TICKS: u32 = 3;
    const PEOPLE: usize = 1000;
    println!("d    sums    tick: sum and release / policy, ms   stored: release / state, KB");
    for table in tables() {
        let plan = table.check()?;
        let (d, levels) = (plan.dimension(), plan.levels()?);
        let rule = Rule::TWO_LEVEL.with_levels(|| Ok(levels.clone()))?;
        let word = |person: usize, many: usize| (person * 7919 % 10_007 % many).to_string();
        let row = |person: usize| {
            let context = [("hour", 12), ("country", 10), ("device", 4), ("segment", 33)];
            let context = context.map(|(name, many)| (name, word(person, many)));
            let action = [("genre", 10), ("language", 8), ("topic", 15), ("length", 1)];
            let action = action.map(|(name, many)| (name, word(person + 1, many)));
            plan.rows_alone(&Value::from_iter(context), &[Value::from_iter(action)]).remove(0)
        };
        let rows: Vec<Vec<f64>> = (0..PEOPLE).map(row).collect();
        for domain in [
            Domain::regression(d, 1.0, 1.0),
            Domain::merged(Merging::new(levels.clone()), 1.0, 1.0),
        ] {
            let policies = rule.plan(domain.clone(), None, None)?;
            let params = PrivateSumParams {
                schedule: Schedule::Clock,
                forget: Some(1000.0),
                contributions_per_person: 10,
                ..PrivateSumParams::new(
                    domain.clone(),
                    None,
                    Calibration::Budget { epsilon: 4.0, delta: 1e-6 },
                )
            };
            let mut sum = params.check()?.start(SecureNoise::from_system()?);
            let (mut released, mut decided) = (f64::INFINITY, f64::INFINITY);
            let (mut of_release, mut of_state) = (0, 0);
            for _ in 0..TICKS {
                let start = Instant::now();
                let mut since = ContributionSums::new(sum.clipper().clone());
                for row in &rows {
                    since.add(&sum.clip_with_reward(row, 0.5)?)?;
                }
                let release = sum.tick(&mut since)?;
                released = released.min(start.elapsed().as_secs_f64());
                let start = Instant::now();
                policies.policy(&release)?;
                decided = decided.min(start.elapsed().as_secs_f64());
                (of_release, of_state) = (to_json(&release).len(), sum.save().len());
            }
            println!(
                "{d}  {:6}  {:8.1} / {:6.1}                   {:8} / {}",
                domain.matrix_coordinates(),
                1e3 * released,
                1e3 * decided,
                of_release / 1000,
                of_state / 1000,
            );
        }
    }
    Ok(())
}
