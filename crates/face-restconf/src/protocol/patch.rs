//! PATCH with a YANG Patch (RFC 8072): several edits that are carried out together, and a status that tells of each.

use std::sync::Arc;

use allod_edge::Reply;
use allod_engine::Snapshot;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};

use super::ask::Ask;
use super::commit::Edits;
use super::errors::{self, POSITION};
use super::{Restconf, write};
use crate::codec::Format;
use crate::edit::patch::{self, Patch, PatchEdit, Status, write_status};
use crate::fault::{Fault, Tag};
use crate::model::{Content, Edit, Model, Target};
use crate::path;
use crate::query::{Query, Use};
use crate::tree::{Builder, Node};

pub(super) async fn patch(face: &Arc<Restconf>, ask: &Ask, target: Target) -> Result<Reply, Fault> {
    Query::parse(ask.query(), Use::Other)?;
    let media = ask.reply_media()?;
    let (schema, format, base) = (face.schema.clone(), ask.body_media()?.format, target.clone());
    let read = move |bytes: &[u8]| patch::read(&schema, &base, format, bytes);
    let patch = write::parse(ask.call.body.clone(), read).await?;
    let (id, ids) = (patch.id.clone(), ids(&patch));
    let max = face.settings.edits_per_request_max;
    let done = if patch.edits.len() as u64 > max {
        Err(write::too_many(max, patch.edits.len()))
    } else {
        match face.must_be_config_all(&patch) {
            Ok(()) => face.commit(&write::wanted(ask, Edits::Patch(patch), target, false)).await,
            Err(fault) => Err(fault),
        }
    };
    let (status, http_status) = match &done {
        Ok(_) => (Status::Ok, StatusCode::OK),
        Err(fault) => (failed(&ids, fault), ask.space.status(fault, &face.settings)),
    };
    let prefixed = ask.space.prefixes_errors(&face.settings);
    let body = write_status(media.format, &id, &status, &mut |out, fault| match media.format {
        Format::Json => errors::json_error(out, fault, prefixed),
        Format::Xml => errors::xml_error(out, fault, prefixed),
    });
    let mut reply = Reply::new(Bytes::from(body).into());
    *reply.status_mut() = http_status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media.name));
    match &done {
        Ok(done) => {
            headers.insert(POSITION, done.at.position.into());
        }
        Err(fault) => errors::mark(headers, fault),
    }
    Ok(reply)
}

fn ids(patch: &Patch) -> Vec<String> {
    patch.edits.iter().map(|edit| edit.id.clone()).collect()
}

/// Of which edit the fault is; without one, of the patch as a whole. As all edits are one command, none of the others was
/// carried out.
fn failed(ids: &[String], fault: &Fault) -> Status {
    match fault.edit.and_then(|edit| ids.get(edit)) {
        Some(id) => Status::Edits(vec![(id.clone(), Some(fault.clone()))]),
        None => Status::Failed(vec![fault.clone()]),
    }
}

impl Restconf {
    /// What the edits of a patch are on this snapshot: a move has to know what it moves.
    pub(super) fn edits_of(
        &self,
        snapshot: &Snapshot<'_>,
        model: &dyn Model,
        patch: &Patch,
    ) -> Result<Vec<Edit>, Fault> {
        let mut edits: Vec<Edit> = Vec::with_capacity(patch.edits.len());
        for (n, wanted) in patch.edits.iter().enumerate() {
            let edit = match wanted.edit() {
                Some(edit) => edit,
                None => {
                    let moved = self.moved(snapshot, model, &edits, wanted);
                    wanted.moving(moved.map_err(|fault| fault.of_edit(n))?)
                }
            };
            edits.push(edit);
        }
        Ok(edits)
    }

    /// What is moved: as an edit before this one leaves it, else as it is.
    fn moved(
        &self,
        snapshot: &Snapshot<'_>,
        model: &dyn Model,
        before: &[Edit],
        wanted: &PatchEdit,
    ) -> Result<Node, Fault> {
        let target = &wanted.target;
        let named = before.iter().rev().find(|edit| edit.target == *target);
        if let Some(data) = named.and_then(|edit| edit.data.clone()) {
            return Ok(data);
        }
        let mut builder = Builder::new();
        if let Some(source) = model.read(snapshot, target, Content::Config)? {
            // A builder takes whatever comes.
            let _ = source.walk(&mut builder);
        }
        builder.finish().pop().ok_or_else(|| {
            Fault::protocol(Tag::DataMissing, "what is to be moved does not exist")
                .at_path(path::instance(&self.schema, target))
        })
    }

    /// The path of the request answers to the method; it is what an edit names that may not be edited.
    fn must_be_config_all(&self, patch: &Patch) -> Result<(), Fault> {
        for (n, edit) in patch.edits.iter().enumerate() {
            let target = &edit.target;
            let checked =
                self.must_be_data(target).and_then(|()| self.must_be_config(target.steps.last()));
            checked.map_err(|fault| {
                Fault { tag: Tag::InvalidValue, status: None, ..fault }.of_edit(n)
            })?;
        }
        Ok(())
    }
}
