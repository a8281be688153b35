//! Standing requests, as NSO's resource-manager has them: the configuration of a request pool, its requests, and their
//! answers.
//!
//! A request stays until it is withdrawn. A granted request holds a claim under its key. A failed request waits and is
//! granted when a suitable value becomes free. Optional fields are `Option`s, so that the face can show exactly what
//! was written.

mod apply;
pub mod command;
pub(crate) mod decide;
pub mod event;
mod hosts;
pub(crate) mod invariant;
mod outside;
pub mod refusal;
pub(crate) mod state;
pub mod view;

pub use outside::{
    Allocator, AnswerRequest, OutsideFailure, Response, SiteNode, SiteNodes, SiteValue,
};
pub use state::{AnsweredRequest, FrozenRequests};

use std::sync::Arc;

use crate::claim::Parity;
use crate::outbox::Payload;
use crate::pool::{PoolRange, PoolSpec, Strategy};
use crate::span::Span;
use crate::value::{IpVersion, Kind};

/// The configuration of a request pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPool {
    pub supply: Supply,
    pub alarms: AlarmSettings,
    /// `None`: [`Allocator::Internal`].
    pub allocator: Option<Allocator>,
    pub site: SiteNodes,
}

/// The values that a pool has for its requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Supply {
    Ids(IdSupply),
    Addresses(AddressSupply),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdSupply {
    pub start: u32,
    pub end: u32,
    pub exclude: Vec<ExcludedIds>,
    /// The number of ids that counts as 100 % for the alarm thresholds.
    pub alarm_base: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExcludedIds {
    pub start: u32,
    pub end: u32,
    /// A flag of the face: stored and shown, without a meaning in the core.
    pub flag: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AddressSupply {
    pub version: IpVersion,
    pub subnets: Vec<Subnet>,
    pub exclude: Vec<Subnet>,
    /// First and last address.
    pub ranges: Vec<(u128, u128)>,
    /// `Some(false)`: services are not notified of values that a change of the pool has replaced.
    pub auto_redeploy: Option<bool>,
    /// Unused blocks are granted before released ones.
    pub sequential: Option<bool>,
}

/// A subnet as written: the address may have bits beyond the prefix length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subnet {
    pub address: u128,
    pub len: u8,
}

/// When the alarms of a pool are raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AlarmSettings {
    pub enabled: bool,
    /// Percent of the values that are left.
    pub low: Option<u8>,
    pub low_odd: Option<u8>,
    pub low_even: Option<u8>,
}

/// A standing request for one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub user: Arc<str>,
    /// The services that are notified when the answer changes.
    pub services: Vec<Arc<str>>,
    pub redeploy: Option<Redeploy>,
    /// Whether the service waits for the reply of the command, and so needs no notification of the first answer.
    pub sync_alloc: bool,
    pub want: Wanted,
    pub site: SiteNodes,
}

/// What a service does when it is notified; each action includes the ones before it.
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
    /// The same id in all pools that have a request of this key with `sync`: a group.
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
    /// Whether `size` is the number of bits after the prefix.
    pub invert: bool,
    /// The prefix that starts at this address.
    pub start: Option<(IpVersion, u128)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The claim under the request's key has the value.
    Granted,
    Failed(Failure),
    /// The allocator outside has not answered yet.
    Wanted,
}

/// Why a request was not granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// No id of the wanted parity is free.
    Exhausted,
    /// The wanted id is excluded, outside the pool or held.
    IdUnavailable(u32),
    /// No id is free in all pools of the group.
    SyncExhausted,
    /// Requests of one group want different ids.
    SyncConflict,
    /// No suitable block or address is free.
    NoAddresses,
    /// All free blocks are smaller: their prefix lengths.
    TooBig(Vec<u8>),
    /// The wanted prefix is excluded, outside the pool or held.
    PrefixUnavailable { address: u128, len: u8 },
    /// The first and the last address of a subnet are not for hosts.
    EdgeAddress { address: u128 },
    /// The wanted address is not the first one of a prefix of this length.
    Misaligned,
    /// The prefix is longer than an address.
    TooLong,
    /// The allocator or the authority of the pool has said no.
    Outside(OutsideFailure),
}

