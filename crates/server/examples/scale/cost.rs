//! What a month costs, at prices that are parameters.

use std::fmt::Write;

use super::{Parameters, messages::Sizes, people, placement};

/// Hours of a month.
const HOURS: f64 = 730.0;

/// Bytes of an answer to a question, headers included.
const ANSWER: f64 = 1_500.0;

/// One line of a bill.
struct Line {
    what: String,
    amount: String,
    dollars: f64,
}

/// The bill of loops with a curator.
fn curated(parameters: &Parameters) -> Vec<Line> {
    let Parameters { ranks, rewards, .. } = *parameters;
    let databases = placement::databases(parameters) * parameters.database_cores;
    let calls = ranks * (1.0 + rewards);
    let cores = (calls / parameters.service_events / parameters.utilisation).ceil();
    let month = ranks * parameters.busy_seconds();
    let disk = ranks * parameters.load * 86_400.0 * parameters.retained_days * parameters.row_bytes;
    let sent = month * ANSWER / 1e9;
    let between = month * parameters.row_bytes / 1e9;
    vec![
        line("cores of databases", databases, HOURS * parameters.database_core_hour, "cores"),
        line("cores of the service", cores, HOURS * parameters.core_hour, "cores"),
        line("disk", disk / 1e9, parameters.disk_gb, "GB"),
        line("rows to databases in another zone", between, parameters.zone_gb, "GB"),
        line("answers to the internet", sent, parameters.egress_gb, "GB"),
    ]
}

/// The bill of loops of devices.
fn devices(parameters: &Parameters, sizes: &Sizes) -> Vec<Line> {
    let Parameters { reports, .. } = *parameters;
    let cores = |rate: f64| (rate / parameters.utilisation).ceil();
    let month = reports * parameters.busy_seconds();
    let models = parameters.fetches * month * sizes.model / 1e9;
    let hour = HOURS * parameters.core_hour;
    let handshakes = cores(parameters.handshake * reports / parameters.handshakes_core);
    // An id is 24 bytes; a machine has 2 GB of memory a core.
    let ids = cores(reports * parameters.late_seconds * 24.0 / 2e9);
    vec![
        line("cores that take reports", cores(reports / parameters.reports_core), hour, "cores"),
        line("cores that make TLS handshakes", handshakes, hour, "cores"),
        line("cores whose memory holds ids", ids, hour, "cores"),
        line("models from a content delivery network", models, parameters.cached_gb, "GB"),
    ]
}

fn line(what: &str, amount: f64, price: f64, unit: &str) -> Line {
    let dollars = amount * price;
    Line { what: what.into(), amount: format!("{} {unit}", people(amount)), dollars }
}

/// Both bills.
pub fn table(parameters: &Parameters, sizes: &Sizes) -> String {
    let mut text = String::new();
    for (name, unit, rate, lines) in [
        ("Loops with a curator", "questions", parameters.ranks, curated(parameters)),
        ("Loops of devices", "reports", parameters.reports, devices(parameters, sizes)),
    ] {
        let all: f64 = lines.iter().map(|line| line.dollars).sum();
        let month = rate * parameters.busy_seconds();
        let _ = writeln!(
            text,
            "| {name} | amount | dollars a month | of all |\n| --- | --- | --- | --- |"
        );
        for Line { what, amount, dollars } in lines {
            let share = placement::percent(dollars / all);
            let _ = writeln!(text, "| {what} | {amount} | {} | {share} |", people(dollars));
        }
        let _ = writeln!(
            text,
            "| **all** | {} million {unit} | {} | {:.3} dollars a million |\n",
            people(month / 1e6),
            people(all),
            all / (month / 1e6),
        );
    }
    text
}
