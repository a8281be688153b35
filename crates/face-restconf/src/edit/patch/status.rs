//! Writes the status of a YANG Patch.

use super::NAMESPACE;
use crate::codec::{Element, Encoding};
use crate::error::RestconfError;

/// The result of a patch. All edits are one command, so a failed edit means that none was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchStatus<'a> {
    Ok,
    /// The patch failed as a whole.
    Failed(&'a RestconfError),
    /// The edit with this id failed.
    EditFailed(&'a str, &'a RestconfError),
}

/// Writes `yang-patch-status`. `rfc`: errors have the form of RFC 8040, not of OpenDaylight.
pub fn write_status(
    encoding: Encoding,
    patch_id: &str,
    status: &PatchStatus<'_>,
    rfc: bool,
) -> Vec<u8> {
    let result = match *status {
        PatchStatus::Ok => ("ok", Element::Empty),
        PatchStatus::Failed(error) => ("errors", error.errors(rfc)),
        PatchStatus::EditFailed(id, error) => {
            let edit = vec![("edit-id", Element::text(id)), ("errors", error.errors(rfc))];
            let edits = Element::List(vec![Element::Inner(edit)]);
            ("edit-status", Element::Inner(vec![("edit", edits)]))
        }
    };
    let status = Element::Inner(vec![("patch-id", Element::text(patch_id)), result]);
    status.document(encoding, "ietf-yang-patch:yang-patch-status", NAMESPACE)
}
