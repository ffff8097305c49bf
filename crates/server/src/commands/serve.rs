//! `reticent-server serve`: private decisions over HTTP.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use clap::Args;

use super::{
    check::check,
    error::Error,
    listen::{TlsArguments, parse_listen},
    notify::tell_systemd,
    place::database,
    process::{log_to_stderr, runtime, stop_signal},
    read,
    report::Report,
};
use crate::{
    config::{LimitParams, Plan, ServiceFile},
    data::Data,
    demo,
    http::HttpLimits,
    loops::Limits,
    run::RunOptions,
};

/// Serves loops over HTTP until it is stopped: decisions, rewards, releases by the clock, certificates.
#[derive(Args)]
#[command(after_help = "Example: reticent-server serve --config loops.toml --data data")]
pub struct Arguments {
    /// The file of loops.
    #[arg(long, required_unless_present = "demo")]
    config: Option<PathBuf>,
    /// The folder that everything is kept in; it is made if there is none.
    #[arg(long, required_unless_present_any = ["demo", "check"])]
    data: Option<PathBuf>,
    /// A PostgreSQL database in place of the store in the folder, for several machines: postgres://user@host/database. RETICENT_DATABASE is
    /// read if this is not given, since others on the machine may see the arguments of a command.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Address to listen on. Other addresses than those of this machine need TLS or --behind-proxy.
    #[arg(long, default_value = "127.0.0.1:8080", value_parser = parse_listen)]
    listen: SocketAddr,
    #[command(flatten)]
    tls: TlsArguments,
    /// A file on another filesystem that shows whether the store was rolled back. It must never be restored together with the data.
    #[arg(long, value_name = "PATH")]
    witness: Option<PathBuf>,
    /// The witness that this store was served with is lost: serve it all the same.
    #[arg(long)]
    witness_lost: bool,
    /// The keys that persons are hashed with, the present one first; people.key in the folder of the data by default. Back it up apart from the
    /// data; `reticent-server key rotate-people` puts a new key in front.
    #[arg(long, value_name = "PATH")]
    people_key: Option<PathBuf>,
    /// Keys of persons that this database was served with are lost: serve it all the same. People are answered; loops that count visits learn nothing until nothing counts under the
    /// lost keys any more.
    #[arg(long)]
    people_key_lost: bool,
    /// Check the files and print every loop's certificate and outlook; serve nothing. With --data, say for each loop whether the files continue the generation that the store has or
    /// begin another one, and epsilon before and after; a service may run there at the same time.
    #[arg(long)]
    check: bool,
    /// Serve a loop with simulated visitors.
    #[arg(long, conflicts_with_all = ["config", "data", "database", "check"])]
    demo: bool,
}

/// Serves, or checks the files.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    let (plans, limited) = match &arguments.config {
        Some(config) => {
            let folder = config.parent().unwrap_or(Path::new(""));
            let plans = ServiceFile::parse(&read(config)?)
                .and_then(|file| Ok((file.check_in(folder)?, file.limits)));
            plans.map_err(|error| Error::Malformed {
                path: config.clone(),
                reason: error.to_string(),
            })?
        }
        None => (demo::plans()?, LimitParams::default()),
    };
    let warnings_of = |plan: &Plan| plan.params().warnings(plan.name());
    let mut warnings: Vec<String> = plans.iter().flat_map(warnings_of).collect();
    if arguments.demo {
        // Its file is the program's own: a viewer of the demonstration cannot change it.
        warnings.clear();
    }
    let limits = arguments.tls.limits(HttpLimits::of(&limited));
    let listen = arguments.tls.listen_on(arguments.listen);
    listen.check()?;
    let runtime = runtime()?;
    if arguments.check {
        if let Some(tls) = &listen.tls {
            tls.open()?;
        }
        let data = match arguments.data {
            Some(folder) => Some(Data { folder, database: database(arguments.database)? }),
            None => None,
        };
        return Ok(runtime.block_on(check(plans, data))?.warn(warnings));
    }
    let folder = Folder::new(arguments.data);
    log_to_stderr(if arguments.demo { "warn" } else { "info" })?;
    for warning in &warnings {
        say!("warning: {warning}");
    }
    let scheme = listen.scheme();
    let names: Vec<String> = plans.iter().map(|plan| plan.name().to_string()).collect();
    let options = RunOptions {
        plans,
        data: Data {
            folder: folder.path.clone(),
            database: if arguments.demo { None } else { database(arguments.database)? },
        },
        people_key: arguments.people_key,
        people_key_lost: arguments.people_key_lost,
        witness: arguments.witness,
        witness_lost: arguments.witness_lost,
        listen,
        requests: Limits::of(&limited),
        limits,
        visitors: arguments.demo,
    };
    let ready = |address, key: Option<String>| {
        say!("serving {} on {scheme}://{address}", names.join(", "));
        tell_systemd("READY=1");
        if let Some(key) = key {
            say!("open {scheme}://{address} in a browser and sign in with");
            say!("{key}");
            say!("simulated visitors come for an hour; Ctrl-C stops");
        }
    };
    runtime.block_on(async {
        let stop = stop_signal()?;
        Ok::<_, Error>(crate::run::run(options, ready, stop).await?)
    })?;
    Ok(Report::new("stopped", &serde_json::json!({ "stopped": true })))
}

/// The folder of the data; that of a demonstration is removed when it ends.
struct Folder {
    path: PathBuf,
    temporary: bool,
}

impl Folder {
    fn new(given: Option<PathBuf>) -> Self {
        match given {
            Some(path) => Folder { path, temporary: false },
            None => {
                let name = format!("reticent-demo-{}", std::process::id());
                Folder { path: std::env::temp_dir().join(name), temporary: true }
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.temporary {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
