//! The pool kind of IP addresses and prefixes.

mod nodes;
mod overlap;

use std::net::IpAddr;

use allod_core::requests::{
    AddressSupply, AlarmSettings, RequestPool, Subnet, Supply, Wanted, WantedPrefix,
};
use allod_core::span::Span;
use allod_core::view::requests::FrozenRequestPool;

use self::nodes::{IpPoolNodes, NetworkNodes};
use super::kind::{OperNodes, PoolKind, PoolLocation, PoolNodes, ResourceHolder};
use crate::error::Result;
use crate::tree::{DataNode, LeafValue, NodeSink, Siblings, WalkStopped, write_inner};
use crate::yang::{NodeId, Schema};

#[derive(Debug)]
pub(super) struct IpPool(IpPoolNodes);

impl IpPool {
    pub fn new(schema: &Schema) -> Result<IpPool, String> {
        IpPoolNodes::of(schema).map(IpPool)
    }

    /// Reads the subnets, exclusions and ranges of a pool, each with its list entry.
    fn written<'n>(&self, pool: &'n DataNode) -> WrittenNetworks<'n> {
        let networks = |list: &NetworkNodes| -> Vec<(bool, Subnet, &'n DataNode)> {
            let entries = pool.entries(list.node);
            let network = |entry: &'n DataNode| {
                let (six, address) = address_of(entry.text(list.address)?)?;
                let len = entry.uint(list.cidrmask).and_then(|len| u8::try_from(len).ok())?;
                Some((six, Subnet { address, len }, entry))
            };
            entries.filter_map(network).collect()
        };
        let range = |entry: &'n DataNode| {
            let from = address_of(entry.text(self.0.from)?)?;
            Some((from, address_of(entry.text(self.0.to)?)?, entry))
        };
        WrittenNetworks {
            subnets: networks(&self.0.subnet),
            exclude: networks(&self.0.exclude),
            ranges: pool.entries(self.0.range).filter_map(range).collect(),
        }
    }
}

