//! The server as the shuffler sees it.

use std::time::Duration;

use serde::Deserialize;

use super::News;
use crate::{
    Error, Result,
    client::{Body, Endpoint},
    config::BATCH_BODY_TIME,
    sealed::PublicKey,
    secret::from_hex,
    store::Pending,
};

/// Time for a batch to be sent, opened and stored: the largest has as long to come, and as long again to be opened.
const BATCH_TIME: Duration = BATCH_BODY_TIME.saturating_mul(3);

/// Calls of the shuffler to the server.
pub trait Upstream: Send + Sync + 'static {
    /// Progress of the loop.
    fn news(&self, name: &str) -> Pending<News>;

    /// Sends a batch; it has arrived when this is done. The same bytes may be sent again.
    fn send(&self, name: &str, batch: Body) -> Pending<()>;
}

/// A server over HTTP.
pub struct HttpUpstream(Endpoint);

/// Answer of a server about batches.
#[derive(Deserialize)]
struct Answer {
    next: u64,
    model: u64,
    protocol: String,
    public_key: Option<String>,
}

impl HttpUpstream {
    /// The server at this address, asked with the shuffler's key.
    pub fn new(endpoint: Endpoint) -> Self {
        HttpUpstream(endpoint)
    }
}

fn read(body: &[u8]) -> Result<News> {
    let unreadable = || {
        Error::Unavailable("the server's answer cannot be read: update the older program".into())
    };
    let answer: Answer = serde_json::from_slice(body).map_err(|_| unreadable())?;
    let protocol = from_hex(&answer.protocol).and_then(|bytes| bytes.try_into().ok());
    let protocol = protocol.ok_or_else(unreadable)?;
    let key = answer.public_key.as_deref().map(PublicKey::parse).transpose()?;
    Ok(News { model: answer.model, next_batch: answer.next, protocol, key })
}

impl Upstream for HttpUpstream {
    fn news(&self, name: &str) -> Pending<News> {
        let (endpoint, path) = (self.0.clone(), format!("/v1/loops/{name}/batches"));
        Box::pin(async move { read(&endpoint.get(&path).await?) })
    }

    fn send(&self, name: &str, batch: Body) -> Pending<()> {
        let (endpoint, path) = (self.0.clone(), format!("/v1/loops/{name}/batches"));
        Box::pin(async move { endpoint.post_within(&path, batch, BATCH_TIME).await.map(drop) })
    }
}
