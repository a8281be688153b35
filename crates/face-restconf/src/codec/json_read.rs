//! Reads JSON to a tree. The schema drives the reader: recursion is no deeper than the schema, and an unknown member ends
//! it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};

use super::normalize::normalize;
use super::{malformed, within_entry};
use crate::error::{RestconfError, Result};
use crate::tree::DataNode;
use crate::yang::{JsonScalar, ModuleNames, NodeId, NodeKind, Schema, split_prefix};

pub(super) fn data(schema: &Schema, parent: Option<NodeId>, bytes: &[u8]) -> Result<Vec<DataNode>> {
    document(schema, ObjectKind::Data(parent), bytes)
}

pub(super) fn input(schema: &Schema, input: NodeId, bytes: &[u8]) -> Result<Vec<DataNode>> {
    document(schema, ObjectKind::Input(input), bytes)
}

fn document(schema: &Schema, root: ObjectKind, bytes: &[u8]) -> Result<Vec<DataNode>> {
    let context = ReadContext { schema, cause: RefCell::new(None) };
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let members = ObjectReader { context: &context, root };
    let nodes =
        members.deserialize(&mut deserializer).and_then(|nodes| deserializer.end().map(|()| nodes));
    nodes.map_err(|error| match context.cause.take() {
        Some(cause) => cause,
        None => malformed(schema, None, &error.to_string()),
    })
}

struct ReadContext<'s> {
    schema: &'s Schema,
    /// The first error, with more detail than a serde error can carry.
    cause: RefCell<Option<RestconfError>>,
}

impl ReadContext<'_> {
    fn fail<E: Error>(&self, node: Option<NodeId>, message: &str) -> E {
        self.stop(malformed(self.schema, node, message))
    }

    fn stop<E: Error>(&self, cause: RestconfError) -> E {
        let error = E::custom(&cause.message);
        *self.cause.borrow_mut() = Some(cause);
        error
    }

    /// Adds the keys of the entry in which reading ended to the path of the error.
    fn within(&self, node: NodeId, children: Vec<DataNode>) {
        if let Some(cause) = &mut *self.cause.borrow_mut() {
            within_entry(self.schema, cause, &DataNode::inner(node, children));
        }
    }
}

/// What a JSON object represents.
#[derive(Clone, Copy)]
enum ObjectKind {
    /// The document: children of the parent.
    Data(Option<NodeId>),
    /// The document: a single member `input`.
    Input(NodeId),
    /// The `data` member around the children of the datastore.
    Datastore,
    /// A data node within the document.
    DataNode(NodeId),
}

struct ObjectReader<'c, 's> {
    context: &'c ReadContext<'s>,
    root: ObjectKind,
}

impl<'de> DeserializeSeed<'de> for ObjectReader<'_, '_> {
    type Value = Vec<DataNode>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<DataNode>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ObjectReader<'_, '_> {
    type Value = Vec<DataNode>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.root {
            ObjectKind::DataNode(node) => {
                write!(f, "an object for '{}'", self.context.schema.node(node).name)
            }
            _ => f.write_str("an object"),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<DataNode>, A::Error> {
        let mut children = Vec::new();
        let read = match self.root {
            ObjectKind::Input(input) => self.input(input, &mut map, &mut children),
            ObjectKind::DataNode(_) | ObjectKind::Data(_) | ObjectKind::Datastore => {
                self.members(&mut map, &mut children)
            }
        };
        match (read, self.root) {
            (Ok(()), _) => Ok(children),
            (Err(error), ObjectKind::DataNode(node)) => {
                self.context.within(node, children);
                Err(error)
            }
            (Err(error), _) => Err(error),
        }
    }
}

impl ObjectReader<'_, '_> {
    /// Reads the single member of an operation's document.
    fn input<'de, A: MapAccess<'de>>(
        &self,
        input: NodeId,
        map: &mut A,
        children: &mut Vec<DataNode>,
    ) -> Result<(), A::Error> {
        let (context, schema) = (self.context, self.context.schema);
        let mut members = 0;
        while let Some(MemberName(name)) = map.next_key::<MemberName<'_>>()? {
            members += 1;
            let (module, plain) = split_prefix(&name);
            let module = module.map(|module| schema.module_named(module));
            let own = module.is_none_or(|module| {
                module.is_some_and(|module| schema.may_name_input(input, module))
            });
            if members > 1 || plain != "input" || !own {
                let message = format!("unexpected '{name}'; 'input' is expected");
                return Err(context.fail(None, &message));
            }
            *children =
                map.next_value_seed(ObjectReader { context, root: ObjectKind::DataNode(input) })?;
        }
        Ok(())
    }

    fn members<'de, A: MapAccess<'de>>(
        &self,
        map: &mut A,
        children: &mut Vec<DataNode>,
    ) -> Result<(), A::Error> {
        let (context, schema) = (self.context, self.context.schema);
        let parent = match self.root {
            ObjectKind::DataNode(node) | ObjectKind::Input(node) => Some(node),
            ObjectKind::Data(parent) => parent,
            ObjectKind::Datastore => None,
        };
        let mut seen: Vec<NodeId> = Vec::new();
        while let Some(MemberName(name)) = map.next_key::<MemberName<'_>>()? {
            let at_datastore = matches!(self.root, ObjectKind::Data(None));
            if at_datastore && seen.is_empty() && matches!(&*name, "ietf-restconf:data" | "data") {
                return self.wrapped(&name, map, children);
            }
            let (module, plain) = split_prefix(&name);
            let Some(id) = schema.child_or_only(parent, module, plain) else {
                return Err(context.fail(parent, &format!("'{name}' is not known here")));
            };
            if seen.contains(&id) {
                return Err(context.fail(Some(id), &format!("'{name}' occurs more than once")));
            }
            seen.push(id);
            match schema.node(id).kind {
                NodeKind::Leaf | NodeKind::List | NodeKind::LeafList => {
                    let is_array = schema.node(id).kind != NodeKind::Leaf;
                    let values = ValueReader { context, node: id, is_array };
                    children.extend(map.next_value_seed(values)?);
                }
                _ => {
                    let object = ObjectReader { context, root: ObjectKind::DataNode(id) };
                    let below = map.next_value_seed(object)?;
                    children.push(DataNode::inner(id, below));
                }
            }
        }
        // The document has some children of its parent; any other object has all of them.
        let of = parent.filter(|_| matches!(self.root, ObjectKind::DataNode(_)));
        normalize(schema, of, children).map_err(|cause| context.stop(cause))
    }

