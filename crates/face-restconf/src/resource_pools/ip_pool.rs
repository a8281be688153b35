//! The pool kind of IP addresses and prefixes.

mod config_errors;
mod nodes;

use std::sync::Arc;

use allod_core::config::ConfigRefusal;
use allod_core::requests::{AddressSupply, RequestPool, Subnet, Supply, Wanted, WantedPrefix};
use allod_core::span::Span;
use allod_core::value::{IpVersion, Kind};
use allod_core::view::requests::FrozenRequestPool;

use self::nodes::{IpListNodes, IpOperNodes, NetworkNodes};
use super::kind::{OperNodes, PoolKind, PoolLocation, PoolNodes, ResourceHolder};
use super::outside::ensure_follows;
use super::site::SiteSchema;
use crate::error::{RestconfError, Result};
use crate::tree::{DataNode, LeafValue, NodeSink, NodeSource, Siblings, Walk, write_inner};
use crate::yang::{NodeId, Schema};

pub(super) const LIST: &str =
    "/resource-allocator:resource-pools/ipaddress-allocator:ip-address-pool";
const OPER: &str = "/ipaddress-allocator-oper:ip-allocator";

#[derive(Debug)]
pub(super) struct IpPool {
    list: IpListNodes,
    oper: IpOperNodes,
    site: SiteSchema,
}

impl IpPool {
    pub fn new(schema: &Arc<Schema>) -> Result<IpPool, String> {
        let list = IpListNodes::find(schema, LIST)?;
        let oper = IpOperNodes::find(schema, OPER)?;
        let site = SiteSchema::find(schema, &list.pool);
        Ok(IpPool { list, oper, site })
    }

    /// The first and the last address of an entry of the ranges.
    fn range(&self, entry: &DataNode) -> Option<(Address, Address)> {
        let address = |leaf| entry.text(leaf).and_then(address_of);
        address(self.list.from).zip(address(self.list.to))
    }

    /// Reads the subnets, exclusions and ranges of a pool. They must be of one IP version; an empty pool has `version`.
    fn addresses(
        &self,
        location: &PoolLocation<'_>,
        pool: &DataNode,
        version: IpVersion,
    ) -> Result<AddressSupply> {
        let mut supply = AddressSupply { version, ..AddressSupply::default() };
        let mut agreed = None;
        let mut agree = |entry: &DataNode, version: IpVersion| match agreed.get_or_insert(version) {
            agreed if *agreed == version => Ok(()),
            _ => Err(location.wrong_entry(entry, config_errors::VERSIONS)),
        };
        for entry in pool.entries(self.list.subnet.node) {
            let Some((version, subnet)) = self.list.subnet.read(entry) else { continue };
            agree(entry, version)?;
            supply.subnets.push(subnet);
        }
        for entry in pool.entries(self.list.range) {
            let Some(((version, from), (to_version, to))) = self.range(entry) else { continue };
            if version != to_version {
                return Err(location.wrong_entry(entry, config_errors::RANGE_VERSIONS));
            }
            agree(entry, version)?;
            supply.ranges.push((from, to));
        }
        supply.version = agreed.unwrap_or(version);
        for entry in pool.entries(self.list.exclude.node) {
            let Some((version, subnet)) = self.list.exclude.read(entry) else { continue };
            if version != supply.version {
                let text = version.prefix_kind().show(subnet.span(version.width()));
                return Err(location.wrong_entry(entry, config_errors::outside(&text)));
            }
            supply.exclude.push(subnet);
        }
        supply.subnets.sort_unstable();
        supply.exclude.sort_unstable();
        supply.ranges.sort_unstable();
        Ok(supply)
    }
}

type Address = (IpVersion, u128);

/// Parses an address, without its zone.
pub(super) fn address_of(text: &str) -> Option<Address> {
    let plain = text.split('%').next().unwrap_or_default();
    plain.parse().ok().map(IpVersion::split)
}

fn supply(config: &RequestPool) -> Option<&AddressSupply> {
    match &config.supply {
        Supply::Addresses(supply) => Some(supply),
        Supply::Ids(_) => None,
    }
}

