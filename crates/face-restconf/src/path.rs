//! Parses the path of a URI to an [`InstancePath`], and writes it again.
//!
//! In RFC 8040, keys follow the name (`id-pool=a,b`). In draft-02, they are the segments after it (`id-pool/a/b`). The
//! module name may be left out where the name is unambiguous. Not here: whether the named node exists.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::codec::Dialect;
use crate::error::{ErrorTag, RestconfError, Result, invalid_value};
use crate::model::{InstancePath, PathStep};
use crate::tree::{DataNode, LeafValue};
use crate::yang::{ModuleNames, NodeId, NodeKind, Schema, spelled, split_prefix};

/// The maximum number of steps; deeper than any schema.
const STEPS_MAX: usize = 64;

/// All characters except those that RFC 3986 calls unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Parses the percent-encoded path below the datastore resource. Empty or `/`: the datastore.
pub fn parse(schema: &Schema, dialect: Dialect, text: &str) -> Result<InstancePath> {
    parse_below(schema, dialect, &InstancePath::default(), text)
}

/// Parses a path that is relative to another one, as in a YANG Patch.
pub fn parse_below(
    schema: &Schema,
    dialect: Dialect,
    base: &InstancePath,
    text: &str,
) -> Result<InstancePath> {
    let mut target = base.clone();
    let text = text.strip_prefix('/').unwrap_or(text);
    let text = text.strip_suffix('/').unwrap_or(text);
    if text.is_empty() {
        return Ok(target);
    }
    let mut segments = text.split('/');
    while let Some(segment) = segments.next() {
        if target.steps.len() >= STEPS_MAX {
            return Err(invalid_value("the path is too long"));
        }
        if let Some(PathStep { node, keys }) = target.steps.last()
            && keys.is_empty()
            && schema.is_list(*node)
        {
            return Err(invalid_value(format!(
                "the keys of '{}' are missing",
                schema.node(*node).name
            )));
        }
        let parent = target.steps.last().map(|step| step.node);
        let (name, given) = match (dialect, segment.split_once('=')) {
            (Dialect::Rfc8040, Some((name, keys))) => (name, Some(keys)),
            _ => (segment, None),
        };
        let name = decode(name)?;
        let node = named(schema, parent, &name).ok_or_else(|| unknown(dialect, &name))?;
        let count = key_leaves(schema, node).len();
        let texts: Vec<&str> = match (dialect, given) {
            (Dialect::Rfc8040, None) => Vec::new(),
            (Dialect::Rfc8040, Some(keys)) => keys.split(',').collect(),
            (Dialect::Draft02, _) => segments.by_ref().take(count).collect(),
        };
        // In draft-02, an empty last key looks like a trailing slash.
        if dialect == Dialect::Draft02 && texts.contains(&"") {
            return Err(invalid_value(format!("a key of '{name}' is empty")));
        }
        let keys = read_keys(schema, node, &texts, given.is_some())?;
        target.steps.push(PathStep { node, keys });
    }
    Ok(target)
}

/// The RPC that a path below `operations` names.
pub fn operation(schema: &Schema, text: &str) -> Result<NodeId> {
    let text = text.strip_prefix('/').unwrap_or(text);
    let name = decode(text.strip_suffix('/').unwrap_or(text))?;
    let (module, plain) = split_prefix(&name);
    schema
        .child(None, module, plain)
        .filter(|node| schema.node(*node).kind == NodeKind::Rpc)
        .ok_or_else(|| unknown(Dialect::Rfc8040, &name))
}

/// The path of a child node.
pub fn below(schema: &Schema, parent: &InstancePath, node: &DataNode) -> InstancePath {
    let mut target = parent.clone();
    target.steps.push(PathStep { node: node.schema, keys: node.keys(schema) });
    target
}

/// Writes the path as an instance identifier: `/id-manager:id-pools/id-pool[pool-name='a']`.
pub fn instance(schema: &Schema, target: &InstancePath) -> String {
    let mut text = String::new();
    for step in &target.steps {
        text.push('/');
        text.push_str(schema.spelled_name(step.node));
        text.push_str(&predicates(schema, step.node, &step.keys));
    }
    if text.is_empty() { "/".to_owned() } else { text }
}

