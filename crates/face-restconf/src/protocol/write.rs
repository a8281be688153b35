//! POST, PUT, PATCH and DELETE of data: what the body and the path come to as edits, and what is answered.

use std::sync::Arc;

use allod_edge::Reply;
use bytes::Bytes;
use http::header::{HOST, LOCATION};
use http::{HeaderValue, StatusCode};

use super::ask::Ask;
use super::commit::{Done, Edits, Wanted};
use super::conditions::{self, Conditions};
use super::errors::POSITION;
use super::{Restconf, invoke, patch};
use crate::codec::{self, Dialect};
use crate::edit;
use crate::fault::{Fault, Tag};
use crate::model::{Edit, Op, Step, Target};
use crate::path;
use crate::query::{Query, Use};
use crate::tree::Node;
use crate::yang::{Kind, NodeId};

/// A body that is longer than this is read on a thread that may block.
const SHORT_BYTES_MAX: usize = 128 << 10;

/// Makes a child, or calls an action.
pub(super) async fn post(face: &Arc<Restconf>, ask: &Ask) -> Result<Reply, Fault> {
    let target = path::parse(&face.schema, ask.space.dialect, ask.rest())?;
    let is_action = |step: &Step| face.schema.node(step.node).kind == Kind::Action;
    if target.steps.last().is_some_and(is_action) {
        return invoke::action(face, ask, target).await;
    }
    face.may_be_edited(&target, Many::Refused)?;
    let query = Query::parse(ask.query(), Use::Write)?;
    let parent = target.steps.last().map(|step| step.node);
    let nodes = body(face, ask, parent).await?;
    let [node] = one(nodes)?;
    let child = below(face, &target, &node)?;
    face.must_be_config(child.steps.last())?;
    let location = path::location(&face.schema, ask.space.dialect, &child);
    let place = query.place(&face.schema, &child)?;
    let edit = Edit { op: Op::Create, target: child.clone(), data: Some(node), place };
    let wanted = wanted(ask, Edits::Given(vec![edit]), target, false);
    let done = face.commit(&wanted).await?;
    let status = match ask.space.dialect {
        Dialect::Draft02 => StatusCode::NO_CONTENT,
        Dialect::Rfc8040 => StatusCode::CREATED,
    };
    let mut reply = reply(face, ask, status, &child, &done)?;
    locate(&mut reply, face, ask, &location);
    Ok(reply)
}

/// Makes the target what the body says.
pub(super) async fn put(face: &Arc<Restconf>, ask: &Ask) -> Result<Reply, Fault> {
    let target = path::parse(&face.schema, ask.space.dialect, ask.rest())?;
    face.may_be_edited(&target, Many::Refused)?;
    let query = Query::parse(ask.query(), Use::Write)?;
    let place = query.place(&face.schema, &target)?;
    let edits = match target.steps.is_empty() {
        true => replace_all(face, body(face, ask, None).await?)?,
        false => {
            let node = itself(face, ask, &target).await?;
            let target = target.clone();
            vec![Edit { op: Op::Replace, target, data: Some(node), place }]
        }
    };
    let wanted = wanted(ask, Edits::Given(edits), target, false);
    let done = face.commit(&wanted).await?;
    let is_new = !wanted.target.steps.is_empty() && done.created.first() == Some(&true);
    let status = match ask.space.dialect {
        _ if is_new => StatusCode::CREATED,
        Dialect::Draft02 => StatusCode::OK,
        Dialect::Rfc8040 => StatusCode::NO_CONTENT,
    };
    let mut reply = reply(face, ask, status, &wanted.target, &done)?;
    if is_new {
        let location = path::location(&face.schema, ask.space.dialect, &wanted.target);
        locate(&mut reply, face, ask, &location);
    }
    Ok(reply)
}

