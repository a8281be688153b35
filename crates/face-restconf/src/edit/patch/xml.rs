//! Reads a YANG Patch in XML, in two passes: first the edits, then their values, which may come before their targets.

use super::{NAMESPACE, UnparsedEdit, YangPatch, absent, ensure_unique, too_many_edits, wrong};
use crate::codec::{XmlElement, XmlEvent, XmlReader};
use crate::error::Result;
use crate::model::InstancePath;
use crate::tree::DataNode;
use crate::yang::{NodeId, Schema};

pub(super) fn read(
    schema: &Schema,
    base: &InstancePath,
    bytes: &[u8],
    edits_max: u64,
) -> Result<YangPatch> {
    let mut drafts = Vec::new();
    let mut first = XmlReader::new(schema, bytes)?;
    let id = patch(&mut first, &mut |reader| {
        drafts.push(draft(reader)?);
        if drafts.len() as u64 > edits_max { Err(too_many_edits(edits_max)) } else { Ok(()) }
    })?;
    let resolve = drafts
        .into_iter()
        .map(|draft| draft.resolve(schema, base))
        .collect::<Result<Vec<_>, _>>()?;
    let mut edits = Vec::with_capacity(resolve.len());
    let mut resolve = resolve.into_iter();
    patch(&mut XmlReader::new(schema, bytes)?, &mut |reader| {
        let Some((edit, parent)) = resolve.next() else { return Err(absent("edit")) };
        let value = value(reader, parent)?;
        edits.push(edit.with_value(value)?);
        Ok(())
    })?;
    ensure_unique(&edits)?;
    Ok(YangPatch { id, edits })
}

/// Reads the document and calls `edit` at each edit. Returns the patch id.
fn patch(
    reader: &mut XmlReader<'_>,
    edit: &mut dyn FnMut(&mut XmlReader<'_>) -> Result<()>,
) -> Result<String> {
    let root = reader.root()?;
    if !root.is(NAMESPACE, "yang-patch") {
        return Err(wrong(format!("unexpected '{}'; 'yang-patch' is expected", root.name)));
    }
    let mut id = None;
    while let Some(element) = child(reader)? {
        match element.name.as_str() {
            "patch-id" => id = Some(reader.text()?),
            "comment" => drop(reader.text()?),
            "edit" => edit(reader)?,
            other => return Err(wrong(format!("'{other}' is not known here"))),
        }
    }
    reader.end()?;
    id.ok_or_else(|| absent("patch-id"))
}

/// The next child element; `None` at the end of the present element.
fn child(reader: &mut XmlReader<'_>) -> Result<Option<XmlElement>> {
    loop {
        match reader.next()? {
            XmlEvent::Start(element) if element.namespace.as_deref() == Some(NAMESPACE) => {
                return Ok(Some(element));
            }
            XmlEvent::Start(element) => {
                return Err(wrong(format!("'{}' is not known here", element.name)));
            }
            XmlEvent::Text(text) if text.trim().is_empty() => {}
            XmlEvent::Text(_) => return Err(wrong("unexpected text".to_owned())),
            XmlEvent::End => return Ok(None),
            XmlEvent::Eof => return Err(wrong("the document ends within an element".to_owned())),
        }
    }
}

fn draft(reader: &mut XmlReader<'_>) -> Result<UnparsedEdit> {
    let mut draft = UnparsedEdit::default();
    while let Some(element) = child(reader)? {
        let slot = match element.name.as_str() {
            "edit-id" => &mut draft.id,
            "operation" => &mut draft.operation,
            "target" => &mut draft.target,
            "point" => &mut draft.point,
            "where" => &mut draft.insert_at,
            "value" => {
                reader.skip()?;
                continue;
            }
            other => return Err(wrong(format!("'{other}' is not known here"))),
        };
        *slot = Some(reader.text()?.trim().to_owned());
    }
    Ok(draft)
}

/// Reads the value of an edit: children of the parent.
fn value(reader: &mut XmlReader<'_>, parent: Option<NodeId>) -> Result<Option<Vec<DataNode>>> {
    let mut value = None;
    while let Some(element) = child(reader)? {
        if element.name != "value" {
            reader.skip()?;
            continue;
        }
        let mut nodes = Vec::new();
        loop {
            match reader.next()? {
                XmlEvent::Start(element) => {
                    let id = reader.known(parent, &element)?;
                    nodes.push(reader.node(id)?);
                }
                XmlEvent::Text(text) if text.trim().is_empty() => {}
                XmlEvent::End => break,
                XmlEvent::Text(_) | XmlEvent::Eof => {
                    return Err(wrong("unexpected text".to_owned()));
                }
            }
        }
        value = Some(nodes);
    }
    Ok(value)
}
