//! One pool of the naive resource-manager: its values, its free values, and the value for a request without a group.

use std::collections::{BTreeMap, BTreeSet};

use allod_core::claim::Parity;
use allod_core::requests::{
    AddressSupply, Failure, IdSupply, Method, Request, Subnet, Supply, Wanted, WantedId,
    WantedParity, WantedPrefix,
};
use allod_core::value::IpVersion;

use crate::values::naive_blocks::{Block, blocks_of_range, free_blocks, width};

#[derive(Debug, Clone)]
pub struct Pool {
    pub supply: Supply,
    pub asked: BTreeMap<String, Asked>,
    /// Values of claims without a request.
    pub others: BTreeMap<String, u128>,
    /// The cursor of round robin.
    pub last: Option<u128>,
}

#[derive(Debug, Clone)]
pub struct Asked {
    pub request: Request,
    /// `None`: not answered yet.
    pub answer: Option<Result<Block, Failure>>,
    /// The former id of its group.
    pub had: Option<u128>,
}

impl Pool {
    pub fn new(supply: &Supply) -> Pool {
        let (asked, others) = (BTreeMap::new(), BTreeMap::new());
        Pool { supply: supply.clone(), asked, others, last: None }
    }

    /// Everything that can be granted, held or not.
    pub fn members(&self) -> BTreeSet<u128> {
        match &self.supply {
            Supply::Ids(IdSupply { start, end, exclude, .. }) => (*start..=*end)
                .filter(|id| !exclude.iter().any(|out| out.start <= *id && *id <= out.end))
                .map(u128::from)
                .collect(),
            Supply::Addresses(supply) => {
                let mut all: BTreeSet<u128> =
                    subnets(supply).iter().flat_map(|block| block.addresses()).collect();
                for excluded in &supply.exclude {
                    let excluded = block(excluded, supply.version);
                    all.retain(|one| !excluded.has(*one));
                }
                all
            }
        }
    }

    pub fn free(&self) -> BTreeSet<u128> {
        let mut free = self.members();
        for held in self.asked.values().filter_map(|asked| asked.answer.as_ref()?.as_ref().ok()) {
            free.retain(|one| !held.has(*one));
        }
        free.retain(|one| !self.others.values().any(|held| held == one));
        free
    }

    /// The blocks of the pool.
    pub fn stock(&self) -> (Vec<Block>, Vec<Block>, Vec<(u32, u32)>) {
        match &self.supply {
            Supply::Ids(IdSupply { start, end, exclude, .. }) => {
                let mut spans = vec![(*start, *end)];
                spans.extend(exclude.iter().map(|out| (out.start, out.end)));
                (vec![], vec![], spans)
            }
            Supply::Addresses(supply) => {
                let exclude = supply.exclude.iter().map(|subnet| block(subnet, supply.version));
                (subnets(supply), exclude.collect(), vec![])
            }
        }
    }

    /// Whether a value was released.
    pub fn gave(&self, after: &Pool) -> bool {
        let held = |pool: &Pool, key: &str| pool.asked.get(key)?.answer.clone()?.ok();
        self.asked.keys().any(|key| held(self, key).is_some() && held(after, key).is_none())
    }

    pub fn has_failed(&self, key: &str) -> bool {
        matches!(self.asked.get(key), Some(Asked { answer: Some(Err(_)), .. }))
    }

    /// The value for a request without a group.
    pub fn find(&self, want: &Wanted) -> Result<Block, Failure> {
        match (want, &self.supply) {
            (Wanted::Id(want), Supply::Ids(_)) => self.find_id(want),
            (Wanted::Prefix(want), Supply::Addresses(supply)) => self.find_prefix(want, supply),
            (Wanted::Id(_), _) => Err(Failure::NoAddresses),
            (Wanted::Prefix(_), _) => Err(Failure::Exhausted),
        }
    }

    pub fn find_id(&self, want: &WantedId) -> Result<Block, Failure> {
        if let Some(id) = want.id {
            return self.exactly(id);
        }
        let suits = |id: &u128| wants_parity(want).is_none_or(|odd| (id % 2 == 1) == odd);
        let free: Vec<u128> = self.free().into_iter().filter(suits).collect();
        let next = match (want.method, self.last) {
            (Some(Method::RoundRobin), Some(last)) => free.iter().find(|id| **id > last),
            _ => None,
        };
        next.or(free.first()).map(|id| Block::one(*id)).ok_or(Failure::Exhausted)
    }

