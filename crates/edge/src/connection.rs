//! One connection, from accept to close.
//!
//! A connection has one slow clock instead of a timer for each request. Each tick polls the connection, so that a request
//! in flight checks its deadline. The clock also measures how long the client has been sending headers, has been idle, or
//! has not read what is sent to it. So time limits are accurate to one tick and cost nothing per request. While a stream
//! is open and its client reads, the clock is slower: ten thousand idle streams would otherwise cost ten thousand polls a
//! second.

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::{App, HttpLimits, Problem};

/// How long a client may take to read a final error before the connection is closed.
const FINAL_REPLY_WAIT: Duration = Duration::from_millis(500);

/// How long a stopping server waits for a stream to send its last piece.
const STREAM_END_WAIT: Duration = Duration::from_millis(200);

/// hyper needs room for a line and for the header of a chunk.
const BUFFER_BYTES_MIN: usize = 64 * 1024;

/// How much a connection reads before others have their turn. Without it, bytes that arrive faster than they are parsed, such as a
/// chunk size with endless zeros, would occupy a thread for hundreds of milliseconds: the runtime counts reads, not bytes.
const READ_BYTES_PER_TURN: usize = 32 * 1024;

/// The same for what a connection sends: a change that goes to a thousand watchers is megabytes for each of them.
const WRITE_BYTES_PER_TURN: usize = 64 * 1024;

/// Serves a connection until it ends, or until `stop` changes and the request in flight is answered.
pub(crate) async fn serve<S>(app: Arc<App>, socket: S, peer: IpAddr, mut stop: watch::Receiver<()>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let activity = Arc::new(Activity::default());
    let io = TokioIo::new(MonitoredSocket::new(socket, activity.clone()));
    let service = service_fn(|request: Request<Incoming>| {
        let busy = Busy::new(activity.clone());
        let app = app.clone();
        let request = request.map(|body| ReceivedBody::new(body, activity.clone()));
        async move {
            let mut reply = app.answer_peer(request, Some(peer)).await;
            reply.body_mut().attach(|| OpenStream::new(busy, app.meter.streams.clone()));
            Ok::<_, Infallible>(reply)
        }
    });
    let limits = app.limits;
    // hyper's pipeline_flush stays off: it would hold back a reply while more bytes from the client are unread.
    let mut connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_header_size(usize::try_from(limits.header_bytes_max).unwrap_or(usize::MAX))
        .max_buf_size(buffer_bytes_max(&limits))
        .serve_connection(io, service);
    let mut clock = ConnectionClock::new(&limits);
    let mut tick = std::pin::pin!(sleep(clock.period));
    let mut stopping = false;
    // Runs from the stop until unfinished requests are cut off.
    let mut grace = std::pin::pin!(sleep(Duration::MAX));
    let mut in_grace = false;
    loop {
        tokio::select! {
            biased;
            ended = &mut connection => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "connection failed");
                }
                return;
            }
            () = &mut tick => {
                match clock.tick(&activity) {
                    TickResult::Continue => {}
                    TickResult::HeadTooSlow => break,
                    TickResult::Idle => return,
                    TickResult::Stalled => {
                        app.meter.stalls.increment(1);
                        tracing::info!(
                            stall_ms_max = limits.stall_ms_max,
                            "connection closed: the client does not read"
                        );
                        return;
                    }
                }
                tick.as_mut().reset(Instant::now() + clock.until_next(&activity));
            }
            () = &mut grace, if in_grace => {
                in_grace = false;
                if activity.is_receiving() {
                    tracing::info!(
                        stop_receive_ms_max = limits.stop_receive_ms_max,
                        "connection closed: the server stops, and the request is not complete"
                    );
                    return;
                }
            }
            _ = stop.changed(), if !stopping => {
                (stopping, in_grace) = (true, true);
                let wait = Duration::from_millis(limits.stop_receive_ms_max);
                grace.as_mut().reset(Instant::now() + wait);
                activity.stopping.store(true, Ordering::Relaxed);
                Pin::new(&mut connection).graceful_shutdown();
                if activity.is_streaming() {
                    // The stream ends at its next poll. Only a client that does not read needs longer.
                    let _ = tokio::time::timeout(STREAM_END_WAIT, connection).await;
                    return;
                }
            }
        }
    }
    let socket = connection.into_parts().io.into_inner().socket;
    // Boxed, so that not every connection's future has room for its buffer.
    Box::pin(send_and_close(socket, &head_too_slow(limits.header_read_ms_max))).await;
}

