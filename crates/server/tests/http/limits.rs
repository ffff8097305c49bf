//! Sizes, rates, slow clients, connections, TLS, HTTP/2, a graceful stop.

use std::{sync::Arc, time::Duration};

use reticent_server::http::{HttpLimits, Rate, Role, Tls};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore, crypto,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

use crate::common::{Server, exchange, rank_request, read_answer, request};

fn quick() -> HttpLimits {
    let short = Duration::from_millis(300);
    HttpLimits { head_time: short, body_time: short, ..HttpLimits::default() }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_413() {
    let server = Server::with(HttpLimits { body: 1000, ..HttpLimits::default() }).await;
    let large = format!("{{\"actions\": [{{\"id\": \"{}\"}}]}}", "a".repeat(1000));
    let path = "/v1/loops/home/rank";
    server.post(&server.app_key, path, &large).await.expect(413);
    // Without a length in the head.
    let key = format!("Authorization: Bearer {}", server.app_key);
    let mut text = request(
        "GET",
        path,
        &[&key, "Content-Type: application/json", "Transfer-Encoding: chunked"],
        "",
    );
    text = text.replacen("GET", "POST", 1) + &format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    exchange(TcpStream::connect(server.address).await.unwrap(), &text).await.expect(413);
    server.rank("e1", "anna").await.expect(200);
}

#[tokio::test]
async fn ranks_beyond_the_rate_are_429_and_rewards_draw_on_no_rate() {
    let ranks = Rate { per_second: 1, burst: 3 };
    let server = Server::with(HttpLimits { ranks, ..HttpLimits::default() }).await;
    server.rank("e1", "anna").await.expect(200);
    for _ in 0..20 {
        server.reward("e1", 0.5).await.expect(204);
        server.reward("none", 0.5).await.expect(404);
    }
    let batch =
        format!("{{\"requests\": [{}, {}]}}", rank_request("e2", "b"), rank_request("e3", "c"));
    server.post(&server.app_key, "/v1/loops/home/rank/batch", &batch).await.expect(200);
    let refused = server.rank("e4", "anna").await.expect(429);
    assert_eq!(refused.header("retry-after"), Some("1"));
    let facade = server.post(&server.app_key, "/personalizer/v1.0/rank", "{}").await.expect(429);
    assert_eq!(
        (facade.json()["error"]["code"].as_str(), facade.header("retry-after")),
        (Some("TooManyRequests"), Some("1"))
    );
    server.reward("e2", 0.5).await.expect(204);
    // Another key has a rate of its own.
    let other = server.key("home", &[Role::Decide]).await;
    server.post(&other, "/v1/loops/home/rank", &rank_request("e5", "anna")).await.expect(200);
    server.clock.pass(1000);
    server.rank("e4", "anna").await.expect(200);
    assert_eq!(server.service.central("home").unwrap().open_events(), 5);
}

#[tokio::test]
async fn reading_calls_have_a_rate_of_their_own() {
    let reads = Rate { per_second: 1, burst: 2 };
    let server = Server::with(HttpLimits { reads, ..HttpLimits::default() }).await;
    for status in [200, 200, 429] {
        server.get(&server.read_key, "/v1/loops").await.expect(status);
    }
}

/// Pages are read with a key too, and a sign-in is a look at the first one.
#[tokio::test]
async fn pages_draw_on_the_rate_of_reading_calls() {
    let reads = Rate { per_second: 1, burst: 3 };
    let server = Server::with(HttpLimits { reads, ..HttpLimits::default() }).await;
    let form = "Content-Type: application/x-www-form-urlencoded";
    let body = format!("key={}&next=/", server.read_key);
    let signed_in = server.send("POST", "/sign-in", &[form], &body).await.expect(303);
    let cookie = signed_in.header("set-cookie").unwrap().split(';').next().unwrap();
    let cookie = format!("Cookie: {cookie}");
    for (path, status) in [("/", 200), ("/loops/home", 200), ("/live", 429), ("/certificate", 429)]
    {
        let answer = server.send("GET", path, &[&cookie], "").await.expect(status);
        assert_eq!(answer.header("retry-after"), (status == 429).then_some("1"), "{path}");
    }
    server.get(&server.read_key, "/v1/loops").await.expect(429);
    server.send("POST", "/sign-in", &[form], &body).await.expect(429);
    // Another key has a rate of its own, and what needs no key has none.
    server.get(&server.admin_key, "/v1/loops").await.expect(200);
    for path in ["/", "/docs", "/assets/style.css"] {
        server.send("GET", path, &[], "").await.expect(200);
    }
    server.clock.pass(1000);
    server.send("GET", "/", &[&cookie], "").await.expect(200);
}

#[tokio::test]
async fn slow_clients_are_cut_off() {
    let server = Server::with(quick()).await;
    for begin in ["", "P", "PRI * HT", "POST /v1/loops/home/rank HTTP/1.1\r\nHost: x\r\n"] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(begin.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        let ended =
            tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "{begin:?} was waited for");
    }
    let key = format!("Authorization: Bearer {}", server.app_key);
    let headers = [key.as_str(), "Content-Type: application/json"];
    let text = request("POST", "/v1/loops/home/rank", &headers, &rank_request("e1", "anna"));
    let stream = TcpStream::connect(server.address).await.unwrap();
    exchange(stream, &text[..text.len() - 10]).await.expect(408);
    assert_eq!(server.service.central("home").unwrap().open_events(), 0);
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_others_to_end() {
    let limits = HttpLimits { connections: 2, ..HttpLimits::default() };
    let server = Server::with(limits).await;
    let held = [TcpStream::connect(server.address).await, TcpStream::connect(server.address).await];
    tokio::time::sleep(Duration::from_millis(100)).await;
    let waiting = server.send("GET", "/healthz", &[], "");
    let mut waiting = std::pin::pin!(waiting);
    assert!(tokio::time::timeout(Duration::from_millis(300), &mut waiting).await.is_err());
    drop(held);
    waiting.await.expect(200);
}

#[tokio::test]
async fn a_stop_finishes_requests_under_way_and_takes_no_new_ones() {
    let mut server = Server::start().await;
    let key = format!("Authorization: Bearer {}", server.app_key);
    let headers = [key.as_str(), "Content-Type: application/json"];
    let text = request("POST", "/v1/loops/home/rank", &headers, &rank_request("e1", "anna"));
    let (begin, end) = text.split_at(text.len() - 10);
    let mut idle = TcpStream::connect(server.address).await.unwrap();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(begin.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    server.stop.take().unwrap().send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(TcpStream::connect(server.address).await.is_err());
    let task = server.task.take().unwrap();
    assert!(!task.is_finished());
    stream.write_all(end.as_bytes()).await.unwrap();
    read_answer(&mut stream).await.expect(200);
    tokio::time::timeout(Duration::from_secs(5), task).await.unwrap().unwrap();
    assert_eq!(idle.read(&mut [0; 8]).await.unwrap(), 0);
    assert_eq!(server.service.central("home").unwrap().open_events(), 1);
}

#[tokio::test]
async fn tls_speaks_both_versions_and_tells_browsers_to_stay_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    let files = Tls { certificate: folder.path().join("c.pem"), key: folder.path().join("k.pem") };
    assert!(files.open().unwrap_err().to_string().contains("tls-certificate"));
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    assert!(files.open().unwrap_err().to_string().contains("tls-key"));
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    let server = Server::with_tls(quick(), Some(files.open().unwrap())).await;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&files.certificate).unwrap()).unwrap();
    let provider = Arc::new(crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    for protocol in ["http/1.1", "h2"] {
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let connector = TlsConnector::from(Arc::new(config.clone()));
        let stream = TcpStream::connect(server.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = connector.connect(name, stream).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol.as_bytes()));
        if protocol == "h2" {
            // Its preface and empty settings; the server's settings come back.
            stream
                .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
                .await
                .unwrap();
            let mut head = [0; 9];
            stream.read_exact(&mut head).await.unwrap();
            assert_eq!(head[3], 4, "{head:?}");
            continue;
        }
        let answer = exchange(stream, &request("GET", "/healthz", &[], "")).await.expect(200);
        assert_eq!(answer.header("strict-transport-security"), Some("max-age=31536000"));
    }
    // A client that does not speak TLS is cut off.
    let mut plain = TcpStream::connect(server.address).await.unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains("ok"));
}

#[tokio::test]
async fn http2_without_tls_is_recognised() {
    let server = Server::start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(head[3], 4, "{head:?}");
}
