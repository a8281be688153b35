//! The body of a reply: complete in memory, as most are, or a stream that is produced while it is sent.
//!
//! A stream is a future that the connection polls when it can send more. It has neither a task nor a channel, so that an
//! idle stream costs only the memory of its future. Not here: time limits for slow readers (see `connection`).

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use crate::Identity;
use crate::budget::ByteShare;
use crate::connection::OpenStream;

/// The body of a reply.
pub struct Body(BodyKind);

/// The size of the pieces in which a long body is handed to the connection. A connection with TLS copies them.
const PIECE_BYTES: usize = 256 * 1024;

/// A long body that counts as bytes in flight until the last piece of it is sent.
struct CountedBytes {
    bytes: Bytes,
    _share: ByteShare,
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

enum BodyKind {
    Whole(Bytes),
    Stream(Box<BodyStream>),
    /// A stream that is not sent because the request is a HEAD.
    Unsent,
}

struct BodyStream {
    source: StreamFuture,
    writer: StreamWriter,
    /// The stream has no end of its own, so that ending it early is no error.
    endless: bool,
    ended: bool,
    /// Marks the connection as streaming.
    open: Option<OpenStream>,
    /// The client; the stream ends when its token is revoked or expires.
    reader: Identity,
    /// The memory that the stream needs until it has ended.
    held_bytes: u64,
    /// Counts `held_bytes` as bytes in flight.
    share: Option<ByteShare>,
}

type StreamFuture = Pin<Box<dyn Future<Output = Result<(), StreamError>> + Send>>;

/// The stream failed. The connection is closed without the final chunk, so that the client detects it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StreamError {
    pub message: String,
}

impl StreamError {
    pub fn new(message: impl Into<String>) -> StreamError {
        StreamError { message: message.into() }
    }
}

/// Passes the bytes of a stream to its connection.
#[derive(Clone, Default)]
pub struct StreamWriter(Arc<Mutex<Option<Bytes>>>);

impl fmt::Debug for StreamWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamWriter")
    }
}

impl StreamWriter {
    /// Sends a piece and waits until the connection has taken it. This is the backpressure: a stream is as fast as its
    /// client reads.
    pub async fn send(&self, piece: impl Into<Bytes>) {
        let mut piece = Some(piece.into()).filter(|piece| !piece.is_empty());
        // The connection polls again after it has taken the piece, so no waker is needed.
        std::future::poll_fn(|_| {
            let mut slot = self.slot();
            if slot.is_some() {
                return Poll::Pending;
            }
            match piece.take() {
                None => Poll::Ready(()),
                given => {
                    *slot = given;
                    Poll::Pending
                }
            }
        })
        .await;
    }

    fn slot(&self) -> MutexGuard<'_, Option<Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Body {
    /// A stream that has an end. If it fails, or the server stops before the end, the connection is closed without the
    /// final chunk. The future is first polled after the head has been sent.
    pub fn stream<F>(fill: impl FnOnce(StreamWriter) -> F) -> Body
    where
        F: Future<Output = Result<(), StreamError>> + Send + 'static,
    {
        Body::of(fill, false)
    }

    /// A stream that continues until the client disconnects or the server stops; both are a regular end.
    pub fn endless<F>(fill: impl FnOnce(StreamWriter) -> F) -> Body
    where
        F: Future<Output = Result<(), StreamError>> + Send + 'static,
    {
        Body::of(fill, true)
    }

    fn of<F>(fill: impl FnOnce(StreamWriter) -> F, endless: bool) -> Body
    where
        F: Future<Output = Result<(), StreamError>> + Send + 'static,
    {
        let writer = StreamWriter::default();
        let source = Box::pin(fill(writer.clone()));
        Body(BodyKind::Stream(Box::new(BodyStream {
            source,
            writer,
            endless,
            ended: false,
            open: None,
            reader: Identity::Unrestricted,
            held_bytes: 0,
            share: None,
        })))
    }

    /// A stream with the memory that it needs until it has ended, which counts as bytes in flight. Does nothing for a
    /// complete body.
    pub fn holding(mut self, bytes: u64) -> Body {
        if let BodyKind::Stream(stream) = &mut self.0 {
            stream.held_bytes = bytes;
        }
        self
    }

    pub fn is_stream(&self) -> bool {
        matches!(self.0, BodyKind::Stream(_))
    }

    /// The memory of the body: its length if it is complete, what it holds if it is a stream.
    pub(crate) fn held_bytes(&self) -> u64 {
        match &self.0 {
            BodyKind::Whole(bytes) => bytes.len() as u64,
            BodyKind::Stream(stream) => stream.held_bytes,
            BodyKind::Unsent => 0,
        }
    }

    /// Keeps the share until the body is sent or dropped.
    pub(crate) fn count(&mut self, share: ByteShare) {
        match &mut self.0 {
            BodyKind::Whole(bytes) => {
                let counted = CountedBytes { bytes: std::mem::take(bytes), _share: share };
                *bytes = Bytes::from_owner(counted);
            }
            BodyKind::Stream(stream) => stream.share = Some(share),
            BodyKind::Unsent => {}
        }
    }