/// Sends a problem and closes the connection. It first reads what the client still sends: closing a socket with unread
/// bytes resets it, and the client would lose the reply.
pub(crate) async fn send_and_close<S>(mut socket: S, problem: &Problem)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let exchange = async {
        socket.write_all(&problem.to_http1_bytes()).await?;
        socket.shutdown().await?;
        let mut rest = [0; 4096];
        while socket.read(&mut rest).await? > 0 {}
        Ok::<_, io::Error>(())
    };
    // On an error or a timeout the socket is closed all the same.
    let _ = tokio::time::timeout(FINAL_REPLY_WAIT, exchange).await;
}

fn head_too_slow(max_ms: u64) -> Problem {
    Problem::new(
        StatusCode::REQUEST_TIMEOUT,
        "head_too_slow",
        "the headers did not arrive in time",
        format!("the headers were not complete within {max_ms} ms; header_read_ms_max is {max_ms}"),
    )
}

/// The most that hyper buffers of a connection, in each direction.
pub fn buffer_bytes_max(limits: &HttpLimits) -> usize {
    usize::try_from(limits.header_bytes_max).unwrap_or(usize::MAX).max(BUFFER_BYTES_MIN)
}

/// What a connection is doing: written by its socket and its service, read by its clock.
#[derive(Default)]
struct Activity {
    /// A request is in flight.
    busy: AtomicBool,
    /// Bytes have arrived since the last reply.
    reading: AtomicBool,
    /// The body of the request in flight is not complete.
    receiving: AtomicBool,
    /// Number of replies.
    answered: AtomicU64,
    /// A reply is being sent as a stream.
    streaming: AtomicBool,
    /// The server is stopping; streams must end.
    stopping: AtomicBool,
    /// The socket does not accept what is to be sent.
    blocked: AtomicBool,
    /// Something has been sent since the last tick.
    sent: AtomicBool,
}

impl Activity {
    fn is_streaming(&self) -> bool {
        self.streaming.load(Ordering::Relaxed)
    }

    /// Whether a request has arrived in part.
    fn is_receiving(&self) -> bool {
        let head = self.reading.load(Ordering::Relaxed) && !self.busy.load(Ordering::Relaxed);
        head || self.receiving.load(Ordering::Relaxed)
    }

    fn wrote(&self, polled: &Poll<io::Result<usize>>) {
        match polled {
            Poll::Pending => self.blocked.store(true, Ordering::Relaxed),
            Poll::Ready(_) => {
                self.blocked.store(false, Ordering::Relaxed);
                self.sent.store(true, Ordering::Relaxed);
            }
        }
    }
}

pub(crate) struct Busy(Arc<Activity>);

impl Busy {
    fn new(activity: Arc<Activity>) -> Busy {
        activity.busy.store(true, Ordering::Relaxed);
        Busy(activity)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.reading.store(false, Ordering::Relaxed);
        self.0.busy.store(false, Ordering::Relaxed);
        self.0.answered.fetch_add(1, Ordering::Relaxed);
    }
}

/// The body of a request. Marks the connection as receiving until the body is complete or dropped.
struct ReceivedBody {
    body: Incoming,
    activity: Arc<Activity>,
}

impl ReceivedBody {
    fn new(body: Incoming, activity: Arc<Activity>) -> ReceivedBody {
        activity.receiving.store(!body.is_end_stream(), Ordering::Relaxed);
        ReceivedBody { body, activity }
    }
}

impl Drop for ReceivedBody {
    fn drop(&mut self) {
        self.activity.receiving.store(false, Ordering::Relaxed);
    }
}

impl Body for ReceivedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Held by a streaming body: marks the connection as busy and counts the stream.
pub(crate) struct OpenStream {
    busy: Busy,
    count: metrics::Gauge,
}

impl OpenStream {
    fn new(busy: Busy, count: metrics::Gauge) -> OpenStream {
        count.increment(1);
        busy.0.streaming.store(true, Ordering::Relaxed);
        OpenStream { busy, count }
    }

    /// Whether the server is stopping.
    pub(crate) fn must_end(&self) -> bool {
        self.busy.0.stopping.load(Ordering::Relaxed)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.busy.0.streaming.store(false, Ordering::Relaxed);
        self.count.decrement(1);
    }
}

#[derive(Debug, PartialEq, Eq)]
enum TickResult {
    Continue,
    HeadTooSlow,
    Idle,
    Stalled,
}

