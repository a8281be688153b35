//! One connection, from accept to close.
//!
//! A connection has one slow clock instead of a timer for each request. At each of its ticks the connection is polled,
//! which lets a request that is being answered see that its time is over; and if no request is being answered the clock
//! says for how long the client has been sending a head, or nothing at all; and always for how long it has not read what
//! is sent to it. So the time limits are kept to within one tick, and a request that is on time pays nothing for them.
//! While a stream is open and its client reads, there is nothing to look at but that, and the clock is slower still: ten
//! thousand quiet streams would otherwise cost ten thousand polls a second.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::StatusCode;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::{App, Limits, Problem};

/// How long a client may take to read the last words before the connection is closed.
const LAST_WORDS_WAIT: Duration = Duration::from_millis(500);

/// How long a stopping server lets a stream take to send its last piece.
const STREAM_END_WAIT: Duration = Duration::from_millis(200);

/// Serves a connection until it ends, or until `stop` changes and what is in flight is answered.
pub(crate) async fn serve<S>(app: Arc<App>, socket: S, mut stop: watch::Receiver<()>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let pace = Arc::new(Pace::default());
    let io = TokioIo::new(Paced { socket, pace: pace.clone() });
    let service = service_fn(|request| {
        let busy = Busy::new(pace.clone());
        let app = app.clone();
        async move {
            let mut reply = app.answer(request).await;
            reply.body_mut().hold(|| OpenStream::new(busy, app.meter.streams.clone()));
            Ok::<_, Infallible>(reply)
        }
    });
    let limits = app.limits;
    // Without hyper's pipeline_flush: with it, a reply waits in the buffer for as long as part of a next request, or
    // garbage, stands unread behind the one that it answers.
    let mut connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_header_size(usize::try_from(limits.header_bytes_max).unwrap_or(usize::MAX))
        .serve_connection(io, service);
    let mut clock = Clock::new(&limits);
    let mut tick = std::pin::pin!(sleep(clock.period));
    let mut stopping = false;
    loop {
        tokio::select! {
            biased;
            ended = &mut connection => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended badly");
                }
                return;
            }
            () = &mut tick => {
                match clock.tick(&pace) {
                    Verdict::Fine => {}
                    Verdict::HeadTooSlow => break,
                    Verdict::Idle => return,
                    Verdict::Stalled => {
                        app.meter.stalls.increment(1);
                        tracing::info!(
                            stall_ms_max = limits.stall_ms_max,
                            "a client does not read what is sent to it; its connection was cut"
                        );
                        return;
                    }
                }
                tick.as_mut().reset(Instant::now() + clock.until_next(&pace));
            }
            _ = stop.changed(), if !stopping => {
                stopping = true;
                pace.stopping.store(true, Ordering::Relaxed);
                Pin::new(&mut connection).graceful_shutdown();
                if pace.is_streaming() {
                    // The stream ends when it is next polled; only a client that does not read needs longer.
                    let _ = tokio::time::timeout(STREAM_END_WAIT, connection).await;
                    return;
                }
            }
        }
    }
    let socket = connection.into_parts().io.into_inner().socket;
    // Boxed: every connection would otherwise have room for the buffer in there, which hardly any needs.
    Box::pin(say_and_close(socket, &head_too_slow(limits.header_read_ms_max))).await;
}

/// Sends a problem on a connection that is then closed. Reads what the client still sends for a moment: closing a socket
/// with unread bytes would tear the answer away from it.
pub(crate) async fn say_and_close<S>(mut socket: S, problem: &Problem)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let talk = async {
        socket.write_all(&problem.last_words()).await?;
        socket.shutdown().await?;
        let mut rest = [0; 4096];
        while socket.read(&mut rest).await? > 0 {}
        Ok::<_, io::Error>(())
    };
    // A client that does not read, or has gone, is closed all the same.
    let _ = tokio::time::timeout(LAST_WORDS_WAIT, talk).await;
}

fn head_too_slow(max_ms: u64) -> Problem {
    Problem::new(
        StatusCode::REQUEST_TIMEOUT,
        "head_too_slow",
        "the headers did not arrive in time",
        format!("header_read_ms_max is {max_ms}, and the headers were not complete by then"),
    )
}

/// What a connection is doing, written by its socket and its service and read by its clock.
#[derive(Default)]
struct Pace {
    /// A request is being answered.
    busy: AtomicBool,
    /// Bytes have come in since the last request was answered.
    reading: AtomicBool,
    /// How many requests have been answered.
    answered: AtomicU64,
    /// A reply is being sent as a stream.
    streaming: AtomicBool,
    /// The server stops, and streams must end.
    stopping: AtomicBool,
    /// There is something to send that the client's side does not take.
    blocked: AtomicBool,
    /// Something has been sent since the clock last looked.
    sent: AtomicBool,
}

