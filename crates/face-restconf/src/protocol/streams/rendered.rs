//! The events of a record, written once for all streams, because most streams send the same ones.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use allod_engine::FeedRecord;
use bytes::Bytes;
use parking_lot::Mutex;

use super::message;
use crate::codec::Encoding;
use crate::protocol::Restconf;
use crate::tree::DataNode;

/// How many of the newest records are cached.
const RECORDS_MAX: usize = 64;

/// The notifications of one record, without entries that have none.
pub(super) struct RenderedRecord {
    pub entries: Vec<RenderedEntry>,
}

pub(super) struct RenderedEntry {
    pub position: u64,
    pub at_ms: u64,
    pub events: Vec<RenderedEvent>,
}

pub(super) struct RenderedEvent {
    /// The index of its model.
    pub model: usize,
    pub node: DataNode,
    json: OnceLock<Bytes>,
    xml: OnceLock<Bytes>,
}

impl RenderedEvent {
    /// The text, written when the first stream needs it in this encoding.
    pub(super) fn text(&self, face: &Restconf, encoding: Encoding, at_ms: u64) -> &Bytes {
        let text = match encoding {
            Encoding::Json => &self.json,
            Encoding::Xml => &self.xml,
        };
        text.get_or_init(|| message::event(&face.schema, encoding, at_ms, &self.node))
    }
}

impl RenderedRecord {
    pub(super) fn new(face: &Restconf, record: &FeedRecord) -> RenderedRecord {
        let mut entries = Vec::new();
        for (position, entry) in record.changes() {
            let mut events = Vec::new();
            for (index, model) in face.models.iter().enumerate() {
                let nodes = model.notifications(&entry.events).into_iter();
                events.extend(nodes.map(|node| {
                    let (json, xml) = (OnceLock::new(), OnceLock::new());
                    RenderedEvent { model: index, node, json, xml }
                }));
            }
            if !events.is_empty() {
                entries.push(RenderedEntry { position, at_ms: entry.at_ms, events });
            }
        }
        RenderedRecord { entries }
    }
}

/// The newest records, by sequence number.
#[derive(Default)]
pub(super) struct RenderCache(Mutex<VecDeque<(u64, Arc<RenderedRecord>)>>);

impl RenderCache {
    pub(super) fn of(&self, face: &Restconf, record: &FeedRecord) -> Arc<RenderedRecord> {
        let seq = record.tail.seq;
        let known = |all: &VecDeque<(u64, Arc<RenderedRecord>)>| {
            all.iter().rev().find(|(known, _)| *known == seq).map(|(_, rendered)| rendered.clone())
        };
        if let Some(rendered) = known(&self.0.lock()) {
            return rendered;
        }
        // Two streams may both render it; that is cheaper than waiting for each other.
        let rendered = Arc::new(RenderedRecord::new(face, record));
        let mut all = self.0.lock();
        if known(&all).is_none() {
            all.push_back((seq, rendered.clone()));
        }
        if all.len() > RECORDS_MAX {
            all.pop_front();
        }
        rendered
    }
}