/// Counts the ticks without progress.
struct ConnectionClock {
    period: Duration,
    /// Replaces `period` while a stream is open and its client reads.
    quiet_period: Duration,
    head_ticks_max: u64,
    idle_ticks_max: u64,
    stall_ticks_max: u64,
    answered: u64,
    head_ticks: u64,
    idle_ticks: u64,
    stall_ticks: u64,
}

impl ConnectionClock {
    fn new(limits: &HttpLimits) -> ConnectionClock {
        let shortest = limits.header_read_ms_max.min(limits.request_ms_max).min(limits.idle_ms_max);
        let period_ms = (shortest.min(limits.stall_ms_max) / 4).clamp(5, 1000);
        let quiet_ms = (limits.stall_ms_max / 4).clamp(period_ms, 60_000);
        ConnectionClock {
            period: Duration::from_millis(period_ms),
            quiet_period: Duration::from_millis(quiet_ms),
            head_ticks_max: limits.header_read_ms_max.div_ceil(period_ms),
            idle_ticks_max: limits.idle_ms_max.div_ceil(period_ms),
            stall_ticks_max: limits.stall_ms_max.div_ceil(period_ms),
            answered: 0,
            head_ticks: 0,
            idle_ticks: 0,
            stall_ticks: 0,
        }
    }

    /// The time to the next tick.
    fn until_next(&self, activity: &Activity) -> Duration {
        let quiet = activity.is_streaming() && !activity.blocked.load(Ordering::Relaxed);
        if quiet { self.quiet_period } else { self.period }
    }

    fn tick(&mut self, activity: &Activity) -> TickResult {
        let answered = activity.answered.load(Ordering::Relaxed);
        let moved = answered != self.answered;
        self.answered = answered;
        if moved || activity.busy.load(Ordering::Relaxed) {
            (self.head_ticks, self.idle_ticks) = (0, 0);
        } else if activity.reading.load(Ordering::Relaxed) {
            (self.head_ticks, self.idle_ticks) = (self.head_ticks + 1, 0);
        } else {
            (self.head_ticks, self.idle_ticks) = (0, self.idle_ticks + 1);
        }
        let sent = activity.sent.swap(false, Ordering::Relaxed);
        let stalled = activity.blocked.load(Ordering::Relaxed) && !sent;
        self.stall_ticks = if stalled { self.stall_ticks + 1 } else { 0 };
        if self.stall_ticks > self.stall_ticks_max {
            TickResult::Stalled
        } else if self.head_ticks > self.head_ticks_max {
            TickResult::HeadTooSlow
        } else if self.idle_ticks > self.idle_ticks_max {
            TickResult::Idle
        } else {
            TickResult::Continue
        }
    }
}

/// A socket, with or without TLS, that records reads and writes in the connection's activity.
struct MonitoredSocket<S> {
    socket: S,
    activity: Arc<Activity>,
    /// Bytes that were read without waiting.
    read_in_turn: usize,
    /// Bytes that were written without waiting.
    written_in_turn: usize,
}

impl<S> MonitoredSocket<S> {
    fn new(socket: S, activity: Arc<Activity>) -> MonitoredSocket<S> {
        MonitoredSocket { socket, activity, read_in_turn: 0, written_in_turn: 0 }
    }
}