    /// Drops the stream, which is never polled.
    pub(crate) fn head_only(&mut self) {
        if self.is_stream() {
            self.0 = BodyKind::Unsent;
        }
    }

    /// Sets the client whose token the stream depends on.
    pub(crate) fn set_reader(&mut self, reader: Identity) {
        if let BodyKind::Stream(stream) = &mut self.0 {
            stream.reader = reader;
        }
    }

    /// Attaches a stream to its connection. Does nothing for a complete body.
    pub(crate) fn attach(&mut self, open: impl FnOnce() -> OpenStream) {
        if let BodyKind::Stream(stream) = &mut self.0 {
            stream.open = Some(open());
        }
    }
}

impl BodyStream {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, StreamError>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if let Some(why) = self.must_end() {
            return Poll::Ready(self.end(match self.endless {
                true => Ok(()),
                false => Err(StreamError::new(why)),
            }));
        }
        let polled = catch_unwind(AssertUnwindSafe(|| self.source.as_mut().poll(context)));
        let sent = self.writer.slot().take();
        match (sent, polled) {
            (_, Err(_)) => {
                tracing::error!("stream panicked");
                Poll::Ready(
                    self.end(Err(StreamError::new(
                        "the stream failed because of a bug in the server",
                    ))),
                )
            }
            (Some(piece), Ok(_)) => Poll::Ready(Some(Ok(piece))),
            (None, Ok(Poll::Ready(done))) => Poll::Ready(self.end(done)),
            (None, Ok(Poll::Pending)) => Poll::Pending,
        }
    }

    /// Why the stream must end early.
    fn must_end(&self) -> Option<&'static str> {
        if self.open.as_ref().is_some_and(OpenStream::must_end) {
            Some("the server is stopping")
        } else if self.reader.has_lapsed() {
            Some("the token was revoked or has expired")
        } else {
            None
        }
    }

    fn end(&mut self, done: Result<(), StreamError>) -> Option<Result<Bytes, StreamError>> {
        self.ended = true;
        self.open = None;
        let broken = done.err()?;
        tracing::warn!(error = %broken, "stream aborted");
        Some(Err(broken))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = StreamError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StreamError>>> {
        match &mut self.0 {
            BodyKind::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            BodyKind::Whole(bytes) => {
                let piece = bytes.split_to(bytes.len().min(PIECE_BYTES));
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            BodyKind::Stream(stream) => {
                stream.poll(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
            }
            BodyKind::Unsent => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            BodyKind::Whole(bytes) => bytes.is_empty(),
            BodyKind::Stream(stream) => stream.ended,
            BodyKind::Unsent => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodyKind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            BodyKind::Stream(_) | BodyKind::Unsent => SizeHint::default(),
        }
    }
}

impl Default for Body {
    fn default() -> Body {
        Body(BodyKind::Whole(Bytes::new()))
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Body {
        Body(BodyKind::Whole(bytes.into()))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            BodyKind::Whole(bytes) => write!(f, "{} bytes", bytes.len()),
            BodyKind::Stream(_) => f.write_str("a stream"),
            BodyKind::Unsent => f.write_str("a stream (not sent)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn stream_sends_its_pieces_in_order_and_ends() {
        let body = Body::stream(|sink| async move {
            for n in 0..1000 {
                sink.send(format!("{n},")).await;
                sink.send(Bytes::new()).await;
                if n % 100 == 0 {
                    tokio::task::yield_now().await;
                }
            }
            Ok(())
        });
        let all = body.collect().await.unwrap().to_bytes();
        let wanted: String = (0..1000).map(|n| format!("{n},")).collect();
        assert_eq!(all, wanted);
    }

    #[tokio::test]
    async fn failed_stream_sends_its_pieces_and_then_an_error() {
        let failing = Body::stream(|sink| async move {
            sink.send("some").await;
            Err(StreamError::new("no more"))
        });
        let panicking = Body::endless(|sink| async move {
            sink.send("some").await;
            panic!("on purpose")
        });
        for (mut body, what) in [(failing, "no more"), (panicking, "bug")] {
            let first = body.frame().await.unwrap().unwrap();
            assert_eq!(first.into_data().unwrap(), "some");
            let broken = body.frame().await.unwrap().unwrap_err();
            assert!(broken.message.contains(what), "{broken}");
            assert!(body.frame().await.is_none());
        }
    }

    #[tokio::test]
    async fn stream_is_polled_only_when_the_connection_can_send() {
        let made = Arc::new(Mutex::new(0));
        let count = made.clone();
        let mut body = Body::endless(|sink| async move {
            loop {
                *count.lock().unwrap() += 1;
                sink.send("x").await;
            }
        });
        assert_eq!(*made.lock().unwrap(), 0);
        for n in 1..10 {
            body.frame().await.unwrap().unwrap();
            assert_eq!(*made.lock().unwrap(), n);
        }
        let mut unsent = body;
        unsent.head_only();
        assert!(!unsent.is_stream() && unsent.frame().await.is_none());
        assert_eq!(Arc::strong_count(&made), 1);
    }
}
