//! The model of the protocol itself: the YANG library and the state of RESTCONF. It is only read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use allod_core::event::Event;
use allod_core::receipt::Receipt;
use allod_core::refusal::Refused;
use allod_engine::Snapshot;

use super::library;
use super::monitoring::{self, Announced};
use crate::fault::{Fault, Tag};
use crate::model::{Called, Content, Edit, Model, Output, Planned, Target};
use crate::tree::{Node, Source};
use crate::yang::{NodeId, Schema};

pub(super) const LIBRARY: &str = "ietf-yang-library";
pub(super) const MONITORING: &str = "ietf-restconf-monitoring";

pub(super) struct Builtin {
    schema: Arc<Schema>,
    library: Vec<Node>,
    streams: Vec<Announced>,
    /// When the oldest event that is still kept happened; 0: not known yet.
    log_ms: AtomicU64,
}

impl Builtin {
    pub(super) fn new(schema: Arc<Schema>, streams: Vec<Announced>) -> Result<Builtin, String> {
        let library = library::nodes(&schema)?;
        // What cannot be made of these modules is known before anybody asks.
        monitoring::node(&schema, &streams, None)?;
        Ok(Builtin { schema, library, streams, log_ms: AtomicU64::new(0) })
    }

    pub(super) fn log_begins(&self, ms: u64) {
        self.log_ms.store(ms, Ordering::Relaxed);
    }
}

impl Model for Builtin {
    fn modules(&self) -> &'static [&'static str] {
        &[MONITORING, LIBRARY]
    }

    fn read(
        &self,
        _: &Snapshot<'_>,
        target: &Target,
        content: Content,
    ) -> Result<Option<Box<dyn Source>>, Fault> {
        if content == Content::Config {
            return Ok(None);
        }
        let log_ms = Some(self.log_ms.load(Ordering::Relaxed)).filter(|ms| *ms > 0);
        let state = monitoring::node(&self.schema, &self.streams, log_ms)
            .map_err(|what| Fault::application(Tag::OperationFailed, what))?;
        let top: Vec<&Node> = self.library.iter().chain([&state]).collect();
        let found: Vec<Node> = select(&self.schema, top, target).into_iter().cloned().collect();
        Ok(if found.is_empty() { None } else { Some(Box::new(found)) })
    }

    fn plan(&self, _: &Snapshot<'_>, _: &[Edit], _: Option<&Target>) -> Result<Planned, Fault> {
        Err(read_only())
    }

    fn stale(&self, _: &Refused) -> bool {
        false
    }

    fn call(&self, _: &Snapshot<'_>, _: NodeId, _: &Target, _: &[Node]) -> Result<Called, Fault> {
        Err(read_only())
    }

    fn output(&self, _: NodeId, _: &Receipt) -> Output {
        Vec::new()
    }

    fn fault(&self, _: Option<NodeId>, _: &Refused) -> Fault {
        read_only()
    }

    fn notifications(&self, _: &Event) -> Vec<Node> {
        Vec::new()
    }
}

fn read_only() -> Fault {
    Fault::protocol(Tag::OperationNotSupported, "what the server says of itself is only read")
        .with_status(http::StatusCode::METHOD_NOT_ALLOWED)
}

/// What the target names among these and below them; all of them, if it names nothing.
fn select<'a>(schema: &Schema, top: Vec<&'a Node>, target: &Target) -> Vec<&'a Node> {
    let mut found = top;
    for (n, step) in target.steps.iter().enumerate() {
        if n > 0 {
            found = found.into_iter().flat_map(Node::children).collect();
        }
        found.retain(|node| {
            let fits = step.keys.is_empty() || node.keys(schema) == step.keys;
            node.schema == step.node && fits
        });
    }
    found
}
