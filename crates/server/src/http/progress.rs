//! Connections whose client takes nothing, or asks nothing, for too long.
//!
//! **Writing.** A client that sends requests and never reads fills its own buffers and those of the system; from then on the service waits with the answer.
//! [`Taken`] ends a connection when the client takes less than [`LEAST`] bytes of the waiting ones within a time.
//!
//! **HTTP/2.** There the client also says how much of an answer it has room for, so that an answer can wait while the socket is idle, and a client that only answers pings
//! would keep its connection for ever. [`Activity`] notes when requests and parts of answers last moved; what the service itself takes time for counts as moving.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};

/// Bytes that a client must take within the time.
const LEAST: usize = 4096;

/// Bytes of an answer that are handed over at a time: what HTTP/2 holds of an answer that a client has no room for.
const PIECE: usize = 64 << 10;

/// A socket that fails when its client takes too few of the written bytes.
pub(super) struct Taken<S> {
    socket: S,
    time: Duration,
    /// Bytes taken since the time began.
    bytes: usize,
    /// Ends with the time; none while nothing waits.
    late: Option<Pin<Box<Sleep>>>,
}

impl<S> Taken<S> {
    pub(super) fn new(socket: S, time: Duration) -> Self {
        Taken { socket, time, bytes: 0, late: None }
    }

    /// Goes on waiting, or fails when the time is over.
    fn wait<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        let time = self.time;
        let late = self.late.get_or_insert_with(|| Box::pin(tokio::time::sleep(time)));
        ready!(late.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Notes bytes that were taken.
    fn took(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes >= LEAST {
            self.rest();
        }
    }

    /// Begins the time anew with the next byte that waits.
    fn rest(&mut self) {
        (self.bytes, self.late) = (0, None);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Taken<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Taken<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.socket).poll_write(context, bytes) {
            Poll::Ready(Ok(count)) => {
                self.took(count);
                Poll::Ready(Ok(count))
            }
            Poll::Ready(error) => Poll::Ready(error),
            Poll::Pending => self.wait(context),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.socket).poll_write_vectored(context, slices) {
            Poll::Ready(Ok(count)) => {
                self.took(count);
                Poll::Ready(Ok(count))
            }
            Poll::Ready(error) => Poll::Ready(error),
            Poll::Pending => self.wait(context),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.socket).poll_flush(context) {
            // Everything that waited is taken.
            Poll::Ready(flushed) => {
                self.rest();
                Poll::Ready(flushed)
            }
            Poll::Pending => self.wait(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.socket).poll_shutdown(context) {
            Poll::Ready(done) => Poll::Ready(done),
            Poll::Pending => self.wait(context),
        }
    }
}

/// Time at which something of a connection moved last.
pub(super) struct Activity(Mutex<Moved>);

struct Moved {
    last: Instant,
    /// Requests and parts of answers that the service is making.
    working: usize,
}

/// Work of the service on a connection, until it is dropped.
pub(super) struct Working(Arc<Activity>);

impl Activity {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Activity(Mutex::new(Moved { last: Instant::now(), working: 0 })))
    }

    fn moved(&self, change: impl FnOnce(&mut usize)) {
        let mut moved = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        moved.last = Instant::now();
        change(&mut moved.working);
    }

    /// Notes that the service works for this connection.
    pub(super) fn work(self: &Arc<Self>) -> Working {
        self.moved(|working| *working += 1);
        Working(Arc::clone(self))
    }

    /// An answer whose parts are noted when the client has room for them.
    pub(super) fn answer(self: &Arc<Self>, body: Body) -> Body {
        let (activity, rest) = (Arc::clone(self), Bytes::new());
        Body::new(Answer { body, rest, activity, working: None })
    }

    /// Ready when nothing has moved for so long.
    pub(super) async fn still(&self, time: Duration) {
        loop {
            let end = {
                let moved = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                let last = if moved.working > 0 { Instant::now() } else { moved.last };
                last + time
            };
            if end <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.moved(|working| *working -= 1);
    }
}

/// See [`Activity::answer`].
struct Answer {
    body: Body,
    /// Rest of a part that was too large to be handed over at once.
    rest: Bytes,
    activity: Arc<Activity>,
    /// While the next part is being made.
    working: Option<Working>,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
                if self.working.is_none() {
                    self.working = Some(self.activity.work());
                }
                return Poll::Pending;
            };
            self.working = None;
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.rest = data,
                Some(Ok(Err(other))) => return Poll::Ready(Some(Ok(other))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        self.activity.moved(|_| ());
        let length = self.rest.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, body) = (self.rest.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(body.lower().saturating_add(rest));
        if let Some(upper) = body.upper().and_then(|upper| upper.checked_add(rest)) {
            hint.set_upper(upper);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_client_that_takes_too_little_is_cut_off_and_a_slow_one_is_not() {
        let time = Duration::from_secs(1);
        for (every, bytes, ends) in [(5, 1, true), (60, LEAST, false)] {
            let (socket, mut client) = tokio::io::duplex(1024);
            let mut socket = Taken::new(socket, time);
            let (begun, every) = (Instant::now(), Duration::from_millis(every));
            let reading = async {
                while begun.elapsed() < 3 * time / 2 {
                    tokio::time::sleep(every).await;
                    let _ = client.read_exact(&mut vec![0; bytes]).await;
                }
            };
            let writing = socket.write_all(&[0; 1 << 20]);
            let written = tokio::select! { written = writing => written, () = reading => Ok(()) };
            assert_eq!(written.is_err(), ends, "{bytes} bytes every {every:?}");
        }
    }

    /// Bytes that were taken late say nothing about the next answer, however much later that is.
    #[tokio::test]
    async fn the_time_begins_with_what_waits() {
        let (socket, mut client) = tokio::io::duplex(64);
        let mut socket = Taken::new(socket, Duration::from_secs(30));
        let writing = async {
            assert!(
                tokio::time::timeout(Duration::from_millis(50), socket.write_all(&[0; 100]))
                    .await
                    .is_err()
            );
            assert!(socket.late.is_some());
        };
        writing.await;
        client.read_exact(&mut [0; 64]).await.unwrap();
        socket.flush().await.unwrap();
        assert!(socket.late.is_none() && socket.bytes == 0);
    }

    #[tokio::test]
    async fn a_slow_service_is_not_a_still_client() {
        let time = Duration::from_millis(100);
        let (activity, begun) = (Activity::new(), Instant::now());
        let working = activity.work();
        let ((), ()) = tokio::join!(activity.still(time), async {
            tokio::time::sleep(4 * time).await;
            drop(working);
        });
        assert!(begun.elapsed() >= 5 * time);
    }

    #[tokio::test]
    async fn an_answer_is_handed_over_in_pieces() {
        let activity = Activity::new();
        let large = vec![7; 3 * PIECE + 1];
        let mut answer = activity.answer(Body::from(large.clone()));
        assert_eq!(answer.size_hint().exact(), Some(large.len() as u64));
        let mut taken = Vec::new();
        while let Some(part) = answer.frame().await {
            let part = part.unwrap().into_data().unwrap();
            assert!(part.len() <= PIECE);
            taken.extend_from_slice(&part);
        }
        assert!(taken == large && answer.is_end_stream());
    }
}
