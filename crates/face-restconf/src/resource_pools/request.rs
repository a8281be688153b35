//! The common part of requests to pools of all kinds: user, services, and the response.

use std::sync::Arc;

use allod_core::requests::{Answer, AnsweredRequest, Redeploy, Request, RequestPool};
use allod_core::span::Span;

use super::kind::PoolKind;
use super::{error_texts, outside};
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
    let mut wanted = kind.request_nodes(&request.want);
    wanted.extend(kind.site().request_nodes(&request.site));
    if !wanted.is_empty() {
        children.push(DataNode::inner(nodes.request, wanted));
    }
    children.extend(kind.site().entry_nodes(&request.site));
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
    let version = outside::version_node(kind, asked);
    let answer = match (&asked.answer, value) {
        (Answer::Wanted, _) => return written(kind, &asked.key, &asked.request).with(version),
        (Answer::Granted, Some(value)) => kind.granted_nodes(config, value),
        (Answer::Granted, None) => Vec::new(),
        (Answer::Failed(failure), _) => {
            let text = error_texts::error(pool, &asked.request, failure);
            vec![DataNode::leaf(nodes.error, text)]
        }
    };
    let response = DataNode::inner(nodes.response, answer);
    written(kind, &asked.key, &asked.request).with(version.into_iter().chain([response]))
}

/// Reads a request from a validated list entry. `before`: the stored request.
pub(crate) fn read(kind: &dyn PoolKind, entry: &DataNode, before: Option<&Request>) -> Request {
    let nodes = kind.nodes();
    let request = entry.child(nodes.request).map_or(&[][..], |request| request.children());
    Request {
        user: entry.shared_text(nodes.username).cloned().unwrap_or_default(),
        services: entry.texts(nodes.service).cloned().collect(),
        redeploy: entry.text(nodes.redeploy).and_then(Redeploy::from_name),
        sync_alloc: entry.child(nodes.sync_alloc).is_some(),
        want: kind.wanted(request),
        site: kind.site().read_request(entry, before.map(|before| &before.site)),
    }
}
