//! The YANG library: the modules of the server, as in RFC 8525 and RFC 7895. It depends on the schema only.

use super::endpoint::RESTCONF;
use crate::tree::{DataNode, LeafValue};
use crate::yang::{Module, NodeId, Schema};

/// The name of the only module set and the only schema.
const NAME: &str = "allod";

/// `<name>@<revision>.yang`.
pub(super) fn file_name(module: &Module) -> String {
    match module.revision.as_str() {
        "" => format!("{}.yang", module.name),
        revision => format!("{}@{revision}.yang", module.name),
    }
}

/// Makes data nodes below a schema node, by name.
pub(super) struct NodeMaker<'a> {
    pub schema: &'a Schema,
    pub at: NodeId,
}

impl<'a> NodeMaker<'a> {
    /// Starts at the top-level node `module:name`.
    pub(super) fn top(schema: &'a Schema, name: &str) -> Result<NodeMaker<'a>, String> {
        let at = schema.find(&format!("/{name}"));
        Ok(NodeMaker { schema, at: at.ok_or_else(|| format!("no module defines {name}"))? })
    }

    pub(super) fn below(&self, name: &str) -> Result<NodeMaker<'a>, String> {
        let at = self.schema.child(Some(self.at), None, name);
        let lacks = || format!("{} has no {name}", self.schema.path(self.at));
        Ok(NodeMaker { schema: self.schema, at: at.ok_or_else(lacks)? })
    }

    pub(super) fn inner(&self, children: Vec<DataNode>) -> DataNode {
        DataNode::inner(self.at, children)
    }

    pub(super) fn leaf(&self, name: &str, value: impl Into<LeafValue>) -> Result<DataNode, String> {
        Ok(DataNode::leaf(self.below(name)?.at, value))
    }
}

/// `yang-library` and `modules-state`. Fails if the modules lack a node.
pub(super) fn nodes(schema: &Schema) -> Result<Vec<DataNode>, String> {
    Ok(vec![yang_library(schema)?, modules_state(schema)?])
}

fn yang_library(schema: &Schema) -> Result<DataNode, String> {
    let library = NodeMaker::top(schema, "ietf-yang-library:yang-library")?;
    let set = library.below("module-set")?;
    let mut in_set = vec![set.leaf("name", NAME)?];
    // The entries of one list must be adjacent.
    for implemented in [true, false] {
        let list = set.below(if implemented { "module" } else { "import-only-module" })?;
        for module in all(schema).filter(|module| module.implemented == implemented) {
            let mut leaves = vec![list.leaf("name", &*module.name)?];
            if !(implemented && module.revision.is_empty()) {
                leaves.push(list.leaf("revision", &*module.revision)?);
            }
            leaves.push(list.leaf("namespace", &*module.namespace)?);
            leaves.push(list.leaf("location", location(module))?);
            if implemented {
                for feature in &module.features {
                    leaves.push(list.leaf("feature", &**feature)?);
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
    children.push(library.leaf("content-id", content_id(schema))?);
    Ok(library.inner(children))
}

fn modules_state(schema: &Schema) -> Result<DataNode, String> {
    let state = NodeMaker::top(schema, "ietf-yang-library:modules-state")?;
    let list = state.below("module")?;
    let mut children = vec![state.leaf("module-set-id", content_id(schema))?];
    for module in all(schema) {
        let mut leaves = vec![
            list.leaf("name", &*module.name)?,
            list.leaf("revision", &*module.revision)?,
            list.leaf("schema", location(module))?,
            list.leaf("namespace", &*module.namespace)?,
        ];
        for feature in &module.features {
            leaves.push(list.leaf("feature", &**feature)?);
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

/// A hash (FNV-1a) of all module texts: differs for another set of modules.
fn content_id(schema: &Schema) -> String {
    let bytes = all(schema).flat_map(|module| module.text.bytes());
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.fold(0xcbf2_9ce4_8422_2325, mix))
}
