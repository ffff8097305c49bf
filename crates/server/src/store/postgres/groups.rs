//! Groups: calls that wait are taken together and committed in one transaction, so that a commit to disk is shared.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::transaction::{Attempt, Connections, body};
use crate::{Error, Result, store::Pending};

/// Groups of one kind that are under way at a time.
const WORKERS: usize = 2;
/// Calls that wait, at most; who comes later waits to be queued.
const QUEUE: usize = 16_384;
/// Calls in one group, at most.
const CALLS: usize = 1024;
/// Records in one group, at most, unless a single call has more.
const RECORDS: usize = 4096;

/// The calls of a group, each with its records.
pub(super) type Calls<Q> = Arc<Vec<Vec<Q>>>;

/// What became of each call: one that is refused does not touch the others.
pub(super) type Answers<A> = Vec<Result<Vec<A>>>;

struct Waiting<Q, A> {
    records: Vec<Q>,
    caller: oneshot::Sender<Result<Vec<A>>>,
}

/// The way into a group.
pub(super) struct Queue<Q, A> {
    sender: mpsc::Sender<Waiting<Q, A>>,
}

impl<Q: Send + Sync + 'static, A: Send + 'static> Queue<Q, A> {
    /// Starts the workers, which end when the queue is dropped and what waits is done.
    pub(super) fn start<F>(connections: &Arc<Connections>, commit: F) -> Self
    where
        F: for<'t> Fn(
                &'t deadpool_postgres::Transaction<'t>,
                Calls<Q>,
            ) -> BoxFuture<'t, Attempt<Answers<A>>>
            + Send
            + Sync
            + Clone
            + 'static,
    {
        let (sender, receiver) = mpsc::channel::<Waiting<Q, A>>(QUEUE);
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..WORKERS {
            let (connections, receiver, commit) =
                (Arc::clone(connections), Arc::clone(&receiver), commit.clone());
            tokio::spawn(async move {
                loop {
                    let (calls, callers) = {
                        let mut receiver = receiver.lock().await;
                        let Some(group) = gather(&mut receiver).await else { return };
                        group
                    };
                    let calls = Arc::new(calls);
                    let commit = commit.clone();
                    let committed = connections
                        .write_here(&body(move |on| commit(on, Arc::clone(&calls))))
                        .await;
                    answer(committed, callers);
                }
            });
        }
        Queue { sender }
    }

    /// Queues a call when its future is polled.
    pub(super) fn submit(&self, records: Vec<Q>) -> Pending<Vec<A>> {
        let sender = self.sender.clone();
        let closed = || Error::store("it is closed");
        Box::pin(async move {
            let (caller, answer) = oneshot::channel();
            sender.send(Waiting { records, caller }).await.map_err(|_| closed())?;
            answer.await.map_err(|_| closed())?
        })
    }
}

type Gathered<Q, A> = (Vec<Vec<Q>>, Vec<oneshot::Sender<Result<Vec<A>>>>);

/// Waits for a call, and takes all others that wait.
async fn gather<Q, A>(receiver: &mut mpsc::Receiver<Waiting<Q, A>>) -> Option<Gathered<Q, A>> {
    let first = receiver.recv().await?;
    let mut records = first.records.len();
    let (mut calls, mut callers) = (vec![first.records], vec![first.caller]);
    while calls.len() < CALLS && records < RECORDS {
        let Ok(next) = receiver.try_recv() else { break };
        records += next.records.len();
        calls.push(next.records);
        callers.push(next.caller);
    }
    Some((calls, callers))
}

/// Tells everybody. Who went away needs no answer.
fn answer<A>(committed: Result<Answers<A>>, callers: Vec<oneshot::Sender<Result<Vec<A>>>>) {
    match committed {
        Ok(answers) => {
            for (answer, caller) in answers.into_iter().zip(callers) {
                let _ = caller.send(answer);
            }
        }
        Err(error) => {
            let why = match error {
                Error::Store(why) => why,
                other => other.to_string(),
            };
            for caller in callers {
                let _ = caller.send(Err(Error::Store(why.clone())));
            }
        }
    }
}
