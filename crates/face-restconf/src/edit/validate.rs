//! Validates a tree: mandatory nodes, duplicates, choices, `min-elements` and `max-elements`, `unique`.
//!
//! Nodes with a `when` are treated as optional, because conditions are not evaluated here.

use hashbrown::HashSet;

use crate::error::{ErrorTag, RestconfError, Result, invalid_value};
use crate::tree::{DataNode, LeafValue, Siblings};
use crate::yang::{InCase, NodeId, NodeKind, Schema};

/// Validates the node and everything below it, except state within configuration.
pub fn validate(schema: &Schema, node: &DataNode) -> Result<()> {
    if schema.is_leaf(node.schema) {
        return Ok(());
    }
    siblings(schema, node.schema, node.children())?;
    node.children().iter().try_for_each(|child| validate(schema, child))
}

/// Validates the input of an RPC or an action.
pub fn validate_input(schema: &Schema, operation: NodeId, input: &[DataNode]) -> Result<()> {
    let Some(id) = schema.input(operation) else { return Ok(()) };
    siblings(schema, id, input)?;
    input.iter().try_for_each(|child| validate(schema, child))
}

fn siblings(schema: &Schema, parent: NodeId, children: &[DataNode]) -> Result<()> {
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
            NodeKind::Leaf if node.mandatory && expected && entries == 0 => {
                return Err(absent(schema, id));
            }
            NodeKind::Container { presence: false } if expected && entries == 0 => {
                siblings(schema, id, &[])?
            }
            NodeKind::Leaf | NodeKind::Container { .. } if entries > 1 => {
                return Err(duplicate(schema, id));
            }
            NodeKind::List | NodeKind::LeafList => {
                let (min, max) = (node.min_elements as usize, node.max_elements);
                if expected && entries < min {
                    return Err(number(schema, id, entries, &format!("at least {min}")));
                }
                if let Some(max) = max.filter(|max| entries > *max as usize) {
                    return Err(number(schema, id, entries, &format!("at most {max}")));
                }
                ensure_unique(schema, id, children)?;
            }
            _ => {}
        }
    }
    mandatory_choices(schema, parent, children)
}

/// Checks that no two siblings are in different cases of a choice.
fn cases(schema: &Schema, children: &[DataNode]) -> Result<()> {
    let mut chosen: Vec<InCase> = Vec::new();
    for child in children {
        for within in &schema.node(child.schema).cases {
            match chosen.iter().find(|one| one.choice == within.choice) {
                None => chosen.push(*within),
                Some(one) if one.case == within.case => {}
                Some(_) => {
                    let choice = &schema.node(schema.choice(within.choice).node).name;
                    let message = format!("nodes of more than one case of the choice '{choice}'");
                    return Err(RestconfError::protocol(ErrorTag::BadElement, message)
                        .at_path(schema.path(child.schema)));
                }
            }
        }
    }
    Ok(())
}

/// Checks that each mandatory choice has a node, unless the choice itself is in a case that is not chosen.
fn mandatory_choices(schema: &Schema, parent: NodeId, children: &[DataNode]) -> Result<()> {
    let chosen =
        |case: &InCase| children.iter().any(|child| schema.node(child.schema).cases.contains(case));
    for id in &schema.node(parent).children {
        let cases = &schema.node(*id).cases;
        for (at, within) in cases.iter().enumerate() {
            let choice = schema.choice(within.choice);
            let node = schema.node(choice.node);
            let counts = node.when.is_none() && (node.config || !schema.node(parent).config);
            let present = |child: &DataNode| {
                schema.node(child.schema).cases.iter().any(|one| one.choice == within.choice)
            };
            if choice.mandatory
                && counts
                && cases[..at].iter().all(chosen)
                && !children.iter().any(present)
            {
                let message = format!("no case of the mandatory choice '{}'", node.name);
                return Err(RestconfError::protocol(ErrorTag::MissingElement, message)
                    .at_path(schema.path(parent)));
            }
        }
    }
    Ok(())
}

fn ensure_unique(schema: &Schema, list: NodeId, children: &[DataNode]) -> Result<()> {
    let node = schema.node(list);
    let checked = match node.kind {
        NodeKind::List => !node.keys.is_empty(),
        _ => node.config,
    };
    let mut seen: HashSet<Vec<LeafValue>> = HashSet::new();
    for entry in children.iter().filter(|child| checked && child.schema == list) {
        let keys = entry.keys(schema);
        if keys.is_empty() {
            return Err(absent(schema, node.keys.first().copied().unwrap_or(list)));
        }
        if !seen.insert(keys) {
            return Err(duplicate(schema, list));
        }
    }
    for leaves in &node.unique {
        seen.clear();
        for entry in children.iter().filter(|child| child.schema == list) {
            // Entries that lack one of the leaves are not compared.
            let values = leaves.iter().map(|leaf| deep_value(schema, list, entry, *leaf).cloned());
            let Some(values) = values.collect::<Option<Vec<_>>>() else { continue };
            if !seen.insert(values) {
                let message = format!(
                    "two entries of '{}' have the same values of leaves that must be unique",
                    node.name
                );
                return Err(invalid_value(message).at_path(schema.path(list)));
            }
        }
    }
    Ok(())
}

/// The value of a leaf at any depth below an entry.
fn deep_value<'n>(
    schema: &Schema,
    list: NodeId,
    entry: &'n DataNode,
    leaf: NodeId,
) -> Option<&'n LeafValue> {
    let mut path = Vec::new();
    let mut at = leaf;
    while at != list {
        path.push(at);
        at = schema.node(at).parent?;
    }
    path.iter().rev().try_fold(entry, |node, id| node.child(*id))?.value()
}

fn absent(schema: &Schema, id: NodeId) -> RestconfError {
    let message = format!("'{}' is missing", schema.node(id).name);
    RestconfError::protocol(ErrorTag::MissingElement, message).at_path(schema.path(id))
}

fn duplicate(schema: &Schema, id: NodeId) -> RestconfError {
    let message = format!("'{}' occurs more than once", schema.node(id).name);
    invalid_value(message).at_path(schema.path(id))
}

fn number(schema: &Schema, id: NodeId, entries: usize, allowed: &str) -> RestconfError {
    let message =
        format!("'{}' has {entries} entries; there must be {allowed}", schema.node(id).name);
    invalid_value(message).at_path(schema.path(id))
}