/// Adds what the body says to what is there; or carries out a YANG Patch.
pub(super) async fn patch(face: &Arc<Restconf>, ask: &Ask) -> Result<Reply, Fault> {
    let mut target = path::parse(&face.schema, ask.space.dialect, ask.rest())?;
    face.may_be_edited(&target, Many::Allowed)?;
    if ask.body_media()?.patch {
        return patch::patch(face, ask, target).await;
    }
    Query::parse(ask.query(), Use::Other)?;
    let edits = match target.steps.last() {
        None => merge_all(face, &target, body(face, ask, None).await?)?,
        Some(last) if face.is_many(last) => {
            // A list without keys: those entries of it are meant that the body has.
            let list = last.node;
            target.steps.pop();
            let nodes = body(face, ask, target.steps.last().map(|step| step.node)).await?;
            if nodes.iter().any(|node| node.schema != list) {
                return Err(unlike(face, list));
            }
            merge_all(face, &target, nodes)?
        }
        Some(_) => {
            let node = itself(face, ask, &target).await?;
            vec![Edit { op: Op::Merge, target: target.clone(), data: Some(node), place: None }]
        }
    };
    let wanted = wanted(ask, Edits::Given(edits), target, true);
    let done = face.commit(&wanted).await?;
    let status = match ask.space.dialect {
        Dialect::Draft02 => StatusCode::OK,
        Dialect::Rfc8040 => StatusCode::NO_CONTENT,
    };
    reply(face, ask, status, &wanted.target, &done)
}

pub(super) async fn delete(face: &Arc<Restconf>, ask: &Ask) -> Result<Reply, Fault> {
    let target = path::parse(&face.schema, ask.space.dialect, ask.rest())?;
    face.may_be_edited(&target, Many::Refused)?;
    Query::parse(ask.query(), Use::Other)?;
    let edit = Edit { op: Op::Delete, target: target.clone(), data: None, place: None };
    let wanted = wanted(ask, Edits::Given(vec![edit]), target, false);
    let done = face.commit(&wanted).await?;
    let status = match ask.space.dialect {
        Dialect::Draft02 => StatusCode::OK,
        Dialect::Rfc8040 => StatusCode::NO_CONTENT,
    };
    let mut reply = empty(status);
    reply.headers_mut().insert(POSITION, done.at.position.into());
    Ok(reply)
}

pub(super) fn wanted(ask: &Ask, edits: Edits, target: Target, must_exist: bool) -> Wanted {
    let conditions = Conditions::of(ask.headers());
    Wanted { edits, target, conditions, must_exist }
}

/// Reads a body; on a thread of its own, if that takes long.
pub(super) async fn parse<T: Send + 'static>(
    body: Bytes,
    read: impl FnOnce(&[u8]) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    if body.len() <= SHORT_BYTES_MAX {
        return read(&body);
    }
    let read = tokio::task::spawn_blocking(move || read(&body));
    read.await.unwrap_or_else(|_| {
        Err(Fault::application(Tag::OperationFailed, "the body could not be read to its end"))
    })
}

/// The body as children of this node.
async fn body(face: &Arc<Restconf>, ask: &Ask, parent: Option<NodeId>) -> Result<Vec<Node>, Fault> {
    let format = ask.body_media()?.format;
    let schema = face.schema.clone();
    let read = move |bytes: &[u8]| codec::read(&schema, parent, format, bytes);
    let nodes = parse(ask.call.body.clone(), read).await?;
    let max = face.settings.edits_per_request_max;
    if nodes.len() as u64 > max {
        return Err(too_many(max, nodes.len()));
    }
    Ok(nodes)
}

pub(super) fn too_many(max: u64, actual: usize) -> Fault {
    let message = format!("edits_per_request_max is {max}, the request has {actual}");
    Fault::protocol(Tag::TooBig, message)
}

/// The body as the target itself.
async fn itself(face: &Arc<Restconf>, ask: &Ask, target: &Target) -> Result<Node, Fault> {
    let parent = target.steps.len().checked_sub(2).and_then(|n| target.steps.get(n));
    let nodes = body(face, ask, parent.map(|step| step.node)).await?;
    let [node] = one(nodes)?;
    if let Some(last) = target.steps.last() {
        edit::agrees(&face.schema, last, &node)?;
    }
    Ok(node)
}

fn one(nodes: Vec<Node>) -> Result<[Node; 1], Fault> {
    let count = nodes.len();
    nodes.try_into().map_err(|_| {
        let message =
            format!("Error parsing input: one node is expected in the body, and {count} are there");
        Fault::protocol(Tag::MalformedMessage, message)
    })
}

/// The target that a node has below another.
fn below(face: &Restconf, parent: &Target, node: &Node) -> Result<Target, Fault> {
    let keys = node.keys(&face.schema);
    let kind = face.schema.node(node.schema).kind;
    if keys.is_empty() && matches!(kind, Kind::List) {
        return Err(Fault::protocol(
            Tag::OperationNotSupported,
            "an entry without keys cannot be named",
        ));
    }
    Ok(path::below(&face.schema, parent, node))
}

