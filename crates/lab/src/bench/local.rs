//! The local protocol as deployed: a person chooses among 100 arms and reports, on exact noise; the server absorbs the report.

use reticent::{
    bandit::LocalParams,
    noise::{Noise, SecureNoise},
    randomize::{GramGaussian, Method, ReportParams},
};

use super::{Figure, stopwatch::nanoseconds};
use crate::{
    FastNoise, Result,
    environment::{Environment, SphereParams},
};

pub fn figures() -> Result<Vec<Figure>> {
    let split = GramGaussian::DEFAULT_SPLIT;
    let methods = [
        ("Gram with Gaussian noise", Method::GramGaussian { split }, false),
        ("PrivUnit on the Gram", Method::UnitGram, false),
        ("PrivUnit on x and z", Method::UnitPair, false),
        ("randomised response", Method::RewardResponse, true),
    ];
    let sphere = SphereParams::published();
    let mut environment = sphere.start(1)?;
    let arms = environment.arms().clone();
    let mut figures = Vec::new();
    for (name, method, public_arms) in methods {
        let params = ReportParams {
            method: Some(method),
            public_arms,
            // One device reports repeatedly; its privacy cost does not matter here.
            contributions_per_person: 1 << 20,
            ..ReportParams::new(sphere.bounds(), 1e6, 1e-5)
        };
        let plan = LocalParams::from(params).check()?;
        let mut server = plan.server();
        let model = server.publish()?;
        let mut person = plan.person(0, SecureNoise::from_system()?)?;
        let mut coin = FastNoise::seeded(2);
        let time = nanoseconds(2_000, || {
            let arm = person.choose(&model, &arms)?;
            let reward = f64::from(u8::from(coin.bits() & 1 == 1));
            person.report(&model, &arms.arm(arm), reward)
        });
        figures.push(
            Figure::new(format!("device, {name}"), 1e-3 * time, "us")
                .beside(20.0, "required, at most"),
        );
        let reports = (0..2_000)
            .map(|_| Ok(person.report(&model, &arms.arm(0), 1.0)?))
            .collect::<Result<Vec<_>>>()?;
        let mut next = 0;
        let time = nanoseconds(2_000, || {
            next += 1;
            server.absorb(&reports[next % reports.len()])
        });
        figures.push(Figure::new(
            format!("a report at the server, decoded and looked up, {name}"),
            1e-3 * time,
            "us",
        ));
    }
    Ok(figures)
}
