//! NSO's errors for the address blocks of a pool: each is reported at the list entry that causes it.

use allod_core::config::{ConfigError, ConfigList, ConfigPart, ConfigRefusal};
use allod_core::requests::Subnet;
use allod_core::span::Span;
use allod_core::value::Kind;

use super::IpPool;
use super::nodes::NetworkNodes;
use crate::error::RestconfError;
use crate::resource_pools::kind::{BACKWARDS, PoolLocation};
use crate::tree::{DataNode, Siblings};

pub(super) const RANGE_VERSIONS: &str = "IP addresses defining a range must agree on IP version.";
pub(super) const VERSIONS: &str = "Subnets and ranges of a pool must agree on IP version.";
const TOO_LONG: &str = "cidrmask is too long";

impl IpPool {
    pub(super) fn network_error(
        &self,
        location: &PoolLocation<'_>,
        pool: &DataNode,
        refusal: &ConfigRefusal,
    ) -> RestconfError {
        let kind = refusal.kind;
        let entry_of = |part: ConfigPart| {
            self.last_entry(pool, part.list, |span, _| span == part.span, kind.width())
        };
        let (entry, message) = match refusal.error {
            ConfigError::PrefixTooLong { list, subnet } => {
                let is_it = |_, written| Some(subnet) == written;
                (self.last_entry(pool, list, is_it, kind.width()), TOO_LONG.to_owned())
            }
            ConfigError::Backwards { list, first, last } => {
                let part = ConfigPart { list, span: Span { first, last } };
                (entry_of(part), BACKWARDS.to_owned())
            }
            ConfigError::Overlap { one, other } => (entry_of(other), overlap(kind, one, other)),
            ConfigError::ExclusionOutside(part) => (entry_of(part), outside(&kind.show(part.span))),
            // Does not occur: the entries are of the pool's IP version, and a pool may be empty.
            ConfigError::OutsideKind(_) | ConfigError::NoRange => (None, refusal.to_string()),
        };
        match entry {
            Some(entry) => location.wrong_entry(entry, message),
            None => location.wrong([], message),
        }
    }

    /// The last entry of the list that the function accepts by its addresses, and by the subnet as written.
    fn last_entry<'n>(
        &self,
        pool: &'n DataNode,
        list: ConfigList,
        is_it: impl Fn(Span, Option<Subnet>) -> bool,
        width: u32,
    ) -> Option<&'n DataNode> {
        let is_network = |list: &NetworkNodes, entry: &DataNode| {
            let subnet = list.read(entry).map(|(_, subnet)| subnet);
            subnet.is_some_and(|subnet| is_it(subnet.span(width), Some(subnet)))
        };
        let network = |list: &NetworkNodes| {
            pool.entries(list.node).filter(|entry| is_network(list, entry)).last()
        };
        let nodes = &self.list;
        match list {
            ConfigList::Subnets => network(&nodes.subnet),
            ConfigList::Exclude => network(&nodes.exclude),
            ConfigList::Ranges => {
                let is_range = |entry: &&DataNode| {
                    let ends = self.range(entry);
                    ends.is_some_and(|((_, first), (_, last))| is_it(Span { first, last }, None))
                };
                pool.entries(nodes.range).filter(is_range).last()
            }
            ConfigList::Manual | ConfigList::Draining => None,
        }
    }
}

/// The text for an exclusion that no subnet contains.
pub(super) fn outside(exclusion: &str) -> String {
    format!("No subnet contains exclusion {exclusion} in ip pool")
}

fn overlap(kind: Kind, one: ConfigPart, other: ConfigPart) -> String {
    let name = |part: ConfigPart| match part.list {
        ConfigList::Ranges => {
            format!("{{{} {}}}", kind.point(part.span.first), kind.point(part.span.last))
        }
        _ => kind.show(part.span),
    };
    let (one_name, other_name) = (name(one), name(other));
    match (one.list, other.list) {
        (ConfigList::Exclude, _) => format!("Exclusions {one_name} and {other_name} overlap"),
        (ConfigList::Ranges, ConfigList::Ranges) => {
            format!("Range {one_name} overlaps range {other_name}")
        }
        (ConfigList::Ranges, _) => format!("Subnet {other_name} overlaps range {one_name}"),
        (_, ConfigList::Ranges) => format!("Range {other_name} overlaps subnet {one_name}"),
        _ => format!("Subnets {one_name} and {other_name} overlap"),
    }
}
