//! A claim: values of a pool held under a key; and what a client asks for when it makes one.

use std::sync::Arc;

use crate::pool::{Labels, Strategy};
use crate::span::Span;
use crate::value::Kind;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Parity {
    Even,
    Odd,
}

impl Parity {
    pub fn name(self) -> &'static str {
        match self {
            Parity::Even => "even",
            Parity::Odd => "odd",
        }
    }

    pub fn of(value: u128) -> Parity {
        if value & 1 == 0 { Parity::Even } else { Parity::Odd }
    }
}

/// Which values a claim asks for. Two requests under one key are the same request when this is equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// Exactly this value. A value of a prefix pool is the whole block.
    pub value: Option<Span>,
    /// With `value`: if it cannot be had, take any other instead of refusing.
    pub fallback: bool,
    /// How many values.
    pub count: u32,
    /// Whether they must follow each other without a gap.
    pub contiguous: bool,
    /// Prefix pools: how long a prefix.
    pub prefix_len: Option<u8>,
    pub parity: Option<Parity>,
    /// Instead of the pool's own.
    pub strategy: Option<Strategy>,
}

impl Want {
    /// One value, whichever the pool's strategy picks.
    pub fn any() -> Want {
        Want {
            value: None,
            fallback: false,
            count: 1,
            contiguous: false,
            prefix_len: None,
            parity: None,
            strategy: None,
        }
    }
}

/// Where a claim stands. Requests that wait for an answer (for room, for an external inventory, for a release to be
/// confirmed) will be further states of the same claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimState {
    /// Its values are its holder's; after `expires_ms` they may be taken from it.
    Held,
    /// Released, and kept for its former owner until then.
    Quarantined { until_ms: u64 },
}

/// One claim, as stored in the state and shown to faces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub key: Arc<str>,
    /// Who holds it; the key itself unless the client said otherwise.
    pub owner: Arc<str>,
    /// In ascending order; never empty.
    pub values: Values,
    /// The journal position of its last change. Never repeats for a key.
    pub version: u64,
    pub created_ms: u64,
    /// When it may be taken away. `None`: never.
    pub expires_ms: Option<u64>,
    pub state: ClaimState,
    pub labels: Labels,
    /// What was asked for, when it was more than [`Want::any`] without a lease.
    pub asked: Option<Arc<Asked>>,
}

/// The parts of a request that decide whether another request under the same key is the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub want: Want,
    pub ttl_ms: Option<u64>,
}

impl Claim {
    pub fn expired(&self, now_ms: u64) -> bool {
        self.expires_ms.is_some_and(|at| at <= now_ms)
    }
}

/// The spans of a claim: nearly always exactly one, which then needs no allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    first: Span,
    more: Option<Arc<[Span]>>,
}

impl Values {
    /// From spans in ascending order. `None` when there are none.
    pub fn new(spans: &[Span]) -> Option<Values> {
        let (&first, more) = spans.split_first()?;
        Some(Values { first, more: (!more.is_empty()).then(|| more.into()) })
    }

    pub fn one(span: Span) -> Values {
        Values { first: span, more: None }
    }

    pub fn first(&self) -> Span {
        self.first
    }

    pub fn spans(&self) -> impl DoubleEndedIterator<Item = Span> + '_ {
        std::iter::once(self.first).chain(self.more.iter().flat_map(|more| more.iter().copied()))
    }

    /// The span that starts at `first`.
    pub fn starting_at(&self, first: u128) -> Option<Span> {
        if self.first.first == first {
            return Some(self.first);
        }
        let more = self.more.as_deref()?;
        more.binary_search_by_key(&first, |span| span.first).ok().map(|at| more[at])
    }

    /// The lowest span that has values of `window`.
    pub fn first_within(&self, window: Span) -> Option<Span> {
        if self.first.overlaps(window) {
            return Some(self.first);
        }
        let more = self.more.as_deref()?;
        let at = more.partition_point(|span| span.last < window.first);
        more.get(at).copied().filter(|span| span.overlaps(window))
    }

    /// Every single value: prefixes as blocks, ids and addresses one by one even where they follow each other.
    pub fn each(&self, kind: Kind) -> impl Iterator<Item = Span> + '_ {
        self.spans().flat_map(move |span| {
            let whole = kind.is_prefix();
            let last = if whole { span.first } else { span.last };
            (span.first..=last).map(move |point| if whole { span } else { Span::one(point) })
        })
    }

    /// How many numbers of the line they cover together.
    pub fn total(&self) -> u128 {
        self.spans().fold(0, |sum: u128, span| sum.saturating_add(span.len()))
    }
}
