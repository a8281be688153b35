//! GET, HEAD and OPTIONS of data.

use std::sync::Arc;

use allod_edge::Reply;
use http::header::{CACHE_CONTROL, VARY};
use http::{HeaderValue, StatusCode};

use super::conditions::{self, Preconditions, ReadOutcome};
use super::endpoint::EndpointKind;
use super::errors::POSITION;
use super::request::RestconfRequest;
use super::send::{self, BodyLayout};
use super::{Restconf, routes, streams};
use crate::codec::{Dialect, Encoding};
use crate::error::{ErrorTag, ErrorType, RestconfError, Result};
use crate::model::{Content, InstancePath, YangModel};
use crate::path;
use crate::query::{RequestKind, RestconfParams};
use crate::yang::NodeKind;

pub(super) async fn get(face: &Arc<Restconf>, request: &RestconfRequest) -> Result<Reply> {
    let media = request.reply_media()?;
    let target = path::parse(&face.schema, request.endpoint.dialect, request.rest())?;
    face.ensure_data(&target)?;
    let query = RestconfParams::parse(request.query(), RequestKind::Read)?;
    let mut filters = query.read_filters(&face.schema, &target)?;
    filters.content = match request.endpoint.part {
        EndpointKind::Config => Content::Config,
        EndpointKind::Operational => Content::State,
        _ => filters.content,
    };
    face.wait_for_position(request).await?;
    streams::update_log_start(face, &target).await;
    let (source, change, at) = face.read_snapshot(|snapshot| {
        let source = face.source(snapshot, &target, filters.content)?;
        Ok((source, face.changed(snapshot, &target), snapshot.at))
    })?;
    let missing = || missing(request.endpoint.dialect).at_position(at.position);
    let source = source.ok_or_else(missing)?;
    let conditions = Preconditions::of(request.headers());
    let fresh =
        conditions.check_read(Some(&change)).map_err(|error| error.at_position(at.position))?;
    let mut reply = match fresh {
        ReadOutcome::NotModified => send::empty(StatusCode::NOT_MODIFIED),
        ReadOutcome::Full => {
            let wrapper = wrapper(face, &target, media.encoding);
            let (encoding, dialect) = (media.encoding, request.endpoint.dialect);
            let layout = BodyLayout { encoding, dialect, wrapper, filters };
            let body = send::body(face, layout, source).await?.ok_or_else(missing)?;
            send::typed(body, media.name)
        }
    };
    let headers = reply.headers_mut();
    conditions::set_validators(headers, &change, media.encoding);
    headers.insert(POSITION, at.position.into());
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    Ok(reply)
}

/// The wrapper of a reply: the datastore has one, and several list entries need one in XML.
fn wrapper(face: &Restconf, target: &InstancePath, encoding: Encoding) -> Option<&'static str> {
    let Some(last) = target.steps.last() else { return Some("data") };
    (face.is_whole_list(last) && encoding == Encoding::Xml).then_some("data")
}

/// OpenDaylight reports this error with different types in the two dialects.
fn missing(dialect: Dialect) -> RestconfError {
    let layer = match dialect {
        Dialect::Draft02 => ErrorType::Application,
        Dialect::Rfc8040 => ErrorType::Protocol,
    };
    let message =
        "Request could not be completed because the relevant data model content does not exist";
    RestconfError::new(layer, ErrorTag::DataMissing, message)
}

pub(super) fn options(face: &Arc<Restconf>, request: &RestconfRequest) -> Result<Reply> {
    let target = path::parse(&face.schema, request.endpoint.dialect, request.rest())?;
    let allowed = allowed(face, &target);
    Ok(routes::options(allowed, allowed.contains("PATCH").then_some(request)))
}

/// The methods that the target supports.
pub(super) fn allowed(face: &Restconf, target: &InstancePath) -> &'static str {
    let Some(last) = target.steps.last() else { return "GET, HEAD, POST, PUT, PATCH, OPTIONS" };
    let node = face.schema.node(last.node);
    match node.kind {
        NodeKind::Action => "POST, OPTIONS",
        _ if face.takes_answer(target) => "GET, HEAD, PUT, PATCH, OPTIONS",
        _ if !node.config || face.is_whole_list(last) => "GET, HEAD, OPTIONS",
        NodeKind::Leaf | NodeKind::LeafList => "GET, HEAD, PUT, PATCH, DELETE, OPTIONS",
        _ => "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
    }
}

impl Restconf {
    /// Whether an allocator can write the target now.
    fn takes_answer(&self, target: &InstancePath) -> bool {
        let owner = target.steps.first().and_then(|first| self.owner(first.node).ok());
        let owner = owner.filter(|model| model.is_answerable(target));
        let takes = |model: &Arc<dyn YangModel>| {
            self.read_snapshot(|snapshot| Ok(model.takes_answer(snapshot, target)))
        };
        owner.is_some_and(|model| takes(model).unwrap_or(false))
    }

    /// Fails if the path leads to an operation or a notification.
    pub(super) fn ensure_data(&self, target: &InstancePath) -> Result<()> {
        let Some(last) = target.steps.last() else { return Ok(()) };
        let node = self.schema.node(last.node);
        match node.kind {
            NodeKind::Container { .. } | NodeKind::List | NodeKind::Leaf | NodeKind::LeafList => {
                Ok(())
            }
            _ => Err(RestconfError::not_supported(format!("'{}' is not a data node", node.name))
                .with_status(StatusCode::METHOD_NOT_ALLOWED)),
        }
    }
}
