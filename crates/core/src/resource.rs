//! Pools of resources as NSO's resource-manager has them: what is configured of a pool, what is asked of it, and how that
//! was answered.
//!
//! A request stays until it is withdrawn, answered or not. What it got is a claim of the pool under the same key; what it did
//! not get it gets when there is room. Everything that may be left out is an `Option`, so that what somebody wrote can be
//! shown as it was written.

use std::sync::Arc;

use crate::claim::Parity;
use crate::pool::{PoolRange, PoolSpec, Strategy};
use crate::span::Span;
use crate::value::Kind;

/// What an operator says of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourcePool {
    pub given: Given,
    pub alarms: AlarmSettings,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    Ids(GivenIds),
    Addresses(GivenAddresses),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenIds {
    pub start: u32,
    pub end: u32,
    pub exclude: Vec<ExcludedIds>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExcludedIds {
    pub start: u32,
    pub end: u32,
    /// Kept and shown; it never meant anything.
    pub stop_allocation: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenAddresses {
    /// Of which family all of it is.
    pub six: bool,
    pub subnets: Vec<Subnet>,
    pub exclude: Vec<Subnet>,
    /// First and last address.
    pub ranges: Vec<(u128, u128)>,
    pub auto_redeploy: Option<bool>,
    /// Released blocks come last.
    pub sequential: Option<bool>,
}

/// A subnet as it was written: the address may have bits beyond the length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subnet {
    pub address: u128,
    pub len: u8,
}

/// When somebody is to be told that a pool is running out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AlarmSettings {
    pub enabled: bool,
    /// Percent left.
    pub low: Option<u8>,
    pub low_odd: Option<u8>,
    pub low_even: Option<u8>,
}

/// What a service asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub user: Arc<str>,
    /// The services that are told when the answer changes.
    pub services: Vec<Arc<str>>,
    pub redeploy: Option<Redeploy>,
    pub sync_alloc: bool,
    pub want: Wanted,
}

/// How a service is told, the less thorough first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Redeploy {
    Default,
    Touch,
    Reactive,
    Whole,
    Never,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    Id(WantedId),
    Prefix(WantedPrefix),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WantedId {
    /// The same id in every pool that has a request of this key with it.
    pub sync: Option<bool>,
    pub id: Option<u32>,
    pub parity: Option<WantedParity>,
    pub method: Option<Method>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedParity {
    Any,
    Only(Parity),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    FirstFree,
    RoundRobin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedPrefix {
    pub size: u8,
    /// The size is the number of bits behind the prefix, not in it.
    pub invert: bool,
    /// Exactly the prefix that starts here, and of which family that is.
    pub start: Option<(bool, u128)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The claim under the request's key has it.
    Granted,
    Failed(Failure),
}

/// Why a request has nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// No id is left, or none of the parity.
    Exhausted,
    /// This id is excluded, outside or held.
    IdUnavailable(u32),
    /// No id is free in all pools of the group.
    SyncExhausted,
    /// Requests of one group ask for different ids.
    SyncConflict,
    /// No block, and no address, is left that would do.
    NoAddresses,
    /// Blocks are left, all smaller: the lengths of their prefixes.
    TooBig(Vec<u8>),
    /// This prefix is excluded, outside or held.
    PrefixUnavailable { address: u128, len: u8 },
    /// The first or the last address of a subnet is no host's.
    EdgeAddress { address: u128 },
    /// The address is not the first one of a prefix of that length.
    Misaligned,
    /// Longer than an address of the family.
    TooLong,
}

impl Failure {
    /// For programs; the resource-manager's own texts are the face's.
    pub fn code(&self) -> &'static str {
        match self {
            Failure::Exhausted => "exhausted",
            Failure::IdUnavailable(_) => "id_unavailable",
            Failure::SyncExhausted => "sync_exhausted",
            Failure::SyncConflict => "sync_conflict",
            Failure::NoAddresses => "no_addresses",
            Failure::TooBig(_) => "too_big",
            Failure::PrefixUnavailable { .. } => "prefix_unavailable",
            Failure::EdgeAddress { .. } => "edge_address",
            Failure::Misaligned => "misaligned",
            Failure::TooLong => "too_long",
        }
    }
}

/// What may be wrong with a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AlarmKind {
    Exhausted,
    Low,
    OddExhausted,
    EvenExhausted,
    OddLow,
    EvenLow,
    /// A service could not be told.
    Undelivered,
}

/// Something that was wrong, and perhaps still is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// The pool, or the service.
    pub object: Arc<str>,
    pub kind: AlarmKind,
    /// Of which kind of pool.
    pub ids: bool,
    pub raised_ms: u64,
    pub cleared_ms: Option<u64>,
}

impl WantedId {
    /// Whether it must be odd, or even.
    pub fn parity(&self) -> Option<Parity> {
        match self.parity {
            Some(WantedParity::Only(parity)) => Some(parity),
            None | Some(WantedParity::Any) => None,
        }
    }
}

impl Redeploy {
    pub const ALL: [Redeploy; 5] =
        [Redeploy::Default, Redeploy::Touch, Redeploy::Reactive, Redeploy::Whole, Redeploy::Never];

    /// The way of this name.
    pub fn named(name: &str) -> Option<Redeploy> {
        Redeploy::ALL.into_iter().find(|how| how.name() == name)
    }

