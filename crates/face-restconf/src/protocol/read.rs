//! GET, HEAD and OPTIONS of data.

use std::sync::Arc;

use allod_edge::Reply;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, VARY};
use http::{HeaderValue, StatusCode};

use super::ask::Ask;
use super::conditions::{self, Conditions, Fresh};
use super::errors::POSITION;
use super::send::{self, Shape};
use super::space::Part;
use super::{Restconf, routes, streams};
use crate::codec::{Dialect, Format};
use crate::fault::{Fault, Layer, Tag};
use crate::model::{Content, Target};
use crate::path;
use crate::query::{Query, Use};
use crate::yang::Kind;

pub(super) async fn get(face: &Arc<Restconf>, ask: &Ask) -> Result<Reply, Fault> {
    let media = ask.reply_media()?;
    let target = path::parse(&face.schema, ask.space.dialect, ask.rest())?;
    face.must_be_data(&target)?;
    let query = Query::parse(ask.query(), Use::Read)?;
    let mut view = query.view(&face.schema, &target)?;
    view.content = match ask.space.part {
        Part::Config => Content::Config,
        Part::Operational => Content::State,
        _ => view.content,
    };
    face.wait_for_position(ask).await?;
    streams::note_log(face, &target).await;
    let (source, change, at) = face.look(|snapshot| {
        let source = face.source(snapshot, &target, view.content)?;
        Ok((source, face.changed(snapshot, &target), snapshot.at))
    })?;
    let missing = || missing(ask.space.dialect).at_position(at.position);
    let source = source.ok_or_else(missing)?;
    let conditions = Conditions::of(ask.headers());
    let fresh =
        conditions.of_read(Some(&change)).map_err(|fault| fault.at_position(at.position))?;
    let mut reply = match fresh {
        Fresh::NotModified => {
            let mut reply = Reply::new(Bytes::new().into());
            *reply.status_mut() = StatusCode::NOT_MODIFIED;
            reply
        }
        Fresh::Shown => {
            let wrapper = wrapper(face, &target, media.format);
            let (format, dialect) = (media.format, ask.space.dialect);
            let shape = Shape { format, dialect, wrapper, view };
            let mut reply = Reply::new(send::body(face, shape, source).await?.ok_or_else(missing)?);
            reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media.name));
            reply
        }
    };
    let headers = reply.headers_mut();
    conditions::mark(headers, &change, media.format);
    headers.insert(POSITION, at.position.into());
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    Ok(reply)
}

/// What goes around the answer: the datastore has a name, and several entries of a list are no document in XML.
fn wrapper(face: &Restconf, target: &Target, format: Format) -> Option<&'static str> {
    let Some(last) = target.steps.last() else { return Some("data") };
    let kind = face.schema.node(last.node).kind;
    let many = last.keys.is_empty() && matches!(kind, Kind::List | Kind::LeafList);
    (many && format == Format::Xml).then_some("data")
}

/// Upstream has two minds about whose error this is.
fn missing(dialect: Dialect) -> Fault {
    let layer = match dialect {
        Dialect::Draft02 => Layer::Application,
        Dialect::Rfc8040 => Layer::Protocol,
    };
    let message =
        "Request could not be completed because the relevant data model content does not exist";
    Fault::new(layer, Tag::DataMissing, message)
}

pub(super) fn options(face: &Arc<Restconf>, ask: &Ask) -> Result<Reply, Fault> {
    let target = path::parse(&face.schema, ask.space.dialect, ask.rest())?;
    let allowed = allowed(face, &target);
    Ok(routes::options(allowed, allowed.contains("PATCH").then_some(ask)))
}

/// What the target answers to.
pub(super) fn allowed(face: &Restconf, target: &Target) -> &'static str {
    let Some(last) = target.steps.last() else { return "GET, HEAD, POST, PUT, PATCH, OPTIONS" };
    let node = face.schema.node(last.node);
    let many = last.keys.is_empty() && matches!(node.kind, Kind::List | Kind::LeafList);
    match node.kind {
        Kind::Action => "POST, OPTIONS",
        _ if !node.config || many => "GET, HEAD, OPTIONS",
        Kind::Leaf | Kind::LeafList => "GET, HEAD, PUT, PATCH, DELETE, OPTIONS",
        _ => "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
    }
}

impl Restconf {
    /// A path may also lead to an operation or a notification; these are not to be read or edited.
    pub(super) fn must_be_data(&self, target: &Target) -> Result<(), Fault> {
        let Some(last) = target.steps.last() else { return Ok(()) };
        let node = self.schema.node(last.node);
        match node.kind {
            Kind::Container { .. } | Kind::List | Kind::Leaf | Kind::LeafList => Ok(()),
            _ => Err(Fault::protocol(
                Tag::OperationNotSupported,
                format!("'{}' is no data", node.name),
            )
            .with_status(StatusCode::METHOD_NOT_ALLOWED)),
        }
    }
}
