//! The status of a YANG Patch. How an error is written is the protocol's, which writes them elsewhere too.

use crate::codec::{Format, json_text, xml_text};
use crate::fault::Fault;

/// How a patch went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    Ok,
    /// It failed as a whole.
    Failed(Vec<Fault>),
    /// It failed by some of its edits; each that was looked at, by its id.
    Edits(Vec<(String, Option<Fault>)>),
}

/// Writes `yang-patch-status`. `error` writes one fault: a JSON object, or an `error` element without a namespace of its own.
pub fn write_status(
    format: Format,
    patch_id: &str,
    status: &Status,
    error: &mut dyn FnMut(&mut Vec<u8>, &Fault),
) -> Vec<u8> {
    match format {
        Format::Json => json(patch_id, status, error),
        Format::Xml => xml(patch_id, status, error),
    }
}

fn json(patch_id: &str, status: &Status, error: &mut dyn FnMut(&mut Vec<u8>, &Fault)) -> Vec<u8> {
    let mut out = b"{\"ietf-yang-patch:yang-patch-status\":{\"patch-id\":".to_vec();
    json_text(&mut out, patch_id);
    match status {
        Status::Ok => out.extend_from_slice(b",\"ok\":[null]"),
        Status::Failed(faults) => {
            out.push(b',');
            json_errors(&mut out, faults, error);
        }
        Status::Edits(edits) => {
            out.extend_from_slice(b",\"edit-status\":{\"edit\":[");
            for (at, (id, fault)) in edits.iter().enumerate() {
                out.extend_from_slice(if at > 0 { b",{\"edit-id\":" } else { b"{\"edit-id\":" });
                json_text(&mut out, id);
                out.push(b',');
                match fault {
                    None => out.extend_from_slice(b"\"ok\":[null]"),
                    Some(fault) => json_errors(&mut out, std::slice::from_ref(fault), error),
                }
                out.push(b'}');
            }
            out.extend_from_slice(b"]}");
        }
    }
    out.extend_from_slice(b"}}");
    out
}

fn json_errors(out: &mut Vec<u8>, faults: &[Fault], error: &mut dyn FnMut(&mut Vec<u8>, &Fault)) {
    out.extend_from_slice(b"\"errors\":{\"error\":[");
    for (at, fault) in faults.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        error(out, fault);
    }
    out.extend_from_slice(b"]}");
}

fn xml(patch_id: &str, status: &Status, error: &mut dyn FnMut(&mut Vec<u8>, &Fault)) -> Vec<u8> {
    let mut out =
        b"<yang-patch-status xmlns=\"urn:ietf:params:xml:ns:yang:ietf-yang-patch\"><patch-id>"
            .to_vec();
    xml_text(&mut out, patch_id);
    out.extend_from_slice(b"</patch-id>");
    match status {
        Status::Ok => out.extend_from_slice(b"<ok/>"),
        Status::Failed(faults) => xml_errors(&mut out, faults, error),
        Status::Edits(edits) => {
            out.extend_from_slice(b"<edit-status>");
            for (id, fault) in edits {
                out.extend_from_slice(b"<edit><edit-id>");
                xml_text(&mut out, id);
                out.extend_from_slice(b"</edit-id>");
                match fault {
                    None => out.extend_from_slice(b"<ok/>"),
                    Some(fault) => xml_errors(&mut out, std::slice::from_ref(fault), error),
                }
                out.extend_from_slice(b"</edit>");
            }
            out.extend_from_slice(b"</edit-status>");
        }
    }
    out.extend_from_slice(b"</yang-patch-status>");
    out
}

fn xml_errors(out: &mut Vec<u8>, faults: &[Fault], error: &mut dyn FnMut(&mut Vec<u8>, &Fault)) {
    out.extend_from_slice(b"<errors>");
    faults.iter().for_each(|fault| error(out, fault));
    out.extend_from_slice(b"</errors>");
}
