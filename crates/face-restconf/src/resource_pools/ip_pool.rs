//! Pools of addresses and prefixes: all that is theirs alone.

mod nodes;
mod overlap;

use std::net::IpAddr;

use allod_core::requests::{
    AddressSupply, AlarmSettings, RequestPool, Subnet, Supply, Wanted, WantedPrefix, blocks_of,
};
use allod_core::span::Span;
use allod_core::view::requests::FrozenRequestPool;

use self::nodes::{Networks, Nodes};
use super::kind::{Holder, OperNodes, Place, PoolKind, PoolNodes};
use crate::fault::Fault;
use crate::tree::{Node, Siblings, Sink, Stopped, Value};
use crate::yang::{NodeId, Schema};

#[derive(Debug)]
pub(super) struct IpPool(Nodes);

impl IpPool {
    pub fn new(schema: &Schema) -> Result<IpPool, String> {
        Nodes::of(schema).map(IpPool)
    }

    /// The subnets, excludes and ranges of a pool, each with the entry that says so.
    fn written<'n>(&self, pool: &'n Node) -> Written<'n> {
        let networks = |list: &Networks| -> Vec<(bool, Subnet, &'n Node)> {
            let entries = pool.entries(list.node);
            let network = |entry: &'n Node| {
                let (six, address) = address_of(entry.text(list.address)?)?;
                let len = entry.uint(list.cidrmask).and_then(|len| u8::try_from(len).ok())?;
                Some((six, Subnet { address, len }, entry))
            };
            entries.filter_map(network).collect()
        };
        let range = |entry: &'n Node| {
            let from = address_of(entry.text(self.0.from)?)?;
            Some((from, address_of(entry.text(self.0.to)?)?, entry))
        };
        Written {
            subnets: networks(&self.0.subnet),
            exclude: networks(&self.0.exclude),
            ranges: pool.entries(self.0.range).filter_map(range).collect(),
        }
    }
}

