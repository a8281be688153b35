//! POST of an operation: an RPC at the top, or an action of a node.

use std::sync::Arc;

use allod_edge::Reply;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};

use super::ask::Ask;
use super::errors::POSITION;
use super::media::Media;
use super::send::{self, Shape};
use super::{Restconf, routes, write};
use crate::codec::{self, Dialect};
use crate::fault::{Fault, Tag};
use crate::model::{Step, Target};
use crate::path;
use crate::query::{Query, Use};
use crate::tree::Node;
use crate::yang::{Kind, NodeId};

pub(super) async fn operation(face: &Arc<Restconf>, ask: &Ask) -> Result<Reply, Fault> {
    if let Some(target) = action_below(face, ask)? {
        return action(face, ask, target).await;
    }
    let media = ask.reply_media()?;
    Query::parse(ask.query(), Use::Other)?;
    let operation = path::operation(&face.schema, ask.rest())?;
    invoke(face, ask, media, operation, operation, &Target::default()).await
}

/// The action that the path names, if it is longer than the name of an RPC: clients of NSO look for both here.
fn action_below(face: &Restconf, ask: &Ask) -> Result<Option<Target>, Fault> {
    if !ask.rest().trim_matches('/').contains('/') {
        return Ok(None);
    }
    let target = path::parse(&face.schema, Dialect::Rfc8040, ask.rest())?;
    match target.steps.last() {
        Some(last) if face.schema.node(last.node).kind == Kind::Action => Ok(Some(target)),
        _ => Err(unknown(ask.rest().trim_matches('/'))),
    }
}

/// An action of the node that the last step but one names.
pub(super) async fn action(
    face: &Arc<Restconf>,
    ask: &Ask,
    target: Target,
) -> Result<Reply, Fault> {
    let media = ask.reply_media()?;
    Query::parse(ask.query(), Use::Other)?;
    let mut above = target;
    let (Some(Step { node, .. }), Some(first)) = (above.steps.pop(), above.steps.first()) else {
        return Err(unknown(ask.rest()));
    };
    let first = first.node;
    invoke(face, ask, media, node, first, &above).await
}

/// `top`: the node at the top that says whose operation it is.
async fn invoke(
    face: &Arc<Restconf>,
    ask: &Ask,
    media: Media,
    operation: NodeId,
    top: NodeId,
    target: &Target,
) -> Result<Reply, Fault> {
    let model = face.owner(top)?.clone();
    let format = match ask.call.body.is_empty() {
        true => media.format,
        false => ask.body_media()?.format,
    };
    let schema = face.schema.clone();
    let read = move |body: &[u8]| codec::read_input(&schema, operation, format, body);
    let input = write::parse(ask.call.body.clone(), read).await?;
    let answered = face.call(&model, operation, target, &input).await?;
    let mut reply = match face.schema.output(operation).filter(|_| !answered.output.is_empty()) {
        None => {
            let mut reply = Reply::new(Bytes::new().into());
            *reply.status_mut() = StatusCode::NO_CONTENT;
            reply
        }
        Some(output) => {
            let shape = Shape::whole(media.format, ask.space.dialect);
            let source = Box::new(Node::inner(output, answered.output));
            let body = send::body(face, shape, source).await?;
            let mut reply = Reply::new(body.unwrap_or_default());
            reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media.name));
            reply
        }
    };
    reply.headers_mut().insert(POSITION, answered.at.position.into());
    Ok(reply)
}

pub(super) fn options(face: &Arc<Restconf>, ask: &Ask) -> Result<Reply, Fault> {
    if action_below(face, ask)?.is_none() {
        path::operation(&face.schema, ask.rest())?;
    }
    Ok(routes::options("POST, OPTIONS", None))
}

fn unknown(name: &str) -> Fault {
    Fault::protocol(Tag::InvalidValue, format!("there is no operation '{name}'"))
        .with_status(StatusCode::NOT_FOUND)
}
