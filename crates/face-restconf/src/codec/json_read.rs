//! JSON becomes a tree. The schema says what may come, so that recursion is as deep as the schema, and what is not known ends
//! the reading at once.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::settle::settle;
use super::{malformed, within_entry};
use crate::fault::Fault;
use crate::tree::{Node, Value};
use crate::yang::{Kind, ModuleNames, NodeId, Scalar, Schema, split_prefix};

pub(super) fn data(
    schema: &Schema,
    parent: Option<NodeId>,
    bytes: &[u8],
) -> Result<Vec<Node>, Fault> {
    document(schema, Root::Data(parent), bytes)
}

pub(super) fn input(schema: &Schema, input: NodeId, bytes: &[u8]) -> Result<Vec<Node>, Fault> {
    document(schema, Root::Input(input), bytes)
}

fn document(schema: &Schema, root: Root, bytes: &[u8]) -> Result<Vec<Node>, Fault> {
    let context = Context { schema, fault: RefCell::new(None) };
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let members = Members { context: &context, root };
    let nodes =
        members.deserialize(&mut deserializer).and_then(|nodes| deserializer.end().map(|()| nodes));
    nodes.map_err(|error| match context.fault.take() {
        Some(fault) => fault,
        None => malformed(schema, None, &error.to_string()),
    })
}

struct Context<'s> {
    schema: &'s Schema,
    /// Why reading ended, in more words than an error of the parser can carry.
    fault: RefCell<Option<Fault>>,
}

impl Context<'_> {
    fn fail<E: Error>(&self, node: Option<NodeId>, message: &str) -> E {
        self.stop(malformed(self.schema, node, message))
    }

    fn stop<E: Error>(&self, fault: Fault) -> E {
        let error = E::custom(&fault.message);
        *self.fault.borrow_mut() = Some(fault);
        error
    }

    /// Reading ended within this node, of which these children were read.
    fn within(&self, node: NodeId, children: Vec<Node>) {
        if let Some(fault) = &mut *self.fault.borrow_mut() {
            within_entry(self.schema, fault, &Node::inner(node, children));
        }
    }
}

/// What an object is.
#[derive(Clone, Copy)]
enum Root {
    /// The document: children of the parent.
    Data(Option<NodeId>),
    /// The document: one member, the input.
    Input(NodeId),
    /// The `data` around children of the datastore.
    Datastore,
    /// Something within the document.
    Node(NodeId),
}

struct Members<'c, 's> {
    context: &'c Context<'s>,
    root: Root,
}

impl<'de> DeserializeSeed<'de> for Members<'_, '_> {
    type Value = Vec<Node>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Node>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members<'_, '_> {
    type Value = Vec<Node>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.root {
            Root::Node(node) => {
                write!(f, "an object for '{}'", self.context.schema.node(node).name)
            }
            _ => f.write_str("an object"),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Node>, A::Error> {
        let mut children = Vec::new();
        let read = match self.root {
            Root::Input(input) => self.input(input, &mut map, &mut children),
            Root::Node(_) | Root::Data(_) | Root::Datastore => {
                self.members(&mut map, &mut children)
            }
        };
        match (read, self.root) {
            (Ok(()), _) => Ok(children),
            (Err(error), Root::Node(node)) => {
                self.context.within(node, children);
                Err(error)
            }
            (Err(error), _) => Err(error),
        }
    }
}

impl Members<'_, '_> {
    /// The one member of the document of a call.
    fn input<'de, A: MapAccess<'de>>(
        &self,
        input: NodeId,
        map: &mut A,
        children: &mut Vec<Node>,
    ) -> Result<(), A::Error> {
        let (context, schema) = (self.context, self.context.schema);
        let mut members = 0;
        while let Some(Name(name)) = map.next_key::<Name<'_>>()? {
            members += 1;
            let (module, plain) = split_prefix(&name);
            let module = module.map(|module| schema.module_named(module));
            let own = module.is_none_or(|module| {
                module.is_some_and(|module| schema.may_name_input(input, module))
            });
            if members > 1 || plain != "input" || !own {
                return Err(context.fail(None, &format!("'{name}' is not expected, but 'input'")));
            }
            *children = map.next_value_seed(Members { context, root: Root::Node(input) })?;
        }
        Ok(())
    }

    fn members<'de, A: MapAccess<'de>>(
        &self,
        map: &mut A,
        children: &mut Vec<Node>,
    ) -> Result<(), A::Error> {
        let (context, schema) = (self.context, self.context.schema);
        let parent = match self.root {
            Root::Node(node) | Root::Input(node) => Some(node),
            Root::Data(parent) => parent,
            Root::Datastore => None,
        };
        let mut seen: Vec<NodeId> = Vec::new();
        while let Some(Name(name)) = map.next_key::<Name<'_>>()? {
            let at_datastore = matches!(self.root, Root::Data(None));
            if at_datastore && seen.is_empty() && matches!(&*name, "ietf-restconf:data" | "data") {
                return self.wrapped(&name, map, children);
            }
            let (module, plain) = split_prefix(&name);
            let Some(id) = schema.child_or_only(parent, module, plain) else {
                return Err(context.fail(parent, &format!("'{name}' is not known here")));
            };
            if seen.contains(&id) {
                return Err(context.fail(Some(id), &format!("'{name}' is there twice")));
            }
            seen.push(id);
            match schema.node(id).kind {
                Kind::Leaf => {
                    let value = map.next_value_seed(Leaf { context, node: id })?;
                    children.push(Node::leaf(id, value));
                }
                Kind::List | Kind::LeafList => {
                    children.extend(map.next_value_seed(Entries { context, node: id })?);
                }
                _ => {
                    let below = map.next_value_seed(Members { context, root: Root::Node(id) })?;
                    children.push(Node::inner(id, below));
                }
            }
        }
        // A document has some children of its parent, anything else all of them.
        let of = parent.filter(|_| matches!(self.root, Root::Node(_)));
        settle(schema, of, children).map_err(|fault| context.stop(fault))
    }

