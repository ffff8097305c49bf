//! Groups: calls that wait are taken together and committed in one transaction, so that statements and the commit to disk are shared.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::transaction::{Attempt, Connections, body};
use crate::{Error, Result, store::Pending};

/// Groups of one kind that are under way at a time: the next one is filled while the disk writes the last one.
const WORKERS: usize = 2;
/// Calls that wait, at most; who comes later waits to be queued.
const QUEUE: usize = 16_384;
/// Calls in one group, at most.
const CALLS: usize = 1024;
/// Records in one group, at most, unless a single call has more.
const RECORDS: usize = 4096;

/// A call that can be committed together with others.
pub(super) trait Call: Send + Sync + 'static {
    /// Receiver of its answer.
    type Answer: Send + 'static;

    /// Number of its records.
    fn records(&self) -> usize;
}

/// Outcome of each call: one that is refused does not touch the others.
pub(super) type Answers<C> = Vec<Result<<C as Call>::Answer>>;

type Caller<C> = oneshot::Sender<Result<<C as Call>::Answer>>;

/// The way into a group.
pub(super) struct Queue<C: Call> {
    sender: mpsc::Sender<(C, Caller<C>)>,
}

impl<C: Call> Queue<C> {
    /// Starts the workers, which end when the queue is dropped and what waits is done.
    pub(super) fn start<F>(connections: &Arc<Connections>, commit: F) -> Self
    where
        F: for<'t> Fn(
                &'t deadpool_postgres::Transaction<'t>,
                Arc<Vec<C>>,
            ) -> BoxFuture<'t, Attempt<Answers<C>>>
            + Send
            + Sync
            + Clone
            + 'static,
    {
        let (sender, receiver) = mpsc::channel::<(C, Caller<C>)>(QUEUE);
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..WORKERS {
            let (connections, receiver, commit) =
                (Arc::clone(connections), Arc::clone(&receiver), commit.clone());
            tokio::spawn(async move {
                loop {
                    let gathered = gather(&mut *receiver.lock().await).await;
                    let Some((calls, callers)) = gathered else { return };
                    let (calls, commit) = (Arc::new(calls), commit.clone());
                    // A task of its own: a fault of the program in one group must not end the worker.
                    let connections = Arc::clone(&connections);
                    let group = tokio::spawn(async move {
                        connections
                            .write_here(&body(move |on| commit(on, Arc::clone(&calls))))
                            .await
                    });
                    answer::<C>(group.await.map_err(Error::store).flatten(), callers);
                }
            });
        }
        Queue { sender }
    }

    /// Queues a call when its future is polled.
    pub(super) fn submit(&self, call: C) -> Pending<C::Answer> {
        let sender = self.sender.clone();
        let closed = || Error::store("it is closed");
        Box::pin(async move {
            let (caller, answer) = oneshot::channel();
            sender.send((call, caller)).await.map_err(|_| closed())?;
            answer.await.map_err(|_| closed())?
        })
    }
}

/// Waits for a call, and takes all others that wait.
async fn gather<C: Call>(
    receiver: &mut mpsc::Receiver<(C, Caller<C>)>,
) -> Option<(Vec<C>, Vec<Caller<C>>)> {
    let (first, caller) = receiver.recv().await?;
    let mut records = first.records();
    let (mut calls, mut callers) = (vec![first], vec![caller]);
    while calls.len() < CALLS && records < RECORDS {
        let Ok((call, caller)) = receiver.try_recv() else { break };
        records += call.records();
        calls.push(call);
        callers.push(caller);
    }
    Some((calls, callers))
}

/// Answers every call. A caller who went away needs no answer.
fn answer<C: Call>(committed: Result<Answers<C>>, callers: Vec<Caller<C>>) {
    match committed {
        Ok(answers) => {
            for (answer, caller) in answers.into_iter().zip(callers) {
                let _ = caller.send(answer);
            }
        }
        // What fails a whole group is not about any of its calls.
        Err(error) => {
            let repeat = |error: &Error| match error {
                Error::Store(why) => Error::Store(why.clone()),
                other => Error::Unavailable(other.to_string()),
            };
            for caller in callers {
                let _ = caller.send(Err(repeat(&error)));
            }
        }
    }
}