impl Pace {
    fn is_streaming(&self) -> bool {
        self.streaming.load(Ordering::Relaxed)
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

pub(crate) struct Busy(Arc<Pace>);

impl Busy {
    fn new(pace: Arc<Pace>) -> Busy {
        pace.busy.store(true, Ordering::Relaxed);
        Busy(pace)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.reading.store(false, Ordering::Relaxed);
        self.0.busy.store(false, Ordering::Relaxed);
        self.0.answered.fetch_add(1, Ordering::Relaxed);
    }
}

/// Held by the body of a reply for as long as it is being streamed: the connection is busy, and the stream is counted.
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
enum Verdict {
    Fine,
    HeadTooSlow,
    Idle,
    Stalled,
}

/// Counts ticks in which nothing was finished.
struct Clock {
    period: Duration,
    /// Instead of `period` while a stream is open and its client reads.
    quiet_period: Duration,
    head_ticks_max: u64,
    idle_ticks_max: u64,
    stall_ticks_max: u64,
    answered: u64,
    head_ticks: u64,
    idle_ticks: u64,
    stall_ticks: u64,
}

impl Clock {
    fn new(limits: &Limits) -> Clock {
        let shortest = limits.header_read_ms_max.min(limits.request_ms_max).min(limits.idle_ms_max);
        let period_ms = (shortest.min(limits.stall_ms_max) / 4).clamp(5, 1000);
        let quiet_ms = (limits.stall_ms_max / 4).clamp(period_ms, 60_000);
        Clock {
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

    /// How long to wait for the next tick.
    fn until_next(&self, pace: &Pace) -> Duration {
        let quiet = pace.is_streaming() && !pace.blocked.load(Ordering::Relaxed);
        if quiet { self.quiet_period } else { self.period }
    }

    fn tick(&mut self, pace: &Pace) -> Verdict {
        let answered = pace.answered.load(Ordering::Relaxed);
        let moved = answered != self.answered;
        self.answered = answered;
        if moved || pace.busy.load(Ordering::Relaxed) {
            (self.head_ticks, self.idle_ticks) = (0, 0);
        } else if pace.reading.load(Ordering::Relaxed) {
            (self.head_ticks, self.idle_ticks) = (self.head_ticks + 1, 0);
        } else {
            (self.head_ticks, self.idle_ticks) = (0, self.idle_ticks + 1);
        }
        let sent = pace.sent.swap(false, Ordering::Relaxed);
        let stalled = pace.blocked.load(Ordering::Relaxed) && !sent;
        self.stall_ticks = if stalled { self.stall_ticks + 1 } else { 0 };
        if self.stall_ticks > self.stall_ticks_max {
            Verdict::Stalled
        } else if self.head_ticks > self.head_ticks_max {
            Verdict::HeadTooSlow
        } else if self.idle_ticks > self.idle_ticks_max {
            Verdict::Idle
        } else {
            Verdict::Fine
        }
    }
}

/// A socket, with or without TLS, that tells its connection's pace when bytes come in and go out.
struct Paced<S> {
    socket: S,
    pace: Arc<Pace>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.socket).poll_read(context, into);
        if into.filled().len() > before {
            self.pace.reading.store(true, Ordering::Relaxed);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.pace.wrote(&polled);
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write_vectored(context, parts);
        self.pace.wrote(&polled);
        polled
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

    fn clock() -> Clock {
        Clock::new(&Limits {
            header_read_ms_max: 40,
            idle_ms_max: 100,
            stall_ms_max: 80,
            ..Limits::default()
        })
    }

    #[test]
    fn a_head_that_never_ends_is_noticed_and_one_that_ends_is_not() {
        let (mut clock, pace) = (clock(), Arc::new(Pace::default()));
        for round in 0..20 {
            pace.reading.store(true, Ordering::Relaxed);
            if round % 3 == 0 {
                drop(Busy::new(pace.clone()));
            }
            assert_eq!(clock.tick(&pace), Verdict::Fine);
        }
        pace.reading.store(true, Ordering::Relaxed);
        assert!((0..6).any(|_| clock.tick(&pace) == Verdict::HeadTooSlow));
    }

    #[test]
    fn a_quiet_connection_is_idle_and_a_busy_one_is_not() {
        let (mut clock, pace) = (clock(), Arc::new(Pace::default()));
        let busy = Busy::new(pace.clone());
        assert!((0..50).all(|_| clock.tick(&pace) == Verdict::Fine));
        drop(busy);
        assert!((0..13).any(|_| clock.tick(&pace) == Verdict::Idle));
    }

    #[test]
    fn a_client_that_does_not_read_is_noticed_and_one_that_reads_slowly_is_not() {
        let (mut clock, pace) = (clock(), Arc::new(Pace::default()));
        let _stream = OpenStream::new(Busy::new(pace.clone()), metrics::Gauge::noop());
        assert_eq!(clock.until_next(&pace), clock.quiet_period);
        for round in 0..50 {
            pace.wrote(&if round % 5 == 0 { Poll::Ready(Ok(1)) } else { Poll::Pending });
            assert_eq!(clock.tick(&pace), Verdict::Fine);
        }
        assert_eq!(clock.until_next(&pace), clock.period);
        assert!((0..10).any(|_| clock.tick(&pace) == Verdict::Stalled));
    }
}
