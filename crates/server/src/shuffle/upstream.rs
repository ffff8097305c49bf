//! The server as the shuffler sees it.

use reticent::{bandit::Model, wire};
use serde::Deserialize;

use crate::{
    Error, Result,
    client::{Body, Endpoint},
    sealed::PublicKey,
    store::Pending,
};

/// What the shuffler asks of the server.
pub trait Upstream: Send + Sync + 'static {
    /// The number of the loop's last model.
    fn model(&self, name: &str) -> Pending<u64>;

    /// The key that reports of the loop are sealed to.
    fn key(&self, name: &str) -> Pending<PublicKey>;

    /// The number after the last batch that the server has.
    fn next_batch(&self, name: &str) -> Pending<u64>;

    /// Sends a batch; it has arrived when this is done. The same bytes may be sent again.
    fn send(&self, name: &str, batch: Body) -> Pending<()>;
}

/// A server over HTTP.
pub struct HttpUpstream(Endpoint);

#[derive(Deserialize)]
struct NextBatch {
    next: u64,
}

#[derive(Deserialize)]
struct Sealing {
    public_key: String,
}

impl HttpUpstream {
    /// The server at this address, asked with the shuffler's key.
    pub fn new(endpoint: Endpoint) -> Self {
        HttpUpstream(endpoint)
    }

    fn get<T: Send + 'static>(
        &self,
        name: &str,
        call: &str,
        read: impl FnOnce(&[u8]) -> Result<T> + Send + 'static,
    ) -> Pending<T> {
        let (endpoint, path) = (self.0.clone(), format!("/v1/loops/{name}/{call}"));
        Box::pin(async move { read(&endpoint.get(&path).await?) })
    }
}

fn unreadable(_: serde_json::Error) -> Error {
    Error::Unavailable("the server's answer cannot be read: update the older half".into())
}

impl Upstream for HttpUpstream {
    fn model(&self, name: &str) -> Pending<u64> {
        self.get(name, "model", |body| Ok(wire::from_json::<Model>(body)?.sequence()))
    }

    fn key(&self, name: &str) -> Pending<PublicKey> {
        self.get(name, "sealing", |body| {
            let sealing: Sealing = serde_json::from_slice(body).map_err(unreadable)?;
            PublicKey::parse(&sealing.public_key)
        })
    }

    fn next_batch(&self, name: &str) -> Pending<u64> {
        self.get(name, "batches", |body| {
            let NextBatch { next } = serde_json::from_slice(body).map_err(unreadable)?;
            Ok(next)
        })
    }

    fn send(&self, name: &str, batch: Body) -> Pending<()> {
        let (endpoint, path) = (self.0.clone(), format!("/v1/loops/{name}/batches"));
        Box::pin(async move { endpoint.post(&path, batch).await.map(drop) })
    }
}
