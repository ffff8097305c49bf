//! How a process listens: options that `reticent serve` and `reticent shuffle` have in common.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use reticent_server::{http::Tls, run::Listen};

/// Who does TLS.
#[derive(Args)]
pub(super) struct TlsArguments {
    /// A certificate with those that vouch for it, as PEM.
    #[arg(long, value_name = "PEM", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// The key of the certificate, as PEM.
    #[arg(long, value_name = "PEM", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// A proxy in front does TLS. A shuffler believes the last address that it names in X-Forwarded-For.
    #[arg(long)]
    behind_proxy: bool,
}

impl TlsArguments {
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
        "give an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080, and no name".into()
    })
}
