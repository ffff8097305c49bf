//! Batches behind a shuffler: the server is the adversary and sees the output of the shuffler.
//!
//! | adversary | sees | guarantee |
//! | --- | --- | --- |
//! | of sums | the sum of a batch | the vector sum's |
//! | of permuted reports | all reports in their output order; statistics of the whole batch, and of its first and last slot | the amplified one |
//! | in control of the shuffler | the report itself | the local one, by `local` |
//!
//! Every other person in the batch holds the data of the first data set.

use reticent::{
    bandit::{Aggregation, Batch, Model, ShufflePlan},
    noise::Noise,
    privacy::Guarantee,
    randomize::{Bounds, Report},
};

use super::{Attack, AuditNoise, DataSet, NoiseKind, Test, View, local, neighbours::Datum};
use crate::{Result, play::trial::mix};

/// The largest number of reports in all runs on one data set.
const REPORTS: u64 = 1_000_000;

/// Attacks on the batches of a plan, and on its reports in case the shuffler is not trusted.
pub fn attacks(
    plan: &ShufflePlan,
    aggregation: Aggregation,
    batch: u64,
    people: &Bounds,
    guarantee: &Guarantee,
) -> Result<Vec<Attack>> {
    let samples = (REPORTS / batch.max(1)).clamp(2000, 50_000);
    let mut all = Vec::new();
    match aggregation {
        Aggregation::Sum => {
            let adversary = format!("sees the sum of a batch of {batch}; learned test");
            let (plan, people) = (plan.clone(), *people);
            all.push(Attack::new(adversary, guarantee, samples, move || {
                let neighbours = Neighbours::new(&plan, &people, batch)?;
                let view: View = Box::new(move |data, noise| {
                    Ok(neighbours.closed(data, noise)?.contents()[0].values.clone())
                });
                Ok((view, Test::Linear { difference: None }))
            }));
        }
        Aggregation::Permute => {
            for slots in [false, true] {
                let what = if slots { "its first and last slot" } else { "all reports" };
                let adversary = format!(
                    "sees a permuted batch of {batch}: {what}, nearness to the two people's data; learned test"
                );
                let (plan, people) = (plan.clone(), *people);
                all.push(Attack::new(adversary, guarantee, samples, move || {
                    let neighbours = Neighbours::new(&plan, &people, batch)?;
                    let near = Nearness::learn(&neighbours)?;
                    let view: View = Box::new(move |data, noise| {
                        let batch = neighbours.closed(data, noise)?;
                        Ok(if slots { near.of_slots(&batch) } else { near.of_batch(&batch) })
                    });
                    let test = if slots { Test::Scores } else { Test::Linear { difference: None } };
                    Ok((view, test))
                }));
            }
        }
    }
    Ok(all)
}

/// A batch on two data sets.
struct Neighbours {
    plan: ShufflePlan,
    model: Model,
    pair: (Datum, Datum),
    batch: u64,
}

impl Neighbours {
    fn new(plan: &ShufflePlan, people: &Bounds, batch: u64) -> Result<Self> {
        let model = plan.server().publish()?;
        let pair = local::worst(people, false, &|datum: &Datum, noise: AuditNoise| {
            let mut person = plan.person(noise)?;
            Ok(person.report(&model, &datum.features, datum.reward)?.values().to_vec())
        })?;
        Ok(Neighbours { plan: plan.clone(), model, pair, batch })
    }

    fn report(&self, datum: &Datum, noise: AuditNoise) -> Result<Report> {
        Ok(self.plan.person(noise)?.report(&self.model, &datum.features, datum.reward)?)
    }

    /// One batch; the attacked person reports last.
    fn closed(&self, data: DataSet, mut noise: AuditNoise) -> Result<Batch> {
        let mut shuffler = self.plan.shuffler(noise.split()?)?;
        for seat in 1..=self.batch {
            let first = &self.pair.0;
            let datum = if seat == self.batch { data.pick((first, &self.pair.1)) } else { first };
            if let Some(batch) = shuffler.absorb(&self.report(datum, noise.split()?)?)? {
                return Ok(batch);
            }
        }
        Err(reticent::Error::invalid("batch", self.batch, "the shuffler waits for more").into())
    }
}

/// The similarity of a report to the mean reports of the two people.
struct Nearness {
    means: [Vec<f64>; 2],
    /// Similarity levels that are counted.
    levels: [Vec<f64>; 2],
}

impl Nearness {
    fn learn(neighbours: &Neighbours) -> Result<Self> {
        const RUNS: u64 = 4000;
        let draw = |datum: &Datum, data: u64| {
            (0..RUNS)
                .map(|run| {
                    let seed = mix(0x4e45_4152, 2 * run + data);
                    let noise = AuditNoise::new(NoiseKind::Fast, seed)?;
                    Ok(neighbours.report(datum, noise)?.values().to_vec())
                })
                .collect::<Result<Vec<Vec<f64>>>>()
        };
        let samples = [draw(&neighbours.pair.0, 0)?, draw(&neighbours.pair.1, 1)?];
        let mean = |sample: &Vec<Vec<f64>>| {
            let mut mean = vec![0.0; sample[0].len()];
            for report in sample {
                mean.iter_mut().zip(report).for_each(|(m, x)| *m += x / RUNS as f64);
            }
            mean
        };
        let means = [mean(&samples[0]), mean(&samples[1])];
        let levels = [0, 1].map(|side: usize| {
            let mut near: Vec<f64> = samples[side].iter().map(|r| dot(&means[side], r)).collect();
            near.sort_by(f64::total_cmp);
            [0.1, 0.3, 0.5, 0.7, 0.9].map(|q| near[(q * near.len() as f64) as usize]).to_vec()
        });
        Ok(Nearness { means, levels })
    }

    /// For each person and level, the number of reports with at least that similarity; and the sums.
    fn of_batch(&self, batch: &Batch) -> Vec<f64> {
        let mut features = Vec::new();
        for (mean, levels) in self.means.iter().zip(&self.levels) {
            let near: Vec<f64> = batch.contents().iter().map(|r| dot(mean, &r.values)).collect();
            features.push(near.iter().sum());
            for level in levels {
                features.push(near.iter().filter(|n| *n >= level).count() as f64);
            }
        }
        features
    }

    fn of_slots(&self, batch: &Batch) -> Vec<f64> {
        let contents = batch.contents();
        let ends = [contents.first(), contents.last()].into_iter().flatten();
        ends.flat_map(|report| {
            [dot(&self.means[1], &report.values), -dot(&self.means[0], &report.values)]
        })
        .collect()
    }
}

fn dot(one: &[f64], two: &[f64]) -> f64 {
    one.iter().zip(two).map(|(a, b)| a * b).sum()
}
