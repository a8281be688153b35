//! Whether a tree is whole: what is mandatory is there, nothing is twice, one case of a choice, as many entries as there may be.
//!
//! Where a node depends on a `when` it is not asked for, because conditions are not evaluated here.

use hashbrown::HashSet;

use crate::fault::{Fault, Tag};
use crate::tree::{Node, Siblings, Value};
use crate::yang::{InCase, Kind, NodeId, Schema};

/// The tree and all that is below it. State within configuration is passed over.
pub fn validate(schema: &Schema, node: &Node) -> Result<(), Fault> {
    if schema.is_leaf(node.schema) {
        return Ok(());
    }
    siblings(schema, node.schema, node.children())?;
    node.children().iter().try_for_each(|child| validate(schema, child))
}

/// The input of an RPC or an action.
pub fn validate_input(schema: &Schema, operation: NodeId, input: &[Node]) -> Result<(), Fault> {
    let Some(id) = schema.input(operation) else { return Ok(()) };
    siblings(schema, id, input)?;
    input.iter().try_for_each(|child| validate(schema, child))
}

fn siblings(schema: &Schema, parent: NodeId, children: &[Node]) -> Result<(), Fault> {
    let counts = |id: NodeId| schema.node(id).config || !schema.node(parent).config;
    cases(schema, children)?;
    for id in schema.node(parent).children.iter().copied().filter(|id| counts(*id)) {
        let node = schema.node(id);
        let chosen = node.cases.iter().all(|within| {
            children.iter().any(|child| schema.node(child.schema).cases.contains(within))
        });
        let expected = node.when.is_none() && chosen;
        let entries = children.iter().filter(|child| child.schema == id).count();
        match node.kind {
            Kind::Leaf if node.mandatory && expected && entries == 0 => {
                return Err(absent(schema, id));
            }
            Kind::Container { presence: false } if expected && entries == 0 => {
                siblings(schema, id, &[])?
            }
            Kind::Leaf | Kind::Container { .. } if entries > 1 => return Err(twice(schema, id)),
            Kind::List | Kind::LeafList => {
                let (min, max) = (node.min_elements as usize, node.max_elements);
                if expected && entries < min {
                    return Err(number(schema, id, entries, &format!("at least {min}")));
                }
                if let Some(max) = max.filter(|max| entries > *max as usize) {
                    return Err(number(schema, id, entries, &format!("at most {max}")));
                }
                unrepeated(schema, id, children)?;
            }
            _ => {}
        }
    }
    mandatory_choices(schema, parent, children)
}

/// No two siblings are of different cases of a choice.
fn cases(schema: &Schema, children: &[Node]) -> Result<(), Fault> {
    let mut chosen: Vec<InCase> = Vec::new();
    for child in children {
        for within in &schema.node(child.schema).cases {
            match chosen.iter().find(|one| one.choice == within.choice) {
                None => chosen.push(*within),
                Some(one) if one.case == within.case => {}
                Some(_) => {
                    let choice = &schema.node(schema.choice(within.choice).node).name;
                    let message = format!("'{choice}' is a choice, and more than one is there");
                    return Err(Fault::protocol(Tag::BadElement, message)
                        .at_path(schema.path(child.schema)));
                }
            }
        }
    }
    Ok(())
}

/// Of every mandatory choice there is something, if the choice itself does not stand in a case that was not chosen.
fn mandatory_choices(schema: &Schema, parent: NodeId, children: &[Node]) -> Result<(), Fault> {
    let chosen =
        |case: &InCase| children.iter().any(|child| schema.node(child.schema).cases.contains(case));
    for id in &schema.node(parent).children {
        let cases = &schema.node(*id).cases;
        for (at, within) in cases.iter().enumerate() {
            let choice = schema.choice(within.choice);
            let node = schema.node(choice.node);
            let counts = node.when.is_none() && (node.config || !schema.node(parent).config);
            let there = |child: &Node| {
                schema.node(child.schema).cases.iter().any(|one| one.choice == within.choice)
            };
            if choice.mandatory
                && counts
                && cases[..at].iter().all(chosen)
                && !children.iter().any(there)
            {
                let message = format!("one of the choice '{}' is missing", node.name);
                return Err(
                    Fault::protocol(Tag::MissingElement, message).at_path(schema.path(parent))
                );
            }
        }
    }
    Ok(())
}

fn unrepeated(schema: &Schema, list: NodeId, children: &[Node]) -> Result<(), Fault> {
    let node = schema.node(list);
    let asked = match node.kind {
        Kind::List => !node.keys.is_empty(),
        _ => node.config,
    };
    let mut seen: HashSet<Vec<Value>> = HashSet::new();
    for entry in children.iter().filter(|child| asked && child.schema == list) {
        let keys = entry.keys(schema);
        if keys.is_empty() {
            return Err(absent(schema, node.keys.first().copied().unwrap_or(list)));
        }
        if !seen.insert(keys) {
            return Err(twice(schema, list));
        }
    }
    for leaves in &node.unique {
        seen.clear();
        for entry in children.iter().filter(|child| child.schema == list) {
            // Entries that lack one of the leaves are not compared.
            let values = leaves.iter().map(|leaf| deep_value(schema, list, entry, *leaf).cloned());
            let Some(values) = values.collect::<Option<Vec<_>>>() else { continue };
            if !seen.insert(values) {
                let message =
                    format!("two entries of '{}' have the same values that must differ", node.name);
                return Err(Fault::protocol(Tag::InvalidValue, message).at_path(schema.path(list)));
            }
        }
    }
    Ok(())
}

/// The value of a leaf at any depth below an entry.
fn deep_value<'n>(
    schema: &Schema,
    list: NodeId,
    entry: &'n Node,
    leaf: NodeId,
) -> Option<&'n Value> {
    let mut way = Vec::new();
    let mut at = leaf;
    while at != list {
        way.push(at);
        at = schema.node(at).parent?;
    }
    way.iter().rev().try_fold(entry, |node, id| node.child(*id))?.value()
}

fn absent(schema: &Schema, id: NodeId) -> Fault {
    let message = format!("'{}' is missing", schema.node(id).name);
    Fault::protocol(Tag::MissingElement, message).at_path(schema.path(id))
}

fn twice(schema: &Schema, id: NodeId) -> Fault {
    let message = format!("'{}' is there twice", schema.node(id).name);
    Fault::protocol(Tag::InvalidValue, message).at_path(schema.path(id))
}

fn number(schema: &Schema, id: NodeId, entries: usize, allowed: &str) -> Fault {
    let message =
        format!("{entries} entries of '{}'; there must be {allowed}", schema.node(id).name);
    Fault::protocol(Tag::InvalidValue, message).at_path(schema.path(id))
}
