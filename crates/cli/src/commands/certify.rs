//! `reticent certify`: the guarantees of an experiment or of a file of loops, as text, as JSON and as a page, and the chain of a loop's releases.

use std::{
    io::BufRead,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use clap::Args;
use reticent::error::message;
use reticent_lab::{
    Kinds, Override,
    audit::certify::{Certificates, certify},
};
use reticent_loops::{
    Certificate, HeadName, Rollback, Together, VerifiedChain, VerifiedRollback,
    config::{LoopOutlook, Plan, ServiceFile},
    page::{Entry, epsilon_text, file_page, guarantees_page, percent},
    verify_chain,
};
use serde::Serialize;

use super::{experiment, is_file_of_loops, read};
use crate::{error::Error, report::Report};

/// The guarantee of every algorithm of an experiment or of every loop of a file, as the accountant computes it; or the chain of a loop's releases.
#[derive(Args)]
#[command(
    after_help = "Example: reticent certify examples/joint.toml\n\nA page of a file of loops: reticent certify examples/loops.toml --page certificate.html\nA chain of releases:       reticent certify --chain releases.ndjson --head 17.00112233445566778899aabbccddeeff"
)]
pub struct Arguments {
    /// An experiment's TOML file, or a file of loops; nothing is run.
    #[arg(required_unless_present = "chain", conflicts_with = "chain")]
    file: Option<PathBuf>,
    /// Another value for a key of an experiment, such as algorithm.privacy.epsilon=0.5; may be given several times.
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<Override>,
    /// Write the guarantees as a printable page in plain words.
    #[arg(long, value_name = "HTML")]
    page: Option<PathBuf>,
    /// Verify a listing of a loop's releases, as /v1/loops/{loop}/releases gives it; "-" reads standard input.
    #[arg(long, value_name = "NDJSON", conflicts_with_all = ["page", "set"])]
    chain: Option<PathBuf>,
    /// A head that must lie on the chain, as a certificate names it or as the whole token of a client (its last part is not looked at).
    #[arg(long, value_name = "NUMBER.HASH", requires = "chain", value_parser = parse_head)]
    head: Option<HeadName>,
}

