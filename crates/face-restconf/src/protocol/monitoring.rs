//! `restconf-state`: the capabilities and the event streams.

use super::endpoint::RESTCONF;
use super::library::NodeMaker;
use super::time;
use crate::tree::DataNode;
use crate::yang::Schema;

const CAPABILITIES: &[&str] = &[
    "urn:ietf:params:restconf:capability:defaults:1.0?basic-mode=explicit",
    "urn:ietf:params:restconf:capability:depth:1.0",
    "urn:ietf:params:restconf:capability:fields:1.0",
    "urn:ietf:params:restconf:capability:filter:1.0",
    "urn:ietf:params:restconf:capability:replay:1.0",
    "urn:ietf:params:restconf:capability:with-defaults:1.0",
    "urn:ietf:params:restconf:capability:yang-patch:1.0",
];

/// An event stream, as listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamInfo {
    pub name: &'static str,
    pub description: &'static str,
}

/// `log_ms`: the time of the oldest retained event, if known.
pub(super) fn node(
    schema: &Schema,
    streams: &[StreamInfo],
    log_ms: Option<u64>,
) -> Result<DataNode, String> {
    let state = NodeMaker::top(schema, "ietf-restconf-monitoring:restconf-state")?;
    let capabilities = state.below("capabilities")?;
    let all: Result<Vec<DataNode>, String> =
        CAPABILITIES.iter().map(|text| capabilities.leaf("capability", *text)).collect();
    let container = state.below("streams")?;
    let list = container.below("stream")?;
    let mut entries = Vec::new();
    for stream in streams {
        let mut parts = vec![
            list.leaf("name", stream.name)?,
            list.leaf("description", stream.description)?,
            list.leaf("replay-support", true)?,
        ];
        if let Some(ms) = log_ms {
            parts.push(list.leaf("replay-log-creation-time", time::show(ms))?);
        }
        let access = list.below("access")?;
        for encoding in ["json", "xml"] {
            let location = format!("{RESTCONF}/streams/{}/{encoding}", stream.name);
            let leaves =
                vec![access.leaf("encoding", encoding)?, access.leaf("location", location)?];
            parts.push(access.inner(leaves));
        }
        entries.push(list.inner(parts));
    }
    Ok(state.inner(vec![capabilities.inner(all?), container.inner(entries)]))
}
