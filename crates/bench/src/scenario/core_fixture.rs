//! Pools for the core scenario, with a given range, fill level and number of claims.
//!
//! A range of 2^32 cannot be filled one value at a time. It is divided into equal blocks, and in each block one claim (in a
//! prefix pool, one for each power of two) holds everything but a free part at the start. The gaps are evenly spread, and
//! the state is built in a second. Claims in a second pool give every state the same number of claims, so that only the
//! fill level differs.

use std::sync::Arc;

use allod_core::claim::{Values, Want};
use allod_core::command::{ClaimOp, Command, Expect, Op, ReleaseOp, Transact};
use allod_core::event::{ClaimEvent, ClaimGranted, Event, PoolDefined, PoolEvent};
use allod_core::pool::{Labels, PoolRange, PoolSpec, Strategy};
use allod_core::span::Span;
use allod_core::state::State;
use allod_core::value::{Kind, ValueText};

/// Kind and size of a pool.
#[derive(Debug, Clone, Copy)]
pub struct PoolShape {
    pub name: &'static str,
    pub kind: Kind,
    pub range: Span,
    pub subnet_len: Option<u8>,
    /// The length of claimed prefixes.
    pub prefix_len: Option<u8>,
}

impl PoolShape {
    pub fn ids(name: &'static str, kind: Kind, bits: u32) -> PoolShape {
        PoolShape { name, kind, range: Span::block(0, bits), subnet_len: None, prefix_len: None }
    }

    pub const fn addresses_of_a_8() -> PoolShape {
        let first = 10 << 24;
        let range = Span { first, last: first + (1 << 24) - 1 };
        PoolShape {
            name: "v4 /8",
            kind: Kind::Address4,
            range,
            subnet_len: Some(8),
            prefix_len: None,
        }
    }

    pub const fn prefixes_of_a_48() -> PoolShape {
        let first = 0x2001_0db8_0000 << 80;
        let range = Span { first, last: first + (1 << 80) - 1 };
        let (kind, name) = (Kind::Prefix6, "v6 /127s");
        PoolShape { name, kind, range, subnet_len: Some(48), prefix_len: Some(127) }
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

    /// How often a block is halved to get its free part; `None` if all of it is free.
    fn halvings(self) -> Option<u32> {
        match self {
            Fill::Empty => None,
            Fill::Half => Some(1),
            Fill::Nearly => Some(10),
        }
    }
}

/// A state with the pool to measure.
#[derive(Debug)]
pub struct CoreFixture {
    pub shape: PoolShape,
    pub fill: Fill,
    pub state: State,
    pool: Arc<str>,
    blocks: u128,
}

impl CoreFixture {
    /// A pool with 2^`block_bits` blocks, in a state with at least `claims` claims.
    pub fn new(
        shape: PoolShape,
        fill: Fill,
        strategy: Strategy,
        block_bits: u32,
        claims: u64,
    ) -> CoreFixture {
        let pool: Arc<str> = "measured".into();
        let mut fixture = CoreFixture {
            shape,
            fill,
            state: State::new(),
            pool: pool.clone(),
            blocks: 1 << block_bits,
        };
        let range = PoolRange { span: shape.range, subnet_len: shape.subnet_len };
        fixture.define(&pool, PoolSpec { strategy, ..PoolSpec::new(shape.kind, vec![range]) });
        let mut held = 0;
        for number in 0..fixture.blocks {
            for span in fixture.held_in(number) {
                fixture.hold(&pool, &format!("held-{held:07}"), span);
                held += 1;
            }
        }
        let ballast: Arc<str> = "ballast".into();
        let line = PoolRange { span: Kind::Id64.line(), subnet_len: None };
        fixture.define(&ballast, PoolSpec::new(Kind::Id64, vec![line]));
        for number in held..claims {
            fixture.hold(&ballast, &format!("held-{number:07}"), Span::one(u128::from(number)));
        }
        fixture
    }

    fn define(&mut self, pool: &Arc<str>, spec: PoolSpec) {
        let event = PoolDefined { pool: pool.clone(), generation: 1, spec };
        self.state.apply_entry(1, &[Event::Pool(PoolEvent::Defined(event))]);
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
        self.state.apply_entry(1, &[Event::Claim(ClaimEvent::Granted(event))]);
    }

    fn block(&self, number: u128) -> Span {
        let size = self.shape.range.len() / self.blocks;
        let first = self.shape.range.first + number * size;
        Span { first, last: first + (size - 1) }
    }

    /// The held spans of a block: everything after its free part.
    fn held_in(&self, number: u128) -> Vec<Span> {
        let block = self.block(number);
        let Some(halvings) = self.fill.halvings() else { return Vec::new() };
        if self.shape.prefix_len.is_none() {
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
            Want { strategy: Some(strategy), prefix_len: self.shape.prefix_len, ..Want::any() };
        (0..count).map(|number| self.claim(number, want.clone())).collect()
    }

    /// Claims of free values by value, in blocks far apart. The first block is skipped, because address pools exclude their
    /// first value.
    pub fn claims_by_value(&self, count: u128) -> Vec<Command> {
        let claim = |number: u128| {
            let first = self.block(1 + number * 7919 % (self.blocks - 1)).first;
            let bits = self.shape.prefix_len.map_or(0, |len| u32::from(128 - len));
            let value = Some(self.shape.kind.text(Span::block(first, bits)));
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

    /// Releases of these claims.
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

    const GROUNDS: [PoolShape; 2] = [PoolShape::addresses_of_a_8(), PoolShape::prefixes_of_a_48()];

    #[test]
    fn blocks_have_the_requested_fill_level() {
        for shape in GROUNDS {
            for (fill, free_parts) in [(Fill::Empty, 1024), (Fill::Half, 512), (Fill::Nearly, 1)] {
                let fixture = CoreFixture::new(shape, fill, Strategy::Lowest, 4, 0);
                let held: u128 = fixture.held_in(3).iter().map(Span::len).sum();
                let free = fixture.block(3).len() - held;
                assert_eq!(free, fixture.block(3).len() / 1024 * free_parts, "{shape:?} {fill:?}");
            }
        }
    }

    #[test]
    fn all_claims_and_releases_succeed_and_keep_the_invariants() {
        for (shape, fill) in GROUNDS.into_iter().flat_map(|g| Fill::ALL.map(|fill| (g, fill))) {
            let mut fixture = CoreFixture::new(shape, fill, Strategy::Lowest, 6, 700);
            let mut commands = fixture.claims_by_value(20);
            commands.extend(fixture.releases(20));
            for strategy in Strategy::ALL {
                commands.extend(fixture.claims(20, strategy));
                commands.extend(fixture.releases(20));
            }
            for (seed, command) in commands.iter().enumerate() {
                let stamp = Stamp { now_ms: 2, seed: seed as u64 };
                let decision = decide(&mut fixture.state, &stamp, command, &Limits::default());
                let events = decision.unwrap().events.len();
                assert_eq!(events, 1, "{shape:?} {fill:?} {command:?}");
            }
            assert_eq!(invariant::check(&fixture.state), [""; 0]);
        }
    }
}