/// Prices every algorithm or loop, or verifies a chain.
pub fn run(arguments: Arguments, kinds: &Kinds) -> Result<Report, Error> {
    if let Some(chain) = &arguments.chain {
        return verify(chain, arguments.head);
    }
    let path = arguments.file.unwrap_or_default();
    let text = read(&path)?;
    if text.trim().is_empty() {
        let remedy = "expected an experiment's file, or a file of loops with a table [loop.NAME]";
        return Err(Error::Malformed { path, reason: message("text", "missing", remedy) });
    }
    if !is_file_of_loops(&text) {
        let certificates = certify(&experiment(&path, &arguments.set, kinds)?);
        let report = Report::new(certificates.table(), &certificates);
        return match arguments.page {
            None => Ok(report),
            Some(page) => written(report, &page, &experiment_page(&path, &certificates)?),
        };
    }
    let malformed = |error: reticent_loops::Error| Error::Malformed {
        path: path.clone(),
        reason: error.to_string(),
    };
    if !arguments.set.is_empty() {
        let remedy = "it changes keys of experiments, and this is a file of loops: leave it out";
        let reason = message("--set", "a value", remedy);
        return Err(Error::Malformed { path, reason });
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let file = ServiceFile::parse(&text).map_err(malformed)?;
    let plans = file.check_in(folder).map_err(malformed)?;
    let certified = Loops::new(&plans).map_err(malformed)?;
    let report = Report::new(certified.table(), &certified);
    match arguments.page {
        None => Ok(report),
        Some(page) => written(report, &page, &file_page(&plans, now()).map_err(malformed)?),
    }
}

/// Milliseconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

fn written(report: Report, path: &Path, page: &str) -> Result<Report, Error> {
    std::fs::write(path, page).map_err(|error| Error::Unwritable {
        path: path.to_path_buf(),
        reason: error.to_string(),
    })?;
    Ok(report.note([format!("the page is in {}", path.display())]))
}

fn experiment_page(path: &Path, certificates: &Certificates) -> Result<String, Error> {
    let entries: Vec<Entry<'_>> = certificates
        .algorithms
        .iter()
        .map(|algorithm| Entry {
            name: &algorithm.name,
            guarantee: algorithm.guarantee.as_ref(),
            remarks: &algorithm.remarks,
        })
        .collect();
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let origin = format!("Made by Reticent {} from {name}", env!("CARGO_PKG_VERSION"));
    Ok(guarantees_page("Privacy certificates", &origin, &entries)?)
}

/// The certificates of a file of loops.
#[derive(Serialize)]
struct Loops {
    loops: Vec<CertifiedLoop>,
    together: Together,
}

#[derive(Serialize)]
struct CertifiedLoop {
    #[serde(flatten)]
    certificate: Certificate,
    /// Sample size estimate.
    outlook: Option<LoopOutlook>,
}

impl Loops {
    fn new(plans: &[Plan]) -> Result<Self, reticent_loops::Error> {
        let made = now();
        let certified = |plan: &Plan| {
            let (certificate, outlook) = (Certificate::of_plan(plan, made)?, plan.outlook()?);
            Ok(CertifiedLoop { certificate, outlook })
        };
        let loops = plans.iter().map(certified).collect::<Result<_, reticent_loops::Error>>()?;
        Ok(Loops { loops, together: Together::of_plans(plans)? })
    }

    fn table(&self) -> String {
        let mut lines = Vec::new();
        for CertifiedLoop { certificate, outlook } in &self.loops {
            lines.push(format!("loop {}", certificate.name));
            lines.push(format!("  guarantee    {}", certificate.sentence));
            lines.push(format!(
                "  best odds    {} for an attacker's coin-flip guess",
                percent(certificate.best_guess)
            ));
            for row in &certificate.periods {
                let epsilon = epsilon_text(row.epsilon);
                let delta = certificate.guarantee.delta();
                lines.push(format!(
                    "  periods      {}: epsilon {epsilon} at delta {delta:e}",
                    row.periods
                ));
            }
            lines.extend(certificate.year.iter().map(|year| {
                let epsilon = epsilon_text(year.epsilon);
                let delta = certificate.guarantee.delta();
                let windows = year.periods;
                format!("  year         epsilon {epsilon} at delta {delta:e}, for the {windows} windows that it meets at most")
            }));
            for condition in &certificate.conditions {
                let word = condition.enforcement.word();
                lines.push(format!("  {word:<12} {} ({})", condition.text, condition.by));
            }
            lines.extend(certificate.ends.iter().map(|ends| format!("  end          {ends}")));
            lines.extend(outlook.iter().map(|outlook| format!("  outlook      {outlook}")));
            lines.push(format!("  generation   {}\n", certificate.params_hash));
        }
        lines.push("all loops together".into());
        match &self.together.sentence {
            Some(sentence) => lines.push(format!("  guarantee    {sentence}")),
            None => {
                lines.push("  no loop counts persons, so that no number holds for a person".into())
            }
        }
        if !self.together.without_persons.is_empty() {
            let names = self.together.without_persons.join(", ");
            lines.push(format!("  not in it    {names}: visits are not counted"));
        }
        lines.join("\n")
    }
}

/// A head, as a certificate prints it or as the token of an answer, `number.hash.code`. Only the service can check the code.
fn parse_head(text: &str) -> Result<HeadName, String> {
    let text = text.trim();
    let name = text.match_indices('.').nth(1).map_or(text, |(end, _)| &text[..end]);
    let remedy = "expected NUMBER.HASH with 32 hexadecimal digits, as a certificate prints it, or what stood in a header Reticent-Head";
    HeadName::parse(name).ok_or_else(|| remedy.into())
}

fn verify(path: &Path, head: Option<HeadName>) -> Result<Report, Error> {
    let malformed = |reason: String| Error::Malformed { path: path.to_path_buf(), reason };
    let lines: Box<dyn Iterator<Item = std::io::Result<String>>> = match path.to_str() {
        Some("-") => Box::new(std::io::stdin().lock().lines()),
        _ => {
            let unreadable = |error: std::io::Error| Error::Unreadable {
                path: path.to_path_buf(),
                reason: error.to_string(),
            };
            let file = std::fs::File::open(path).map_err(unreadable)?;
            Box::new(std::io::BufReader::new(file).lines())
        }
    };
    let found = verify_chain(lines, head).map_err(|error| malformed(error.to_string()))?;
    let report = Report::new(chain_text(&found), &found);
    Ok(match head.filter(|_| found.contains_head == Some(false)) {
        Some(head) => {
            let why = why_absent(&found, head.number);
            report.refute([format!("the head does not lie on this chain: {why}")])
        }
        None => report,
    })
}

/// Reason why a head of this number does not lie on a chain, as far as the listing shows it, and its meaning.
fn why_absent(found: &VerifiedChain, number: u64) -> String {
    let dropping = found.rollbacks.iter().find(|each| Some(each.number) == found.dropped_by);
    let Some(rollback) = dropping else {
        let VerifiedChain { first, last, .. } = found;
        return if number > *last {
            format!(
                "the listing ends with release {last}; one that was made later may contain it, else the head is of another chain"
            )
        } else if *first == 0 {
            "the listing holds no release; expected one from the beginning".to_string()
        } else if number == 0 {
            "the listing begins in another way: the head is of another store, loop or generation"
                .to_string()
        } else if number < *first {
            format!("the listing begins with release {first}; expected one from the beginning")
        } else {
            format!(
                "its release {number} is another one, and no rollback was accepted after it: the head or the listing is of another loop or store, or was \
                 changed, or two copies of the store have released beside each other, which is not charged yet: send the head to the service, which \
                 then stops and says how to accept it"
            )
        };
    };
    let charge = match rollback.rollback {
        Some(Rollback { after, replays }) => format!(
            "The store was rolled back to release {after}, which is charged as mu times sqrt({})",
            replays.saturating_add(1)
        ),
        None => "The store was rolled back, which is charged".to_string(),
    };
    let what = match rollback.left_out.filter(|_| rollback.leaves_out(number)) {
        Some((first, last)) => format!("left out releases {first} to {last} of the lost copy"),
        None => format!("may have dropped it: this chain has another release {number}"),
    };
    format!(
        "the accepted rollback {} {what}. {charge}. What was released before it stays released; the listing cannot show what it was, nor whether the \
         hash of the head is right",
        rollback.number
    )
}

fn chain_text(found: &VerifiedChain) -> String {
    let VerifiedChain { name, first, last, whole, hashes, head, chain, .. } = found;
    let beginning = match found.from_the_beginning {
        true => "from the beginning of the chain",
        false => "the releases before them are not listed, and not verified",
    };
    let kept = match found.contains_head {
        Some(true) => "the head lies on this chain",
        Some(false) => match found.dropped_by {
            Some(rollback) => {
                &format!("THE HEAD DOES NOT LIE ON THIS CHAIN: see rollback {rollback}")
            }
            None => "THE HEAD DOES NOT LIE ON THIS CHAIN",
        },
        None => "compare the head with one that you kept, or give it as --head",
    };
    let rollbacks: String = found.rollbacks.iter().map(rollback_text).collect();
    format!(
        "loop {name}: releases {first} to {last}, {beginning}\n  whole        {whole}, each with its hash\n  hash only    {hashes}\n{rollbacks}  head         {head}\n  chain        {chain}\n  {kept}"
    )
}

/// A rollback that was accepted, with what it is charged as.
fn rollback_text(found: &VerifiedRollback) -> String {
    let number = found.number;
    match found.rollback {
        Some(Rollback { after, replays }) => format!(
            "  rollback     {number}: rolled back to release {after}; charged as mu times sqrt({})\n",
            replays.saturating_add(1)
        ),
        None => format!("  rollback     {number}: of which only the hash is kept\n"),
    }
}
