//! `reticent-server shuffle`: the process between devices and a server.

use std::{net::SocketAddr, path::PathBuf};

use super::{
    error::Error,
    listen::{TlsArguments, parse_listen},
    notify::tell_systemd,
    process::{log_to_stderr, runtime, stop_signal},
    read,
    report::Report,
};
use crate::{
    client::Endpoint,
    config::{ServiceFile, Trust},
    http::HttpLimits,
    shuffle::{ShuffleOptions, run_shuffler},
};
use clap::Args;

/// Mixes reports of devices for the loops of a file with trust = "shuffler", and forwards them in batches to their server. Another operator than the
/// operator of the server should run it.
#[derive(Args)]
#[command(
    after_help = "Example: reticent-server shuffle --config loops.toml --data mixed --server http://127.0.0.1:8080 --key-file shuffle.key"
)]
pub struct Arguments {
    /// The file of loops, the same as the server's: it says how large batches are.
    #[arg(long)]
    config: PathBuf,
    /// The folder of the shuffler's own data; it is made if there is none.
    #[arg(long)]
    data: PathBuf,
    /// The server: https://HOST:PORT, or http:// on this machine.
    #[arg(long, value_name = "URL")]
    server: String,
    /// A file with the server's key of role `shuffle` for these loops (`reticent-server key new --loop LOOP --role shuffle`). A key is for one loop: several loops have a shuffler process, a file and a key each.
    #[arg(long, value_name = "PATH")]
    key_file: PathBuf,
    /// The certificates that the server's is trusted by, as PEM.
    #[arg(long, value_name = "PEM")]
    server_roots: Option<PathBuf>,
    /// Address on which devices report. Other addresses than those of this machine need TLS or --behind-proxy.
    #[arg(long, default_value = "127.0.0.1:8090", value_parser = parse_listen)]
    listen: SocketAddr,
    #[command(flatten)]
    tls: TlsArguments,
}

/// Shuffles until it is stopped.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    // Other loops of the file are not the shuffler's: the files that they name may be missing here.
    let plans = ServiceFile::parse(&read(&arguments.config)?).and_then(|mut file| {
        file.loops.retain(|_, params| params.trust != Trust::Curator);
        file.check()
    });
    let plans = plans.map_err(|error| Error::Malformed {
        path: arguments.config.clone(),
        reason: error.to_string(),
    })?;
    let key = read(&arguments.key_file)?.trim().to_string();
    let roots = arguments.server_roots.as_deref();
    let server = Endpoint::new(&arguments.server, Some(key), roots)?;
    let limits = arguments.tls.limits(HttpLimits::default());
    let options = ShuffleOptions {
        plans,
        data: arguments.data,
        server,
        listen: arguments.tls.listen_on(arguments.listen),
        limits,
    };
    log_to_stderr("info")?;
    let scheme = options.listen.scheme();
    runtime()?.block_on(async {
        let stop = stop_signal()?;
        let ready = |address| {
            say!("shuffling on {scheme}://{address}");
            tell_systemd("READY=1");
        };
        Ok::<_, Error>(run_shuffler(options, ready, stop).await?)
    })?;
    Ok(Report::new("stopped", &serde_json::json!({ "stopped": true })))
}
