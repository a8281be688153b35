//! The body of a reply: complete and in memory, as nearly all are, or a stream that is made while it is sent.
//!
//! A stream is a future that its connection polls when it has room for more, so it has no task and no channel of its own:
//! ten thousand that wait cost what their futures hold. What is not here: how long a client may take to read, which is the
//! connection's business.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use crate::Identity;
use crate::connection::OpenStream;

/// What is sent after the head of a reply.
pub struct Body(Kind);

enum Kind {
    Whole(Bytes),
    Stream(Box<Stream>),
    /// A stream that is not wanted, because only the head of the reply is.
    Unsent,
}

struct Stream {
    source: Source,
    sink: Sink,
    /// Whether it goes on until the server stops, so that stopping is no failure.
    endless: bool,
    ended: bool,
    /// Tells the connection that it is at work.
    open: Option<OpenStream>,
    /// Whoever it is for, and only while they may have it.
    reader: Identity,
}

type Source = Pin<Box<dyn Future<Output = Result<(), Broken>> + Send>>;

/// A stream that could not be finished. The connection is cut, so that the client sees that something is missing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Broken {
    pub what: String,
}

impl Broken {
    pub fn new(what: impl Into<String>) -> Broken {
        Broken { what: what.into() }
    }
}

/// Where a stream puts its bytes.
#[derive(Clone, Default)]
pub struct Sink(Arc<Mutex<Option<Bytes>>>);

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink")
    }
}

impl Sink {
    /// Sends a piece; done when the connection has taken it. That is all the backpressure there is: a stream that does
    /// nothing but send is as fast as its client reads.
    pub async fn send(&self, piece: impl Into<Bytes>) {
        let mut piece = Some(piece.into()).filter(|piece| !piece.is_empty());
        // Whoever takes the piece out polls again, so there is nobody to wake.
        std::future::poll_fn(|_| {
            let mut place = self.place();
            if place.is_some() {
                return Poll::Pending;
            }
            match piece.take() {
                None => Poll::Ready(()),
                given => {
                    *place = given;
                    Poll::Pending
                }
            }
        })
        .await;
    }

    fn place(&self) -> MutexGuard<'_, Option<Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Body {
    /// A body that has an end. If it fails, or the server stops before it is complete, the connection is cut without the
    /// final chunk, and the client can tell. The future is first polled when the head has been sent.
    pub fn stream<F>(fill: impl FnOnce(Sink) -> F) -> Body
    where
        F: Future<Output = Result<(), Broken>> + Send + 'static,
    {
        Body::of(fill, false)
    }

    /// A body that goes on until its client has enough or the server stops, which ends it in good order.
    pub fn endless<F>(fill: impl FnOnce(Sink) -> F) -> Body
    where
        F: Future<Output = Result<(), Broken>> + Send + 'static,
    {
        Body::of(fill, true)
    }

    fn of<F>(fill: impl FnOnce(Sink) -> F, endless: bool) -> Body
    where
        F: Future<Output = Result<(), Broken>> + Send + 'static,
    {
        let sink = Sink::default();
        let source = Box::pin(fill(sink.clone()));
        let (ended, open, reader) = (false, None, Identity::Everybody);
        Body(Kind::Stream(Box::new(Stream { source, sink, endless, ended, open, reader })))
    }

    pub fn is_stream(&self) -> bool {
        matches!(self.0, Kind::Stream(_))
    }

    /// The same reply without its stream, which is never started.
    pub(crate) fn head_only(&mut self) {
        if self.is_stream() {
            self.0 = Kind::Unsent;
        }
    }

    /// A stream ends when the token of its reader does.
    pub(crate) fn read_by(&mut self, reader: Identity) {
        if let Kind::Stream(stream) = &mut self.0 {
            stream.reader = reader;
        }
    }

    /// Ties a stream to its connection; a complete body lets go of it at once.
    pub(crate) fn hold(&mut self, open: impl FnOnce() -> OpenStream) {
        if let Kind::Stream(stream) = &mut self.0 {
            stream.open = Some(open());
        }
    }
}

impl Stream {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if let Some(why) = self.must_end() {
            return Poll::Ready(self.end(match self.endless {
                true => Ok(()),
                false => Err(Broken::new(why)),
            }));
        }
        let polled = catch_unwind(AssertUnwindSafe(|| self.source.as_mut().poll(context)));
        let sent = self.sink.place().take();
        match (sent, polled) {
            (_, Err(_)) => {
                tracing::error!("a stream panicked");
                Poll::Ready(self.end(Err(Broken::new("the stream met a bug in the server"))))
            }
            (Some(piece), Ok(_)) => Poll::Ready(Some(Ok(piece))),
            (None, Ok(Poll::Ready(done))) => Poll::Ready(self.end(done)),
            (None, Ok(Poll::Pending)) => Poll::Pending,
        }
    }

    /// Why it cannot go on, whatever is still to come.
    fn must_end(&self) -> Option<&'static str> {
        if self.open.as_ref().is_some_and(OpenStream::must_end) {
            Some("the server is stopping")
        } else if self.reader.has_lapsed() {
            Some("the token is no longer good")
        } else {
            None
        }
    }

    fn end(&mut self, done: Result<(), Broken>) -> Option<Result<Bytes, Broken>> {
        self.ended = true;
        self.open = None;
        let broken = done.err()?;
        tracing::warn!(error = %broken, "a stream was cut off");
        Some(Err(broken))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut self.0 {
            Kind::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Kind::Stream(stream) => {
                stream.poll(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
            }
            Kind::Unsent => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(bytes) => bytes.is_empty(),
            Kind::Stream(stream) => stream.ended,
            Kind::Unsent => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Stream(_) | Kind::Unsent => SizeHint::default(),
        }
    }
}

impl Default for Body {
    fn default() -> Body {
        Body(Kind::Whole(Bytes::new()))
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Body {
        Body(Kind::Whole(bytes.into()))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Whole(bytes) => write!(f, "{} bytes", bytes.len()),
            Kind::Stream(_) => f.write_str("a stream"),
            Kind::Unsent => f.write_str("a stream that is not sent"),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn a_stream_gives_its_pieces_in_order_and_ends() {
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
    async fn a_stream_that_fails_or_panics_is_broken_after_what_it_sent() {
        let failing = Body::stream(|sink| async move {
            sink.send("some").await;
            Err(Broken::new("no more"))
        });
        let panicking = Body::endless(|sink| async move {
            sink.send("some").await;
            panic!("on purpose")
        });
        for (mut body, what) in [(failing, "no more"), (panicking, "bug")] {
            let first = body.frame().await.unwrap().unwrap();
            assert_eq!(first.into_data().unwrap(), "some");
            let broken = body.frame().await.unwrap().unwrap_err();
            assert!(broken.what.contains(what), "{broken}");
            assert!(body.frame().await.is_none());
        }
    }

    #[tokio::test]
    async fn nothing_is_made_before_it_is_wanted() {
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