/// The predicates that select a list or leaf-list entry in an instance identifier.
pub(crate) fn predicates(schema: &Schema, node: NodeId, keys: &[LeafValue]) -> String {
    let mut text = String::new();
    for (leaf, key) in key_leaves(schema, node).iter().zip(keys) {
        let label = if *leaf == node { "." } else { &schema.node(*leaf).name };
        let value = spelled(key);
        let quote = if value.contains('\'') { '"' } else { '\'' };
        text.push_str(&format!("[{label}={quote}{value}{quote}]"));
    }
    text
}

/// Writes the path as a URI path below the datastore resource. [`parse`] reads it.
pub fn location(schema: &Schema, dialect: Dialect, target: &InstancePath) -> String {
    let mut text = String::new();
    for step in &target.steps {
        text.push('/');
        text.push_str(schema.spelled_name(step.node));
        for (at, key) in step.keys.iter().enumerate() {
            text.push(match (dialect, at) {
                (Dialect::Draft02, _) => '/',
                (Dialect::Rfc8040, 0) => '=',
                (Dialect::Rfc8040, _) => ',',
            });
            text.extend(utf8_percent_encode(&spelled(key), RESERVED));
        }
    }
    text
}

/// The key leaves of a list; for a leaf-list, the leaf-list itself.
fn key_leaves(schema: &Schema, node: NodeId) -> Vec<NodeId> {
    match schema.node(node).kind {
        NodeKind::List => schema.node(node).keys.clone(),
        NodeKind::LeafList => vec![node],
        _ => Vec::new(),
    }
}

fn named(schema: &Schema, parent: Option<NodeId>, name: &str) -> Option<NodeId> {
    let (module, plain) = split_prefix(name);
    schema.child_or_only(parent, module, plain).filter(|node| {
        let kind = schema.node(*node).kind;
        !matches!(kind, NodeKind::Rpc | NodeKind::Notification | NodeKind::Input | NodeKind::Output)
    })
}

fn read_keys(schema: &Schema, node: NodeId, texts: &[&str], given: bool) -> Result<Vec<LeafValue>> {
    let leaves = key_leaves(schema, node);
    if texts.is_empty() && !given {
        return Ok(Vec::new());
    }
    let name = &schema.node(node).name;
    if texts.len() != leaves.len() {
        return Err(invalid_value(format!(
            "'{name}' has {} keys, the path has {}",
            leaves.len(),
            texts.len()
        )));
    }
    let read = |(leaf, text): (&NodeId, &&str)| {
        let known = schema.node(*leaf);
        let names = ModuleNames { schema, own: known.module };
        let text = decode(text)?;
        let ty = known.ty.as_ref().ok_or_else(|| invalid_value(format!("'{name}' has no keys")))?;
        ty.read(&text, &names).map_err(|message| {
            invalid_value(format!("{}: {message}", known.name)).at_path(schema.path(*leaf))
        })
    };
    leaves.iter().zip(texts).map(read).collect()
}

fn decode(text: &str) -> Result<String> {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        let digits = rest.get(at + 1..at + 3).unwrap_or_default();
        if digits.len() != 2 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(invalid_value(format!("'{text}' is not valid percent-encoding")));
        }
        rest = rest.get(at + 3..).unwrap_or_default();
    }
    match percent_decode_str(text).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err(invalid_value(format!("'{text}' is not UTF-8"))),
    }
}

/// For an unknown name, draft-02 answers 400 and RFC 8040 answers 404.
fn unknown(dialect: Dialect, name: &str) -> RestconfError {
    let error =
        RestconfError::protocol(ErrorTag::UnknownElement, format!("'{name}' is not known here"));
    match dialect {
        Dialect::Draft02 => error,
        Dialect::Rfc8040 => error.with_status(http::StatusCode::NOT_FOUND),
    }
}