/// What a pool consists of, as it was written: each with its version of IP and its entry.
struct Written<'n> {
    subnets: Vec<(bool, Subnet, &'n Node)>,
    exclude: Vec<(bool, Subnet, &'n Node)>,
    ranges: Vec<(Address, Address, &'n Node)>,
}

/// Whether it is of IPv6, and the number.
type Address = (bool, u128);

/// An address. What names a zone is passed over.
pub(super) fn address_of(text: &str) -> Option<Address> {
    let plain = text.split('%').next().unwrap_or_default();
    match plain.parse().ok()? {
        IpAddr::V4(address) => Some((false, u32::from(address).into())),
        IpAddr::V6(address) => Some((true, address.into())),
    }
}

fn given(config: &RequestPool) -> Option<&AddressSupply> {
    match &config.supply {
        Supply::Addresses(given) => Some(given),
        Supply::Ids(_) => None,
    }
}

/// The address and the length of a block.
fn block(config: &RequestPool, span: Span) -> (Value, u8) {
    let kind = config.kind();
    (Value::text(kind.point(span.first)), kind.prefix_len(span).unwrap_or_default())
}

/// The subnet, or the block of a range, that has all of the value. Both are in the order of their addresses.
fn from(given: &AddressSupply, value: Span) -> Option<Span> {
    let width = given.width();
    let after = given.subnets.partition_point(|subnet| subnet.span(width).first <= value.first);
    let subnet = after.checked_sub(1).map(|at| given.subnets[at].span(width));
    let after = given.ranges.partition_point(|(from, _)| *from <= value.first);
    let range = after.checked_sub(1).map(|at| given.ranges[at]);
    let blocks = range.into_iter().flat_map(|(first, last)| blocks_of(Span { first, last }));
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
        given(config).is_some()
    }

    fn config_nodes(&self, config: &RequestPool) -> Vec<Node> {
        let (Some(given), kind) = (given(config), config.kind()) else { return Vec::new() };
        let redeploy = given.auto_redeploy.map(|on| (self.0.auto_redeploy, Value::Bool(on)));
        let method = given.sequential.map(|on| if on { "sequential" } else { "firstfree" });
        let method = method.map(|method| (self.0.method, Value::text(method)));
        let leaves = redeploy.into_iter().chain(method);
        let mut nodes: Vec<Node> = leaves.map(|(leaf, value)| Node::leaf(leaf, value)).collect();
        let point = |address| Value::text(kind.point(address));
        for (list, subnets) in [(&self.0.subnet, &given.subnets), (&self.0.exclude, &given.exclude)]
        {
            nodes.extend(subnets.iter().map(|one| list.entry(point(one.address), one.len)));
        }
        for (from, to) in &given.ranges {
            let leaves = [(self.0.from, *from), (self.0.to, *to)];
            let leaves = leaves.map(|(leaf, address)| Node::leaf(leaf, point(address)));
            nodes.push(Node::inner(self.0.range, leaves.to_vec()));
        }
        let low = config.alarms.low.map(|low| Node::leaf(self.0.low, Value::Uint(low.into())));
        let enabled =
            config.alarms.enabled.then(|| Node::leaf(self.0.alarms_enabled, Value::Empty));
        let alarms: Vec<Node> = enabled.into_iter().chain(low).collect();
        if !alarms.is_empty() {
            nodes.push(Node::inner(self.0.alarms, alarms));
        }
        nodes
    }

    fn config(
        &self,
        place: &Place<'_>,
        pool: &Node,
        before: Option<&RequestPool>,
    ) -> Result<RequestPool, Fault> {
        let written = self.written(pool);
        // A pool that has nothing any more stays what it was.
        let was_six = before.and_then(given).is_some_and(|given| given.six);
        let six = overlap::checked(place, &written)?.unwrap_or(was_six);
        let mut given = AddressSupply {
            six,
            subnets: written.subnets.iter().map(|(_, subnet, _)| *subnet).collect(),
            exclude: written.exclude.iter().map(|(_, subnet, _)| *subnet).collect(),
            ranges: written.ranges.iter().map(|(from, to, _)| (from.1, to.1)).collect(),
            auto_redeploy: pool.bool(self.0.auto_redeploy),
            sequential: pool.text(self.0.method).map(|method| method == "sequential"),
        };
        given.subnets.sort_unstable();
        given.exclude.sort_unstable();
        given.ranges.sort_unstable();
        let alarms = pool.child(self.0.alarms);
        let low = alarms.and_then(|alarms| alarms.uint(self.0.low));
        let alarms = AlarmSettings {
            enabled: alarms.is_some_and(|alarms| alarms.child(self.0.alarms_enabled).is_some()),
            low: low.and_then(|low| u8::try_from(low).ok()),
            ..AlarmSettings::default()
        };
        Ok(RequestPool { supply: Supply::Addresses(given), alarms })
    }

    fn request_nodes(&self, want: &Wanted) -> Vec<Node> {
        let Wanted::Prefix(want) = want else { return Vec::new() };
        let mut nodes = vec![Node::leaf(self.0.size, Value::Uint(want.size.into()))];
        nodes.extend(want.start.map(|(six, address)| {
            let given = AddressSupply { six, ..AddressSupply::default() };
            Node::leaf(self.0.start, Value::text(given.kind().point(address)))
        }));
        nodes.extend(want.invert.then(|| Node::leaf(self.0.invert, Value::Empty)));
        nodes
    }

    fn wanted(&self, request: &[Node]) -> Result<Wanted, Fault> {
        let size = request.uint(self.0.size).and_then(|size| u8::try_from(size).ok());
        Ok(Wanted::Prefix(WantedPrefix {
            size: size.unwrap_or_default(),
            invert: request.child(self.0.invert).is_some(),
            start: request.text(self.0.start).and_then(address_of),
        }))
    }

    fn granted_nodes(&self, config: &RequestPool, value: Span) -> Vec<Node> {
        let show = |span| Value::text(config.kind().show(span));
        let mut nodes = vec![Node::leaf(self.0.granted, show(value))];
        let from = given(config).and_then(|given| from(given, value));
        nodes.extend(from.map(|block| Node::leaf(self.0.granted_from, show(block))));
        nodes
    }

    fn spelled(&self, config: &RequestPool, value: Span) -> String {
        config.kind().show(value)
    }

    fn show_free(
        &self,
        pool: &FrozenRequestPool,
        part: Option<NodeId>,
        sink: &mut dyn Sink,
    ) -> Result<(), Stopped> {
        let Some(given) = given(&pool.config) else { return Ok(()) };
        let wanted = |list: &Networks| part.is_none_or(|part| part == list.node);
        let written =
            |subnet: &Subnet| (Value::text(given.kind().point(subnet.address)), subnet.len);
        if wanted(&self.0.oper_subnet) {
            let mut shown: Vec<(u128, u8, Value)> = Vec::new();
            for subnet in &given.subnets {
                let (address, len) = written(subnet);
                shown.push((subnet.address, len, address));
            }
            for span in given.blocks() {
                let (address, len) = block(&pool.config, span);
                shown.push((span.first, len, address));
            }
            shown.sort_unstable();
            shown.dedup();
            for (_, len, address) in shown {
                self.0.oper_subnet.show(address, len, sink)?;
            }
        }
        if wanted(&self.0.oper_exclude) {
            for subnet in &given.exclude {
                let (address, len) = written(subnet);
                self.0.oper_exclude.show(address, len, sink)?;
            }
        }
        if wanted(&self.0.oper_available) {
            for span in pool.free.iter().flat_map(|free| blocks_of(*free)) {
                let (address, len) = block(&pool.config, span);
                self.0.oper_available.show(address, len, sink)?;
            }
        }
        Ok(())
    }

    fn value_of(&self, config: &RequestPool, keys: &[Value]) -> Option<Span> {
        let [Value::Text(address), Value::Uint(len)] = keys else { return None };
        let ((six, address), len) = (address_of(address)?, u8::try_from(*len).ok()?);
        let subnet = Subnet { address, len };
        let span = subnet.span(config.kind().width());
        let fits = given(config)?.six == six && u32::from(len) <= config.kind().width();
        Some(span).filter(|span| fits && span.first == address)
    }

    fn show_held(
        &self,
        config: &RequestPool,
        value: Span,
        holder: &Holder,
        sink: &mut dyn Sink,
    ) -> Result<(), Stopped> {
        if !sink.open(self.0.held.node)? {
            return Ok(());
        }
        let (address, len) = block(config, value);
        sink.leaf(self.0.held.address, &address)?;
        sink.leaf(self.0.held.cidrmask, &Value::Uint(len.into()))?;
        sink.leaf(self.0.held_owner, &Value::text(&*holder.owner))?;
        if let Some(user) = &holder.user {
            sink.leaf(self.0.held_user, &Value::Text(user.clone()))?;
        }
        sink.leaf(self.0.held_key, &Value::Text(holder.key.clone()))?;
        sink.close()
    }
}
