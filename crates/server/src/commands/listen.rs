//! Options of listening that `reticent-server serve` and `reticent-server shuffle` have in common.

use std::{net::SocketAddr, path::PathBuf};

use crate::{
    http::{HttpLimits, PerAddress, Tls},
    run::Listen,
};
use clap::Args;

/// Options of TLS, and of the connections of an address.
#[derive(Args)]
pub(super) struct TlsArguments {
    /// A certificate with those that vouch for it, as PEM.
    #[arg(long, value_name = "PEM", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// The key of the certificate, as PEM.
    #[arg(long, value_name = "PEM", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// A proxy in front does TLS, and limits the connections of its clients: browsers send the dashboard's cookie by HTTPS only. A shuffler believes the last
    /// address that the proxy names in X-Forwarded-For.
    #[arg(long)]
    behind_proxy: bool,
    /// Connections that one address may have open at a time: 512 for other machines by default, without a limit for this one and with --behind-proxy.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    connections_per_address: Option<u32>,
}

impl TlsArguments {
    /// Limits on clients: these, with those on connections that the arguments set.
    pub(super) fn limits(&self, limits: HttpLimits) -> HttpLimits {
        let per_address = match (self.connections_per_address, self.behind_proxy) {
            (Some(most), _) => PerAddress::Every(most as usize),
            (None, true) => PerAddress::BehindProxy,
            (None, false) => PerAddress::default(),
        };
        HttpLimits { per_address, ..limits }
    }

    /// A process that listens on this address.
    pub(super) fn listen_on(self, address: SocketAddr) -> Listen {
        let files = self.tls_certificate.zip(self.tls_key);
        let tls = files.map(|(certificate, key)| Tls { certificate, key });
        Listen { address, tls, behind_proxy: self.behind_proxy }
    }
}

/// The address of `--listen`. Its default differs, so that it is an option of each command.
pub(super) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "expected an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080, and no name"
            .into()
    })
}