/// An aligned block as a subnet.
fn subnet_of(kind: Kind, block: Span) -> Subnet {
    Subnet { address: block.first, len: kind.prefix_len(block).unwrap_or_default() }
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
    fn label(&self) -> &'static str {
        "ip-address-pool"
    }

    fn nodes(&self) -> &PoolNodes {
        &self.list.pool
    }

    fn site(&self) -> &SiteSchema {
        &self.site
    }

    fn oper(&self) -> &OperNodes {
        &self.oper.common
    }

    fn is(&self, config: &RequestPool) -> bool {
        supply(config).is_some()
    }

    fn config_nodes(&self, config: &RequestPool) -> Vec<DataNode> {
        let (Some(supply), kind) = (supply(config), config.kind()) else { return Vec::new() };
        let list = &self.list;
        let method = supply.sequential.map(|on| if on { "sequential" } else { "firstfree" });
        let redeploy = supply.auto_redeploy.map(|on| DataNode::leaf(list.auto_redeploy, on));
        let method = method.map(|method| DataNode::leaf(list.method, method));
        let mut nodes: Vec<DataNode> = redeploy.into_iter().chain(method).collect();
        nodes.extend(supply.subnets.iter().map(|subnet| list.subnet.entry(kind, *subnet)));
        nodes.extend(supply.exclude.iter().map(|subnet| list.exclude.entry(kind, *subnet)));
        nodes.extend(supply.ranges.iter().map(|&(from, to)| {
            let leaves = [(list.from, from), (list.to, to)];
            let leaves = leaves.map(|(leaf, address)| DataNode::leaf(leaf, kind.point(address)));
            DataNode::inner(list.range, leaves.to_vec())
        }));
        nodes.extend(list.alarms.write(&config.alarms, &[]));
        nodes
    }

    fn config(
        &self,
        location: &PoolLocation<'_>,
        pool: &DataNode,
        before: Option<&RequestPool>,
    ) -> Result<RequestPool> {
        let version = before.and_then(supply).map(|supply| supply.version);
        let mut supply = self.addresses(location, pool, version.unwrap_or_default())?;
        supply.auto_redeploy = pool.bool(self.list.auto_redeploy);
        supply.sequential = pool.text(self.list.method).map(|method| method == "sequential");
        let alarms = self.list.alarms.read(pool, None, None);
        Ok(RequestPool::new(Supply::Addresses(supply), alarms))
    }

    fn config_error(
        &self,
        location: &PoolLocation<'_>,
        pool: &DataNode,
        refusal: &ConfigRefusal,
    ) -> RestconfError {
        self.network_error(location, pool, refusal)
    }

    fn wants(&self, want: &Wanted) -> bool {
        matches!(want, Wanted::Prefix(_))
    }

    fn request_nodes(&self, want: &Wanted) -> Vec<DataNode> {
        let Wanted::Prefix(want) = want else { return Vec::new() };
        let mut nodes = vec![DataNode::leaf(self.list.size, want.size)];
        nodes.extend(want.start.map(|(version, address)| {
            DataNode::leaf(self.list.start, version.prefix_kind().point(address))
        }));
        nodes.extend(want.invert.then(|| DataNode::leaf(self.list.invert, LeafValue::Empty)));
        nodes
    }

    fn wanted(&self, request: &[DataNode]) -> Wanted {
        Wanted::Prefix(WantedPrefix {
            size: request.number(self.list.size).unwrap_or_default(),
            invert: request.child(self.list.invert).is_some(),
            start: request.text(self.list.start).and_then(address_of),
        })
    }

    fn granted_nodes(&self, config: &RequestPool, value: Span) -> Vec<DataNode> {
        let show = |span| LeafValue::text(config.kind().show(span));
        let mut nodes = vec![DataNode::leaf(self.list.granted, show(value))];
        let from = supply(config).and_then(|supply| from(supply, value));
        nodes.extend(from.map(|block| DataNode::leaf(self.list.granted_from, show(block))));
        nodes
    }

    fn granted_value(
        &self,
        config: &RequestPool,
        response: &[DataNode],
    ) -> Result<Option<Span>, String> {
        let given = response.child(self.list.granted_from).and_then(DataNode::value);
        let Some(text) = response.text(self.list.granted) else {
            ensure_follows(given, None, "from")?;
            return Ok(None);
        };
        let value = config.kind().parse(text).map_err(|error| error.to_string())?;
        let follows = self.granted_nodes(config, value);
        let from = follows.child(self.list.granted_from).and_then(DataNode::value);
        ensure_follows(given, from, "from")?;
        Ok(Some(value))
    }

    fn value_text(&self, config: &RequestPool, value: Span) -> String {
        config.kind().show(value)
    }

    fn show_free(
        &self,
        pool: &FrozenRequestPool,
        part: Option<NodeId>,
        sink: &mut dyn NodeSink,
    ) -> Walk {
        let (Some(supply), oper) = (supply(&pool.config), &self.oper) else { return Ok(()) };
        let (kind, wanted) =
            (supply.kind(), |list: &NetworkNodes| part.is_none_or(|part| part == list.node));
        if wanted(&oper.subnet) {
            let blocks = supply.blocks().into_iter().map(|block| subnet_of(kind, block));
            let mut subnets: Vec<Subnet> = supply.subnets.iter().copied().chain(blocks).collect();
            subnets.sort_unstable();
            subnets.dedup();
            subnets.into_iter().try_for_each(|one| oper.subnet.entry(kind, one).walk(sink))?;
        }
        if wanted(&oper.exclude) {
            supply.exclude.iter().try_for_each(|one| oper.exclude.entry(kind, *one).walk(sink))?;
        }
        if wanted(&oper.available) {
            for block in pool.free().iter().flat_map(|free| free.aligned_blocks(128)) {
                oper.available.entry(kind, subnet_of(kind, block)).walk(sink)?;
            }
        }
        Ok(())
    }

    fn value_of(&self, config: &RequestPool, keys: &[LeafValue]) -> Option<Span> {
        let [LeafValue::Text(address), LeafValue::Uint(len)] = keys else { return None };
        let ((version, address), len) = (address_of(address)?, u8::try_from(*len).ok()?);
        let subnet = Subnet { address, len };
        let span = subnet.span(config.kind().width());
        let fits = supply(config)?.version == version && u32::from(len) <= config.kind().width();
        Some(span).filter(|span| fits && span.first == address)
    }

    fn show_held(
        &self,
        config: &RequestPool,
        value: Span,
        holder: &ResourceHolder,
        sink: &mut dyn NodeSink,
    ) -> Walk {
        let (oper, kind) = (&self.oper, config.kind());
        write_inner(sink, oper.held.node, |sink| {
            sink.value(oper.held.address, kind.point(value.first))?;
            sink.value(oper.held.cidrmask, kind.prefix_len(value).unwrap_or_default())?;
            sink.value(oper.held_owner, &*holder.owner)?;
            if let Some(user) = &holder.user {
                sink.value(oper.held_user, user)?;
            }
            sink.value(oper.held_key, &holder.key)
        })
    }
}
