//! Data as the body of a reply. What is small is written at once; what is large is written by a thread that may block, piece
//! by piece, no faster than its client reads.
//!
//! A source may be walked as often as one likes, so whether it is small is found out by trying.

use std::sync::Arc;

use allod_edge::{Body, StreamError};
use bytes::Bytes;
use tokio::sync::mpsc;

use super::Restconf;
use crate::codec::{Chunks, Dialect, Format, Writer};
use crate::fault::{Fault, Tag};
use crate::tree::{Sink, Source, Stopped, Value, View};
use crate::yang::NodeId;

/// How many nodes are looked at, and how many bytes written, before an answer counts as large.
const SMALL_NODES_MAX: u64 = 4000;
const SMALL_BYTES_MAX: usize = 128 << 10;

/// What is sent at a time, and how many of these may wait for the client.
const PIECE_BYTES: usize = 64 << 10;
const PIECES_MAX: usize = 2;

/// What of a source is shown, and how.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub format: Format,
    pub dialect: Dialect,
    /// An element of the protocol around it.
    pub wrapper: Option<&'static str>,
    pub view: View,
}

impl Shape {
    /// Everything there is.
    pub(super) fn whole(format: Format, dialect: Dialect) -> Shape {
        Shape { format, dialect, wrapper: None, view: View::whole() }
    }
}

/// `None`: of what there is, nothing is to be shown.
pub(super) async fn body(
    face: &Arc<Restconf>,
    shape: Shape,
    source: Box<dyn Source>,
) -> Result<Option<Body>, Fault> {
    let counted = Counted { source, nodes_max: SMALL_NODES_MAX };
    match small(face, &shape, &counted) {
        Some((_, false)) => Ok(None),
        Some((bytes, true)) => Ok(Some(Bytes::from(bytes).into())),
        None => large(face, shape, counted.source).await,
    }
}

/// The whole text, and whether there was anything to show; `None` when it is not small.
fn small(face: &Restconf, shape: &Shape, source: &dyn Source) -> Option<(Vec<u8>, bool)> {
    // The first chunk that becomes full says that it is too much.
    let mut kept = Vec::new();
    let chunks = Chunks::handed_over(SMALL_BYTES_MAX, |chunk| {
        let room = kept.is_empty() && chunk.len() < SMALL_BYTES_MAX;
        kept = chunk;
        if room { Ok(()) } else { Err(Stopped) }
    });
    let any = write(face, shape, source, chunks).ok()?;
    Some((kept, any))
}

async fn large(
    face: &Arc<Restconf>,
    shape: Shape,
    source: Box<dyn Source>,
) -> Result<Option<Body>, Fault> {
    let Ok(permit) = face.large_reads.clone().try_acquire_owned() else {
        return Err(crowded(face.settings.restconf_large_reads_max));
    };
    let (sender, mut pieces) = mpsc::channel::<Piece>(PIECES_MAX);
    let writer = face.clone();
    tokio::task::spawn_blocking(move || {
        let give = |piece| sender.blocking_send(piece).map_err(|_| Stopped);
        let chunks = Chunks::handed_over(PIECE_BYTES, |chunk| give(Piece::Bytes(chunk.into())));
        // Whoever asked may have gone; then there is nobody to tell.
        if let Ok(any) = write(&writer, &shape, &*source, chunks) {
            let _ = give(Piece::End { any });
        }
        drop(permit);
    });
    // As long as nothing has been sent, it can still be said that there is nothing.
    let mut first = Vec::new();
    while first.is_empty() {
        match pieces.recv().await {
            Some(Piece::End { any: false }) => return Ok(None),
            Some(piece) => first.push(piece),
            None => {
                return Err(Fault::application(
                    Tag::OperationFailed,
                    "the answer was not finished",
                ));
            }
        }
    }
    Ok(Some(Body::stream(|sink| async move {
        let mut next = first.pop();
        loop {
            match next {
                Some(Piece::Bytes(bytes)) => sink.send(bytes).await,
                Some(Piece::End { .. }) => return Ok(()),
                None => return Err(StreamError::new("the answer was not finished")),
            }
            next = pieces.recv().await;
        }
    })))
}

enum Piece {
    Bytes(Bytes),
    /// Everything has been written. Without it, something is missing.
    End {
        any: bool,
    },
}

/// Writes what the shape lets through; says whether that was anything.
fn write(
    face: &Restconf,
    shape: &Shape,
    source: &dyn Source,
    chunks: Chunks<'_>,
) -> Result<bool, Stopped> {
    let schema = &*face.schema;
    let mut writer = Writer::new(schema, shape.format, shape.dialect, chunks);
    if let Some(name) = shape.wrapper {
        writer.open_wrapper(name)?;
    }
    let mut noticing = Noticing { inner: &mut writer, any: false };
    shape.view.walk(schema, source, &mut noticing)?;
    let any = noticing.any || shape.wrapper.is_some();
    if shape.wrapper.is_some() {
        writer.close_wrapper()?;
    }
    writer.finish()?;
    Ok(any)
}

/// Notices whether anything comes.
struct Noticing<'a, 'b> {
    inner: &'a mut Writer<'b>,
    any: bool,
}

impl Sink for Noticing<'_, '_> {
    fn open(&mut self, node: NodeId) -> Result<bool, Stopped> {
        self.any = true;
        self.inner.open(node)
    }

    fn leaf(&mut self, node: NodeId, value: &Value) -> Result<(), Stopped> {
        self.any = true;
        self.inner.leaf(node, value)
    }

    fn close(&mut self) -> Result<(), Stopped> {
        self.inner.close()
    }

    fn hollow(&mut self, node: NodeId) -> Result<(), Stopped> {
        self.any = true;
        self.inner.hollow(node)
    }
}

/// A source that stops when enough of it has been seen.
struct Counted {
    source: Box<dyn Source>,
    nodes_max: u64,
}

impl Source for Counted {
    fn walk(&self, sink: &mut dyn Sink) -> Result<(), Stopped> {
        self.source.walk(&mut Counting { inner: sink, left: self.nodes_max })
    }
}

struct Counting<'a> {
    inner: &'a mut dyn Sink,
    left: u64,
}

impl Counting<'_> {
    fn count(&mut self) -> Result<(), Stopped> {
        self.left = self.left.checked_sub(1).ok_or(Stopped)?;
        Ok(())
    }
}

impl Sink for Counting<'_> {
    fn open(&mut self, node: NodeId) -> Result<bool, Stopped> {
        self.count()?;
        self.inner.open(node)
    }

    fn leaf(&mut self, node: NodeId, value: &Value) -> Result<(), Stopped> {
        self.count()?;
        self.inner.leaf(node, value)
    }

    fn close(&mut self) -> Result<(), Stopped> {
        self.inner.close()
    }

    fn hollow(&mut self, node: NodeId) -> Result<(), Stopped> {
        self.count()?;
        self.inner.hollow(node)
    }
}

fn crowded(max: u64) -> Fault {
    Fault::application(
        Tag::ResourceDenied,
        format!("{max} large answers are being sent already (restconf_large_reads_max)"),
    )
    .with_status(http::StatusCode::SERVICE_UNAVAILABLE)
    .retry_after(1)
}
