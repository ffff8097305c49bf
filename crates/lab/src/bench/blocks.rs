//! One round with a block of parameters an arm, 26 classes of 17: decide, then learn; arms in memory, exact noise.

use reticent::{
    bandit::{Arms, JointParams, LinUcbParams, LocalParams},
    noise::{Noise, SecureNoise},
    randomize::{Bounds, GramGaussian, Method, ReportParams},
    release::Structure,
};

use super::{Figure, stopwatch::nanoseconds};
use crate::{FastNoise, Result};

const CLASSES: usize = 26;
const FEATURES: usize = 17;
/// Rounds over which a curator's releases are spread, from the beginning.
const ROUNDS: u32 = 20_000;
/// Reports between two models, as in experiments.
const EVERY: u32 = 20;

pub fn figures() -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, structure) in [
        ("", Structure::blocks(CLASSES)),
        (", one feature shared", Structure { blocks: CLASSES, shared: 1 }),
    ] {
        // The same number of parameters for a block with and without the shared one.
        let bounds =
            Bounds { rewards: (0.0, 1.0), structure, ..Bounds::unit(FEATURES + structure.shared) };
        figures.push(linucb(name, bounds)?);
        figures.push(joint(name, bounds)?);
        figures.extend(local(name, bounds)?);
    }
    Ok(figures)
}

/// Eight people, each with an arm for every class.
fn people(dimension: usize) -> Result<Vec<Arms>> {
    let mut noise = FastNoise::seeded(1);
    let person = |_| {
        let x: Vec<f64> = (0..dimension).map(|_| noise.standard_normal()).collect();
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let x: Vec<f64> = x.iter().map(|x| x / norm).collect();
        Ok(Arms::in_blocks(dimension, &Vec::from_iter((0..CLASSES).map(|class| (class, &x))))?)
    };
    (0..8).map(person).collect()
}

fn linucb(name: &str, bounds: Bounds) -> Result<Figure> {
    let people = people(bounds.dimension)?;
    let (mut learner, mut round) = (LinUcbParams::new(bounds).check()?, 0);
    let time = nanoseconds(1_000, || {
        let arms = &people[round % people.len()];
        round += 1;
        let arm = learner.choose(arms, round as u64)?.arm;
        learner
            .observe_in_block(arms.block(arm), &arms.arm(arm), f64::from(arm as u32 & 1))
            .map(drop)
    });
    Ok(Figure::new(format!("LinUCB, decide and learn{name}"), 1e-3 * time, "us")
        .beside(20.0, "required, at most"))
}

/// With tickets, over a whole run: releases are many at first and fewer later.
fn joint(name: &str, bounds: Bounds) -> Result<Figure> {
    let people = people(bounds.dimension)?;
    let params = JointParams::new(bounds, 1.0, 1e-6, Some(u64::from(ROUNDS)));
    let time = nanoseconds(1, || {
        let mut learner = params.check()?.start(SecureNoise::from_system()?);
        for round in 0..ROUNDS as usize {
            let decision = learner.decide(&people[round % people.len()])?;
            learner.observe(decision.ticket, f64::from(decision.arm as u32 & 1))?;
        }
        Ok::<_, reticent::Error>(learner.releases())
    });
    let each = 1e-3 * time / f64::from(ROUNDS);
    Ok(Figure::new(format!("joint, decide and learn, over {ROUNDS} rounds{name}"), each, "us")
        .beside(20.0, "required, at most"))
}

fn local(name: &str, bounds: Bounds) -> Result<[Figure; 2]> {
    let people = people(bounds.dimension)?;
    let report = ReportParams {
        method: Some(Method::GramGaussian { split: GramGaussian::DEFAULT_SPLIT }),
        // One device reports repeatedly; its privacy cost does not matter here.
        contributions_per_person: 1 << 20,
        ..ReportParams::new(bounds, 1e6, 1e-5)
    };
    let plan = LocalParams::from(report).check()?;
    let mut server = plan.server();
    let model = server.publish()?;
    let mut person = plan.person(0, SecureNoise::from_system()?)?;
    let mut round = 0;
    let mut half = || {
        let arms = &people[round % people.len()];
        round += 1;
        let arm = person.choose(&model, arms)?;
        person.report_in_block(&model, arms.block(arm), &arms.arm(arm), 1.0)
    };
    let theirs = nanoseconds(20, &mut half);
    let mut reports = Vec::new();
    for _ in 0..400 {
        reports.push(half()?);
    }
    let mut next = 0;
    let server_part = nanoseconds(EVERY, || {
        next += 1;
        server.absorb(&reports[next % reports.len()])?;
        match next % EVERY as usize {
            0 => server.publish().map(drop),
            _ => Ok(()),
        }
    });
    let figure = |what: &str, time: f64| {
        Figure::new(format!("{what}{name}"), 1e-3 * time, "us").beside(200.0, "required, at most")
    };
    Ok([
        figure("local, device: choose and report", theirs),
        figure("local, the server's part: a report, and a model for every 20", server_part),
    ])
}
