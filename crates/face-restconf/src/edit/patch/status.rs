//! Writes the status of a YANG Patch. The caller supplies the function that writes an error.

use crate::codec::{Encoding, json_text, xml_text};
use crate::error::RestconfError;

/// The result of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchStatus {
    Ok,
    /// The patch failed as a whole.
    Failed(Vec<RestconfError>),
    /// Some edits failed: the results of the edits that were checked, by edit id.
    Edits(Vec<(String, Option<RestconfError>)>),
}

/// Writes `yang-patch-status`. `write_error` writes one error: a JSON object, or an `error` element without a namespace.
pub fn write_status(
    encoding: Encoding,
    patch_id: &str,
    status: &PatchStatus,
    write_error: &mut dyn FnMut(&mut Vec<u8>, &RestconfError),
) -> Vec<u8> {
    match encoding {
        Encoding::Json => json(patch_id, status, write_error),
        Encoding::Xml => xml(patch_id, status, write_error),
    }
}

fn json(
    patch_id: &str,
    status: &PatchStatus,
    write_error: &mut dyn FnMut(&mut Vec<u8>, &RestconfError),
) -> Vec<u8> {
    let mut out = b"{\"ietf-yang-patch:yang-patch-status\":{\"patch-id\":".to_vec();
    json_text(&mut out, patch_id);
    match status {
        PatchStatus::Ok => out.extend_from_slice(b",\"ok\":[null]"),
        PatchStatus::Failed(errors) => {
            out.push(b',');
            json_errors(&mut out, errors, write_error);
        }
        PatchStatus::Edits(edits) => {
            out.extend_from_slice(b",\"edit-status\":{\"edit\":[");
            for (at, (id, error)) in edits.iter().enumerate() {
                out.extend_from_slice(if at > 0 { b",{\"edit-id\":" } else { b"{\"edit-id\":" });
                json_text(&mut out, id);
                out.push(b',');
                match error {
                    None => out.extend_from_slice(b"\"ok\":[null]"),
                    Some(error) => json_errors(&mut out, std::slice::from_ref(error), write_error),
                }
                out.push(b'}');
            }
            out.extend_from_slice(b"]}");
        }
    }
    out.extend_from_slice(b"}}");
    out
}

fn json_errors(
    out: &mut Vec<u8>,
    errors: &[RestconfError],
    write_error: &mut dyn FnMut(&mut Vec<u8>, &RestconfError),
) {
    out.extend_from_slice(b"\"errors\":{\"error\":[");
    for (at, error) in errors.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_error(out, error);
    }
    out.extend_from_slice(b"]}");
}

fn xml(
    patch_id: &str,
    status: &PatchStatus,
    write_error: &mut dyn FnMut(&mut Vec<u8>, &RestconfError),
) -> Vec<u8> {
    let mut out =
        b"<yang-patch-status xmlns=\"urn:ietf:params:xml:ns:yang:ietf-yang-patch\"><patch-id>"
            .to_vec();
    xml_text(&mut out, patch_id);
    out.extend_from_slice(b"</patch-id>");
    match status {
        PatchStatus::Ok => out.extend_from_slice(b"<ok/>"),
        PatchStatus::Failed(errors) => xml_errors(&mut out, errors, write_error),
        PatchStatus::Edits(edits) => {
            out.extend_from_slice(b"<edit-status>");
            for (id, error) in edits {
                out.extend_from_slice(b"<edit><edit-id>");
                xml_text(&mut out, id);
                out.extend_from_slice(b"</edit-id>");
                match error {
                    None => out.extend_from_slice(b"<ok/>"),
                    Some(error) => xml_errors(&mut out, std::slice::from_ref(error), write_error),
                }
                out.extend_from_slice(b"</edit>");
            }
            out.extend_from_slice(b"</edit-status>");
        }
    }
    out.extend_from_slice(b"</yang-patch-status>");
    out
}

fn xml_errors(
    out: &mut Vec<u8>,
    errors: &[RestconfError],
    write_error: &mut dyn FnMut(&mut Vec<u8>, &RestconfError),
) {
    out.extend_from_slice(b"<errors>");
    errors.iter().for_each(|error| write_error(out, error));
    out.extend_from_slice(b"</errors>");
}
