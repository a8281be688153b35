//! Nodes of a site's own YANG modules below pools and requests. The core stores each as text; its meaning is in the schema.
//!
//! A stored node that the present schema does not know, or does not allow, stays stored and is not shown: the operator may
//! have removed its module for a while.

use std::sync::Arc;

use allod_core::requests::{SiteNode, SiteNodes, SiteValue};
use hashbrown::HashSet;

use super::kind::PoolNodes;
use crate::codec::{self, ChunkBuffer, DataWriter, Dialect, Encoding};
use crate::tree::{DataNode, NodeBody, NodeSource, Siblings};
use crate::yang::{NodeId, NodeKind, Schema, YangError, spelled};

/// Where site modules can add nodes to a kind of pool.
#[derive(Debug)]
pub(crate) struct SiteSchema {
    schema: Arc<Schema>,
    /// The list entry of a pool.
    pool: SitePlace,
    /// The list entry of a request.
    entry: SitePlace,
    /// The parameters of a request.
    request: SitePlace,
}

#[derive(Debug)]
struct SitePlace {
    node: NodeId,
    /// The path of the place below the pool or the list entry, with a slash.
    prefix: &'static str,
    /// The nodes that site modules have added here.
    children: Vec<NodeId>,
}

impl SiteSchema {
    pub fn find(schema: &Arc<Schema>, nodes: &PoolNodes) -> SiteSchema {
        let place = |node: NodeId, prefix| {
            let own = |child: NodeId| super::MODULE_NAMES.contains(&module_of(schema, child));
            let children = schema.node(node).children.iter().copied();
            let children = children.filter(|child| !own(*child)).collect();
            SitePlace { node, prefix, children }
        };
        SiteSchema {
            schema: schema.clone(),
            pool: place(nodes.list, ""),
            entry: place(nodes.allocation, ""),
            request: place(nodes.request, "request/"),
        }
    }

    /// The nodes of a pool.
    pub fn pool_nodes(&self, site: &SiteNodes) -> Vec<DataNode> {
        self.pool.load(&self.schema, site)
    }

    /// The nodes of a request, beside its parameters.
    pub fn entry_nodes(&self, site: &SiteNodes) -> Vec<DataNode> {
        self.entry.load(&self.schema, site)
    }

    /// The nodes among the parameters of a request.
    pub fn request_nodes(&self, site: &SiteNodes) -> Vec<DataNode> {
        self.request.load(&self.schema, site)
    }

    /// Reads the nodes of a validated pool. `before`: those that it has.
    pub fn read_pool(&self, pool: &DataNode, before: Option<&SiteNodes>) -> SiteNodes {
        self.read(before, &[&self.pool], |_| pool.children())
    }

    /// Reads the nodes of a validated request. `before`: those that it has.
    pub fn read_request(&self, entry: &DataNode, before: Option<&SiteNodes>) -> SiteNodes {
        self.read(before, &[&self.entry, &self.request], |place| {
            if place.node == self.entry.node {
                return entry.children();
            }
            entry.children().child(place.node).map(DataNode::children).unwrap_or_default()
        })
    }

    fn read<'n>(
        &self,
        before: Option<&SiteNodes>,
        places: &[&SitePlace],
        children: impl Fn(&SitePlace) -> &'n [DataNode],
    ) -> SiteNodes {
        let mut all: Vec<SiteNode> = Vec::new();
        for place in places {
            all.extend(place.store(&self.schema, children(place)));
        }
        let before = before.map(|before| before.iter()).into_iter().flatten();
        let hidden = |node: &&SiteNode| {
            !places.iter().any(|place| place.load_one(&self.schema, node).is_some())
        };
        all.extend(before.filter(hidden).cloned());
        all.sort_unstable();
        all.into()
    }
}

