//! A decision without input and output: features of 20 actions in 16 dimensions, a choice, probabilities over 64 members.

use std::{hint::black_box, time::Instant};

use reticent::features::Report;

use super::request::{plan, rank_request};
use reticent_server::{
    Error, Result,
    loops::{Coins, RankRequest, decide},
};

/// Microseconds of a decision and of its parts.
pub(super) struct Work {
    pub decide: f64,
    pub features: f64,
    pub json: f64,
}

pub(super) fn measure() -> Result<Work> {
    let plan = plan()?;
    let text = rank_request(1);
    let request: RankRequest = serde_json::from_str(&text).map_err(Error::store)?;
    let policy = plan.begin()?.policy().clone();
    let mut row = vec![0.0; plan.features.dimension()];
    Ok(Work {
        decide: median(|i| {
            let coins = Coins { holdout: i, pick: i.wrapping_mul(0x9e37_79b9_7f4a_7c15) };
            let _ = black_box(decide(&plan, &policy, black_box(&request), coins));
        }),
        features: median(|_| {
            let mut seen = Report::default();
            let mut writer = plan.features.writer(&request.context, &mut seen);
            for action in &request.actions {
                writer.write(&action.features, &mut seen, &mut row);
                black_box(&row);
            }
        }),
        json: median(|_| {
            let _ = black_box(serde_json::from_str::<RankRequest>(black_box(&text)));
        }),
    })
}

/// The median time of a call in microseconds.
fn median(mut call: impl FnMut(u64)) -> f64 {
    const CALLS: u64 = 100;
    (0..200).for_each(&mut call);
    let mut times: Vec<f64> = (0..501)
        .map(|batch| {
            let started = Instant::now();
            (0..CALLS).for_each(|i| call(batch * CALLS + i));
            started.elapsed().as_secs_f64() * 1e6 / CALLS as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
