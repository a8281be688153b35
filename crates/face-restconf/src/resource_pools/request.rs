//! What requests to pools of every kind have: who asks, who is told, and the answer.

use std::sync::Arc;

use allod_core::requests::AnsweredRequest;
use allod_core::requests::{Answer, Redeploy, Request, RequestPool};
use allod_core::span::Span;

use super::kind::PoolKind;
use super::words;
use crate::fault::Fault;
use crate::tree::{Node, Siblings, Value};

/// A request as it was written, as an entry of the list of allocations.
pub(crate) fn written(kind: &dyn PoolKind, key: &Arc<str>, request: &Request) -> Node {
    let nodes = kind.nodes();
    let mut children = vec![
        Node::leaf(nodes.id, Value::Text(key.clone())),
        Node::leaf(nodes.username, Value::Text(request.user.clone())),
    ];
    let services = request.services.iter();
    children
        .extend(services.map(|service| Node::leaf(nodes.service, Value::Text(service.clone()))));
    if request.sync_alloc {
        children.push(Node::leaf(nodes.sync_alloc, Value::Empty));
    }
    if let Some(how) = request.redeploy {
        children.push(Node::leaf(nodes.redeploy, Value::text(how.name())));
    }
    let wanted = kind.request_nodes(&request.want);
    if !wanted.is_empty() {
        children.push(Node::inner(nodes.request, wanted));
    }
    Node::inner(nodes.allocation, children)
}

/// The same with its answer.
pub(crate) fn answered(
    kind: &dyn PoolKind,
    pool: &str,
    config: &RequestPool,
    asked: &AnsweredRequest,
    value: Option<Span>,
) -> Node {
    let nodes = kind.nodes();
    let answer = match (&asked.answer, value) {
        (Answer::Granted, Some(value)) => kind.granted_nodes(config, value),
        (Answer::Granted, None) => Vec::new(),
        (Answer::Failed(failure), _) => {
            let text = words::error(pool, &asked.request, failure);
            vec![Node::leaf(nodes.error, Value::text(text))]
        }
    };
    let mut entry = written(kind, &asked.key, &asked.request);
    if let crate::tree::Body::Inner(children) = &mut entry.body {
        children.push(Node::inner(nodes.response, answer));
    }
    entry
}

/// What an entry asks for. It has all that the schema asks for.
pub(crate) fn read(kind: &dyn PoolKind, entry: &Node) -> Result<Request, Fault> {
    let nodes = kind.nodes();
    let text = |value: &Value| match value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    };
    let user = entry.value_of(nodes.username).and_then(text).unwrap_or_else(|| "".into());
    let services = entry.entries(nodes.service).filter_map(Node::value).filter_map(text);
    let request = entry.child(nodes.request).map_or(&[][..], |request| request.children());
    Ok(Request {
        user,
        services: services.collect(),
        redeploy: entry.text(nodes.redeploy).and_then(Redeploy::from_name),
        sync_alloc: entry.child(nodes.sync_alloc).is_some(),
        want: kind.wanted(request)?,
    })
}
