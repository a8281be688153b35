//! Writes data as the body of a reply. A small body is written at once. A large one is written in parts by a blocking
//! thread, no faster than the client reads.
//!
//! A source can be walked any number of times, so the size is found out by trying.

use std::sync::Arc;

use allod_edge::{Body, Reply, StreamError};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use tokio::sync::mpsc;

use super::Restconf;
use crate::codec::{ChunkBuffer, DataWriter, Dialect, Encoding};
use crate::error::{ErrorTag, RestconfError, Result};
use crate::tree::{LeafValue, NodeSink, NodeSource, ReadFilters, Walk, WalkStopped};
use crate::yang::NodeId;

/// A reply with more nodes or bytes is large.
const SMALL_NODES_MAX: u64 = 4000;
const SMALL_BYTES_MAX: usize = 128 << 10;

/// The size of a part of a large body, and how many parts may wait for the client.
const PIECE_BYTES: usize = 64 << 10;
const PIECES_MAX: usize = 2;

/// How to write a source.
#[derive(Debug, Clone)]
pub(super) struct BodyLayout {
    pub encoding: Encoding,
    pub dialect: Dialect,
    /// An element of the protocol around the data.
    pub wrapper: Option<&'static str>,
    pub filters: ReadFilters,
}

impl BodyLayout {
    /// Without a wrapper and without filters.
    pub(super) fn whole(encoding: Encoding, dialect: Dialect) -> BodyLayout {
        BodyLayout { encoding, dialect, wrapper: None, filters: ReadFilters::whole() }
    }
}

/// A reply without a body.
pub(super) fn empty(status: StatusCode) -> Reply {
    let mut reply = Reply::new(Bytes::new().into());
    *reply.status_mut() = status;
    reply
}

/// A reply with a body of this media type.
pub(super) fn typed(body: impl Into<Body>, media: &'static str) -> Reply {
    let mut reply = Reply::new(body.into());
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    reply
}

/// `None`: the filters leave nothing to write.
pub(super) async fn body(
    face: &Arc<Restconf>,
    layout: BodyLayout,
    source: Box<dyn NodeSource>,
) -> Result<Option<Body>> {
    // Each entry has several nodes.
    if source.entry_count() as u64 > SMALL_NODES_MAX {
        return large(face, layout, source).await;
    }
    let limited = LimitedSource { source, nodes_max: SMALL_NODES_MAX };
    match small(face, &layout, &limited) {
        Some((_, false)) => Ok(None),
        Some((bytes, true)) => Ok(Some(Bytes::from(bytes).into())),
        None => large(face, layout, limited.source).await,
    }
}

/// The body, and whether anything was written; `None` if it is large.
fn small(face: &Restconf, layout: &BodyLayout, source: &dyn NodeSource) -> Option<(Vec<u8>, bool)> {
    // A full chunk means that the body is large.
    let mut kept = Vec::new();
    let chunks = ChunkBuffer::with_callback(SMALL_BYTES_MAX, |chunk| {
        let room = kept.is_empty() && chunk.len() < SMALL_BYTES_MAX;
        kept = chunk;
        if room { Ok(()) } else { Err(WalkStopped) }
    });
    let any = write(face, layout, source, chunks).ok()?;
    Some((kept, any))
}

async fn large(
    face: &Arc<Restconf>,
    layout: BodyLayout,
    source: Box<dyn NodeSource>,
) -> Result<Option<Body>> {
    let Ok(permit) = face.large_reads.clone().try_acquire_owned() else {
        return Err(too_many_large_replies(face.settings.restconf_large_reads_max));
    };
    let (sender, mut pieces) = mpsc::channel::<BodyPart>(PIECES_MAX);
    let writer = face.clone();
    tokio::task::spawn_blocking(move || {
        let give = |piece| sender.blocking_send(piece).map_err(|_| WalkStopped);
        let chunks =
            ChunkBuffer::with_callback(PIECE_BYTES, |chunk| give(BodyPart::Bytes(chunk.into())));
        // If the client is gone, nothing more is sent.
        if let Ok(any) = write(&writer, &layout, &*source, chunks) {
            let _ = give(BodyPart::End { any });
        }
        drop(permit);
    });
    // Until the first part is sent, the reply can still be 404.
    let mut first = Vec::new();
    while first.is_empty() {
        match pieces.recv().await {
            Some(BodyPart::End { any: false }) => return Ok(None),
            Some(piece) => first.push(piece),
            None => {
                return Err(RestconfError::application(
                    ErrorTag::OperationFailed,
                    "the reply could not be completed",
                ));
            }
        }
    }
    Ok(Some(Body::stream(|sink| async move {
        let mut next = first.pop();
        loop {
            match next {
                Some(BodyPart::Bytes(bytes)) => sink.send(bytes).await,
                Some(BodyPart::End { .. }) => return Ok(()),
                None => return Err(StreamError::new("the reply could not be completed")),
            }
            next = pieces.recv().await;
        }
    })))
}

enum BodyPart {
    Bytes(Bytes),
    /// The body is complete. If the channel closes without it, the body is truncated.
    End {
        any: bool,
    },
}

/// Returns whether the filters left anything to write.
fn write(
    face: &Restconf,
    layout: &BodyLayout,
    source: &dyn NodeSource,
    chunks: ChunkBuffer<'_>,
) -> Walk<bool> {
    let schema = &*face.schema;
    let mut writer = DataWriter::new(schema, layout.encoding, layout.dialect, chunks);
    if let Some(name) = layout.wrapper {
        writer.open_wrapper(name)?;
    }
    let mut counting = CountingSink { inner: &mut writer, count: 0, max: u64::MAX };
    layout.filters.walk(schema, source, &mut counting)?;
    let any = counting.count > 0 || layout.wrapper.is_some();
    if layout.wrapper.is_some() {
        writer.close_wrapper()?;
    }
    writer.finish()?;
    Ok(any)
}

/// Counts the nodes on their way to another sink, and stops the walk after a number of them.
struct CountingSink<'a> {
    inner: &'a mut dyn NodeSink,
    count: u64,
    max: u64,
}

impl CountingSink<'_> {
    fn count(&mut self) -> Walk {
        self.count += 1;
        if self.count > self.max { Err(WalkStopped) } else { Ok(()) }
    }
}

impl NodeSink for CountingSink<'_> {
    fn open(&mut self, node: NodeId) -> Walk<bool> {
        self.count()?;
        self.inner.open(node)
    }

    fn leaf(&mut self, node: NodeId, value: &LeafValue) -> Walk {
        self.count()?;
        self.inner.leaf(node, value)
    }

    fn close(&mut self) -> Walk {
        self.inner.close()
    }

    fn elided_container(&mut self, node: NodeId) -> Walk {
        self.count()?;
        self.inner.elided_container(node)
    }
}

/// A source whose walk stops after a number of nodes.
struct LimitedSource {
    source: Box<dyn NodeSource>,
    nodes_max: u64,
}

impl NodeSource for LimitedSource {
    fn walk(&self, sink: &mut dyn NodeSink) -> Walk {
        self.source.walk(&mut CountingSink { inner: sink, count: 0, max: self.nodes_max })
    }
}

fn too_many_large_replies(max: u64) -> RestconfError {
    RestconfError::application(
        ErrorTag::ResourceDenied,
        format!("too many large replies at once: restconf_large_reads_max is {max}"),
    )
    .with_status(StatusCode::SERVICE_UNAVAILABLE)
    .retry_after(1)
}
