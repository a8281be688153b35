//! Pools for the core scenario: of a given range, filled to a given degree, in a state with a given number of claims.
//!
//! A range of 2^32 cannot be filled value by value. It is cut into equal blocks, and in each block one claim (of a
//! prefix pool: one for each power of two) holds everything but a free part at its start. So there are as many gaps as
//! blocks, evenly spread, and the number of claims stays small enough to build in a second. Claims in a second pool
//! bring every state to the same number of claims, so that what differs is the fill and not the size of the tables.

use std::sync::Arc;

use allod_core::claim::{Values, Want};
use allod_core::command::{ClaimOp, Command, Expect, Op, ReleaseOp, Transact};
use allod_core::event::{ClaimGranted, Event, PoolDefined};
use allod_core::pool::{Labels, PoolRange, PoolSpec, Strategy};
use allod_core::span::Span;
use allod_core::state::State;
use allod_core::value::{Kind, ValueText};

/// What a pool hands out.
#[derive(Debug, Clone, Copy)]
pub struct Ground {
    pub name: &'static str,
    pub kind: Kind,
    pub range: Span,
    pub subnet_len: Option<u8>,
    /// Of the prefixes that are claimed.
    pub prefix_len: Option<u8>,
}

impl Ground {
    pub fn ids(name: &'static str, kind: Kind, bits: u32) -> Ground {
        Ground { name, kind, range: Span::block(0, bits), subnet_len: None, prefix_len: None }
    }

    pub const fn addresses_of_a_8() -> Ground {
        let first = 10 << 24;
        let range = Span { first, last: first + (1 << 24) - 1 };
        Ground { name: "v4 /8", kind: Kind::Address4, range, subnet_len: Some(8), prefix_len: None }
    }

    pub const fn prefixes_of_a_48() -> Ground {
        let first = 0x2001_0db8_0000 << 80;
        let range = Span { first, last: first + (1 << 80) - 1 };
        let (kind, name) = (Kind::Prefix6, "v6 /127s");
        Ground { name, kind, range, subnet_len: Some(48), prefix_len: Some(127) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    Empty,
    Half,
    /// All but one in 1,024.
    Nearly,
}

impl Fill {
    pub const ALL: [Fill; 3] = [Fill::Empty, Fill::Half, Fill::Nearly];

    pub fn name(self) -> &'static str {
        match self {
            Fill::Empty => "0 %",
            Fill::Half => "50 %",
            Fill::Nearly => "99.9 %",
        }
    }

    /// By how many halvings of a block the free part at its start comes about; `None`: all of it is free.
    fn halvings(self) -> Option<u32> {
        match self {
            Fill::Empty => None,
            Fill::Half => Some(1),
            Fill::Nearly => Some(10),
        }
    }
}

/// One state with one pool to measure.
#[derive(Debug)]
pub struct Bed {
    pub ground: Ground,
    pub fill: Fill,
    pub state: State,
    pool: Arc<str>,
    blocks: u128,
}

impl Bed {
    /// A pool of this strategy with 2^`block_bits` blocks, and `claims` claims in the state if the pool itself does not
    /// have more.
    pub fn new(
        ground: Ground,
        fill: Fill,
        strategy: Strategy,
        block_bits: u32,
        claims: u64,
    ) -> Bed {
        let pool: Arc<str> = "measured".into();
        let mut bed =
            Bed { ground, fill, state: State::new(), pool: pool.clone(), blocks: 1 << block_bits };
        let range = PoolRange { span: ground.range, subnet_len: ground.subnet_len };
        bed.define(&pool, PoolSpec { strategy, ..PoolSpec::new(ground.kind, vec![range]) });
        let mut held = 0;
        for number in 0..bed.blocks {
            for span in bed.held_in(number) {
                bed.hold(&pool, &format!("held-{held:07}"), span);
                held += 1;
            }
        }
        let ballast: Arc<str> = "ballast".into();
        let line = PoolRange { span: Kind::Id64.line(), subnet_len: None };
        bed.define(&ballast, PoolSpec::new(Kind::Id64, vec![line]));
        for number in held..claims {
            bed.hold(&ballast, &format!("held-{number:07}"), Span::one(u128::from(number)));
        }
        bed
    }

    fn define(&mut self, pool: &Arc<str>, spec: PoolSpec) {
        let event = PoolDefined { pool: pool.clone(), generation: 1, spec };
        self.state.apply_entry(1, &[Event::PoolDefined(event)]);
    }

