//! Claims: values of a pool that are held under a key.

use std::sync::Arc;

use crate::named::named;
use crate::pool::{Labels, Strategy};
use crate::span::Span;
use crate::value::{Kind, NotAValue, ValueText};

named! {
    pub enum Parity {
        Even = "even",
        Odd = "odd",
    }
}

impl Parity {
    pub fn of(value: u128) -> Parity {
        if value & 1 == 0 { Parity::Even } else { Parity::Odd }
    }
}

/// Which values a claim asks for. Two requests under one key are the same request when this is equal. `V` is
/// [`ValueText`] in a command, and [`Span`] once the text has been parsed by the kind of the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want<V = Span> {
    /// Exactly this value. A value of a prefix pool is the whole block.
    pub value: Option<V>,
    /// With `value`: if it is not available, take any other instead of refusing.
    pub fallback: bool,
    /// The number of values.
    pub count: u32,
    /// Whether they must be consecutive.
    pub contiguous: bool,
    /// Prefix pools: the length of the prefix.
    pub prefix_len: Option<u8>,
    pub parity: Option<Parity>,
    /// Overrides the pool's strategy.
    pub strategy: Option<Strategy>,
}

impl<V> Want<V> {
    /// One value, picked by the pool's strategy.
    pub fn any() -> Want<V> {
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

    /// The same with another value.
    pub fn with_value<T>(&self, value: Option<T>) -> Want<T> {
        Want {
            value,
            fallback: self.fallback,
            count: self.count,
            contiguous: self.contiguous,
            prefix_len: self.prefix_len,
            parity: self.parity,
            strategy: self.strategy,
        }
    }
}

impl Want<ValueText> {
    pub fn parse(&self, kind: Kind) -> Result<Want, NotAValue> {
        let value = self.value.as_ref().map(|text| kind.parse(&text.0)).transpose()?;
        Ok(self.with_value(value))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimState {
    Held,
    /// Released, and reserved for its former owner until then.
    Quarantined {
        until_ms: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub key: Arc<str>,
    /// The holder: the key itself, unless the client named another owner.
    pub owner: Arc<str>,
    /// In ascending order; never empty.
    pub values: Values,
    /// The journal position of its last change.
    pub version: u64,
    pub created_ms: u64,
    /// When the lease ends, after which other claims may take the values. `None`: never.
    pub expires_ms: Option<u64>,
    pub state: ClaimState,
    pub labels: Labels,
    /// The parameters of the claim; `None` stands for [`Want::any`] without a lease of its own.
    pub params: Option<Arc<ClaimParams>>,
}

/// The parameters that a repeated claim under the same key must have, too; with others it is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimParams {
    pub want: Want,
    pub ttl_ms: Option<u64>,
}

impl Claim {
    pub fn expired(&self, now_ms: u64) -> bool {
        self.expires_ms.is_some_and(|at| at <= now_ms)
    }
}

/// The spans of a claim. Almost all claims have exactly one, which needs no allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    first: Span,
    more: Option<Arc<[Span]>>,
}

impl Values {
    /// From spans in ascending order; `None` when there are none.
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

    /// The lowest span that overlaps `window`.
    pub fn first_within(&self, window: Span) -> Option<Span> {
        if self.first.overlaps(window) {
            return Some(self.first);
        }
        let more = self.more.as_deref()?;
        let at = more.partition_point(|span| span.last < window.first);
        more.get(at).copied().filter(|span| span.overlaps(window))
    }

    /// Every single value: prefixes as blocks, ids and addresses one by one.
    pub fn each(&self, kind: Kind) -> impl Iterator<Item = Span> + '_ {
        self.spans().flat_map(move |span| {
            let whole = kind.is_prefix();
            let last = if whole { span.first } else { span.last };
            (span.first..=last).map(move |point| if whole { span } else { Span::one(point) })
        })
    }

    /// The number of points that they cover, saturating.
    pub fn total(&self) -> u128 {
        self.spans().fold(0, |sum: u128, span| sum.saturating_add(span.len()))
    }
}
