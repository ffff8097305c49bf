//! Clients that hold connections: those that send requests and take no answers, and those that open too many.

use std::{net::SocketAddr, time::Duration};

use reticent_server::{
    client::Endpoint,
    config::ServiceFile,
    http::{HttpLimits, PerAddress},
    run::Listen,
    shuffle::{ShuffleOptions, run_shuffler},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    sync::oneshot,
    time::timeout,
};

use crate::common::{Server, request};

const SOON: Duration = Duration::from_secs(10);

/// A service with room for 32 connections, whose clients must take answers within a short time.
async fn small(head_time: Duration) -> Server {
    let write_time = Duration::from_millis(300);
    let limits = HttpLimits { connections: 32, head_time, write_time, ..HttpLimits::default() };
    Server::with(limits).await
}

/// A client with little room for what comes back.
async fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(address).await.unwrap()
}

#[tokio::test]
async fn clients_that_never_read_do_not_keep_others_from_being_answered() {
    let server = small(Duration::from_secs(600)).await;
    let many = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100);
    let mut held = Vec::new();
    for _ in 0..100 {
        let mut stream = connect(server.address).await;
        let _ = timeout(Duration::from_millis(100), stream.write_all(many.as_bytes())).await;
        held.push(stream);
    }
    let answer = timeout(SOON, server.send("GET", "/healthz", &[], "")).await;
    answer.expect("others are answered").expect(200);
}

/// A client of HTTP/2 that gives no room for answers, and answers pings for as long as it is asked.
async fn give_no_room(mut stream: TcpStream) {
    let mut begin = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // Settings: an initial window of 0.
    begin.extend([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]);
    // Stream 1: GET http /openapi.json, and the end of the request.
    let mut head = vec![0x82, 0x86, 0x04, 13];
    head.extend(b"/openapi.json");
    head.extend([0x41, 9]);
    head.extend(b"localhost");
    begin.extend([0, 0, head.len() as u8, 1, 5, 0, 0, 0, 1]);
    begin.extend(head);
    stream.write_all(&begin).await.unwrap();
    let mut frame = [0; 9];
    while stream.read_exact(&mut frame).await.is_ok() {
        let length = u32::from_be_bytes([0, frame[0], frame[1], frame[2]]) as usize;
        let mut payload = vec![0; length];
        if stream.read_exact(&mut payload).await.is_err() {
            return;
        }
        let (kind, flags) = (frame[3], frame[4]);
        if kind == 6 && flags == 0 {
            let pong = [&[0, 0, 8, 6, 1, 0, 0, 0, 0], &payload[..]].concat();
            if stream.write_all(&pong).await.is_err() {
                return;
            }
        }
    }
}

#[tokio::test]
async fn a_client_of_http2_without_room_for_its_answer_is_cut_off() {
    let server = small(Duration::from_millis(300)).await;
    let stream = connect(server.address).await;
    assert!(timeout(SOON, give_no_room(stream)).await.is_ok(), "it was waited for");
}

/// Opens three connections and a fourth, which is closed at once, and gets an answer again when one of the three has ended.
async fn no_more_than_three_at_a_time(address: SocketAddr) {
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(TcpStream::connect(address).await.unwrap());
    }
    let mut more = TcpStream::connect(address).await.unwrap();
    let ended = timeout(SOON, more.read(&mut [0; 1])).await.expect("it is closed at once");
    assert!(matches!(ended, Ok(0) | Err(_)));
    held.pop();
    // The server sees the end of a connection a moment after its client.
    for _ in 0..100 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let text = request("GET", "/healthz", &[], "");
        let mut answer = Vec::new();
        let _ = stream.write_all(text.as_bytes()).await;
        let _ = timeout(SOON, stream.read_to_end(&mut answer)).await;
        if answer.starts_with(b"HTTP/1.1 200") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("a connection that has ended still counts");
}

#[tokio::test]
async fn an_address_has_a_limit_of_connections_at_a_time() {
    let limits = HttpLimits { per_address: PerAddress::Every(3), ..HttpLimits::default() };
    let server = Server::with(limits).await;
    no_more_than_three_at_a_time(server.address).await;
}

#[tokio::test]
async fn a_shuffler_has_the_same_limit_of_an_address() {
    let file = "[loop.mixed]\ntrust = \"shuffler\"\nprivacy = { epsilon = 4.0, delta = 1e-3, visits = 1, per = \"ever\" }\n\
                shuffle = { batch = 4, cap = 4 }\n[loop.mixed.action]\ntopic = { categories = [\"news\", \"sport\"] }\n";
    let folder = tempfile::tempdir().unwrap();
    let options = ShuffleOptions {
        plans: ServiceFile::parse(file).unwrap().check().unwrap(),
        data: folder.path().join("data"),
        // No server answers there, and devices can be held off without one.
        server: Endpoint::new("http://127.0.0.1:9", None, None).unwrap(),
        listen: Listen { address: "127.0.0.1:0".parse().unwrap(), tls: None, behind_proxy: false },
        limits: HttpLimits { per_address: PerAddress::Every(3), ..HttpLimits::default() },
    };
    let ((stop, stopped), (opened, address)) = (oneshot::channel::<()>(), oneshot::channel());
    let open = |address| {
        let _ = opened.send(address);
    };
    let shuffler = tokio::spawn(run_shuffler(options, open, async move { drop(stopped.await) }));
    no_more_than_three_at_a_time(address.await.unwrap()).await;
    drop(stop);
    shuffler.await.unwrap().unwrap();
}
