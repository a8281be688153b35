//! Server-sent events.

use allod_core::event::Event;
use allod_core::value::Kind;
use bytes::Bytes;

use crate::to_wire::{self, ReasonDetail};

/// A change as an event; `None` if none of its events is shown. The JSON has no line breaks, so it fits in one data line.
pub(crate) fn change<'a>(
    position: u64,
    at_ms: u64,
    events: impl IntoIterator<Item = &'a Event>,
    kind_of: &dyn Fn(&str) -> Option<Kind>,
    reasons: ReasonDetail,
) -> Option<Bytes> {
    let change = to_wire::change(position, at_ms, events, kind_of, reasons)?;
    let mut message = format!("id: {position}\ndata: ").into_bytes();
    if let Err(error) = serde_json::to_writer(&mut message, &change) {
        // Only a type that cannot be JSON gets here, which is a bug.
        tracing::error!(%error, position, "cannot serialise a change");
        return None;
    }
    message.extend_from_slice(b"\n\n");
    Some(message.into())
}

/// A heartbeat: the watcher has seen everything up to this position.
pub(crate) fn heartbeat(position: u64) -> Bytes {
    format!("event: heartbeat\nid: {position}\ndata: {{\"position\":{position}}}\n\n").into()
}