    /// Reads the children of the datastore from a `data` member, which must be the only one.
    fn wrapped<'de, A: MapAccess<'de>>(
        &self,
        name: &str,
        map: &mut A,
        children: &mut Vec<DataNode>,
    ) -> Result<(), A::Error> {
        *children = map
            .next_value_seed(ObjectReader { context: self.context, root: ObjectKind::Datastore })?;
        match map.next_key::<MemberName<'_>>()? {
            None => Ok(()),
            Some(MemberName(more)) => {
                let message = format!("unexpected '{more}' beside '{name}'");
                Err(self.context.fail(None, &message))
            }
        }
    }
}

/// A member name, borrowed from the document if it has no escapes.
struct MemberName<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for MemberName<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MemberName<'de>, D::Error> {
        struct MemberNameVisitor;
        impl<'de> Visitor<'de> for MemberNameVisitor {
            type Value = MemberName<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<MemberName<'de>, E> {
                Ok(MemberName(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<MemberName<'de>, E> {
                Ok(MemberName(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(MemberNameVisitor)
    }
}

/// A leaf, one value of a leaf-list, or the array of a list or leaf-list. A single entry without an array is accepted,
/// because some clients send it.
#[derive(Clone, Copy)]
struct ValueReader<'c, 's> {
    context: &'c ReadContext<'s>,
    node: NodeId,
    is_array: bool,
}

impl<'de> DeserializeSeed<'de> for ValueReader<'_, '_> {
    type Value = Vec<DataNode>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<DataNode>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl ValueReader<'_, '_> {
    fn fail<E: Error>(&self, message: &str) -> E {
        self.context.fail(Some(self.node), message)
    }

    fn only<E: Error>(&self, scalar: JsonScalar<'_>) -> Result<Vec<DataNode>, E> {
        let (schema, node) = (self.context.schema, self.context.schema.node(self.node));
        if node.kind == NodeKind::List {
            return Err(self.fail(&format!("an entry of '{}' must be an object", node.name)));
        }
        let Some(ty) = &node.ty else { return Err(self.fail("it has no value")) };
        match ty.read_scalar(scalar, &ModuleNames { schema, own: node.module }) {
            Ok(value) => Ok(vec![DataNode::leaf(self.node, value)]),
            Err(message) => Err(self.fail(&format!("{}: {message}", node.name))),
        }
    }
}

impl<'de> Visitor<'de> for ValueReader<'_, '_> {
    type Value = Vec<DataNode>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_array { "an array" } else { "a value" };
        write!(f, "{what} for '{}'", self.context.schema.node(self.node).name)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Vec<DataNode>, E> {
        self.only(JsonScalar::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Vec<DataNode>, E> {
        self.only(JsonScalar::Number(&value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Vec<DataNode>, E> {
        self.only(JsonScalar::Number(&value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Vec<DataNode>, E> {
        self.only(JsonScalar::Number(&value.to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Vec<DataNode>, E> {
        self.only(JsonScalar::Text(value))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<DataNode>, A::Error> {
        let (context, node) = (self.context, self.node);
        if !self.is_array {
            return Err(A::Error::invalid_type(Unexpected::Map, &self));
        }
        if !context.schema.is_list(node) {
            let name = &context.schema.node(node).name;
            return Err(self.fail(&format!("'{name}' is not an object")));
        }
        let below = ObjectReader { context, root: ObjectKind::DataNode(node) }.visit_map(map)?;
        Ok(vec![DataNode::inner(node, below)])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<DataNode>, A::Error> {
        let (context, node) = (self.context, self.node);
        if !self.is_array {
            // `[null]`: the value of a leaf of type `empty`.
            return match (entries.next_element::<()>()?, entries.next_element::<()>()?) {
                (Some(()), None) => self.only(JsonScalar::Empty),
                _ => Err(self.fail("unexpected array")),
            };
        }
        let mut nodes = Vec::new();
        if context.schema.is_list(node) {
            let entry = || ObjectReader { context, root: ObjectKind::DataNode(node) };
            while let Some(below) = entries.next_element_seed(entry())? {
                nodes.push(DataNode::inner(node, below));
            }
        } else {
            let value = ValueReader { is_array: false, ..self };
            while let Some(values) = entries.next_element_seed(value)? {
                nodes.extend(values);
            }
        }
        Ok(nodes)
    }
}
