//! Changes by other processes, and the time: one connection that listens, and asks for the time every second.
//!
//! **The database's clock decides.** Slots and periods of all replicas come from it: each takes the time that passes from its own steady clock and the
//! time of day from the database. The requested time travels, so that a replica is behind by at most that, and never ahead.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, stream};
use tokio::sync::watch;
use tokio_postgres::AsyncMessage;

use super::{connect::Address, transaction::database_error};
use crate::{
    Result,
    clock::{Clock, SystemClock, Time},
    failpoint,
};

/// Interval between two requests for the time.
const INTERVAL: Duration = Duration::from_secs(1);

/// The time of the database in milliseconds since 1970.
pub(super) const NOW: &str = "(extract(epoch from clock_timestamp()) * 1000)::int8";

/// The clock of the database.
pub(super) struct DatabaseClock {
    own: SystemClock,
    /// Lead of the database's clock over the steady one of this process.
    ahead: AtomicI64,
}

impl DatabaseClock {
    fn set(&self, now: i64) {
        let now = now.saturating_add(failpoint::clock_offset());
        self.ahead.store(now.saturating_sub_unsigned(self.own.steady()), Ordering::SeqCst);
    }
}

impl Clock for DatabaseClock {
    fn now(&self) -> Time {
        self.own.steady().saturating_add_signed(self.ahead.load(Ordering::SeqCst))
    }

    fn steady(&self) -> u64 {
        self.own.steady()
    }
}

/// Follows a database until it is dropped.
pub(super) struct Follower {
    pub(super) clock: Arc<DatabaseClock>,
    pub(super) changes: watch::Receiver<u64>,
    task: tokio::task::JoinHandle<()>,
}

impl Follower {
    /// Begins to listen on a channel. It returns when the time is known.
    pub(super) async fn start(address: Address, channel: String) -> Result<Self> {
        let clock =
            Arc::new(DatabaseClock { own: SystemClock::default(), ahead: AtomicI64::new(0) });
        let (sender, changes) = watch::channel(0);
        let (known, first) = tokio::sync::oneshot::channel();
        let (own, mut known) = (Arc::clone(&clock), Some(known));
        let task = tokio::spawn(async move {
            loop {
                let ended = listen(&address, &channel, &own, &sender, &mut known).await;
                match (ended, known.take()) {
                    (Err(error), Some(known)) => {
                        let _ = known.send(Err(error));
                        return;
                    }
                    (Err(error), None) => {
                        tracing::warn!("the database is not heard at present: {error}")
                    }
                    (Ok(()), _) => {}
                }
                // Reads the notifications that were missed.
                sender.send_modify(|changes| *changes += 1);
                tokio::time::sleep(INTERVAL).await;
            }
        });
        match first.await {
            Ok(Ok(())) => Ok(Follower { clock, changes, task }),
            Ok(Err(error)) => Err(error),
            Err(error) => Err(crate::Error::store(error)),
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Listens until the connection ends.
async fn listen(
    address: &Address,
    channel: &str,
    clock: &DatabaseClock,
    changes: &watch::Sender<u64>,
    known: &mut Option<tokio::sync::oneshot::Sender<Result<()>>>,
) -> Result<()> {
    let (client, mut connection) = address.connect().await?;
    let failed = |error: tokio_postgres::Error| database_error(&error);
    let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
    let hear = async {
        while let Some(message) = messages.next().await {
            if let AsyncMessage::Notification(_) = message.map_err(failed)? {
                changes.send_modify(|changes| *changes += 1);
            }
        }
        Err::<(), _>(crate::Error::store("the connection has ended"))
    };
    let ask = async {
        client.batch_execute(&format!("listen {channel}")).await.map_err(failed)?;
        let time = client.prepare(&format!("select {NOW}")).await.map_err(failed)?;
        loop {
            let row = client.query_one(&time, &[]).await.map_err(failed)?;
            clock.set(row.get(0));
            if let Some(known) = known.take() {
                let _ = known.send(Ok(()));
            }
            tokio::time::sleep(INTERVAL).await;
        }
    };
    tokio::select! {
        heard = hear => heard,
        asked = ask => asked,
    }
}
