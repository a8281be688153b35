//! PATCH with a YANG Patch (RFC 8072): several edits, carried out together, with a status for each.

use std::sync::Arc;

use allod_edge::Reply;
use allod_engine::Snapshot;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};

use super::commit::RequestEdits;
use super::errors::{self, POSITION};
use super::request::RestconfRequest;
use super::{Restconf, write};
use crate::codec::Encoding;
use crate::edit::patch::{self, PatchEdit, PatchStatus, YangPatch, write_status};
use crate::error::{ErrorTag, RestconfError, Result};
use crate::model::{Content, Edit, InstancePath, YangModel};
use crate::path;
use crate::query::{RequestKind, RestconfParams};
use crate::tree::{DataNode, TreeBuilder};

pub(super) async fn patch(
    face: &Arc<Restconf>,
    request: &RestconfRequest,
    target: InstancePath,
) -> Result<Reply> {
    RestconfParams::parse(request.query(), RequestKind::Other)?;
    let media = request.reply_media()?;
    let (schema, encoding, base) =
        (face.schema.clone(), request.body_media()?.encoding, target.clone());
    let read = move |bytes: &[u8]| patch::read(&schema, &base, encoding, bytes);
    let patch = write::parse(request.call.body.clone(), read).await?;
    let (id, ids) = (patch.id.clone(), ids(&patch));
    let max = face.settings.edits_per_request_max;
    let done = if patch.edits.len() as u64 > max {
        Err(write::too_many(max, patch.edits.len()))
    } else {
        match face.ensure_edits_config(&patch) {
            Ok(()) => {
                face.commit(&write::edit_request(
                    request,
                    RequestEdits::YangPatch(patch),
                    target,
                    false,
                ))
                .await
            }
            Err(error) => Err(error),
        }
    };
    let (status, http_status) = match &done {
        Ok(_) => (PatchStatus::Ok, StatusCode::OK),
        Err(error) => (failed(&ids, error), request.endpoint.status(error, &face.settings)),
    };
    let prefixed = request.endpoint.prefixes_errors(&face.settings);
    let body = write_status(media.encoding, &id, &status, &mut |out, error| match media.encoding {
        Encoding::Json => errors::json_error(out, error, prefixed),
        Encoding::Xml => errors::xml_error(out, error, prefixed),
    });
    let mut reply = Reply::new(Bytes::from(body).into());
    *reply.status_mut() = http_status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media.name));
    match &done {
        Ok(done) => {
            headers.insert(POSITION, done.at.position.into());
        }
        Err(error) => errors::set_headers(headers, error),
    }
    Ok(reply)
}

fn ids(patch: &YangPatch) -> Vec<String> {
    patch.edits.iter().map(|edit| edit.id.clone()).collect()
}

/// The status of a failed patch: of the edit that caused the error, or of the whole patch. All edits are one command, so
/// none of them was carried out.
fn failed(ids: &[String], error: &RestconfError) -> PatchStatus {
    match error.edit.and_then(|edit| ids.get(edit)) {
        Some(id) => PatchStatus::Edits(vec![(id.clone(), Some(error.clone()))]),
        None => PatchStatus::Failed(vec![error.clone()]),
    }
}

impl Restconf {
    /// The plain edits of a patch on this snapshot. A move depends on the existing data.
    pub(super) fn edits_of(
        &self,
        snapshot: &Snapshot<'_>,
        model: &dyn YangModel,
        patch: &YangPatch,
    ) -> Result<Vec<Edit>> {
        let mut edits: Vec<Edit> = Vec::with_capacity(patch.edits.len());
        for (n, edit_request) in patch.edits.iter().enumerate() {
            let edit = match edit_request.edit() {
                Some(edit) => edit,
                None => {
                    let moved = self.moved(snapshot, model, &edits, edit_request);
                    edit_request.moving(moved.map_err(|error| error.of_edit(n))?)
                }
            };
            edits.push(edit);
        }
        Ok(edits)
    }

    /// The node to move: as an earlier edit of the patch leaves it, else as it exists.
    fn moved(
        &self,
        snapshot: &Snapshot<'_>,
        model: &dyn YangModel,
        before: &[Edit],
        edit_request: &PatchEdit,
    ) -> Result<DataNode> {
        let target = &edit_request.target;
        let named = before.iter().rev().find(|edit| edit.target == *target);
        if let Some(data) = named.and_then(|edit| edit.data.clone()) {
            return Ok(data);
        }
        let mut builder = TreeBuilder::new();
        if let Some(source) = model.read(snapshot, target, Content::Config)? {
            // A builder never stops the walk.
            let _ = source.walk(&mut builder);
        }
        builder.finish().pop().ok_or_else(|| {
            RestconfError::protocol(ErrorTag::DataMissing, "the node to move does not exist")
                .at_path(path::instance(&self.schema, target))
        })
    }

    /// Checks the target of each edit. An unsuitable one is an invalid value, because the method applies to the path of the
    /// request.
    fn ensure_edits_config(&self, patch: &YangPatch) -> Result<()> {
        for (n, edit) in patch.edits.iter().enumerate() {
            let target = &edit.target;
            let checked =
                self.ensure_data(target).and_then(|()| self.ensure_config(target.steps.last()));
            checked.map_err(|error| {
                RestconfError { tag: ErrorTag::InvalidValue, status: None, ..error }.of_edit(n)
            })?;
        }
        Ok(())
    }
}