impl Failure {
    /// A stable code. The texts of the resource-manager are in its face.
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
            Failure::Outside(failure) => failure.code(),
        }
    }
}

impl WantedId {
    /// `None`: any parity.
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

    pub fn from_name(name: &str) -> Option<Redeploy> {
        Redeploy::ALL.into_iter().find(|redeploy| redeploy.name() == name)
    }

    /// The payload of a notification that asks for this.
    pub fn payload(self) -> Payload {
        Payload(self.name())
    }

    /// As in the resource-manager's `redeploy-type`.
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

impl Subnet {
    /// All of its addresses.
    pub fn span(&self, width: u32) -> Span {
        let bits = width.saturating_sub(self.len.into());
        let base = if bits >= 128 { 0 } else { self.address >> bits << bits };
        Span::block(base, bits)
    }
}

impl AddressSupply {
    pub fn kind(&self) -> Kind {
        self.version.prefix_kind()
    }

    pub fn width(&self) -> u32 {
        self.kind().width()
    }

    /// The configured subnets, and the aligned blocks of the ranges.
    pub fn blocks(&self) -> Vec<Span> {
        let subnets = self.subnets.iter().map(|subnet| subnet.span(self.width()));
        let ranges =
            self.ranges.iter().flat_map(|&(first, last)| Span { first, last }.aligned_blocks(128));
        subnets.chain(ranges).collect()
    }

    /// The first and the last address of each block with more than two: they are not for hosts.
    pub fn edges(&self) -> Vec<u128> {
        let wide = self.blocks().into_iter().filter(|block| block.last - block.first >= 3);
        let mut edges: Vec<u128> = wide.flat_map(|block| [block.first, block.last]).collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    }
}

impl RequestPool {
    pub fn kind(&self) -> Kind {
        match &self.supply {
            Supply::Ids(_) => Kind::Id32,
            Supply::Addresses(supply) => supply.kind(),
        }
    }

    /// The definition of the underlying pool.
    pub fn spec(&self) -> PoolSpec {
        PoolSpec { authority: self.authority().cloned(), ..self.values() }
    }

    /// The same without its authority.
    fn values(&self) -> PoolSpec {
        let range = |span| PoolRange { span, subnet_len: None };
        match &self.supply {
            Supply::Ids(supply) => {
                let span = Span { first: supply.start.into(), last: supply.end.into() };
                let mut spec = PoolSpec::new(Kind::Id32, vec![range(span)]);
                let exclude = supply.exclude.iter();
                spec.exclude = exclude
                    .map(|ids| Span { first: ids.start.into(), last: ids.end.into() })
                    .collect();
                spec
            }
            Supply::Addresses(supply) => {
                let ranges = supply.blocks().into_iter().map(range).collect();
                let mut spec = PoolSpec::new(supply.kind(), ranges);
                let width = supply.width();
                spec.exclude = supply.exclude.iter().map(|subnet| subnet.span(width)).collect();
                if supply.sequential == Some(true) {
                    spec.strategy = Strategy::LeastRecentlyUsed;
                }
                spec
            }
        }
    }
}

impl WantedPrefix {
    /// The length of the wanted prefix. `None`: longer than an address.
    pub fn len(&self, width: u32) -> Option<u8> {
        let size = u32::from(self.size);
        let len = if self.invert { width.saturating_sub(size) } else { size };
        u8::try_from(len).ok().filter(|len| u32::from(*len) <= width)
    }
}

impl Request {
    /// Whether the request is part of a group.
    pub fn is_sync(&self) -> bool {
        matches!(&self.want, Wanted::Id(want) if want.sync == Some(true))
    }
}
