//! One HTTP call at a time, with or without TLS.

use std::{path::Path, sync::Arc, time::Duration};

use axum::http::{Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore, crypto,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

use crate::{Error, Result};

/// Bytes of an answer, at most.
const MOST_ANSWER: usize = 64 << 20;

/// Time for one call.
const CALL_TIME: Duration = Duration::from_secs(30);

/// Body of a request.
#[derive(Debug, Clone)]
pub enum Body {
    /// JSON.
    Json(Vec<u8>),
    /// Other bytes.
    Bytes(Vec<u8>),
}

/// A service at an address.
#[derive(Clone)]
pub struct Endpoint {
    host: String,
    port: u16,
    key: Option<String>,
    tls: Option<Arc<ClientConfig>>,
}

impl Endpoint {
    /// True if this is the same host and port.
    pub fn is_at(&self, other: &Endpoint) -> bool {
        (&self.host, self.port) == (&other.host, other.port)
    }

    /// The service at `http://HOST:PORT` or `https://HOST:PORT`, asked with this key. For HTTPS `roots` is a PEM file of the certificates that are
    /// trusted. Without TLS the host must be this machine.
    pub fn new(address: &str, key: Option<String>, roots: Option<&Path>) -> Result<Self> {
        let bad = |remedy: &str| Error::invalid("address", address, remedy);
        let uri: Uri =
            address.parse().map_err(|_| bad("expected http://HOST:PORT or https://HOST:PORT"))?;
        let host = uri.host().ok_or_else(|| bad("expected a host"))?.to_string();
        let secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") if ["127.0.0.1", "localhost", "[::1]"].contains(&host.as_str()) => false,
            Some("http") => {
                return Err(bad(
                    "the body would cross the network in the clear; expected https://",
                ));
            }
            _ => return Err(bad("expected http://HOST:PORT or https://HOST:PORT")),
        };
        let tls = match (secure, roots) {
            (false, Some(_)) => {
                return Err(bad(
                    "certificates to trust are given, and http:// uses none; expected https://; or leave them out",
                ));
            }
            (false, None) => None,
            (true, Some(roots)) => Some(trusting(roots)?),
            (true, None) => return Err(bad("expected a PEM file of the certificates to trust")),
        };
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        Ok(Endpoint { host, port, key, tls })
    }

    /// Body of the answer at a path.
    pub async fn get(&self, path: &str) -> Result<Vec<u8>> {
        self.call(Method::GET, path, None, CALL_TIME).await
    }

    /// Sends a body to a path.
    pub async fn post(&self, path: &str, body: Body) -> Result<Vec<u8>> {
        self.post_within(path, body, CALL_TIME).await
    }

    /// The same with another time for the call: a shuffler's batch may be large.
    pub async fn post_within(&self, path: &str, body: Body, time: Duration) -> Result<Vec<u8>> {
        self.call(Method::POST, path, Some(body), time).await
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Body>,
        time: Duration,
    ) -> Result<Vec<u8>> {
        let away = |error: &dyn std::fmt::Display| {
            Error::Unavailable(format!("{} does not answer: {error}", self.host))
        };
        let (kind, bytes) = match body {
            None => (None, Vec::new()),
            Some(Body::Json(bytes)) => (Some("application/json"), bytes),
            Some(Body::Bytes(bytes)) => (Some("application/octet-stream"), bytes),
        };
        let mut request =
            Request::builder().method(method).uri(path).header(header::HOST, &self.host);
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        if let Some(kind) = kind {
            request = request.header(header::CONTENT_TYPE, kind);
        }
        let request = request.body(Full::new(Bytes::from(bytes))).map_err(|error| away(&error))?;
        let answer = tokio::time::timeout(time, self.exchange(request)).await;
        let (status, retry_after, body) = answer.map_err(|error| away(&error))??;
        match status.is_success() {
            true => Ok(body),
            false => Err(refused(status, retry_after, &body)),
        }
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<(StatusCode, u64, Vec<u8>)> {
        let away = |error: &dyn std::fmt::Display| {
            Error::Unavailable(format!("{} does not answer: {error}", self.host))
        };
        let host = self.host.trim_matches(['[', ']']);
        let stream = TcpStream::connect((host, self.port)).await.map_err(|error| away(&error))?;
        match &self.tls {
            None => send(stream, request).await.map_err(|error| away(&error)),
            Some(config) => {
                let name = ServerName::try_from(host.to_string()).map_err(|error| away(&error))?;
                let connecting = TlsConnector::from(Arc::clone(config)).connect(name, stream);
                let stream = connecting.await.map_err(|error| away(&error))?;
                send(stream, request).await.map_err(|error| away(&error))
            }
        }
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

async fn send(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> std::result::Result<(StatusCode, u64, Vec<u8>), Failure> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(request).await?;
    let status = answer.status();
    let retry_after = answer.headers().get(header::RETRY_AFTER);
    let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or(1);
    let body = Limited::new(answer.into_body(), MOST_ANSWER).collect().await?.to_bytes().to_vec();
    drop(sender);
    connection.abort();
    Ok((status, retry_after, body))
}

/// An error of the service as one of this program.
fn refused(status: StatusCode, retry_after: u64, body: &[u8]) -> Error {
    let problem: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let word = |field: &str| problem.get(field).and_then(|text| text.as_str()).map(String::from);
    let message = word("detail").unwrap_or_else(|| format!("the service answered {status}"));
    match status {
        StatusCode::CONFLICT => Error::Conflict(message),
        StatusCode::GONE => Error::Late(message),
        StatusCode::TOO_MANY_REQUESTS => Error::TooMany { message, retry_after },
        StatusCode::NOT_FOUND => Error::unknown(
            word("field").unwrap_or_else(|| "request".into()),
            word("value").unwrap_or_else(|| status.to_string()),
            word("remedy").unwrap_or(message),
        ),
        status if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT => {
            Error::Unavailable(message)
        }
        _ => Error::invalid(
            word("field").unwrap_or_else(|| "request".into()),
            word("value").unwrap_or_else(|| status.to_string()),
            word("remedy").unwrap_or(message),
        ),
    }
}

fn trusting(roots: &Path) -> Result<Arc<ClientConfig>> {
    let bad = |error: &dyn std::fmt::Display| {
        Error::invalid("roots", roots.display(), format!("{error}; expected a readable PEM file"))
    };
    let mut store = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(roots).map_err(|error| bad(&error))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| bad(&error))?;
        store.add(certificate).map_err(|error| bad(&error))?;
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| bad(&error))?
        .with_root_certificates(store)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
