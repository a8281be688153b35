//! POST, PUT, PATCH and DELETE of data: turns path and body into edits, and writes the reply.

use std::sync::Arc;

use allod_edge::{Identity, Reply, Role};
use bytes::Bytes;
use http::header::{HOST, LOCATION};
use http::{HeaderValue, StatusCode};

use super::commit::{EditRequest, EditResult, RequestEdits, ensure_role};
use super::conditions::{self, Preconditions};
use super::errors::POSITION;
use super::request::RestconfRequest;
use super::{Restconf, invoke, patch, send};
use crate::codec::{self, Dialect};
use crate::edit;
use crate::edit::patch::too_many_edits;
use crate::error::{ErrorTag, RestconfError, Result, invalid_value};
use crate::model::{Edit, EditOp, InstancePath, PathStep};
use crate::path;
use crate::query::{RequestKind, RestconfParams};
use crate::tree::DataNode;
use crate::yang::{NodeId, NodeKind};

/// Longer bodies are parsed on a blocking thread.
const SHORT_BYTES_MAX: usize = 128 << 10;

/// Creates a child, or calls an action.
pub(super) async fn post(face: &Arc<Restconf>, request: &RestconfRequest) -> Result<Reply> {
    let target = path::parse(&face.schema, request.endpoint.dialect, request.rest())?;
    let is_action = |step: &PathStep| face.schema.node(step.node).kind == NodeKind::Action;
    if target.steps.last().is_some_and(is_action) {
        return invoke::action(face, request, target).await;
    }
    face.ensure_editable(&target, WholeList::Refused)?;
    let query = RestconfParams::parse(request.query(), RequestKind::Write)?;
    let parent = target.steps.last().map(|step| step.node);
    let nodes = body(face, request, parent).await?;
    let [node] = exactly_one(nodes)?;
    let child = below(face, &target, &node)?;
    face.ensure_config(child.steps.last())?;
    let location = path::location(&face.schema, request.endpoint.dialect, &child);
    let insert_at = query.insert_at(&face.schema, &child)?;
    let edit = Edit { op: EditOp::Create, target: child.clone(), data: Some(node), insert_at };
    let edit_request = edit_request(request, RequestEdits::Plain(vec![edit]), target, false);
    let done = face.commit(request.call.identity(), &edit_request).await?;
    let status = match request.endpoint.dialect {
        Dialect::Draft02 => StatusCode::NO_CONTENT,
        Dialect::Rfc8040 => StatusCode::CREATED,
    };
    let mut reply = reply(face, request, status, &child, &done)?;
    set_location(&mut reply, face, request, &location);
    Ok(reply)
}

/// Replaces or creates the target.
pub(super) async fn put(face: &Arc<Restconf>, request: &RestconfRequest) -> Result<Reply> {
    let target = path::parse(&face.schema, request.endpoint.dialect, request.rest())?;
    face.ensure_may_write(request.call.identity(), &target)?;
    if !face.is_answerable(&target) {
        face.ensure_editable(&target, WholeList::Refused)?;
    }
    let query = RestconfParams::parse(request.query(), RequestKind::Write)?;
    let insert_at = query.insert_at(&face.schema, &target)?;
    let edits = match target.steps.is_empty() {
        true => replace_all(face, body(face, request, None).await?)?,
        false => {
            let node = body_as_target(face, request, &target).await?;
            let target = target.clone();
            vec![Edit { op: EditOp::Replace, target, data: Some(node), insert_at }]
        }
    };
    let edit_request = edit_request(request, RequestEdits::Plain(edits), target, false);
    let done = face.commit(request.call.identity(), &edit_request).await?;
    let is_new = !edit_request.target.steps.is_empty() && done.created.first() == Some(&true);
    let status = if is_new { StatusCode::CREATED } else { done_status(request) };
    let mut reply = reply(face, request, status, &edit_request.target, &done)?;
    if is_new {
        let location = path::location(&face.schema, request.endpoint.dialect, &edit_request.target);
        set_location(&mut reply, face, request, &location);
    }
    Ok(reply)
}