impl SitePlace {
    /// The stored form of the site's nodes among these children.
    fn store(&self, schema: &Schema, children: &[DataNode]) -> Vec<SiteNode> {
        let store = |id: &NodeId| {
            let nodes: Vec<&DataNode> = children.iter().filter(|node| node.schema == *id).collect();
            let value = value_of(schema, *id, &nodes)?;
            let path = format!("{}{}", self.prefix, schema.full_name(*id)).into();
            Some(SiteNode { path, value })
        };
        self.children.iter().filter_map(store).collect()
    }

    fn load(&self, schema: &Schema, site: &SiteNodes) -> Vec<DataNode> {
        let loaded = site.iter().filter_map(|node| self.load_one(schema, node));
        loaded.flatten().collect()
    }

    /// The nodes of one stored node; `None` if it is of another place or does not fit the schema.
    fn load_one(&self, schema: &Schema, node: &SiteNode) -> Option<Vec<DataNode>> {
        let name = node.path.strip_prefix(self.prefix).filter(|name| !name.contains('/'))?;
        let known = self.children.iter().find(|child| schema.full_name(**child) == name)?;
        let mut document = b"{".to_vec();
        codec::json_text(&mut document, name);
        document.push(b':');
        match &node.value {
            SiteValue::Text(text) => codec::json_text(&mut document, text),
            SiteValue::Json(text) => document.extend_from_slice(text.as_bytes()),
        }
        document.push(b'}');
        let read = codec::read(schema, Some(self.node), Encoding::Json, &document).ok()?;
        read.iter().all(|one| one.schema == *known).then_some(read)
    }
}

/// The value of all siblings with this schema node; `None` if there are none, or only an empty container.
fn value_of(schema: &Schema, id: NodeId, nodes: &[&DataNode]) -> Option<SiteValue> {
    let is_implicit = schema.node(id).kind == NodeKind::Container { presence: false };
    let is_nothing = |node: &&DataNode| {
        is_implicit && matches!(&node.body, NodeBody::Inner(children) if children.is_empty())
    };
    let first = nodes.first().filter(|first| !is_nothing(first))?;
    let out = ChunkBuffer::whole();
    let mut writer = DataWriter::new(schema, Encoding::Json, Dialect::Rfc8040, out);
    nodes.iter().try_for_each(|node| node.walk(&mut writer)).ok()?;
    let document = String::from_utf8(writer.finish().ok()?).ok()?;
    let value = document.strip_prefix(&format!("{{\"{}\":", schema.full_name(id)))?;
    let value = value.strip_suffix('}')?;
    match first.value() {
        Some(text) if value.starts_with('"') => Some(SiteValue::Text(spelled(text))),
        _ => Some(SiteValue::Json(value.into())),
    }
}

fn module_of(schema: &Schema, node: NodeId) -> &str {
    &schema.module(schema.node(node).module).name
}

/// Checks that the modules of a site only add configuration to pools and requests: nothing else would be stored.
pub fn check_modules(schema: &Schema, site: &[&str]) -> Result<(), YangError> {
    let mut places = HashSet::new();
    for list in [super::id_pool::LIST, super::ip_pool::LIST] {
        for place in ["", "/allocation", "/allocation/request"] {
            places.extend(schema.find(&format!("{list}{place}")));
        }
    }
    let is_site = |node: NodeId| site.contains(&module_of(schema, node));
    for id in schema.node_ids().filter(|id| is_site(*id)) {
        let node = schema.node(id);
        let parent = node.parent;
        if !parent.is_some_and(|parent| is_site(parent) || places.contains(&parent)) {
            let message = format!(
                "'{}' cannot be added here: a site's module can augment id-pool, ip-address-pool, and their allocation and allocation/request",
                node.name
            );
            return Err(schema.error_at(id, message));
        }
        let is_data = matches!(
            node.kind,
            NodeKind::Container { .. }
                | NodeKind::List
                | NodeKind::Leaf
                | NodeKind::LeafList
                | NodeKind::Choice
                | NodeKind::Case
        );
        if !is_data || !node.config {
            let message =
                format!("'{}' is not configuration, and the server cannot provide it", node.name);
            return Err(schema.error_at(id, message));
        }
    }
    Ok(())
}
