//! The YANG library: which modules there are, as RFC 8525 tells it and as RFC 7895 did.
//!
//! It follows from the schema and does not change while the server runs.

use super::space::RESTCONF;
use crate::tree::{Body, Node, Value};
use crate::yang::{Module, NodeId, Schema};

/// What the only set of modules, and the only schema, are called.
const NAME: &str = "allod";

/// `<name>@<revision>.yang`.
pub(super) fn file_name(module: &Module) -> String {
    match module.revision.as_str() {
        "" => format!("{}.yang", module.name),
        revision => format!("{}@{revision}.yang", module.name),
    }
}

/// Makes nodes below one node of the schema, by their names.
pub(super) struct Maker<'a> {
    pub schema: &'a Schema,
    pub at: NodeId,
}

impl<'a> Maker<'a> {
    /// At a node at the top: `module:name`.
    pub(super) fn top(schema: &'a Schema, name: &str) -> Result<Maker<'a>, String> {
        let at = schema.find(&format!("/{name}"));
        Ok(Maker { schema, at: at.ok_or_else(|| format!("no module has {name}"))? })
    }

    pub(super) fn below(&self, name: &str) -> Result<Maker<'a>, String> {
        let at = self.schema.child(Some(self.at), None, name);
        let lacks = || format!("{} has no {name}", self.schema.path(self.at));
        Ok(Maker { schema: self.schema, at: at.ok_or_else(lacks)? })
    }

    pub(super) fn inner(&self, children: Vec<Node>) -> Node {
        Node { schema: self.at, body: Body::Inner(children) }
    }

    pub(super) fn leaf(&self, name: &str, text: &str) -> Result<Node, String> {
        Ok(Node { schema: self.below(name)?.at, body: Body::Leaf(Value::Text(text.into())) })
    }

    pub(super) fn flag(&self, name: &str, value: bool) -> Result<Node, String> {
        Ok(Node { schema: self.below(name)?.at, body: Body::Leaf(Value::Bool(value)) })
    }
}

/// `yang-library` and `modules-state`. An error: the modules of the protocol are not what this is written for.
pub(super) fn nodes(schema: &Schema) -> Result<Vec<Node>, String> {
    Ok(vec![yang_library(schema)?, modules_state(schema)?])
}

fn yang_library(schema: &Schema) -> Result<Node, String> {
    let library = Maker::top(schema, "ietf-yang-library:yang-library")?;
    let set = library.below("module-set")?;
    let mut in_set = vec![set.leaf("name", NAME)?];
    // The entries of one list stand next to each other.
    for implemented in [true, false] {
        let list = set.below(if implemented { "module" } else { "import-only-module" })?;
        for module in all(schema).filter(|module| module.implemented == implemented) {
            let mut leaves = vec![list.leaf("name", &module.name)?];
            if !(implemented && module.revision.is_empty()) {
                leaves.push(list.leaf("revision", &module.revision)?);
            }
            leaves.push(list.leaf("namespace", &module.namespace)?);
            leaves.push(list.leaf("location", &location(module))?);
            if implemented {
                for feature in &module.features {
                    leaves.push(list.leaf("feature", feature)?);
                }
            }
            in_set.push(list.inner(leaves));
        }
    }
    let of_schema = library.below("schema")?;
    let named = vec![of_schema.leaf("name", NAME)?, of_schema.leaf("module-set", NAME)?];
    let mut children = vec![set.inner(in_set), of_schema.inner(named)];
    let datastore = library.below("datastore")?;
    for name in ["ietf-datastores:running", "ietf-datastores:operational"] {
        let leaves = vec![datastore.leaf("name", name)?, datastore.leaf("schema", NAME)?];
        children.push(datastore.inner(leaves));
    }
    children.push(library.leaf("content-id", &content_id(schema))?);
    Ok(library.inner(children))
}

fn modules_state(schema: &Schema) -> Result<Node, String> {
    let state = Maker::top(schema, "ietf-yang-library:modules-state")?;
    let list = state.below("module")?;
    let mut children = vec![state.leaf("module-set-id", &content_id(schema))?];
    for module in all(schema) {
        let mut leaves = vec![
            list.leaf("name", &module.name)?,
            list.leaf("revision", &module.revision)?,
            list.leaf("schema", &location(module))?,
            list.leaf("namespace", &module.namespace)?,
        ];
        for feature in &module.features {
            leaves.push(list.leaf("feature", feature)?);
        }
        let conformance = if module.implemented { "implement" } else { "import" };
        leaves.push(list.leaf("conformance-type", conformance)?);
        children.push(list.inner(leaves));
    }
    Ok(state.inner(children))
}

fn all(schema: &Schema) -> impl Iterator<Item = &Module> {
    schema.modules().map(|(_, module)| module)
}

fn location(module: &Module) -> String {
    format!("{RESTCONF}/yang/{}", file_name(module))
}

/// Another one for another set of modules: a hash (FNV-1a) of their texts.
fn content_id(schema: &Schema) -> String {
    let bytes = all(schema).flat_map(|module| module.text.bytes());
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.fold(0xcbf2_9ce4_8422_2325, mix))
}
