//! What a record has to tell, made once for all streams: most of them want the same, in one of two forms.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use allod_engine::FeedRecord;
use bytes::Bytes;
use parking_lot::Mutex;

use super::message;
use crate::codec::Format;
use crate::protocol::Restconf;
use crate::tree::Node;

/// How many of the newest records are kept for streams that come to them a little later.
const RECORDS_MAX: usize = 64;

/// The notifications of one record. Entries that have none are left out.
pub(super) struct Told {
    pub entries: Vec<Entry>,
}

pub(super) struct Entry {
    pub position: u64,
    pub at_ms: u64,
    pub events: Vec<Event>,
}

pub(super) struct Event {
    /// Which of the face's models tells it.
    pub model: usize,
    pub node: Node,
    json: OnceLock<Bytes>,
    xml: OnceLock<Bytes>,
}

impl Event {
    /// Written when the first stream wants it in this form.
    pub(super) fn text(&self, face: &Restconf, format: Format, at_ms: u64) -> &Bytes {
        let text = match format {
            Format::Json => &self.json,
            Format::Xml => &self.xml,
        };
        text.get_or_init(|| message::event(&face.schema, format, at_ms, &self.node))
    }
}

impl Told {
    pub(super) fn new(face: &Restconf, record: &FeedRecord) -> Told {
        let mut entries = Vec::new();
        for (position, entry) in record.changes() {
            let mut events = Vec::new();
            for (model, teller) in face.models.iter().enumerate() {
                let nodes = teller.told(&entry.events).into_iter();
                events.extend(nodes.map(|node| {
                    let (json, xml) = (OnceLock::new(), OnceLock::new());
                    Event { model, node, json, xml }
                }));
            }
            if !events.is_empty() {
                entries.push(Entry { position, at_ms: entry.at_ms, events });
            }
        }
        Told { entries }
    }
}

/// The newest records, by their numbers.
#[derive(Default)]
pub(super) struct Newest(Mutex<VecDeque<(u64, Arc<Told>)>>);

impl Newest {
    pub(super) fn of(&self, face: &Restconf, record: &FeedRecord) -> Arc<Told> {
        let seq = record.tail.seq;
        let known = |all: &VecDeque<(u64, Arc<Told>)>| {
            all.iter().rev().find(|(known, _)| *known == seq).map(|(_, told)| told.clone())
        };
        if let Some(told) = known(&self.0.lock()) {
            return told;
        }
        // Two streams may both make it; that is better than one that waits for the other.
        let told = Arc::new(Told::new(face, record));
        let mut all = self.0.lock();
        if known(&all).is_none() {
            all.push_back((seq, told.clone()));
        }
        if all.len() > RECORDS_MAX {
            all.pop_front();
        }
        told
    }
}
