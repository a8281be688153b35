//! A YANG Patch in XML. It is read twice: first what the edits are, then their values, which can come before their targets.

use super::{Draft, EDITS_MAX, Patch, absent, unrepeated, wrong};
use crate::codec::{Element, Piece, XmlReader};
use crate::fault::Fault;
use crate::model::Target;
use crate::tree::Node;
use crate::yang::{NodeId, Schema};

const NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:ietf-yang-patch";

pub(super) fn read(schema: &Schema, base: &Target, bytes: &[u8]) -> Result<Patch, Fault> {
    let mut drafts = Vec::new();
    let mut first = XmlReader::new(schema, bytes)?;
    let id = patch(&mut first, &mut |reader| {
        drafts.push(draft(reader)?);
        if drafts.len() > EDITS_MAX {
            Err(wrong(format!("more than {EDITS_MAX} edits")))
        } else {
            Ok(())
        }
    })?;
    let understood = drafts
        .into_iter()
        .map(|draft| draft.understood(schema, base))
        .collect::<Result<Vec<_>, _>>()?;
    let mut edits = Vec::with_capacity(understood.len());
    let mut understood = understood.into_iter();
    patch(&mut XmlReader::new(schema, bytes)?, &mut |reader| {
        let Some((edit, parent)) = understood.next() else { return Err(absent("edit")) };
        let value = value(reader, parent)?;
        edits.push(edit.with_value(value)?);
        Ok(())
    })?;
    unrepeated(&edits)?;
    Ok(Patch { id, edits })
}

/// The whole document; each edit is read by the function. Returns the patch's id.
fn patch(
    reader: &mut XmlReader<'_>,
    edit: &mut dyn FnMut(&mut XmlReader<'_>) -> Result<(), Fault>,
) -> Result<String, Fault> {
    let root = reader.root()?;
    if !root.is(NAMESPACE, "yang-patch") {
        return Err(wrong(format!("'{}' is not expected, but 'yang-patch'", root.name)));
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

/// The next element within the present one, `None` at its end.
fn child(reader: &mut XmlReader<'_>) -> Result<Option<Element>, Fault> {
    loop {
        match reader.next()? {
            Piece::Start(element) if element.namespace.as_deref() == Some(NAMESPACE) => {
                return Ok(Some(element));
            }
            Piece::Start(element) => {
                return Err(wrong(format!("'{}' is not known here", element.name)));
            }
            Piece::Text(text) if text.trim().is_empty() => {}
            Piece::Text(_) => return Err(wrong("a text is not expected".to_owned())),
            Piece::End => return Ok(None),
            Piece::Eof => return Err(wrong("the document ends within an element".to_owned())),
        }
    }
}

fn draft(reader: &mut XmlReader<'_>) -> Result<Draft, Fault> {
    let mut draft = Draft::default();
    while let Some(element) = child(reader)? {
        let slot = match element.name.as_str() {
            "edit-id" => &mut draft.id,
            "operation" => &mut draft.operation,
            "target" => &mut draft.target,
            "point" => &mut draft.point,
            "where" => &mut draft.place,
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

/// The value of an edit, as a child of the parent.
fn value(reader: &mut XmlReader<'_>, parent: Option<NodeId>) -> Result<Option<Vec<Node>>, Fault> {
    let mut value = None;
    while let Some(element) = child(reader)? {
        if element.name != "value" {
            reader.skip()?;
            continue;
        }
        let mut nodes = Vec::new();
        loop {
            match reader.next()? {
                Piece::Start(element) => {
                    let id = reader.known(parent, &element)?;
                    nodes.push(reader.node(id)?);
                }
                Piece::Text(text) if text.trim().is_empty() => {}
                Piece::End => break,
                Piece::Text(_) | Piece::Eof => {
                    return Err(wrong("a text is not expected".to_owned()));
                }
            }
        }
        value = Some(nodes);
    }
    Ok(value)
}