fn unlike(face: &Restconf, list: NodeId) -> Fault {
    let name = face.schema.full_name(list);
    let message =
        format!("Error parsing input: '{name}' is expected in the body, and nothing else");
    Fault::protocol(Tag::MalformedMessage, message)
}

fn merge_all(face: &Restconf, parent: &Target, nodes: Vec<Node>) -> Result<Vec<Edit>, Fault> {
    let merge = |node: Node| {
        let target = below(face, parent, &node)?;
        face.must_be_config(target.steps.last())?;
        Ok(Edit { op: Op::Merge, target, data: Some(node), place: None })
    };
    nodes.into_iter().map(merge).collect()
}

/// The whole datastore: what is in the body replaces what is there, and what is not in it goes.
fn replace_all(face: &Restconf, nodes: Vec<Node>) -> Result<Vec<Edit>, Fault> {
    let mut edits = merge_all(face, &Target::default(), nodes)?;
    edits.iter_mut().for_each(|edit| edit.op = Op::Replace);
    for &top in face.schema.top() {
        let node = face.schema.node(top);
        let is_data = matches!(node.kind, Kind::Container { .. } | Kind::Leaf);
        let named =
            edits.iter().any(|edit| edit.data.as_ref().is_some_and(|data| data.schema == top));
        if is_data && node.config && !named && face.owner(top).is_ok() {
            let target = Target { steps: vec![Step { node: top, keys: Vec::new() }] };
            edits.push(Edit { op: Op::Remove, target, data: None, place: None });
        }
    }
    Ok(edits)
}

pub(super) fn empty(status: StatusCode) -> Reply {
    let mut reply = Reply::new(Bytes::new().into());
    *reply.status_mut() = status;
    reply
}

/// A reply without a body. The tag of the target is only told while nothing but this request has changed it: another would be
/// of something that the client has not seen.
fn reply(
    face: &Restconf,
    ask: &Ask,
    status: StatusCode,
    target: &Target,
    done: &Done,
) -> Result<Reply, Fault> {
    let mut reply = empty(status);
    let headers = reply.headers_mut();
    headers.insert(POSITION, done.at.position.into());
    let change = face.look(|snapshot| Ok(face.changed(snapshot, target)))?;
    if change.position == done.at.position {
        let format = ask.reply_media().map_or(codec::Format::Json, |media| media.format);
        conditions::mark(headers, &change, format);
    }
    Ok(reply)
}

/// Says where what was made is.
fn locate(reply: &mut Reply, face: &Restconf, ask: &Ask, location: &str) {
    let host = ask.headers().get(HOST).and_then(|host| host.to_str().ok());
    let origin = match host {
        Some(host) => format!("{}://{host}", face.settings.scheme),
        None => String::new(),
    };
    let part = match ask.space.dialect {
        Dialect::Draft02 => "config",
        Dialect::Rfc8040 => "data",
    };
    let location = format!("{origin}{}/{part}{location}", ask.space.root);
    if let Ok(location) = HeaderValue::try_from(location) {
        reply.headers_mut().insert(LOCATION, location);
    }
}

/// Whether a path to a list as a whole will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Many {
    Refused,
    Allowed,
}

impl Restconf {
    /// Whether the path names something that can be edited: configuration, and one thing.
    fn may_be_edited(&self, target: &Target, many: Many) -> Result<(), Fault> {
        self.must_be_data(target)?;
        self.must_be_config(target.steps.last())?;
        match target.steps.last() {
            Some(last) if many == Many::Refused && self.is_many(last) => Err(Fault::protocol(
                Tag::InvalidValue,
                format!(
                    "'{}' names all entries; the keys of the one that is meant are missing",
                    self.schema.node(last.node).name
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Whether a list is named as a whole.
    fn is_many(&self, step: &Step) -> bool {
        let kind = self.schema.node(step.node).kind;
        step.keys.is_empty() && matches!(kind, Kind::List | Kind::LeafList)
    }

    pub(super) fn must_be_config(&self, step: Option<&Step>) -> Result<(), Fault> {
        match step.map(|step| self.schema.node(step.node)) {
            Some(node) if !node.config => Err(Fault::protocol(
                Tag::OperationNotSupported,
                format!("'{}' is state, which is only read", node.name),
            )
            .with_status(StatusCode::METHOD_NOT_ALLOWED)),
            _ => Ok(()),
        }
    }
}
