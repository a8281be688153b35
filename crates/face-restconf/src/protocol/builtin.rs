//! The model of the protocol itself: the YANG library and `restconf-state`. Read only.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use allod_core::refusal::Refused;
use allod_engine::Snapshot;

use super::library;
use super::monitoring::{self, StreamInfo};
use crate::error::{ErrorTag, RestconfError, Result};
use crate::model::{
    CallPlan, Content, EditPlan, InstancePath, OperationCall, RequestedEdits, YangModel,
};
use crate::tree::{DataNode, NodeSource, matches, select};
use crate::yang::{NodeId, Schema};

pub(super) const LIBRARY: &str = "ietf-yang-library";
pub(super) const MONITORING: &str = "ietf-restconf-monitoring";

pub(super) struct Builtin {
    schema: Arc<Schema>,
    library: Vec<DataNode>,
    streams: Vec<StreamInfo>,
    /// The time of the oldest retained event; 0: not known yet.
    log_ms: AtomicU64,
}

impl Builtin {
    pub(super) fn new(schema: Arc<Schema>, streams: Vec<StreamInfo>) -> Result<Builtin, String> {
        let library = library::nodes(&schema)?;
        // Fails early if the modules lack a node.
        monitoring::node(&schema, &streams, None)?;
        Ok(Builtin { schema, library, streams, log_ms: AtomicU64::new(0) })
    }

    pub(super) fn set_log_start(&self, ms: u64) {
        self.log_ms.store(ms, Ordering::Relaxed);
    }
}

impl YangModel for Builtin {
    fn modules(&self) -> &'static [&'static str] {
        &[MONITORING, LIBRARY]
    }

    fn read(
        &self,
        _: &Snapshot<'_>,
        target: &InstancePath,
        content: Content,
    ) -> Result<Option<Box<dyn NodeSource>>> {
        if content == Content::Config {
            return Ok(None);
        }
        let log_ms = Some(self.log_ms.load(Ordering::Relaxed)).filter(|ms| *ms > 0);
        let state = monitoring::node(&self.schema, &self.streams, log_ms)
            .map_err(|what| RestconfError::application(ErrorTag::OperationFailed, what))?;
        let mut top: Vec<DataNode> = self.library.iter().chain([&state]).cloned().collect();
        if let Some(first) = target.steps.first() {
            top.retain(|node| matches(first, node));
        }
        Ok(select(top, target.steps.get(1..).unwrap_or_default()))
    }

    fn plan(&self, _: &Snapshot<'_>, _: RequestedEdits<'_>) -> Result<EditPlan> {
        Err(read_only())
    }

    fn is_stale(&self, _: &Refused) -> bool {
        false
    }

    fn call(&self, _: &Snapshot<'_>, _: OperationCall<'_>) -> Result<CallPlan> {
        Err(read_only())
    }

    fn error(&self, _: Option<NodeId>, _: &Refused) -> RestconfError {
        read_only()
    }
}

fn read_only() -> RestconfError {
    RestconfError::not_supported("the server's own state is read only")
        .with_status(http::StatusCode::METHOD_NOT_ALLOWED)
}