    /// The children of the datastore in an object of their own, beside which there is nothing.
    fn wrapped<'de, A: MapAccess<'de>>(
        &self,
        name: &str,
        map: &mut A,
        children: &mut Vec<Node>,
    ) -> Result<(), A::Error> {
        *children =
            map.next_value_seed(Members { context: self.context, root: Root::Datastore })?;
        match map.next_key::<Name<'_>>()? {
            None => Ok(()),
            Some(Name(more)) => {
                let message = format!("'{more}' is not expected beside '{name}'");
                Err(self.context.fail(None, &message))
            }
        }
    }
}

/// The name of a member, borrowed from the document where it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name<'de>, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// The array of a list or of a leaf-list; or its only entry, which some write without the array.
struct Entries<'c, 's> {
    context: &'c Context<'s>,
    node: NodeId,
}

impl<'de> DeserializeSeed<'de> for Entries<'_, '_> {
    type Value = Vec<Node>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Node>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Entries<'_, '_> {
    fn only<E: Error>(&self, scalar: Scalar<'_>) -> Result<Vec<Node>, E> {
        let (context, node) = (self.context, self.node);
        if context.schema.is_list(node) {
            let message = format!("an entry of '{}' is an object", context.schema.node(node).name);
            return Err(context.fail(Some(node), &message));
        }
        Ok(vec![Node::leaf(node, Leaf { context, node }.value(scalar)?)])
    }
}

impl<'de> Visitor<'de> for Entries<'_, '_> {
    type Value = Vec<Node>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array for '{}'", self.context.schema.node(self.node).name)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Vec<Node>, E> {
        self.only(Scalar::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Vec<Node>, E> {
        self.only(Scalar::Number(&value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Vec<Node>, E> {
        self.only(Scalar::Number(&value.to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Vec<Node>, E> {
        self.only(Scalar::Text(value))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<Node>, A::Error> {
        let (context, node) = (self.context, self.node);
        if !context.schema.is_list(node) {
            let message = format!("'{}' is no object", context.schema.node(node).name);
            return Err(context.fail(Some(node), &message));
        }
        let below = Members { context, root: Root::Node(node) }.visit_map(map)?;
        Ok(vec![Node::inner(node, below)])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<Node>, A::Error> {
        let (context, node) = (self.context, self.node);
        let mut nodes = Vec::new();
        if context.schema.is_list(node) {
            while let Some(below) =
                entries.next_element_seed(Members { context, root: Root::Node(node) })?
            {
                nodes.push(Node::inner(node, below));
            }
        } else {
            while let Some(value) = entries.next_element_seed(Leaf { context, node })? {
                nodes.push(Node::leaf(node, value));
            }
        }
        Ok(nodes)
    }
}

struct Leaf<'c, 's> {
    context: &'c Context<'s>,
    node: NodeId,
}

impl Leaf<'_, '_> {
    fn value<E: Error>(&self, scalar: Scalar<'_>) -> Result<Value, E> {
        let node = self.context.schema.node(self.node);
        let names = ModuleNames { schema: self.context.schema, own: node.module };
        let Some(ty) = &node.ty else {
            return Err(self.context.fail(Some(self.node), "it has no value"));
        };
        ty.read_scalar(scalar, &names).map_err(|message| {
            self.context.fail(Some(self.node), &format!("{}: {message}", node.name))
        })
    }
}

impl<'de> DeserializeSeed<'de> for Leaf<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Leaf<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value for '{}'", self.context.schema.node(self.node).name)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.value(Scalar::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.value(Scalar::Number(&value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.value(Scalar::Number(&value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.value(Scalar::Number(&value.to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.value(Scalar::Text(value))
    }

    /// `[null]`, which is how an empty leaf is written.
    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        match (elements.next_element::<()>()?, elements.next_element::<()>()?) {
            (Some(()), None) => self.value(Scalar::Empty),
            _ => Err(self.context.fail(Some(self.node), "an array is not expected")),
        }
    }
}