    pub fn exactly(&self, id: u32) -> Result<Block, Failure> {
        let free = self.free();
        if free.contains(&id.into()) {
            Ok(Block::one(id.into()))
        } else if free.is_empty() {
            Err(Failure::Exhausted)
        } else {
            Err(Failure::IdUnavailable(id))
        }
    }

    fn find_prefix(&self, want: &WantedPrefix, supply: &AddressSupply) -> Result<Block, Failure> {
        // The length depends on the IP version of the named address.
        let version = want.start.map_or(supply.version, |(version, _)| version);
        let width = width(version);
        let size = u32::from(want.size);
        let len = if want.invert { width.saturating_sub(size) } else { size };
        if len > width {
            return Err(Failure::TooLong);
        }
        let bits = width - len;
        // No host gets the first or the last address of a subnet that has more than two.
        let wide = || subnets(supply).into_iter().filter(|subnet| subnet.bits >= 2);
        let is_edge = |one: u128| wide().any(|subnet| subnet.first == one || subnet.last() == one);
        let free = self.free();
        if let Some((_, address)) = want.start {
            let unavailable = Failure::PrefixUnavailable { address, len: len as u8 };
            let named = Block { first: address, bits };
            if version != supply.version {
                return Err(unavailable);
            } else if !named.is_aligned() {
                return Err(Failure::Misaligned);
            } else if bits == 0 && is_edge(address) {
                return Err(Failure::EdgeAddress { address });
            }
            let is_free = named.addresses().all(|one| free.contains(&one));
            return if is_free { Ok(named) } else { Err(unavailable) };
        }
        // The lowest of the smallest blocks; a larger block is halved, and the lower half is used.
        let blocks = free_blocks(&free);
        for block in blocks.iter().filter(|block| block.bits >= bits) {
            let lowest = Block { first: block.first, bits };
            if bits > 0 || !is_edge(block.first) {
                return Ok(lowest);
            } else if block.bits > 0 {
                return Ok(Block::one(block.first + 1));
            }
        }
        let lens = blocks.iter().map(|block| (width - block.bits) as u8);
        let lens: Vec<u8> = lens.filter(|len| !(30..=32).contains(len)).collect();
        if bits == 0 || lens.is_empty() {
            return Err(Failure::NoAddresses);
        }
        Err(Failure::TooBig(lens))
    }

    /// Whether the granted value still fits the request.
    pub fn serves(&self, held: &Block, want: &Wanted) -> bool {
        match (want, &self.supply) {
            (Wanted::Id(want), Supply::Ids(_)) => {
                want.id.is_none_or(|id| u128::from(id) == held.first)
                    && wants_parity(want).is_none_or(|odd| (held.first % 2 == 1) == odd)
            }
            (Wanted::Prefix(want), Supply::Addresses(supply)) => {
                let width = width(supply.version);
                let size = u32::from(want.size);
                let len = if want.invert { width.saturating_sub(size) } else { size };
                len <= width
                    && held.bits == width - len
                    && want.start.is_none_or(|start| start == (supply.version, held.first))
            }
            _ => false,
        }
    }
}

/// The subnets, and the blocks of the ranges.
fn subnets(supply: &AddressSupply) -> Vec<Block> {
    let ranges = supply.ranges.iter().flat_map(|(from, to)| blocks_of_range(*from, *to));
    supply.subnets.iter().map(|subnet| block(subnet, supply.version)).chain(ranges).collect()
}

fn block(subnet: &Subnet, version: IpVersion) -> Block {
    Block::around(subnet.address, width(version) - u32::from(subnet.len))
}

/// The wanted parity: whether it is odd.
pub fn wants_parity(want: &WantedId) -> Option<bool> {
    match want.parity {
        Some(WantedParity::Only(parity)) => Some(parity == Parity::Odd),
        Some(WantedParity::Any) | None => None,
    }
}

pub fn wanted_id(request: &Request) -> Option<&WantedId> {
    match &request.want {
        Wanted::Id(want) => Some(want),
        Wanted::Prefix(_) => None,
    }
}

pub fn is_sync(request: &Request) -> bool {
    wanted_id(request).is_some_and(|want| want.sync == Some(true))
}

/// Whether the request moves the cursor: it uses round robin, or names an id.
pub fn moves(request: &Request) -> bool {
    wanted_id(request)
        .is_some_and(|want| want.id.is_some() || want.method == Some(Method::RoundRobin))
}
