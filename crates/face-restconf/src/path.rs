//! What a request names: the path of a URI becomes a target, and a target is spelled as a path again.
//!
//! In RFC 8040 keys follow the name (`id-pool=a,b`), in the draft before they are the segments after it (`id-pool/a/b`). Names
//! may lack their module where only one can be meant. Whether what is named exists is the model's to say.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::codec::Dialect;
use crate::fault::{Fault, Tag};
use crate::model::{Step, Target};
use crate::tree::{Node, Value};
use crate::yang::{Kind, ModuleNames, NodeId, Schema, spelled, split_prefix};

/// Steps of a path; no schema is as deep.
const STEPS_MAX: usize = 64;

/// All but what RFC 3986 calls unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Reads the path behind the root of the datastore, percent-encoded as it came. Empty, or a slash: the datastore.
pub fn parse(schema: &Schema, dialect: Dialect, text: &str) -> Result<Target, Fault> {
    parse_below(schema, dialect, &Target::default(), text)
}

/// Reads a path that starts at another target, as those of a YANG Patch do.
pub fn parse_below(
    schema: &Schema,
    dialect: Dialect,
    base: &Target,
    text: &str,
) -> Result<Target, Fault> {
    let mut target = base.clone();
    let text = text.strip_prefix('/').unwrap_or(text);
    let text = text.strip_suffix('/').unwrap_or(text);
    if text.is_empty() {
        return Ok(target);
    }
    let mut segments = text.split('/');
    while let Some(segment) = segments.next() {
        if target.steps.len() >= STEPS_MAX {
            return Err(bad("the path is too long"));
        }
        if let Some(Step { node, keys }) = target.steps.last()
            && keys.is_empty()
            && schema.is_list(*node)
        {
            return Err(bad(format!("the keys of '{}' are missing", schema.node(*node).name)));
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
        // There an empty key at the end would be a slash at the end, which says nothing.
        if dialect == Dialect::Draft02 && texts.contains(&"") {
            return Err(bad(format!("a key of '{name}' is empty")));
        }
        let keys = read_keys(schema, node, &texts, given.is_some())?;
        target.steps.push(Step { node, keys });
    }
    Ok(target)
}

/// The RPC that a path below `operations` names.
pub fn operation(schema: &Schema, text: &str) -> Result<NodeId, Fault> {
    let text = text.strip_prefix('/').unwrap_or(text);
    let name = decode(text.strip_suffix('/').unwrap_or(text))?;
    let (module, plain) = split_prefix(&name);
    schema
        .child(None, module, plain)
        .filter(|node| schema.node(*node).kind == Kind::Rpc)
        .ok_or_else(|| unknown(Dialect::Rfc8040, &name))
}

/// The target of a node that stands below another target.
pub fn below(schema: &Schema, parent: &Target, node: &Node) -> Target {
    let mut target = parent.clone();
    target.steps.push(Step { node: node.schema, keys: node.keys(schema) });
    target
}

/// The target as an instance identifier: `/id-manager:id-pools/id-pool[pool-name='a']`.
pub fn instance(schema: &Schema, target: &Target) -> String {
    let mut text = String::new();
    for step in &target.steps {
        text.push('/');
        text.push_str(schema.spelled_name(step.node));
        text.push_str(&predicates(schema, step.node, &step.keys));
    }
    if text.is_empty() { "/".to_owned() } else { text }
}

/// What an instance identifier has behind the name of a list, or of a leaf-list, to say which entry is meant.
pub(crate) fn predicates(schema: &Schema, node: NodeId, keys: &[Value]) -> String {
    let mut text = String::new();
    for (leaf, key) in key_leaves(schema, node).iter().zip(keys) {
        let label = if *leaf == node { "." } else { &schema.node(*leaf).name };
        let value = spelled(key);
        let quote = if value.contains('\'') { '"' } else { '\'' };
        text.push_str(&format!("[{label}={quote}{value}{quote}]"));
    }
    text
}

/// The target as the path of a URI, behind the root of the datastore: what [`parse`] reads.
pub fn location(schema: &Schema, dialect: Dialect, target: &Target) -> String {
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

/// The leaves whose values say which entry is meant: of a leaf-list it is the entry itself.
fn key_leaves(schema: &Schema, node: NodeId) -> Vec<NodeId> {
    match schema.node(node).kind {
        Kind::List => schema.node(node).keys.clone(),
        Kind::LeafList => vec![node],
        _ => Vec::new(),
    }
}

fn named(schema: &Schema, parent: Option<NodeId>, name: &str) -> Option<NodeId> {
    let (module, plain) = split_prefix(name);
    schema.child_or_only(parent, module, plain).filter(|node| {
        let kind = schema.node(*node).kind;
        !matches!(kind, Kind::Rpc | Kind::Notification | Kind::Input | Kind::Output)
    })
}

fn read_keys(
    schema: &Schema,
    node: NodeId,
    texts: &[&str],
    given: bool,
) -> Result<Vec<Value>, Fault> {
    let leaves = key_leaves(schema, node);
    if texts.is_empty() && !given {
        return Ok(Vec::new());
    }
    let name = &schema.node(node).name;
    if texts.len() != leaves.len() {
        return Err(bad(format!("'{name}' has {} keys, the path {}", leaves.len(), texts.len())));
    }
    let read = |(leaf, text): (&NodeId, &&str)| {
        let known = schema.node(*leaf);
        let names = ModuleNames { schema, own: known.module };
        let text = decode(text)?;
        let ty = known.ty.as_ref().ok_or_else(|| bad(format!("'{name}' has no keys")))?;
        ty.read(&text, &names).map_err(|message| {
            bad(format!("{}: {message}", known.name)).at_path(schema.path(*leaf))
        })
    };
    leaves.iter().zip(texts).map(read).collect()
}

fn decode(text: &str) -> Result<String, Fault> {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        let digits = rest.get(at + 1..at + 3).unwrap_or_default();
        if digits.len() != 2 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(bad(format!("'{text}' is not percent-encoded")));
        }
        rest = rest.get(at + 3..).unwrap_or_default();
    }
    match percent_decode_str(text).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err(bad(format!("'{text}' is not UTF-8"))),
    }
}

fn bad(message: impl Into<String>) -> Fault {
    Fault::protocol(Tag::InvalidValue, message)
}

/// The draft has a path that names nothing as a bad request, the RFC as something that is not there.
fn unknown(dialect: Dialect, name: &str) -> Fault {
    let fault = Fault::protocol(Tag::UnknownElement, format!("'{name}' is not known here"));
    match dialect {
        Dialect::Draft02 => fault,
        Dialect::Rfc8040 => fault.with_status(http::StatusCode::NOT_FOUND),
    }
}
