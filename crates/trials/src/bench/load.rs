//! Requests over HTTP, on connections that are kept: as many as the service answers, or at a fixed rate.

use std::{
    future::Future,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{
    report::Reports,
    request::{event_id, rank_request},
};
use reticent_server::{Error, Result};

/// Events in a batch.
const BATCH: u64 = 500;
/// Reports of devices in a request.
pub(super) const REPORTS: u64 = 100;
/// Time for one measurement, at most.
const PATIENCE: Duration = Duration::from_secs(300);

/// A generator of load.
#[derive(Clone)]
pub(super) struct Load {
    /// Addresses of the processes; connections go to one after the other.
    addresses: Vec<SocketAddr>,
    connections: u64,
    /// The loop that is called.
    name: &'static str,
    /// Events so far: the next has this number.
    events: Arc<AtomicU64>,
}

/// The result of a measurement.
pub(super) struct Measured {
    /// Answers a second.
    pub rate: f64,
    /// Milliseconds of each request, sorted.
    latencies: Vec<f64>,
}

impl Measured {
    /// The latencies of several measurements, as if they were one; each has its share of the time.
    pub(super) fn together(all: &[Measured]) -> Self {
        let mut latencies: Vec<f64> = all.iter().flat_map(|one| &one.latencies).copied().collect();
        latencies.sort_by(f64::total_cmp);
        let rate = all.iter().map(|one| one.rate).sum::<f64>() / all.len().max(1) as f64;
        Measured { rate, latencies }
    }

    /// The latency that this share of requests does not exceed.
    pub(super) fn percentile(&self, share: f64) -> f64 {
        let index = (share * self.latencies.len() as f64).ceil() as usize;
        self.latencies.get(index.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }
}

impl Load {
    pub(super) fn new(address: SocketAddr, connections: u64) -> Self {
        Self::spread(vec![address], connections)
    }

    /// Connections to several processes of one store.
    pub(super) fn spread(addresses: Vec<SocketAddr>, connections: u64) -> Self {
        Load { addresses, connections, name: "bench", events: Arc::default() }
    }

    /// The same to the first of these processes: events go on where they are.
    pub(super) fn over(&self, processes: usize) -> Self {
        let addresses = self.addresses.iter().take(processes).copied().collect();
        Load { addresses, ..self.clone() }
    }

    /// The same for another loop.
    pub(super) fn of(self, name: &'static str) -> Self {
        Load { name, ..self }
    }

    /// Events that were asked for so far.
    pub(super) fn ranked(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Sends `count` rank requests, as fast as they are answered.
    pub(super) async fn ranks(&self, count: u64, key: &str) -> Result<Measured> {
        let first = self.events.fetch_add(count, Ordering::Relaxed);
        let rank = move |number: u64| ("rank".to_string(), rank_request(first + number));
        self.run(count, None, key, rank).await
    }

    /// Sends `rate` rank requests a second for this time. Latency counts from the moment at which a request was due.
    pub(super) async fn paced(&self, rate: u64, time: Duration, key: &str) -> Result<Measured> {
        let count = rate * time.as_secs();
        let first = self.events.fetch_add(count, Ordering::Relaxed);
        let rank = move |number: u64| ("rank".to_string(), rank_request(first + number));
        self.run(count, Some(rate), key, rank).await
    }

    /// Sends `count` rewards of events in random order, as fast as they are taken.
    pub(super) async fn rewards(&self, count: u64, key: &str) -> Result<Measured> {
        let events = self.ranked().max(1);
        let reward = move |number: u64| {
            let event = event_id(reticent::hash::mix(number, 5) % events);
            let body = format!("{{\"value\":0.5,\"idempotency_key\":\"{number}\"}}");
            (format!("events/{event}/reward"), body)
        };
        self.run(count, None, key, reward).await
    }

    /// Sends `count` reports of devices, one in a request.
    pub(super) async fn reports(&self, count: u64, made: Reports, key: &str) -> Result<Measured> {
        let first = self.events.fetch_add(count, Ordering::Relaxed);
        let report = move |number: u64| ("reports".to_string(), made.text(first + number));
        self.run(count, None, key, report).await
    }

    /// Sends `count` reports of devices, many in a request. The rate is that of reports.
    pub(super) async fn report_batches(
        &self,
        count: u64,
        made: Reports,
        key: &str,
    ) -> Result<Measured> {
        let batches = count.div_ceil(REPORTS);
        let first = self.events.fetch_add(batches * REPORTS, Ordering::Relaxed);
        let batch = move |number: u64| {
            ("reports/batch".to_string(), made.batch(first + number * REPORTS, REPORTS))
        };
        let measured = self.run(batches, None, key, batch).await?;
        Ok(Measured { rate: measured.rate * REPORTS as f64, ..measured })
    }

    /// Adds at least `count` events, in batches.
    pub(super) async fn fill(&self, count: u64, key: &str) -> Result<Measured> {
        let batches = count.div_ceil(BATCH);
        let first = self.events.fetch_add(batches * BATCH, Ordering::Relaxed);
        let batch = move |number: u64| {
            let first = first + number * BATCH;
            let requests: Vec<String> = (first..first + BATCH).map(rank_request).collect();
            ("rank/batch".to_string(), format!("{{\"requests\":[{}]}}", requests.join(",")))
        };
        Load { connections: 4, ..self.clone() }.run(batches, None, key, batch).await
    }

    async fn run<F>(&self, count: u64, rate: Option<u64>, key: &str, request: F) -> Result<Measured>
    where
        F: Fn(u64) -> (String, String) + Copy + Send + Sync + 'static,
    {
        let next = Arc::new(AtomicU64::new(0));
        let mut connections = Vec::new();
        for address in self.addresses.iter().cycle().take(self.connections as usize) {
            connections.push(Connection::open(*address, key.to_string(), self.name).await?);
        }
        // Clients keep their connections: opening them is not measured.
        let start = Instant::now();
        let mut tasks = Vec::new();
        for mut connection in connections {
            let next = Arc::clone(&next);
            tasks.push(tokio::spawn(async move {
                let mut latencies = Vec::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return Ok::<_, Error>(latencies);
                    }
                    let (path, body) = request(number);
                    let due = match rate {
                        None => Instant::now(),
                        Some(rate) => start + Duration::from_secs_f64(number as f64 / rate as f64),
                    };
                    tokio::time::sleep_until(due.into()).await;
                    connection.post(&path, &body).await?;
                    latencies.push(due.elapsed().as_secs_f64() * 1e3);
                }
            }));
        }
        let latencies = in_time(async {
            let mut all = Vec::with_capacity(count as usize);
            for task in tasks {
                all.extend(task.await.map_err(Error::store)??);
            }
            Ok(all)
        });
        let mut latencies = latencies.await?;
        let seconds = start.elapsed().as_secs_f64();
        latencies.sort_by(f64::total_cmp);
        Ok(Measured { rate: count as f64 / seconds, latencies })
    }
}

/// The result of a measurement, unless it takes too long.
pub(super) async fn in_time<T>(measuring: impl Future<Output = Result<T>>) -> Result<T> {
    let late = |_| Error::Unavailable("a measurement took longer than five minutes".into());
    tokio::time::timeout(PATIENCE, measuring).await.map_err(late)?
}

/// A connection that is kept.
struct Connection {
    stream: TcpStream,
    key: String,
    name: &'static str,
    request: String,
    answer: Vec<u8>,
}

impl Connection {
    async fn open(address: SocketAddr, key: String, name: &'static str) -> Result<Self> {
        let stream = TcpStream::connect(address).await.map_err(Error::store)?;
        stream.set_nodelay(true).map_err(Error::store)?;
        Ok(Connection { stream, key, name, request: String::new(), answer: Vec::new() })
    }

    /// Sends a request and reads its answer to the end.
    async fn post(&mut self, path: &str, body: &str) -> Result<()> {
        use std::fmt::Write;
        self.request.clear();
        let written = write!(
            self.request,
            "POST /v1/loops/{}/{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.name,
            self.key,
            body.len()
        );
        written.map_err(Error::store)?;
        self.stream.write_all(self.request.as_bytes()).await.map_err(Error::store)?;
        self.answer.clear();
        loop {
            if let Some(status) = complete(&self.answer) {
                return match status {
                    200..300 => Ok(()),
                    _ => {
                        let answer = String::from_utf8_lossy(&self.answer).into_owned();
                        Err(Error::Unavailable(format!("the service answered {answer}")))
                    }
                };
            }
            if self.stream.read_buf(&mut self.answer).await.map_err(Error::store)? == 0 {
                return Err(Error::Unavailable("the service closed a connection".into()));
            }
        }
    }
}

/// The status of an answer that is there to its end.
fn complete(bytes: &[u8]) -> Option<u16> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let status: u16 = head.get(9..12)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    (bytes.len() >= end + 4 + length.unwrap_or(0_usize)).then_some(status)
}
