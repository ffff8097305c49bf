//! Work apart from the threads that answer: transactions that go on when their caller goes away, and computations that take long.

use std::{future::Future, sync::Arc};

use tokio::sync::Semaphore;

use crate::{Error, Result};

/// Tasks under way at the same time, at most. A caller who waits for room keeps the request: if the caller goes away, nothing of it is left.
const UNDER_WAY: usize = 2048;

/// Room for tasks whose callers may have gone away.
pub struct Tasks {
    transactions: Arc<Semaphore>,
    /// One permit for each processor.
    computations: Arc<Semaphore>,
}

impl Default for Tasks {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Tasks {
            transactions: Arc::new(Semaphore::new(UNDER_WAY)),
            computations: Arc::new(Semaphore::new(processors)),
        }
    }
}

impl Tasks {
    /// Carries something out in a task of its own, which continues when its caller goes away. The number of such tasks has a bound, so that
    /// callers who do not wait for a slow store cannot fill the memory.
    pub async fn carry_out<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let room = Arc::clone(&self.transactions).acquire_owned().await.map_err(Error::store)?;
        let task = tokio::spawn(async move {
            let outcome = work.await;
            drop(room);
            outcome
        });
        task.await.map_err(|_| Error::store("a transaction failed by a fault of the program"))?
    }

    /// Computes something that takes long on a thread that answers no requests, when there is room. A caller who goes away before its end makes no room for
    /// another one.
    pub async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let room = Arc::clone(&self.computations).acquire_owned().await.map_err(Error::store)?;
        let computing = move || {
            let outcome = work();
            drop(room);
            outcome
        };
        let computed = tokio::task::spawn_blocking(computing).await;
        computed.map_err(|_| Error::Unavailable("a fault of the program: try again".into()))
    }
}
