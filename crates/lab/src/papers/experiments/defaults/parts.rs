//! `defaults/parts`: whether each part of a file of features is learnt at about the number of events that its estimate names, and the decisions of all parts
//! too.
//!
//! | file | contents |
//! | --- | --- |
//! | `files` | files of features: small ones, one-hot crosses, slow ticks and delays |
//! | `environment` | people and rewards for a file: effects of the assumed size, drawn part by part |
//!
//! Gain of a part at a release: what the best of ten random actions by the part's learnt parameters is worth by its true ones, as a share of what the best
//! by the true ones is worth. That of all parts: the same of the policy's own choice, by all true parameters. Both are over the same 400 decisions for
//! every release, and all trials together. The estimate names the first event at which the gain is one half, before any data are seen.

mod environment;
mod files;

use reticent::bandit::{Pace, PartsModel};

use self::{environment::FeatureEnvironment, files::File};
use super::{Claim, Extent, Judgement, Stage};
use crate::{Result, play::parallel::in_parallel, report::html as report};

/// An estimate is right within this factor either way.
const FACTOR: f64 = 2.0;
/// The gain at which a part counts as learnt.
const LEARNT: f64 = 0.5;

/// Share of the possible gain, by part; the last entry is for all parts.
#[derive(Clone, Default)]
struct Gained {
    events: u64,
    gained: Vec<f64>,
    possible: Vec<f64>,
}

/// The events at which a measured curve reaches one half. Curves of few trials go up and down, and their first crossing would come too early: the rising curve
/// nearest to it (least squares, by pooling neighbours) is taken, and between two releases the logarithm of events.
fn crossing(curve: &[Gained], part: usize) -> Option<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for at in curve {
        let mut pool = (at.gained[part] / at.possible[part], 1);
        while let Some(before) = pools.pop_if(|before| before.0 >= pool.0) {
            let count = before.1 + pool.1;
            pool = ((before.0 * before.1 as f64 + pool.0 * pool.1 as f64) / count as f64, count);
        }
        pools.push(pool);
    }
    let rising: Vec<f64> =
        pools.iter().flat_map(|pool| std::iter::repeat_n(pool.0, pool.1)).collect();
    let place = rising.iter().position(|gain| *gain >= LEARNT)?;
    let events = curve[place].events as f64;
    // The step of the first release is a real one: nothing was served before.
    let Some(before) = place.checked_sub(1).filter(|before| rising[*before] > 0.1) else {
        return Some(events);
    };
    let share = (LEARNT - rising[before]) / (rising[place] - rising[before]);
    let from = curve[before].events as f64;
    Some(from * (events / from).powf(share))
}

/// One row: a part of a file, its estimate and what was measured.
struct Row {
    file: &'static str,
    kind: &'static str,
    part: String,
    cells: u64,
    estimate: Option<u64>,
    measured: Option<f64>,
    last: u64,
}

impl Row {
    fn ratio(&self) -> Option<f64> {
        Some(self.measured? / self.estimate? as f64)
    }

    /// Near enough; or neither was reached within what was simulated.
    fn holds(&self) -> bool {
        match (self.ratio(), self.measured, self.estimate) {
            (Some(ratio), ..) => (1.0 / FACTOR..=FACTOR).contains(&ratio),
            (None, None, estimate) => {
                estimate.is_none_or(|events| events as f64 * FACTOR >= self.last as f64)
            }
            (None, Some(_), _) => false,
        }
    }
}

fn rows(file: &'static File, (trials, seed): (u64, u64)) -> Result<Vec<Row>> {
    let plan = file.plan()?;
    let model =
        PartsModel::new(&plan.learner, &plan.features).expect("files have parts that decide");
    let pace = Pace { per_tick: file.per_tick as f64, delay: file.delay as f64 };
    let estimate = model.outlook(&plan.learner, Some(pace))?;
    // Trials of two seeds share none.
    let first = seed.wrapping_mul(trials);
    let jobs: Vec<u64> = (0..trials).map(|trial| first.wrapping_add(trial)).collect();
    let curves =
        in_parallel(&jobs, |_, _| (), |seed| FeatureEnvironment::new(&plan, *seed).play(file))?;
    let mut sums: Vec<Gained> =
        curves[0].iter().map(|at| Gained { events: at.events, ..at.zeros() }).collect();
    for at in curves.iter().flat_map(|curve| curve.iter().enumerate()) {
        sums[at.0].add(at.1);
    }
    let last = sums.last().map_or(0, |at| at.events);
    let parts = estimate.parts.iter().map(|part| (part.part.clone(), part.cells, part.events));
    let cells = estimate.parts.iter().map(|part| part.cells).sum();
    let all = parts.chain([("all".to_string(), cells, estimate.all)]).enumerate();
    let row = |(place, (part, cells, estimate))| {
        let measured = crossing(&sums, place);
        Row { file: file.name, kind: file.kind, part, cells, estimate, measured, last }
    };
    Ok(all.map(row).collect())
}

