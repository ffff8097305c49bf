//! Connections: where to, by TLS unless the database is on this machine, and only to a database that keeps what it has acknowledged.

use std::{net::IpAddr, str::FromStr, sync::Arc, time::Duration};

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio_postgres::{
    Client, Config, Socket,
    config::{Host, SslMode},
    tls::MakeTlsConnect,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::transaction::database_error;
use crate::{Error, Result};

/// Connections of one process.
const CONNECTIONS: usize = 16;

/// A connection that has been in a transaction for so long without doing anything is ended: its process was stopped, and others wait for its locks.
const IDLE: &str = "set idle_in_transaction_session_timeout = '3s'; set lock_timeout = '30s'";

/// The task that must be polled for a connection to work.
pub(super) type Connection =
    tokio_postgres::Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// Address of a database.
#[derive(Clone)]
pub(super) struct Address {
    config: Config,
    tls: MakeRustlsConnect,
}

impl Address {
    /// Reads `postgres://user@host/database`, or `postgres:///database?host=/folder/of/the/socket`.
    pub(super) fn parse(url: &str) -> Result<Self> {
        // The address may hold a password, so that it is not repeated.
        let invalid = |why: String| Error::invalid("database", "this address", why);
        let mut config = Config::from_str(url).map_err(|error| {
            let cause = std::error::Error::source(&error)
                .map(|cause| format!(" ({cause})"))
                .unwrap_or_default();
            invalid(format!("{error}{cause}; expected postgres://user@host/database"))
        })?;
        if config.get_hosts().is_empty() {
            return Err(invalid("it names no host; expected postgres://user@host/database, or ?host= with the folder of a socket".into()));
        }
        let holds_at = |host: &Host| matches!(host, Host::Tcp(name) if name.contains('@'));
        let of_name = config.get_dbname().is_some_and(|name| name.contains('@'));
        if of_name || config.get_hosts().iter().any(holds_at) {
            // A part of the password would be taken for the host, and named in errors.
            return Err(invalid("there is a second @ in it: write @ in a password as %40".into()));
        }
        if config.get_application_name().is_none() {
            config.application_name("reticent");
        }
        // A machine that is gone is noticed, whatever was under way.
        config
            .connect_timeout(Duration::from_secs(10))
            .keepalives_idle(Duration::from_secs(30))
            .tcp_user_timeout(Duration::from_secs(30));
        let addresses_are_here = config.get_hostaddrs().iter().all(IpAddr::is_loopback);
        if !config.get_hosts().iter().all(is_here) || !addresses_are_here {
            if config.get_ssl_mode() == SslMode::Disable {
                return Err(invalid(
                    "people's data would cross the network in the clear: take sslmode=disable out"
                        .into(),
                ));
            }
            config.ssl_mode(SslMode::Require);
        }
        Ok(Address { config, tls: tls()? })
    }

    /// Its address without user and password: all that tells one database from another.
    pub(super) fn name(&self) -> String {
        let (hosts, ports) = (self.config.get_hosts(), self.config.get_ports());
        let port = |index| ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        let each = |(index, host): (usize, &Host)| match host {
            Host::Tcp(name) => (name.clone(), port(index).to_string()),
            #[cfg(unix)]
            Host::Unix(folder) => (folder.display().to_string(), port(index).to_string()),
        };
        let each: Vec<(String, String)> = hosts.iter().enumerate().map(each).collect();
        let options =
            self.config.get_options().map(|options| format!(" ({options})")).unwrap_or_default();
        // Without a name it is that of the user.
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default();
        if hosts.iter().all(|host| matches!(host, Host::Tcp(_))) {
            let hosts: Vec<String> =
                each.iter().map(|(name, port)| format!("{name}:{port}")).collect();
            return format!("postgres://{}/{database}{options}", hosts.join(","));
        }
        // A folder can only stand in the query.
        let (hosts, ports): (Vec<String>, Vec<String>) = each.into_iter().unzip();
        format!("postgres:///{database}?host={}&port={}{options}", hosts.join(","), ports.join(","))
    }

    /// Error where this database cannot be reached.
    pub(super) fn unreachable(&self, error: &tokio_postgres::Error) -> Error {
        Error::store(format_args!(
            "{} is not reached: {}",
            self.name(),
            explained(&database_error(error))
        ))
    }

    /// A pool of connections that have been checked.
    pub(super) fn pool(&self) -> Result<Pool> {
        let manager = Manager::from_config(
            self.config.clone(),
            self.tls.clone(),
            ManagerConfig { recycling_method: RecyclingMethod::Fast },
        );
        let check = Hook::async_fn(|client: &mut deadpool_postgres::ClientWrapper, _| {
            Box::pin(async move {
                check(client).await.map_err(|error| HookError::message(explained(&error)))
            })
        });
        Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(Duration::from_secs(30)))
            .create_timeout(Some(Duration::from_secs(15)))
            .post_create(check)
            .build()
            .map_err(Error::store)
    }

    /// A connection of its own, with what must be polled for it to work.
    pub(super) async fn connect(&self) -> Result<(Client, Connection)> {
        self.config.connect(self.tls.clone()).await.map_err(|error| self.unreachable(&error))
    }
}

/// TLS with the certificates of the system, or of `SSL_CERT_FILE`. A system without any can still use a database on this machine.
fn tls() -> Result<MakeRustlsConnect> {
    use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Error::store)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// True if a host is this machine.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// The message of an error without "store:" in front, which comes again later.
fn explained(error: &Error) -> String {
    match error {
        Error::Store(why) => why.clone(),
        other => other.to_string(),
    }
}

/// Refuses a database that could lose what it has acknowledged: a release that is drawn again under the same number would be the worst of it.
async fn check(client: &Client) -> Result<()> {
    let failed = |error: tokio_postgres::Error| database_error(&error);
    client.batch_execute(IDLE).await.map_err(failed)?;
    for name in ["fsync", "full_page_writes", "synchronous_commit"] {
        let row = client.query_one("select current_setting($1)", &[&name]).await.map_err(failed)?;
        if row.get::<_, &str>(0) == "off" {
            return Err(Error::store(format_args!(
                "PostgreSQL runs with {name} = off and may lose what it has acknowledged: set {name} = on"
            )));
        }
    }
    let row = client.query_one("select pg_is_in_recovery()", &[]).await.map_err(failed)?;
    match row.get(0) {
        true => Err(Error::store("this PostgreSQL is a standby: give the address of the primary")),
        false => Ok(()),
    }
}