    /// As the resource-manager's redeploy-type calls it.
    pub fn name(self) -> &'static str {
        match self {
            Redeploy::Default => "default",
            Redeploy::Touch => "touch",
            Redeploy::Reactive => "reactive-re-deploy",
            Redeploy::Whole => "re-deploy",
            Redeploy::Never => "no-redeploy",
        }
    }
}

impl AlarmKind {
    pub const ALL: [AlarmKind; 7] = [
        AlarmKind::Exhausted,
        AlarmKind::Low,
        AlarmKind::OddExhausted,
        AlarmKind::EvenExhausted,
        AlarmKind::OddLow,
        AlarmKind::EvenLow,
        AlarmKind::Undelivered,
    ];

    pub fn name(self) -> &'static str {
        match self {
            AlarmKind::Exhausted => "exhausted",
            AlarmKind::Low => "low",
            AlarmKind::OddExhausted => "odd_exhausted",
            AlarmKind::EvenExhausted => "even_exhausted",
            AlarmKind::OddLow => "odd_low",
            AlarmKind::EvenLow => "even_low",
            AlarmKind::Undelivered => "undelivered",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<AlarmKind> {
        AlarmKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl Subnet {
    /// Every address of it.
    pub fn span(&self, width: u32) -> Span {
        let bits = width.saturating_sub(self.len.into());
        let base = if bits >= 128 { 0 } else { self.address >> bits << bits };
        Span::block(base, bits)
    }
}

impl GivenAddresses {
    pub fn kind(&self) -> Kind {
        if self.six { Kind::Prefix6 } else { Kind::Prefix4 }
    }

    pub fn width(&self) -> u32 {
        self.kind().width()
    }

    /// Each configured subnet, and each block of a range, which counts as one.
    pub fn blocks(&self) -> Vec<Span> {
        let subnets = self.subnets.iter().map(|subnet| subnet.span(self.width()));
        let ranges = self.ranges.iter().flat_map(|&(first, last)| blocks_of(Span { first, last }));
        subnets.chain(ranges).collect()
    }

    /// The addresses that no host gets: the first and the last of each subnet with more than two.
    pub fn edges(&self) -> Vec<u128> {
        let wide = self.blocks().into_iter().filter(|block| block.last - block.first >= 3);
        let mut edges: Vec<u128> = wide.flat_map(|block| [block.first, block.last]).collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    }
}

/// The fewest aligned blocks that make up a span, ascending.
pub fn blocks_of(span: Span) -> Vec<Span> {
    let mut blocks = Vec::new();
    let mut first = span.first;
    loop {
        let mut bits = first.trailing_zeros();
        while Span::block(first, bits).last > span.last {
            bits -= 1;
        }
        let block = Span::block(first, bits);
        blocks.push(block);
        match block.last.checked_add(1) {
            Some(next) if next <= span.last => first = next,
            _ => return blocks,
        }
    }
}

impl ResourcePool {
    pub fn kind(&self) -> Kind {
        match &self.given {
            Given::Ids(_) => Kind::Id32,
            Given::Addresses(given) => given.kind(),
        }
    }

    /// The pool of values that it comes to.
    pub fn spec(&self) -> PoolSpec {
        let range = |span| PoolRange { span, subnet_len: None };
        match &self.given {
            Given::Ids(given) => {
                let span = Span { first: given.start.into(), last: given.end.into() };
                let mut spec = PoolSpec::new(Kind::Id32, vec![range(span)]);
                let exclude = given.exclude.iter();
                spec.exclude = exclude
                    .map(|ids| Span { first: ids.start.into(), last: ids.end.into() })
                    .collect();
                spec
            }
            Given::Addresses(given) => {
                let ranges = given.blocks().into_iter().map(range).collect();
                let mut spec = PoolSpec::new(given.kind(), ranges);
                let width = given.width();
                spec.exclude = given.exclude.iter().map(|subnet| subnet.span(width)).collect();
                if given.sequential == Some(true) {
                    spec.strategy = Strategy::LeastRecentlyUsed;
                }
                spec
            }
        }
    }
}

impl WantedPrefix {
    /// The length of the prefix that is asked for. `None`: longer than an address.
    pub fn len(&self, width: u32) -> Option<u8> {
        let size = u32::from(self.size);
        let len = if self.invert { width.saturating_sub(size) } else { size };
        u8::try_from(len).ok().filter(|len| u32::from(*len) <= width)
    }
}

impl Request {
    /// Whether it is part of a group.
    pub fn is_sync(&self) -> bool {
        matches!(&self.want, Wanted::Id(want) if want.sync == Some(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_made_of_the_fewest_blocks() {
        let shown = |first, last| {
            let blocks = blocks_of(Span { first, last });
            blocks.into_iter().map(|block| Kind::Prefix6.show(block)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(0, u128::MAX), "::/0");
        assert_eq!(shown(1, 9), "::1/128 ::2/127 ::4/126 ::8/127");
        assert_eq!(shown(0, u128::MAX / 2), "::/1");
        assert_eq!(shown(u128::MAX / 2 + 1, u128::MAX), "8000::/1");
        assert_eq!(shown(u128::MAX, u128::MAX), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128");
        assert_eq!(blocks_of(Span { first: 0, last: u128::MAX - 1 }).len(), 128);
    }
}
