//! Validation of the configuration of pools, and its refusals.
//!
//! `decide` validates every configuration. A face may validate earlier, to report the error at the right element. The
//! number of parts is limited in `decide`.

use std::fmt;

use crate::pool::PoolSpec;
use crate::refusal::Advice;
use crate::requests::{AddressSupply, RequestPool, Subnet, Supply};
use crate::span::Span;
use crate::value::Kind;

/// A configuration that contradicts itself or its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigRefusal {
    pub kind: Kind,
    pub error: ConfigError,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    NoRange,
    /// A subnet's prefix is longer than an address.
    PrefixTooLong {
        list: ConfigList,
        subnet: Subnet,
    },
    /// A range ends before it starts.
    Backwards {
        list: ConfigList,
        first: u128,
        last: u128,
    },
    /// The kind does not have these values, such as IPv6 addresses in an IPv4 pool.
    OutsideKind(ConfigPart),
    /// Two ranges or subnets, or two exclusions of a request pool, have common values.
    Overlap {
        one: ConfigPart,
        other: ConfigPart,
    },
    /// Request pools: no subnet contains the exclusion.
    ExclusionOutside(ConfigPart),
}

/// Some values of a configuration, and the list that they are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigPart {
    pub list: ConfigList,
    pub span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigList {
    Subnets,
    Ranges,
    Exclude,
    Manual,
    Draining,
}

impl PoolSpec {
    pub fn validate(&self) -> Result<(), ConfigRefusal> {
        let lists = [
            (ConfigList::Exclude, &self.exclude),
            (ConfigList::Manual, &self.manual),
            (ConfigList::Draining, &self.draining),
        ];
        let others =
            lists.into_iter().flat_map(|(list, spans)| spans.iter().map(move |&span| (list, span)));
        let ranges = self.ranges.iter().map(|range| (ConfigList::Ranges, range.span));
        let part = |(list, span)| ConfigPart { list, span };
        let mut sorted: Vec<ConfigPart> = ranges.clone().map(part).collect();
        sorted.sort_unstable_by_key(|part| part.span);
        let checked = if sorted.is_empty() && self.authority.is_none() {
            Err(ConfigError::NoRange)
        } else {
            Ok(())
        };
        checked
            .and_then(|()| check_spans(ranges.chain(others).map(part), self.kind))
            .and_then(|()| check_disjoint(&sorted))
            .map_err(|error| ConfigRefusal { kind: self.kind, error })
    }
}

impl RequestPool {
    pub fn validate(&self) -> Result<(), ConfigRefusal> {
        let checked = match &self.supply {
            Supply::Ids(supply) => {
                let part = |list, start: u32, end: u32| ConfigPart {
                    list,
                    span: Span { first: start.into(), last: end.into() },
                };
                let range = part(ConfigList::Ranges, supply.start, supply.end);
                let exclude = supply.exclude.iter();
                let exclude = exclude.map(|ids| part(ConfigList::Exclude, ids.start, ids.end));
                check_spans(std::iter::once(range).chain(exclude), Kind::Id32)
            }
            Supply::Addresses(supply) => check_addresses(supply),
        };
        checked.map_err(|error| ConfigRefusal { kind: self.kind(), error })
    }
}