impl<S: AsyncWrite + Unpin> MonitoredSocket<S> {
    /// Writes with `write`, unless it is the turn of others. The client is not slow then.
    fn write_in_turn(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if self.written_in_turn >= WRITE_BYTES_PER_TURN {
            self.written_in_turn = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let polled = write(Pin::new(&mut self.socket), context);
        self.activity.wrote(&polled);
        self.written_in_turn = match &polled {
            Poll::Ready(Ok(count)) => self.written_in_turn + count,
            _ => 0,
        };
        polled
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MonitoredSocket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read_in_turn >= READ_BYTES_PER_TURN {
            self.read_in_turn = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = into.filled().len();
        let polled = Pin::new(&mut self.socket).poll_read(context, into);
        let count = into.filled().len() - before;
        if count > 0 {
            self.activity.reading.store(true, Ordering::Relaxed);
        }
        self.read_in_turn = if polled.is_pending() { 0 } else { self.read_in_turn + count };
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MonitoredSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let bytes = &bytes[..bytes.len().min(WRITE_BYTES_PER_TURN)];
        self.write_in_turn(context, |socket, context| socket.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = parts.iter().find(|part| !part.is_empty()).map_or(&[][..], |part| part);
        if first.len() >= WRITE_BYTES_PER_TURN {
            return self.poll_write(context, first);
        }
        let mut total = 0;
        let fits = |part: &&io::IoSlice<'_>| {
            total += part.len();
            total <= WRITE_BYTES_PER_TURN
        };
        let parts = &parts[..parts.iter().take_while(fits).count()];
        self.write_in_turn(context, |socket, context| socket.poll_write_vectored(context, parts))
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> ConnectionClock {
        ConnectionClock::new(&HttpLimits {
            header_read_ms_max: 40,
            idle_ms_max: 100,
            stall_ms_max: 80,
            ..HttpLimits::default()
        })
    }

    #[test]
    fn slow_headers_time_out() {
        let (mut clock, activity) = (clock(), Arc::new(Activity::default()));
        for round in 0..20 {
            activity.reading.store(true, Ordering::Relaxed);
            if round % 3 == 0 {
                drop(Busy::new(activity.clone()));
            }
            assert_eq!(clock.tick(&activity), TickResult::Continue);
        }
        activity.reading.store(true, Ordering::Relaxed);
        assert!((0..6).any(|_| clock.tick(&activity) == TickResult::HeadTooSlow));
    }

    #[test]
    fn only_a_connection_without_request_becomes_idle() {
        let (mut clock, activity) = (clock(), Arc::new(Activity::default()));
        let busy = Busy::new(activity.clone());
        assert!((0..50).all(|_| clock.tick(&activity) == TickResult::Continue));
        drop(busy);
        assert!((0..13).any(|_| clock.tick(&activity) == TickResult::Idle));
    }

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Wakes(AtomicU64);

    impl std::task::Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn socket_that_is_always_readable_lets_others_run() {
        let wakes = Arc::new(Wakes::default());
        let waker = wakes.clone().into();
        let mut context = Context::from_waker(&waker);
        let mut socket = MonitoredSocket::new(tokio::io::repeat(b'0'), Arc::default());
        for turn in 1..=3 {
            let mut read = 0;
            loop {
                let mut room = [0; 8192];
                let mut into = ReadBuf::new(&mut room);
                match Pin::new(&mut socket).poll_read(&mut context, &mut into) {
                    Poll::Ready(done) => done.unwrap(),
                    Poll::Pending => break,
                }
                read += into.filled().len();
                assert!(read <= READ_BYTES_PER_TURN, "{read} bytes without a pause");
            }
            // It continues by itself.
            assert_eq!((read, wakes.0.load(Ordering::Relaxed)), (READ_BYTES_PER_TURN, turn));
        }
    }

    #[test]
    fn socket_that_is_always_writable_lets_others_run() {
        let large = vec![0; 3 * WRITE_BYTES_PER_TURN];
        let small = vec![0; 1000];
        let [large, small] = [&large, &small].map(|bytes| io::IoSlice::new(bytes));
        let empty = io::IoSlice::new(&[]);
        let many = vec![small; 500];
        for parts in [&[large][..], &[empty, large, small], &[small, large], &many] {
            let wakes = Arc::new(Wakes::default());
            let waker = wakes.clone().into();
            let mut context = Context::from_waker(&waker);
            let mut socket = MonitoredSocket::new(tokio::io::sink(), Arc::default());
            for turn in 1..=3 {
                let mut written = 0;
                while let Poll::Ready(count) =
                    Pin::new(&mut socket).poll_write_vectored(&mut context, parts)
                {
                    let count = count.unwrap();
                    assert!(count > 0 && count <= WRITE_BYTES_PER_TURN, "{count} bytes at once");
                    written += count;
                    assert!(written < 2 * WRITE_BYTES_PER_TURN, "{written} bytes without a pause");
                }
                assert_eq!(wakes.0.load(Ordering::Relaxed), turn);
                assert!(!socket.activity.blocked.load(Ordering::Relaxed));
            }
        }
    }

    #[test]
    fn client_that_does_not_read_is_stalled_and_a_slow_reader_is_not() {
        let (mut clock, activity) = (clock(), Arc::new(Activity::default()));
        let _stream = OpenStream::new(Busy::new(activity.clone()), metrics::Gauge::noop());
        assert_eq!(clock.until_next(&activity), clock.quiet_period);
        for round in 0..50 {
            activity.wrote(&if round % 5 == 0 { Poll::Ready(Ok(1)) } else { Poll::Pending });
            assert_eq!(clock.tick(&activity), TickResult::Continue);
        }
        assert_eq!(clock.until_next(&activity), clock.period);
        assert!((0..10).any(|_| clock.tick(&activity) == TickResult::Stalled));
    }
}