/// Merges the body into the target, or carries out a YANG Patch.
pub(super) async fn patch(face: &Arc<Restconf>, request: &RestconfRequest) -> Result<Reply> {
    let mut target = path::parse(&face.schema, request.endpoint.dialect, request.rest())?;
    face.ensure_may_write(request.call.identity(), &target)?;
    if !face.is_answerable(&target) {
        face.ensure_editable(&target, WholeList::Allowed)?;
    }
    if request.body_media()?.patch {
        return patch::patch(face, request, target).await;
    }
    RestconfParams::parse(request.query(), RequestKind::Other)?;
    let edits = match target.steps.last() {
        None => merge_all(face, &target, body(face, request, None).await?)?,
        Some(last) if face.is_whole_list(last) => {
            // A list without keys: merge the entries in the body.
            let list = last.node;
            target.steps.pop();
            let nodes = body(face, request, target.steps.last().map(|step| step.node)).await?;
            if nodes.iter().any(|node| node.schema != list) {
                return Err(unexpected_list_body(face, list));
            }
            merge_all(face, &target, nodes)?
        }
        Some(_) => {
            let node = body_as_target(face, request, &target).await?;
            vec![Edit::new(EditOp::Merge, target.clone(), Some(node))]
        }
    };
    let edit_request = edit_request(request, RequestEdits::Plain(edits), target, true);
    let done = face.commit(request.call.identity(), &edit_request).await?;
    reply(face, request, done_status(request), &edit_request.target, &done)
}

pub(super) async fn delete(face: &Arc<Restconf>, request: &RestconfRequest) -> Result<Reply> {
    let target = path::parse(&face.schema, request.endpoint.dialect, request.rest())?;
    face.ensure_editable(&target, WholeList::Refused)?;
    RestconfParams::parse(request.query(), RequestKind::Other)?;
    let edit = Edit::new(EditOp::Delete, target.clone(), None);
    let edit_request = edit_request(request, RequestEdits::Plain(vec![edit]), target, false);
    let done = face.commit(request.call.identity(), &edit_request).await?;
    let mut reply = send::empty(done_status(request));
    reply.headers_mut().insert(POSITION, done.at.position.into());
    Ok(reply)
}

/// The status of an edit that creates nothing.
fn done_status(request: &RestconfRequest) -> StatusCode {
    match request.endpoint.dialect {
        Dialect::Draft02 => StatusCode::OK,
        Dialect::Rfc8040 => StatusCode::NO_CONTENT,
    }
}

pub(super) fn edit_request(
    request: &RestconfRequest,
    edits: RequestEdits,
    target: InstancePath,
    must_exist: bool,
) -> EditRequest {
    let conditions = Preconditions::of(request.headers());
    EditRequest { edits, target, conditions, must_exist }
}

/// Parses a body; on a blocking thread if it is long.
pub(super) async fn parse<T: Send + 'static>(
    body: Bytes,
    read: impl FnOnce(&[u8]) -> Result<T> + Send + 'static,
) -> Result<T> {
    if body.len() <= SHORT_BYTES_MAX {
        return read(&body);
    }
    let read = tokio::task::spawn_blocking(move || read(&body));
    read.await.unwrap_or_else(|_| {
        Err(RestconfError::application(ErrorTag::OperationFailed, "the body could not be parsed"))
    })
}

/// Parses the body as children of a node.
async fn body(
    face: &Arc<Restconf>,
    request: &RestconfRequest,
    parent: Option<NodeId>,
) -> Result<Vec<DataNode>> {
    let encoding = request.body_media()?.encoding;
    let schema = face.schema.clone();
    let read = move |bytes: &[u8]| codec::read(&schema, parent, encoding, bytes);
    let nodes = parse(request.call.body.clone(), read).await?;
    let max = face.settings.edits_per_request_max;
    if nodes.len() as u64 > max {
        return Err(too_many_edits(max));
    }
    Ok(nodes)
}

/// Parses the body as the target itself.
async fn body_as_target(
    face: &Arc<Restconf>,
    request: &RestconfRequest,
    target: &InstancePath,
) -> Result<DataNode> {
    let parent = target.steps.len().checked_sub(2).and_then(|n| target.steps.get(n));
    let nodes = body(face, request, parent.map(|step| step.node)).await?;
    let [node] = exactly_one(nodes)?;
    if let Some(last) = target.steps.last() {
        edit::ensure_matches(&face.schema, last, &node)?;
    }
    Ok(node)
}

fn exactly_one(nodes: Vec<DataNode>) -> Result<[DataNode; 1]> {
    let count = nodes.len();
    nodes.try_into().map_err(|_| {
        let message =
            format!("Error parsing input: the body must contain one node, but contains {count}");
        RestconfError::protocol(ErrorTag::MalformedMessage, message)
    })
}

/// The path of a child node.
fn below(face: &Restconf, parent: &InstancePath, node: &DataNode) -> Result<InstancePath> {
    let keys = node.keys(&face.schema);
    let kind = face.schema.node(node.schema).kind;
    if keys.is_empty() && matches!(kind, NodeKind::List) {
        return Err(RestconfError::not_supported(
            "an entry of a list without keys cannot be edited",
        ));
    }
    Ok(path::below(&face.schema, parent, node))
}

fn unexpected_list_body(face: &Restconf, list: NodeId) -> RestconfError {
    let name = face.schema.full_name(list);
    let message = format!("Error parsing input: the body must contain '{name}' only");
    RestconfError::protocol(ErrorTag::MalformedMessage, message)
}

