//! Sockets, TLS, HTTP/1 and 2, and a graceful stop: stop accepting, finish the requests under way, then return.
//!
//! **Slow clients.** A handshake, the first bytes of a connection and the head of each request have a time within which they must come; bodies have theirs in
//! `body`, and answers within which they must be taken in `progress`. Connections beyond the limit wait in the system's queue until another one ends; those beyond
//! the limit of their address (`addresses`) are closed.

use std::{future::Future, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use axum::{Router, http::Request};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig, crypto,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};
use tower::ServiceExt;

use super::{
    App, HttpLimits,
    addresses::Addresses,
    progress::{Activity, Taken},
    router,
};
use crate::{Error, Result};

/// Begin of every connection of HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Files of a certificate and its key.
#[derive(Debug, Clone)]
pub struct Tls {
    /// The certificate with those that vouch for it, as PEM.
    pub certificate: PathBuf,
    /// Its key, as PEM.
    pub key: PathBuf,
}

impl Tls {
    /// Reads both files.
    pub fn open(&self) -> Result<Arc<ServerConfig>> {
        let path = &self.certificate;
        let bad = |field: &str, path: &PathBuf, remedy: String| {
            Error::invalid(field, path.display(), remedy)
        };
        let remedy =
            |error: &dyn std::fmt::Display| format!("{error}; expected a readable PEM file");
        let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect)
            .map_err(|error| bad("tls-certificate", path, remedy(&error)))?;
        if certificates.is_empty() {
            let remedy = "it holds no certificate; expected a PEM file with one";
            return Err(bad("tls-certificate", path, remedy.into()));
        }
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| bad("tls-key", &self.key, remedy(&error)))?;
        let provider = Arc::new(crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map(|builder| builder.with_no_client_auth())
            .and_then(|builder| builder.with_single_cert(certificates, key));
        let mut config = config.map_err(|error| {
            bad("tls-key", &self.key, format!("{error}; expected the key of the certificate"))
        })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// The other end of a connection: a shuffler counts its senders by it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Parts that every connection needs.
struct Connections {
    http1: auto::Builder<TokioExecutor>,
    http2: auto::Builder<TokioExecutor>,
    routes: Router,
    tls: Option<TlsAcceptor>,
    limits: HttpLimits,
    /// Turns true when the service stops.
    stopped: watch::Receiver<bool>,
}

/// Answers on this socket until `stop`, then finishes the requests under way.
pub async fn serve(
    app: App,
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    stop: impl Future<Output = ()>,
) {
    let (routes, limits) = (router(app.clone()), app.limits);
    serve_routes((routes, limits), listener, tls, stop, || app.begin_stop()).await;
}

/// Answers with these routes within these limits until `stop`, calls `stopping`, and then finishes the requests under way.
pub(crate) async fn serve_routes(
    (routes, limits): (Router, HttpLimits),
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    stop: impl Future<Output = ()>,
    stopping: impl FnOnce(),
) {
    let (tell, stopped) = watch::channel(false);
    let connections = Arc::new(Connections {
        http1: builder(&limits).http1_only(),
        http2: builder(&limits).http2_only(),
        routes,
        tls: tls.map(TlsAcceptor::from),
        limits,
        stopped,
    });
    let room = Arc::new(Semaphore::new(limits.connections));
    let addresses = Addresses::new(limits.per_address);
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepting = async {
            let permit = Arc::clone(&room).acquire_owned().await;
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            accepted = accepting => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let Some(open) = addresses.open(peer.ip()) else { continue };
                let connections = Arc::clone(&connections);
                tokio::spawn(async move {
                    connections.answer(stream, peer).await;
                    drop((open, permit));
                });
            }
            // Too many open files, for instance: others close theirs.
            Err(error) => {
                tracing::warn!("a connection could not be accepted: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    stopping();
    drop(listener);
    let _ = tell.send(true);
    // All room is free when every connection has ended.
    let all = u32::try_from(limits.connections).unwrap_or(u32::MAX);
    if tokio::time::timeout(limits.stop_time, room.acquire_many(all)).await.is_err() {
        tracing::warn!("some requests were cut off at the stop");
    }
}

fn builder(limits: &HttpLimits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.head_time);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(16 << 10)
        .keep_alive_interval(limits.head_time)
        .keep_alive_timeout(limits.head_time);
    builder
}

impl Connections {
    async fn answer(&self, stream: TcpStream, peer: SocketAddr) {
        // Answers are short: waiting to fill a packet costs more than it saves.
        let _ = stream.set_nodelay(true);
        let time = self.limits.write_time;
        match &self.tls {
            None => {
                if let Some(Some(http2)) = self.in_time(begins_http2(&stream)).await {
                    self.run(Taken::new(stream, time), peer, http2).await;
                }
            }
            Some(acceptor) => {
                let accepting = acceptor.accept(Taken::new(stream, time));
                if let Some(Ok(stream)) = self.in_time(accepting).await {
                    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    self.run(stream, peer, http2).await;
                }
            }
        }
    }

    /// Handshakes before the first request, unless it takes too long or the service stops.
    async fn in_time<T>(&self, begin: impl Future<Output = T>) -> Option<T> {
        let mut stopped = self.stopped.clone();
        tokio::select! {
            begun = tokio::time::timeout(self.limits.head_time, begin) => begun.ok(),
            _ = stopped.wait_for(|stopped| *stopped) => None,
        }
    }

    /// Answers requests of a connection until it ends. When the service stops, and when nothing moves on a connection of HTTP/2, no new requests are taken; if
    /// nothing moves after that either, the client waits for nothing and the connection is cut off.
    async fn run<S>(&self, stream: S, peer: SocketAddr, http2: bool)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let builder = if http2 { &self.http2 } else { &self.http1 };
        let activity = Activity::new();
        let noted = http2.then(|| Arc::clone(&activity));
        let routes = self.routes.clone();
        let service = tower::service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            let (answering, noted) = (routes.clone().oneshot(request), noted.clone());
            async move {
                let Some(activity) = noted else { return answering.await };
                let working = activity.work();
                let answer = answering.await;
                drop(working);
                answer.map(|answer| answer.map(|body| activity.answer(body)))
            }
        });
        let service = TowerToHyperService::new(service);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let mut stopped = self.stopped.clone();
        let stopping = async {
            tokio::select! {
                _ = stopped.wait_for(|stopped| *stopped) => {}
                () = activity.still(self.limits.head_time), if http2 => {}
            }
        };
        // Errors of a connection are those of clients who go away.
        tokio::select! {
            _ = connection.as_mut() => return,
            () = stopping => connection.as_mut().graceful_shutdown(),
        }
        tokio::select! {
            _ = connection => {}
            () = activity.still(self.limits.write_time), if http2 => {}
        }
    }
}

/// True if a connection without TLS begins as HTTP/2 does; none if it ends before that. Nothing is taken from the stream.
async fn begins_http2(stream: &TcpStream) -> Option<bool> {
    let mut bytes = [0; PREFACE.len()];
    loop {
        let count = stream.peek(&mut bytes).await.ok()?;
        match bytes.get(..count)? {
            [] => return None,
            begin if !PREFACE.starts_with(begin) => return Some(false),
            begin if begin.len() == PREFACE.len() => return Some(true),
            // The rest is on its way; a stream with something in it is always ready.
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}
