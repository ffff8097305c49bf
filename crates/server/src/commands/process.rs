//! Runtime, log and signals of a process that listens.

use tracing_subscriber::{filter::Targets, prelude::*};

use super::{error::Error, notify::tell_systemd};

/// The variable of the environment with the level of the log.
const LEVEL: &str = "RETICENT_LOG";

/// The runtime of the service.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// Logs as lines of JSON on stderr, at the level in RETICENT_LOG, or else at this one.
pub(super) fn log_to_stderr(level: &str) -> Result<(), Error> {
    let given = std::env::var_os(LEVEL).filter(|text| !text.is_empty());
    let filter =
        targets(given.as_ref().map_or(level.into(), |text| text.to_string_lossy()).as_ref())?;
    let format = tracing_subscriber::fmt::layer().json().with_writer(std::io::stderr);
    // A process has one subscriber; if there is one already, it stays.
    let _ = tracing_subscriber::registry().with(format).with(filter).try_init();
    Ok(())
}

/// Levels by target, of which one without a target is that of all others.
fn targets(text: &str) -> Result<Targets, Error> {
    let is_level = |part: &str| {
        part.contains('=') || part.parse::<tracing::level_filters::LevelFilter>().is_ok()
    };
    match text.parse::<Targets>() {
        Ok(targets) if text.split(',').all(|part| is_level(part.trim())) => Ok(targets),
        _ => {
            let remedy = "expected off, error, warn, info, debug or trace, or TARGET=LEVEL, several with commas; do export RETICENT_LOG=info";
            Err(crate::Error::invalid(LEVEL, format!("{text:?}"), remedy).into())
        }
    }
}

/// Resolves at SIGTERM or Ctrl-C. The handlers are in place when this returns.
#[cfg(unix)]
pub(super) fn stop_signal() -> Result<impl Future<Output = ()>, Error> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tell_systemd("STOPPING=1");
    })
}

#[cfg(not(unix))]
pub(super) fn stop_signal() -> Result<impl Future<Output = ()>, Error> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn the_log_has_a_level_and_levels_by_target() {
        let own = targets("warn,reticent_server=debug").unwrap();
        assert!(own.would_enable("reticent_server::run", &Level::DEBUG));
        assert!(
            !own.would_enable("hyper", &Level::INFO) && own.would_enable("hyper", &Level::WARN)
        );
        assert!(!targets("off").unwrap().would_enable("reticent_server", &Level::ERROR));
    }

    #[test]
    fn a_level_that_is_none_is_refused() {
        for text in ["loud", "reticent_server=loud", "info,loud", ","] {
            let refused = targets(text).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(
                refused.contains("RETICENT_LOG") && refused.contains("expected off"),
                "{text}: {refused}"
            );
        }
    }
}