fn merge_all(face: &Restconf, parent: &InstancePath, nodes: Vec<DataNode>) -> Result<Vec<Edit>> {
    let merge = |node: DataNode| {
        let target = below(face, parent, &node)?;
        face.ensure_config(target.steps.last())?;
        Ok(Edit::new(EditOp::Merge, target, Some(node)))
    };
    nodes.into_iter().map(merge).collect()
}

/// Replaces the whole datastore: top-level nodes that are not in the body are removed.
fn replace_all(face: &Restconf, nodes: Vec<DataNode>) -> Result<Vec<Edit>> {
    let mut edits = merge_all(face, &InstancePath::default(), nodes)?;
    edits.iter_mut().for_each(|edit| edit.op = EditOp::Replace);
    for &top in face.schema.top() {
        let node = face.schema.node(top);
        let is_data = matches!(node.kind, NodeKind::Container { .. } | NodeKind::Leaf);
        let named =
            edits.iter().any(|edit| edit.data.as_ref().is_some_and(|data| data.schema == top));
        if is_data && node.config && !named && face.owner(top).is_ok() {
            let target = InstancePath { steps: vec![PathStep { node: top, keys: Vec::new() }] };
            edits.push(Edit::new(EditOp::Remove, target, None));
        }
    }
    Ok(edits)
}

/// A reply without a body. It has the entity tag of the target only if no other request has changed the target since; the
/// client has not seen such a change.
fn reply(
    face: &Restconf,
    request: &RestconfRequest,
    status: StatusCode,
    target: &InstancePath,
    done: &EditResult,
) -> Result<Reply> {
    let mut reply = send::empty(status);
    let headers = reply.headers_mut();
    headers.insert(POSITION, done.at.position.into());
    let change = face.read_snapshot(|snapshot| Ok(face.changed(snapshot, target)))?;
    if change.position == done.at.position {
        let encoding = request.reply_media().map_or(codec::Encoding::Json, |media| media.encoding);
        conditions::set_validators(headers, &change, encoding);
    }
    Ok(reply)
}

/// Sets the Location header.
fn set_location(reply: &mut Reply, face: &Restconf, request: &RestconfRequest, location: &str) {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let origin = match host {
        Some(host) => format!("{}://{host}", face.settings.scheme),
        None => String::new(),
    };
    let part = match request.endpoint.dialect {
        Dialect::Draft02 => "config",
        Dialect::Rfc8040 => "data",
    };
    let location = format!("{origin}{}/{part}{location}", request.endpoint.root);
    if let Ok(location) = HeaderValue::try_from(location) {
        reply.headers_mut().insert(LOCATION, location);
    }
}

/// Whether the target may be a whole list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WholeList {
    Refused,
    Allowed,
}

impl Restconf {
    /// Whether the target is state that an allocator can write.
    fn is_answerable(&self, target: &InstancePath) -> bool {
        let owner = target.steps.first().and_then(|first| self.owner(first.node).ok());
        owner.is_some_and(|model| model.is_answerable(target))
    }

    /// Checks the role for a PUT or PATCH: the role allocator writes answers, and the role writer everything else.
    pub(super) fn ensure_may_write(
        &self,
        identity: &Identity,
        target: &InstancePath,
    ) -> Result<()> {
        let needed = if self.is_answerable(target) { Role::Allocator } else { Role::Writer };
        ensure_role(identity, needed)
    }

    /// Checks that the target is configuration, and not a whole list.
    fn ensure_editable(&self, target: &InstancePath, whole_list: WholeList) -> Result<()> {
        self.ensure_data(target)?;
        self.ensure_config(target.steps.last())?;
        match target.steps.last() {
            Some(last) if whole_list == WholeList::Refused && self.is_whole_list(last) => {
                Err(invalid_value(format!(
                    "'{}' names the whole list; add the keys of one entry",
                    self.schema.node(last.node).name
                )))
            }
            _ => Ok(()),
        }
    }

    /// Whether the step names a whole list.
    pub(super) fn is_whole_list(&self, step: &PathStep) -> bool {
        let kind = self.schema.node(step.node).kind;
        step.keys.is_empty() && matches!(kind, NodeKind::List | NodeKind::LeafList)
    }

    pub(super) fn ensure_config(&self, step: Option<&PathStep>) -> Result<()> {
        match step.map(|step| self.schema.node(step.node)) {
            Some(node) if !node.config => {
                Err(RestconfError::not_supported(format!("'{}' is state and read only", node.name))
                    .with_status(StatusCode::METHOD_NOT_ALLOWED))
            }
            _ => Ok(()),
        }
    }
}
