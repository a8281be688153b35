//! PATCH with a YANG Patch (RFC 8072): several edits, carried out together, with a status for each.

use std::sync::Arc;

use allod_edge::Reply;
use allod_engine::Snapshot;
use bytes::Bytes;
use http::StatusCode;

use super::commit::RequestEdits;
use super::errors::{self, POSITION};
use super::request::RestconfRequest;
use super::{Restconf, send, write};
use crate::edit::patch::{self, PatchEdit, PatchStatus, YangPatch, write_status};
use crate::error::{ErrorTag, RestconfError, Result};
use crate::model::{Content, Edit, InstancePath, YangModel};
use crate::path;
use crate::query::{RequestKind, RestconfParams};
use crate::tree::{DataNode, build};

pub(super) async fn patch(
    face: &Arc<Restconf>,
    request: &RestconfRequest,
    target: InstancePath,
) -> Result<Reply> {
    RestconfParams::parse(request.query(), RequestKind::Other)?;
    let media = request.reply_media()?;
    let (schema, encoding, base) =
        (face.schema.clone(), request.body_media()?.encoding, target.clone());
    let max = face.settings.edits_per_request_max;
    let read = move |bytes: &[u8]| patch::read(&schema, &base, encoding, bytes, max);
    let patch = write::parse(request.call.body.clone(), read).await?;
    let id = patch.id.clone();
    let ids: Vec<String> = patch.edits.iter().map(|edit| edit.id.clone()).collect();
    let checked = face.ensure_edits_config(&patch);
    let edits = write::edit_request(request, RequestEdits::YangPatch(patch), target, false);
    let done = match checked {
        Ok(()) => face.commit(request.call.identity(), &edits).await,
        Err(error) => Err(error),
    };
    let (status, http_status) = match &done {
        Ok(_) => (PatchStatus::Ok, StatusCode::OK),
        Err(error) => {
            let edit = error.edit.and_then(|edit| ids.get(edit));
            let failed =
                edit.map_or(PatchStatus::Failed(error), |id| PatchStatus::EditFailed(id, error));
            (failed, request.endpoint.status(error, &face.settings))
        }
    };
    let rfc = request.endpoint.prefixes_errors(&face.settings);
    let body = write_status(media.encoding, &id, &status, rfc);
    let mut reply = send::typed(Bytes::from(body), media.name);
    *reply.status_mut() = http_status;
    let headers = reply.headers_mut();
    match &done {
        Ok(done) => {
            headers.insert(POSITION, done.at.position.into());
        }
        Err(error) => errors::set_headers(headers, error),
    }
    Ok(reply)
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
        let source = model.read(snapshot, target, Content::Config)?;
        let moved = source.and_then(|source| build(|sink| source.walk(sink))?.pop());
        moved.ok_or_else(|| {
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
