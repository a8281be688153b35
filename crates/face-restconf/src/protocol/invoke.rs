//! POST of an operation: an RPC, or an action of a data node.

use std::sync::Arc;

use allod_edge::Reply;
use http::StatusCode;

use super::errors::POSITION;
use super::media::MediaType;
use super::request::RestconfRequest;
use super::send::{self, BodyLayout};
use super::{Restconf, routes, write};
use crate::codec::{self, Dialect};
use crate::error::{RestconfError, Result, invalid_value};
use crate::model::{InstancePath, OperationCall, PathStep};
use crate::path;
use crate::query::{RequestKind, RestconfParams};
use crate::tree::DataNode;
use crate::yang::{NodeId, NodeKind};

pub(super) async fn operation(face: &Arc<Restconf>, request: &RestconfRequest) -> Result<Reply> {
    if let Some(target) = action_below(face, request)? {
        return action(face, request, target).await;
    }
    let media = request.reply_media()?;
    RestconfParams::parse(request.query(), RequestKind::Other)?;
    let operation = path::operation(&face.schema, request.rest())?;
    invoke(face, request, media, operation, operation, &InstancePath::default()).await
}

/// The action that the path names, if it is longer than the name of an RPC. NSO clients also call actions below
/// `operations`.
fn action_below(face: &Restconf, request: &RestconfRequest) -> Result<Option<InstancePath>> {
    if !request.rest().trim_matches('/').contains('/') {
        return Ok(None);
    }
    let target = path::parse(&face.schema, Dialect::Rfc8040, request.rest())?;
    match target.steps.last() {
        Some(last) if face.schema.node(last.node).kind == NodeKind::Action => Ok(Some(target)),
        _ => Err(unknown(request.rest().trim_matches('/'))),
    }
}

/// Calls an action; the last step names it, the steps before name its node.
pub(super) async fn action(
    face: &Arc<Restconf>,
    request: &RestconfRequest,
    target: InstancePath,
) -> Result<Reply> {
    let media = request.reply_media()?;
    RestconfParams::parse(request.query(), RequestKind::Other)?;
    let mut above = target;
    let (Some(PathStep { node, .. }), Some(first)) = (above.steps.pop(), above.steps.first())
    else {
        return Err(unknown(request.rest()));
    };
    let first = first.node;
    invoke(face, request, media, node, first, &above).await
}

/// `top`: the top-level node that decides the model.
async fn invoke(
    face: &Arc<Restconf>,
    request: &RestconfRequest,
    media: MediaType,
    operation: NodeId,
    top: NodeId,
    target: &InstancePath,
) -> Result<Reply> {
    let model = face.owner(top)?.clone();
    let encoding = match request.call.body.is_empty() {
        true => media.encoding,
        false => request.body_media()?.encoding,
    };
    let schema = face.schema.clone();
    let read = move |body: &[u8]| codec::read_input(&schema, operation, encoding, body);
    let input = write::parse(request.call.body.clone(), read).await?;
    let call = OperationCall { operation, target, input: &input };
    let result = face.call(request.call.identity(), &model, call).await?;
    let mut reply = match face.schema.output(operation).filter(|_| !result.output.is_empty()) {
        None => send::empty(StatusCode::NO_CONTENT),
        Some(output) => {
            let layout = BodyLayout::whole(media.encoding, request.endpoint.dialect);
            let source = Box::new(DataNode::inner(output, result.output));
            let body = send::body(face, layout, source).await?;
            send::typed(body.unwrap_or_default(), media.name)
        }
    };
    reply.headers_mut().insert(POSITION, result.at.position.into());
    Ok(reply)
}

pub(super) fn options(face: &Arc<Restconf>, request: &RestconfRequest) -> Result<Reply> {
    if action_below(face, request)?.is_none() {
        path::operation(&face.schema, request.rest())?;
    }
    Ok(routes::options("POST, OPTIONS", None))
}

fn unknown(name: &str) -> RestconfError {
    invalid_value(format!("unknown operation '{name}'")).with_status(StatusCode::NOT_FOUND)
}