/// The address blocks of a pool as written, each with its IP version and list entry.
struct WrittenNetworks<'n> {
    subnets: Vec<(bool, Subnet, &'n DataNode)>,
    exclude: Vec<(bool, Subnet, &'n DataNode)>,
    ranges: Vec<(Address, Address, &'n DataNode)>,
}

type Address = (bool, u128);

/// Parses an address, without its zone.
pub(super) fn address_of(text: &str) -> Option<Address> {
    let plain = text.split('%').next().unwrap_or_default();
    match plain.parse().ok()? {
        IpAddr::V4(address) => Some((false, u32::from(address).into())),
        IpAddr::V6(address) => Some((true, address.into())),
    }
}

fn supply(config: &RequestPool) -> Option<&AddressSupply> {
    match &config.supply {
        Supply::Addresses(supply) => Some(supply),
        Supply::Ids(_) => None,
    }
}

/// The address and the prefix length of a block.
fn block(config: &RequestPool, span: Span) -> (LeafValue, u8) {
    let kind = config.kind();
    (LeafValue::text(kind.point(span.first)), kind.prefix_len(span).unwrap_or_default())
}

/// The subnet, or the block of a range, that contains the value. Both lists are in address order.
fn from(supply: &AddressSupply, value: Span) -> Option<Span> {
    let width = supply.width();
    let after = supply.subnets.partition_point(|subnet| subnet.span(width).first <= value.first);
    let subnet = after.checked_sub(1).map(|at| supply.subnets[at].span(width));
    let after = supply.ranges.partition_point(|(from, _)| *from <= value.first);
    let range = after.checked_sub(1).map(|at| supply.ranges[at]);
    let blocks =
        range.into_iter().flat_map(|(first, last)| Span { first, last }.aligned_blocks(128));
    subnet.into_iter().chain(blocks).find(|block| block.covers(value))
}

impl PoolKind for IpPool {
    fn nodes(&self) -> &PoolNodes {
        &self.0.pool
    }

    fn oper(&self) -> &OperNodes {
        &self.0.oper
    }

    fn is(&self, config: &RequestPool) -> bool {
        supply(config).is_some()
    }

    fn config_nodes(&self, config: &RequestPool) -> Vec<DataNode> {
        let (Some(supply), kind) = (supply(config), config.kind()) else { return Vec::new() };
        let redeploy = supply.auto_redeploy.map(|on| (self.0.auto_redeploy, LeafValue::Bool(on)));
        let method = supply.sequential.map(|on| if on { "sequential" } else { "firstfree" });
        let method = method.map(|method| (self.0.method, LeafValue::text(method)));
        let leaves = redeploy.into_iter().chain(method);
        let mut nodes: Vec<DataNode> =
            leaves.map(|(leaf, value)| DataNode::leaf(leaf, value)).collect();
        let point = |address| LeafValue::text(kind.point(address));
        for (list, subnets) in
            [(&self.0.subnet, &supply.subnets), (&self.0.exclude, &supply.exclude)]
        {
            nodes.extend(subnets.iter().map(|one| list.entry(point(one.address), one.len)));
        }
        for (from, to) in &supply.ranges {
            let leaves = [(self.0.from, *from), (self.0.to, *to)];
            let leaves = leaves.map(|(leaf, address)| DataNode::leaf(leaf, point(address)));
            nodes.push(DataNode::inner(self.0.range, leaves.to_vec()));
        }
        let low =
            config.alarms.low.map(|low| DataNode::leaf(self.0.low, LeafValue::Uint(low.into())));
        let enabled =
            config.alarms.enabled.then(|| DataNode::leaf(self.0.alarms_enabled, LeafValue::Empty));
        let alarms: Vec<DataNode> = enabled.into_iter().chain(low).collect();
        if !alarms.is_empty() {
            nodes.push(DataNode::inner(self.0.alarms, alarms));
        }
        nodes
    }

    fn config(
        &self,
        location: &PoolLocation<'_>,
        pool: &DataNode,
        before: Option<&RequestPool>,
    ) -> Result<RequestPool> {
        let written = self.written(pool);
        // An empty pool keeps its IP version.
        let was_six = before.and_then(supply).is_some_and(|supply| supply.six);
        let six = overlap::check(location, &written)?.unwrap_or(was_six);
        let mut supply = AddressSupply {
            six,
            subnets: written.subnets.iter().map(|(_, subnet, _)| *subnet).collect(),
            exclude: written.exclude.iter().map(|(_, subnet, _)| *subnet).collect(),
            ranges: written.ranges.iter().map(|(from, to, _)| (from.1, to.1)).collect(),
            auto_redeploy: pool.bool(self.0.auto_redeploy),
            sequential: pool.text(self.0.method).map(|method| method == "sequential"),
        };
        supply.subnets.sort_unstable();
        supply.exclude.sort_unstable();
        supply.ranges.sort_unstable();
        let alarms = pool.child(self.0.alarms);
        let low = alarms.and_then(|alarms| alarms.uint(self.0.low));
        let alarms = AlarmSettings {
            enabled: alarms.is_some_and(|alarms| alarms.child(self.0.alarms_enabled).is_some()),
            low: low.and_then(|low| u8::try_from(low).ok()),
            ..AlarmSettings::default()
        };
        Ok(RequestPool { supply: Supply::Addresses(supply), alarms })
    }

    fn request_nodes(&self, want: &Wanted) -> Vec<DataNode> {
        let Wanted::Prefix(want) = want else { return Vec::new() };
        let mut nodes = vec![DataNode::leaf(self.0.size, LeafValue::Uint(want.size.into()))];
        nodes.extend(want.start.map(|(six, address)| {
            let supply = AddressSupply { six, ..AddressSupply::default() };
            DataNode::leaf(self.0.start, supply.kind().point(address))
        }));
        nodes.extend(want.invert.then(|| DataNode::leaf(self.0.invert, LeafValue::Empty)));
        nodes
    }

    fn wanted(&self, request: &[DataNode]) -> Result<Wanted> {
        let size = request.uint(self.0.size).and_then(|size| u8::try_from(size).ok());
        Ok(Wanted::Prefix(WantedPrefix {
            size: size.unwrap_or_default(),
            invert: request.child(self.0.invert).is_some(),
            start: request.text(self.0.start).and_then(address_of),
        }))
    }

    fn granted_nodes(&self, config: &RequestPool, value: Span) -> Vec<DataNode> {
        let show = |span| LeafValue::text(config.kind().show(span));
        let mut nodes = vec![DataNode::leaf(self.0.granted, show(value))];
        let from = supply(config).and_then(|supply| from(supply, value));
        nodes.extend(from.map(|block| DataNode::leaf(self.0.granted_from, show(block))));
        nodes
    }

    fn value_text(&self, config: &RequestPool, value: Span) -> String {
        config.kind().show(value)
    }

    fn show_free(
        &self,
        pool: &FrozenRequestPool,
        part: Option<NodeId>,
        sink: &mut dyn NodeSink,
    ) -> Result<(), WalkStopped> {
        let Some(supply) = supply(&pool.config) else { return Ok(()) };
        let wanted = |list: &NetworkNodes| part.is_none_or(|part| part == list.node);
        let written =
            |subnet: &Subnet| (LeafValue::text(supply.kind().point(subnet.address)), subnet.len);
        if wanted(&self.0.oper_subnet) {
            let mut blocks: Vec<(u128, u8, LeafValue)> = Vec::new();
            for subnet in &supply.subnets {
                let (address, len) = written(subnet);
                blocks.push((subnet.address, len, address));
            }
            for span in supply.blocks() {
                let (address, len) = block(&pool.config, span);
                blocks.push((span.first, len, address));
            }
            blocks.sort_unstable();
            blocks.dedup();
            for (_, len, address) in blocks {
                self.0.oper_subnet.show(address, len, sink)?;
            }
        }
        if wanted(&self.0.oper_exclude) {
            for subnet in &supply.exclude {
                let (address, len) = written(subnet);
                self.0.oper_exclude.show(address, len, sink)?;
            }
        }
        if wanted(&self.0.oper_available) {
            for span in pool.free.iter().flat_map(|free| free.aligned_blocks(128)) {
                let (address, len) = block(&pool.config, span);
                self.0.oper_available.show(address, len, sink)?;
            }
        }
        Ok(())
    }

    fn value_of(&self, config: &RequestPool, keys: &[LeafValue]) -> Option<Span> {
        let [LeafValue::Text(address), LeafValue::Uint(len)] = keys else { return None };
        let ((six, address), len) = (address_of(address)?, u8::try_from(*len).ok()?);
        let subnet = Subnet { address, len };
        let span = subnet.span(config.kind().width());
        let fits = supply(config)?.six == six && u32::from(len) <= config.kind().width();
        Some(span).filter(|span| fits && span.first == address)
    }

    fn show_held(
        &self,
        config: &RequestPool,
        value: Span,
        holder: &ResourceHolder,
        sink: &mut dyn NodeSink,
    ) -> Result<(), WalkStopped> {
        write_inner(sink, self.0.held.node, |sink| {
            let (address, len) = block(config, value);
            sink.leaf(self.0.held.address, &address)?;
            sink.leaf(self.0.held.cidrmask, &LeafValue::Uint(len.into()))?;
            sink.leaf(self.0.held_owner, &LeafValue::text(&*holder.owner))?;
            if let Some(user) = &holder.user {
                sink.leaf(self.0.held_user, &LeafValue::Text(user.clone()))?;
            }
            sink.leaf(self.0.held_key, &LeafValue::Text(holder.key.clone()))
        })
    }
}
