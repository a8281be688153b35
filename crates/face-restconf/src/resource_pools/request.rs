//! The common part of requests to pools of all kinds: user, services, and the response.

use std::sync::Arc;

use allod_core::requests::{Answer, AnsweredRequest, Redeploy, Request, RequestPool};
use allod_core::span::Span;

use super::error_texts;
use super::kind::PoolKind;
use crate::error::Result;
use crate::tree::{DataNode, LeafValue, Siblings};

/// Writes a request as an entry of the list of allocations.
pub(crate) fn written(kind: &dyn PoolKind, key: &Arc<str>, request: &Request) -> DataNode {
    let nodes = kind.nodes();
    let mut children =
        vec![DataNode::leaf(nodes.id, key), DataNode::leaf(nodes.username, &request.user)];
    let services = request.services.iter();
    children.extend(services.map(|service| DataNode::leaf(nodes.service, service)));
    if request.sync_alloc {
        children.push(DataNode::leaf(nodes.sync_alloc, LeafValue::Empty));
    }
    if let Some(how) = request.redeploy {
        children.push(DataNode::leaf(nodes.redeploy, how.name()));
    }
    let wanted = kind.request_nodes(&request.want);
    if !wanted.is_empty() {
        children.push(DataNode::inner(nodes.request, wanted));
    }
    DataNode::inner(nodes.allocation, children)
}

/// Writes a request with its response.
pub(crate) fn answered(
    kind: &dyn PoolKind,
    pool: &str,
    config: &RequestPool,
    asked: &AnsweredRequest,
    value: Option<Span>,
) -> DataNode {
    let nodes = kind.nodes();
    let answer = match (&asked.answer, value) {
        (Answer::Granted, Some(value)) => kind.granted_nodes(config, value),
        (Answer::Granted, None) => Vec::new(),
        (Answer::Failed(failure), _) => {
            let text = error_texts::error(pool, &asked.request, failure);
            vec![DataNode::leaf(nodes.error, text)]
        }
    };
    let mut entry = written(kind, &asked.key, &asked.request);
    if let crate::tree::NodeBody::Inner(children) = &mut entry.body {
        children.push(DataNode::inner(nodes.response, answer));
    }
    entry
}

/// Reads a request from a validated list entry.
pub(crate) fn read(kind: &dyn PoolKind, entry: &DataNode) -> Result<Request> {
    let nodes = kind.nodes();
    let text = |value: &LeafValue| match value {
        LeafValue::Text(text) => Some(text.clone()),
        _ => None,
    };
    let user = entry.value_of(nodes.username).and_then(text).unwrap_or_else(|| "".into());
    let services = entry.entries(nodes.service).filter_map(DataNode::value).filter_map(text);
    let request = entry.child(nodes.request).map_or(&[][..], |request| request.children());
    Ok(Request {
        user,
        services: services.collect(),
        redeploy: entry.text(nodes.redeploy).and_then(Redeploy::from_name),
        sync_alloc: entry.child(nodes.sync_alloc).is_some(),
        want: kind.wanted(request)?,
    })
}