    fn hold(&mut self, pool: &Arc<str>, key: &str, span: Span) {
        let event = ClaimGranted {
            pool: pool.clone(),
            kind: Some(Kind::Id64),
            key: key.into(),
            owner: key.into(),
            values: Values::one(span),
            version: self.state.position + 1,
            at_ms: 1,
            expires_ms: None,
            labels: Labels::default(),
            params: None,
            cursor: None,
        };
        self.state.apply_entry(1, &[Event::ClaimGranted(event)]);
    }

    fn block(&self, number: u128) -> Span {
        let size = self.ground.range.len() / self.blocks;
        let first = self.ground.range.first + number * size;
        Span { first, last: first + (size - 1) }
    }

    /// What is held in a block: everything behind its free part.
    fn held_in(&self, number: u128) -> Vec<Span> {
        let block = self.block(number);
        let Some(halvings) = self.fill.halvings() else { return Vec::new() };
        if self.ground.prefix_len.is_none() {
            return vec![Span { first: block.first + (block.len() >> halvings), last: block.last }];
        }
        let part = |halving| Span {
            first: block.first + (block.len() >> halving),
            last: block.first + (block.len() >> (halving - 1)) - 1,
        };
        (1..=halvings).map(part).collect()
    }

    /// Claims of one value each under new keys.
    pub fn claims(&self, count: u128, strategy: Strategy) -> Vec<Command> {
        let want =
            Want { strategy: Some(strategy), prefix_len: self.ground.prefix_len, ..Want::any() };
        (0..count).map(|number| self.claim(number, want.clone())).collect()
    }

    /// Claims that each name a value which is free, in blocks far apart. The first block is left out: an address pool
    /// keeps back its first value.
    pub fn claims_by_value(&self, count: u128) -> Vec<Command> {
        let claim = |number: u128| {
            let first = self.block(1 + number * 7919 % (self.blocks - 1)).first;
            let bits = self.ground.prefix_len.map_or(0, |len| u32::from(128 - len));
            let value = Some(self.ground.kind.text(Span::block(first, bits)));
            self.claim(number, Want { value, prefix_len: None, ..Want::any() })
        };
        (0..count).map(claim).collect()
    }

    fn claim(&self, number: u128, want: Want<ValueText>) -> Command {
        Command::Transact(Transact::one(Op::Claim(ClaimOp {
            pools: vec![self.pool.clone()],
            key: new_key(number),
            owner: None,
            want,
            ttl_ms: None,
            labels: Labels::default(),
            expect: Expect::Any,
        })))
    }

    /// Releases of what such claims got.
    pub fn releases(&self, count: u128) -> Vec<Command> {
        let release = |number| {
            let pool = self.pool.clone();
            let op = ReleaseOp { pool, key: new_key(number), expect: Expect::Present };
            Command::Transact(Transact::one(Op::Release(op)))
        };
        (0..count).map(release).collect()
    }
}

fn new_key(number: u128) -> Arc<str> {
    format!("new-{number:08}").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use allod_core::command::Stamp;
    use allod_core::limits::Limits;
    use allod_core::{decide, invariant};

    const GROUNDS: [Ground; 2] = [Ground::addresses_of_a_8(), Ground::prefixes_of_a_48()];

    #[test]
    fn each_block_is_filled_as_its_fill_says() {
        for ground in GROUNDS {
            for (fill, free_parts) in [(Fill::Empty, 1024), (Fill::Half, 512), (Fill::Nearly, 1)] {
                let bed = Bed::new(ground, fill, Strategy::Lowest, 4, 0);
                let held: u128 = bed.held_in(3).iter().map(Span::len).sum();
                let free = bed.block(3).len() - held;
                assert_eq!(free, bed.block(3).len() / 1024 * free_parts, "{ground:?} {fill:?}");
            }
        }
    }

    #[test]
    fn every_claim_and_release_is_accepted_and_leaves_the_state_sound() {
        for (ground, fill) in GROUNDS.into_iter().flat_map(|g| Fill::ALL.map(|fill| (g, fill))) {
            let mut bed = Bed::new(ground, fill, Strategy::Lowest, 6, 700);
            let mut commands = bed.claims_by_value(20);
            commands.extend(bed.releases(20));
            for strategy in Strategy::ALL {
                commands.extend(bed.claims(20, strategy));
                commands.extend(bed.releases(20));
            }
            for (seed, command) in commands.iter().enumerate() {
                let stamp = Stamp { now_ms: 2, seed: seed as u64 };
                let decision = decide(&mut bed.state, &stamp, command, &Limits::default());
                let events = decision.unwrap().events.len();
                assert_eq!(events, 1, "{ground:?} {fill:?} {command:?}");
            }
            assert_eq!(invariant::check(&bed.state), [""; 0]);
        }
    }
}
