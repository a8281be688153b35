//! A YANG Patch in JSON. Values are kept as they came until the target of their edit is known.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{Draft, EDITS_MAX, Patch, absent, unrepeated, wrong};
use crate::codec::{Format, read as read_data};
use crate::fault::Fault;
use crate::model::Target;
use crate::yang::Schema;

type Members = BTreeMap<String, Box<RawValue>>;

pub(super) fn read(schema: &Schema, base: &Target, bytes: &[u8]) -> Result<Patch, Fault> {
    let mut document: Members = parse(bytes)?;
    let patch =
        take(&mut document, "yang-patch").ok_or_else(|| absent("ietf-yang-patch:yang-patch"))?;
    nothing_else(&document)?;
    let mut patch: Members = parse(patch.get().as_bytes())?;
    let id = take_text(&mut patch, "patch-id")?.ok_or_else(|| absent("patch-id"))?;
    take_text(&mut patch, "comment")?;
    let edits: Vec<Members> = match take(&mut patch, "edit") {
        Some(edits) => parse(edits.get().as_bytes())?,
        None => Vec::new(),
    };
    nothing_else(&patch)?;
    if edits.len() > EDITS_MAX {
        return Err(wrong(format!("more than {EDITS_MAX} edits")));
    }
    let edits = edits.into_iter().map(|mut edit| {
        let draft = Draft {
            id: take_text(&mut edit, "edit-id")?,
            operation: take_text(&mut edit, "operation")?,
            target: take_text(&mut edit, "target")?,
            point: take_text(&mut edit, "point")?,
            place: take_text(&mut edit, "where")?,
        };
        let value = take(&mut edit, "value");
        nothing_else(&edit)?;
        let (edit, parent) = draft.understood(schema, base)?;
        let value = value
            .map(|value| read_data(schema, parent, Format::Json, value.get().as_bytes()))
            .transpose()?;
        edit.with_value(value)
    });
    let edits = edits.collect::<Result<Vec<_>, _>>()?;
    unrepeated(&edits)?;
    Ok(Patch { id, edits })
}

fn parse<'de, T: serde::Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Fault> {
    serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))
}

fn take(members: &mut Members, name: &str) -> Option<Box<RawValue>> {
    members.remove(name).or_else(|| members.remove(&format!("ietf-yang-patch:{name}")))
}

fn take_text(members: &mut Members, name: &str) -> Result<Option<String>, Fault> {
    take(members, name).map(|text| parse(text.get().as_bytes())).transpose()
}

fn nothing_else(members: &Members) -> Result<(), Fault> {
    match members.keys().next() {
        None => Ok(()),
        Some(name) => Err(wrong(format!("'{name}' is not known here"))),
    }
}