fn check_addresses(supply: &AddressSupply) -> Result<(), ConfigError> {
    let part = |list, subnet: &Subnet| {
        let outside = u32::from(subnet.len) > supply.width();
        match outside {
            true => Err(ConfigError::PrefixTooLong { list, subnet: *subnet }),
            false => Ok(ConfigPart { list, span: subnet.span(supply.width()) }),
        }
    };
    let parts = |list, subnets: &[Subnet]| -> Result<Vec<ConfigPart>, ConfigError> {
        subnets.iter().map(|subnet| part(list, subnet)).collect()
    };
    let mut all = parts(ConfigList::Subnets, &supply.subnets)?;
    let mut exclude = parts(ConfigList::Exclude, &supply.exclude)?;
    all.extend(
        supply.ranges.iter().map(|&(first, last)| ConfigPart {
            list: ConfigList::Ranges,
            span: Span { first, last },
        }),
    );
    check_spans(all.iter().chain(&exclude).copied(), supply.kind())?;
    let order = |part: &ConfigPart| (part.span.first, std::cmp::Reverse(part.span.last));
    // Stable: a subnet comes before a range with the same addresses.
    all.sort_by_key(order);
    check_disjoint(&all)?;
    for &exclusion in &exclude {
        let after = all.partition_point(|part| part.span.first <= exclusion.span.first);
        let around = after.checked_sub(1).map(|at| all[at]);
        let contains =
            |part: ConfigPart| part.list == ConfigList::Subnets && part.span.covers(exclusion.span);
        if !around.is_some_and(contains) {
            return Err(ConfigError::ExclusionOutside(exclusion));
        }
    }
    exclude.sort_unstable_by_key(order);
    check_disjoint(&exclude)
}

/// Every span ends at or after its start, and is within the kind.
fn check_spans(parts: impl Iterator<Item = ConfigPart>, kind: Kind) -> Result<(), ConfigError> {
    for part in parts {
        let ConfigPart { list, span: Span { first, last } } = part;
        if last < first {
            return Err(ConfigError::Backwards { list, first, last });
        }
        if !kind.line().covers(part.span) {
            return Err(ConfigError::OutsideKind(part));
        }
    }
    Ok(())
}

/// No two neighbours of the sorted parts overlap.
fn check_disjoint(sorted: &[ConfigPart]) -> Result<(), ConfigError> {
    match sorted.windows(2).find(|pair| pair[0].span.last >= pair[1].span.first) {
        Some(pair) => Err(ConfigError::Overlap { one: pair[0], other: pair[1] }),
        None => Ok(()),
    }
}

impl ConfigList {
    fn name(self) -> &'static str {
        match self {
            ConfigList::Subnets => "subnet",
            ConfigList::Ranges => "range",
            ConfigList::Exclude => "exclusion",
            ConfigList::Manual => "manual range",
            ConfigList::Draining => "draining range",
        }
    }
}

impl ConfigRefusal {
    pub fn code(&self) -> &'static str {
        "invalid"
    }

    pub fn advice(&self) -> Advice {
        Advice::Change
    }
}

impl fmt::Display for ConfigRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind;
        let named =
            |part: &ConfigPart| format!("{} {}", part.list.name(), kind.show_range(part.span));
        match &self.error {
            ConfigError::NoRange => write!(f, "the pool has no range; give at least one"),
            ConfigError::PrefixTooLong { list, subnet } => {
                let (address, len, max) = (kind.point(subnet.address), subnet.len, kind.width());
                write!(
                    f,
                    "{} {address}/{len} is too long; give a length of at most {max}",
                    list.name()
                )
            }
            ConfigError::Backwards { list, first, last } => {
                let (first, last) = (kind.point(*first), kind.point(*last));
                write!(f, "{} {first}-{last} ends before it starts; swap its ends", list.name())
            }
            ConfigError::OutsideKind(part) => {
                let (ConfigPart { list, span }, max) = (part, kind.line().last);
                write!(
                    f,
                    "{} {span:?} has values that {} does not have; the last is {max}",
                    list.name(),
                    kind.name()
                )
            }
            ConfigError::Overlap { one, other } if one.list == other.list => {
                let (a, b) = (kind.show_range(one.span), kind.show_range(other.span));
                write!(f, "{}s {a} and {b} overlap; give each value once", one.list.name())
            }
            ConfigError::Overlap { one, other } => {
                write!(f, "{} and {} overlap; give each value once", named(one), named(other))
            }
            ConfigError::ExclusionOutside(part) => {
                write!(f, "no subnet contains {}; leave it out, or add the subnet", named(part))
            }
        }
    }
}