impl Gained {
    fn zeros(&self) -> Self {
        Gained {
            events: self.events,
            gained: vec![0.0; self.gained.len()],
            possible: vec![0.0; self.gained.len()],
        }
    }

    fn add(&mut self, other: &Self) {
        self.gained.iter_mut().zip(&other.gained).for_each(|(sum, x)| *sum += x);
        self.possible.iter_mut().zip(&other.possible).for_each(|(sum, x)| *sum += x);
    }
}

/// The experiment.
pub fn parts(stage: &Stage) -> Result<Vec<Claim>> {
    let times = match stage.extent {
        Extent::Quick => 1,
        Extent::Full => 4,
    };
    let mut page = String::from(
        "| file | part | cells | estimate | measured | measured / estimate |\n| --- | --- | --: | --: | --: | --: |\n",
    );
    let mut found: Vec<Row> = Vec::new();
    for file in files::FILES {
        (stage.progress)(file.name);
        for row in rows(file, (times * file.trials, stage.seed(0)))? {
            let number = |events: Option<f64>| {
                events.map_or(format!("after {}", row.last), |events| format!("{events:.0}"))
            };
            let ratio = row.ratio().map_or(String::new(), |ratio| format!("{ratio:.2}"));
            let line = format!(
                "| {}: {} | {} | {} | {} | {} | {ratio} |\n",
                row.kind,
                row.file,
                row.part,
                row.cells,
                number(row.estimate.map(|events| events as f64)),
                number(row.measured),
            );
            (stage.progress)(line.trim());
            page.push_str(&line);
            found.push(row);
        }
    }
    report::write(stage.folder, "parts.md", &page)?;
    let claim = |kind: &str| {
        let of: Vec<&Row> = found.iter().filter(|row| row.kind == kind).collect();
        let mut ratios: Vec<f64> = of.iter().filter_map(|row| row.ratio()).collect();
        ratios.sort_by(f64::total_cmp);
        let wrong: Vec<String> = of
            .iter()
            .filter(|row| !row.holds())
            .map(|row| format!("{}, {}", row.file, row.part))
            .collect();
        Claim {
            claim: format!(
                "{kind}: parts are learnt from about as many events as their estimates name"
            ),
            judgement: Judgement::stated(wrong.is_empty(), (times * files::WIDE.trials) as usize),
            measured: format!(
                "{} of {} parts within {FACTOR}; measured/estimate from {:.2} to {:.2}, median {:.2}; outside: [{}]",
                of.len() - wrong.len(),
                of.len(),
                ratios.first().copied().unwrap_or(f64::NAN),
                ratios.last().copied().unwrap_or(f64::NAN),
                ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN),
                wrong.join("; ")
            ),
            expected: format!("within a factor of {FACTOR}"),
        }
    };
    Ok(["small", "crosses", "slow"].map(claim).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quick file in a few trials; an estimate that is ten times too low or too high is found out.
    #[test]
    fn a_wrong_estimate_is_found_out() {
        let mut rows = rows(&files::QUICK, (files::QUICK.trials, 0)).unwrap();
        for row in &mut rows {
            let ratio = row.ratio().unwrap_or(f64::NAN);
            assert!((0.25..4.0).contains(&ratio), "{} {}: {ratio}", row.file, row.part);
            let right = row.estimate;
            for wrong in [right.map(|events| events / 10), right.map(|events| events * 10)] {
                row.estimate = wrong;
                assert!(!row.holds(), "{}: {wrong:?} for {:?}", row.part, row.measured);
            }
        }
        assert!(rows.len() >= 2);
    }
}
