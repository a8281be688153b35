//! Reads a YANG Patch in JSON. The value of an edit is parsed after its target is known.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{UnparsedEdit, YangPatch, absent, ensure_unique, too_many_edits, wrong};
use crate::codec::{Encoding, read as read_data};
use crate::error::Result;
use crate::model::InstancePath;
use crate::yang::Schema;

type PatchMembers = BTreeMap<String, Box<RawValue>>;

pub(super) fn read(
    schema: &Schema,
    base: &InstancePath,
    bytes: &[u8],
    edits_max: u64,
) -> Result<YangPatch> {
    let mut document: PatchMembers = parse(bytes)?;
    let patch =
        take(&mut document, "yang-patch").ok_or_else(|| absent("ietf-yang-patch:yang-patch"))?;
    nothing_else(&document)?;
    let mut patch: PatchMembers = parse(patch.get().as_bytes())?;
    let id = take_text(&mut patch, "patch-id")?.ok_or_else(|| absent("patch-id"))?;
    take_text(&mut patch, "comment")?;
    let edits: Vec<PatchMembers> = match take(&mut patch, "edit") {
        Some(edits) => parse(edits.get().as_bytes())?,
        None => Vec::new(),
    };
    nothing_else(&patch)?;
    if edits.len() as u64 > edits_max {
        return Err(too_many_edits(edits_max));
    }
    let edits = edits.into_iter().map(|mut edit| {
        let draft = UnparsedEdit {
            id: take_text(&mut edit, "edit-id")?,
            operation: take_text(&mut edit, "operation")?,
            target: take_text(&mut edit, "target")?,
            point: take_text(&mut edit, "point")?,
            insert_at: take_text(&mut edit, "where")?,
        };
        let value = take(&mut edit, "value");
        nothing_else(&edit)?;
        let (edit, parent) = draft.resolve(schema, base)?;
        let value = value
            .map(|value| read_data(schema, parent, Encoding::Json, value.get().as_bytes()))
            .transpose()?;
        edit.with_value(value)
    });
    let edits = edits.collect::<Result<Vec<_>, _>>()?;
    ensure_unique(&edits)?;
    Ok(YangPatch { id, edits })
}

fn parse<'de, T: serde::Deserialize<'de>>(bytes: &'de [u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))
}

fn take(members: &mut PatchMembers, name: &str) -> Option<Box<RawValue>> {
    members.remove(name).or_else(|| members.remove(&format!("ietf-yang-patch:{name}")))
}

fn take_text(members: &mut PatchMembers, name: &str) -> Result<Option<String>> {
    take(members, name).map(|text| parse(text.get().as_bytes())).transpose()
}

fn nothing_else(members: &PatchMembers) -> Result<()> {
    match members.keys().next() {
        None => Ok(()),
        Some(name) => Err(wrong(format!("'{name}' is not known here"))),
    }
}
