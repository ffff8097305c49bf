//! Work that goes on when its caller goes away.

use std::{future::Future, sync::Arc};

use tokio::sync::Semaphore;

use crate::{Error, Result};

/// Tasks under way at the same time, at most. Whoever waits for room keeps their request to themselves: if they go away, nothing of it is left.
const UNDER_WAY: usize = 2048;

/// Room for tasks whose callers may have gone away.
pub struct Tasks(Arc<Semaphore>);

impl Default for Tasks {
    fn default() -> Self {
        Tasks(Arc::new(Semaphore::new(UNDER_WAY)))
    }
}

impl Tasks {
    /// Carries something out in a task of its own, which a caller who goes away does not end half way. The number of such tasks has a bound, so that
    /// callers who do not wait for a slow store cannot fill the memory.
    pub async fn carry_out<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let room = Arc::clone(&self.0).acquire_owned().await.map_err(Error::store)?;
        let task = tokio::spawn(async move {
            let outcome = work.await;
            drop(room);
            outcome
        });
        task.await.map_err(|_| Error::store("a transaction failed by a fault of the program"))?
    }
}
