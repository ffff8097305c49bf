//! `reticent-server serve --check`: certificates and outlooks of a file of loops, and the file's effects on a store.

use std::{fmt::Write, sync::Arc};

use serde::Serialize;

use super::{error::Error, report::Report, store::unexpected};
use crate::{
    clock::{Clock, SystemClock},
    config::{LoopOutlook, Plan, StorageOutlook},
    control::{Command, Reply, command},
    data::Data,
    loops::{
        self, Certificate, Limits, Together,
        page::{epsilon_text, percent},
    },
    secret::Secret,
    service::{Options, Outcome, Service, outcomes},
    store::MemoryStore,
};

/// Findings of `--check` about a loop.
#[derive(Serialize)]
struct Checked {
    certificate: Certificate,
    outlook: Option<LoopOutlook>,
    storage: StorageOutlook,
    tick_milliseconds: u64,
    /// Coordinates of the vector that is learnt on: those of the features, and a constant of the hold-out's where there is one.
    coordinates: usize,
    features: Vec<String>,
}

#[derive(Serialize)]
struct AllChecked {
    loops: Vec<Checked>,
    together: Together,
    /// Effects of the files on the store of `--data`.
    #[serde(skip_serializing_if = "Option::is_none")]
    generations: Option<Vec<Outcome>>,
}

/// Effects of these loops on the store of a folder, which stays as it is.
async fn outcomes_in(data: &Data, plans: &[Plan]) -> Result<Vec<Outcome>, Error> {
    let stored = match data.is_store() || data.database.is_some() {
        false => Vec::new(),
        true => match command(data, Command::Loops, SystemClock::default().now()).await? {
            Reply::Loops(stored) => stored,
            reply => return Err(unexpected(reply)),
        },
    };
    Ok(outcomes(&stored, plans)?)
}

/// Begins every loop in memory and prints its certificate.
pub(super) async fn check(plans: Vec<Plan>, data: Option<Data>) -> Result<Report, Error> {
    let generations = match &data {
        Some(data) => Some(outcomes_in(data, &plans).await?),
        None => None,
    };
    let service = Service::open(Options {
        plans,
        store: Arc::new(MemoryStore::new([0; 16])),
        clock: Arc::new(SystemClock::default()),
        people: Secret::new()?,
        earlier_people: Vec::new(),
        events: Secret::new()?,
        witness: None,
        limits: Limits::default(),
        seal_key: Some(Secret::new()?.seal_key()),
    })
    .await?;
    let mut checked = Vec::new();
    for loop_ in service.loops() {
        let plan = loop_.plan();
        checked.push(Checked {
            certificate: service.certificate(plan.name()).await?,
            outlook: plan.outlook()?,
            storage: loops::storage(&plan)?,
            tick_milliseconds: plan.tick(),
            coordinates: plan.coordinates(),
            features: plan.features().names(),
        });
    }
    let together = service.together().await?;
    let checked = AllChecked { loops: checked, together, generations };
    let warnings = |each: &Checked| {
        let outlook = each.outlook.as_ref();
        outlook.map_or(Vec::new(), |outlook| outlook.warnings(&each.certificate.name))
    };
    let warnings: Vec<String> = checked.loops.iter().flat_map(warnings).collect();
    Ok(Report::new(describe(&checked), &checked).warn(warnings))
}

fn describe(checked: &AllChecked) -> String {
    let mut text = String::new();
    for each in &checked.loops {
        let Checked { certificate, outlook, storage, tick_milliseconds, coordinates, .. } = each;
        let Certificate { name, sentence, best_guess, .. } = certificate;
        let _ = writeln!(
            text,
            "loop {name}: {coordinates} coordinates, a release every {} s",
            *tick_milliseconds as f64 / 1000.0
        );
        let _ = writeln!(text, "  {sentence}");
        let _ = writeln!(
            text,
            "  An attacker's coin-flip guess improves to at most {}.",
            percent(*best_guess)
        );
        for condition in &certificate.conditions {
            let state = condition.enforcement.word();
            let _ = writeln!(text, "  [{state}] {}: {}", condition.text, condition.by);
        }
        for several in &certificate.periods {
            let plural = if several.periods == 1 { "" } else { "s" };
            let epsilon = epsilon_text(several.epsilon);
            let delta = certificate.guarantee.delta();
            let _ = writeln!(
                text,
                "  {} period{plural}: epsilon {epsilon} at delta {delta:e}",
                several.periods
            );
        }
        if let Some(year) = &certificate.year {
            let epsilon = epsilon_text(year.epsilon);
            let delta = certificate.guarantee.delta();
            let _ = writeln!(
                text,
                "  a year: epsilon {epsilon} at delta {delta:e}, for the {} windows that it meets at most",
                year.periods
            );
        }
        if let Some(ends) = &certificate.ends {
            let _ = writeln!(text, "  {ends}");
        }
        if let Some(outlook) = outlook {
            let _ = writeln!(text, "  outlook: {outlook}");
        }
        let _ = writeln!(text, "  storage: {storage}");
        text.push('\n');
    }
    for outcome in checked.generations.iter().flatten() {
        let _ = writeln!(text, "{outcome}");
    }
    if let Some(sentence) = &checked.together.sentence {
        let _ = writeln!(text, "all loops together: {sentence}");
    }
    for name in &checked.together.without_persons {
        let _ = writeln!(text, "{name}: protects decisions, not persons, and is not in the sum");
    }
    text
}
