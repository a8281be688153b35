//! Receipts as bytes in memory. There may be hundreds of thousands of stored answers, and a plain receipt takes several times
//! as much. This form is never stored or sent: it may change at any time.

use std::sync::Arc;

use super::{ClaimIn, Outcome, Receipt};
use crate::capacity::Uuid;
use crate::claim::{Claim, ClaimParams, ClaimState, Parity, Values, Want};
use crate::pool::{Labels, Strategy};
use crate::span::Span;
use crate::value::Kind;

/// Appends the receipt. Outcomes that no command with an idempotency key has are left out, as in the journal.
pub(crate) fn pack(receipt: &Receipt, out: &mut Vec<u8>) {
    for outcome in &receipt.outcomes {
        pack_outcome(outcome, out);
    }
}

/// The receipt of bytes that `pack` has written. `None` for others.
pub(crate) fn unpack(bytes: &[u8]) -> Option<Receipt> {
    let mut from = Unpacker(bytes);
    let mut outcomes = Vec::new();
    while !from.0.is_empty() {
        outcomes.push(from.outcome()?);
    }
    Some(Receipt { outcomes })
}

const POOL_PUT: u8 = 0;
const POOL_DELETED: u8 = 1;
const CLAIMED: u8 = 2;
const RELEASED: u8 = 3;
const LEASED: u8 = 4;
const CHECKED: u8 = 5;
const TICKED: u8 = 6;
const ALLOCATED: u8 = 7;
const DEALLOCATED: u8 = 8;
const EXTENDED: u8 = 9;

fn pack_outcome(outcome: &Outcome, out: &mut Vec<u8>) {
    match outcome {
        Outcome::PoolPut { created, generation } => {
            out.extend([POOL_PUT, u8::from(*created)]);
            number(*generation, out);
        }
        Outcome::PoolDeleted { existed } => out.extend([POOL_DELETED, u8::from(*existed)]),
        Outcome::Claimed { claims, created } => {
            out.extend([CLAIMED, u8::from(*created)]);
            number(claims.len() as u64, out);
            claims.iter().for_each(|claim| pack_claim(claim, out));
        }
        Outcome::Released { existed } => out.extend([RELEASED, u8::from(*existed)]),
        Outcome::Leased(claim) => {
            out.push(LEASED);
            pack_claim(claim, out);
        }
        Outcome::Checked => out.push(CHECKED),
        Outcome::Ticked => out.push(TICKED),
        Outcome::Allocated { consumers } => {
            out.push(ALLOCATED);
            number(consumers.len() as u64, out);
            for (consumer, generation) in consumers {
                out.extend(consumer.0.to_le_bytes());
                optional(*generation, out);
            }
        }
        Outcome::Deallocated { existed } => out.extend([DEALLOCATED, u8::from(*existed)]),
        Outcome::Extended { consumer, generation, expires_ms } => {
            out.push(EXTENDED);
            out.extend(consumer.0.to_le_bytes());
            number(*generation, out);
            optional(*expires_ms, out);
        }
        Outcome::Provider(_)
        | Outcome::Named { .. }
        | Outcome::Unnamed
        | Outcome::Reshaped
        | Outcome::Ids(_)
        | Outcome::BlocksEdited
        | Outcome::RequestsEdited
        | Outcome::Found(_)
        | Outcome::NotificationChanged
        | Outcome::AlarmPurged
        | Outcome::AuthorityPut { .. }
        | Outcome::AuthorityDeleted { .. }
        | Outcome::External(_)
        | Outcome::LookUp(_)
        | Outcome::LookUpDeleted { .. }
        | Outcome::LookUpsRefreshed
        | Outcome::Reconciling { .. }
        | Outcome::Reported { .. } => {}
    }
}

fn pack_claim(ClaimIn { pool, kind, claim }: &ClaimIn, out: &mut Vec<u8>) {
    text(pool, out);
    out.push(index(&Kind::ALL, *kind));
    text(&claim.key, out);
    // Most claims belong to their own key.
    out.push(u8::from(claim.owner != claim.key));
    if claim.owner != claim.key {
        text(&claim.owner, out);
    }
    number(claim.values.spans().count() as u64, out);
    claim.values.spans().for_each(|span| pack_span(span, out));
    number(claim.version, out);
    number(claim.created_ms, out);
    optional(claim.expires_ms, out);
    optional(
        match claim.state {
            ClaimState::Held => None,
            ClaimState::Quarantined { until_ms } => Some(until_ms),
        },
        out,
    );
    number(claim.labels.len() as u64, out);
    for (name, label) in claim.labels.iter() {
        text(name, out);
        text(label, out);
    }
    out.push(u8::from(claim.params.is_some()));
    if let Some(params) = &claim.params {
        pack_params(params, out);
    }
}

fn pack_params(ClaimParams { want, ttl_ms }: &ClaimParams, out: &mut Vec<u8>) {
    out.push(u8::from(want.value.is_some()));
    want.value.iter().for_each(|span| pack_span(*span, out));
    out.extend([u8::from(want.fallback), u8::from(want.contiguous)]);
    number(want.count.into(), out);
    optional(want.prefix_len.map(u64::from), out);
    // 0: none.
    out.push(want.parity.map_or(0, |parity| index(&Parity::ALL, parity) + 1));
    out.push(want.strategy.map_or(0, |strategy| index(&Strategy::ALL, strategy) + 1));
    optional(*ttl_ms, out);
}

fn pack_span(span: Span, out: &mut Vec<u8>) {
    wide_number(span.first, out);
    wide_number(span.last - span.first, out);
}

fn text(text: &str, out: &mut Vec<u8>) {
    number(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

fn number(number: u64, out: &mut Vec<u8>) {
    wide_number(number.into(), out);
}

/// Seven bits in each byte, the lowest first; the highest bit says that more follow.
fn wide_number(mut number: u128, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn optional(value: Option<u64>, out: &mut Vec<u8>) {
    out.push(u8::from(value.is_some()));
    value.into_iter().for_each(|value| number(value, out));
}

fn index<T: PartialEq>(all: &[T], one: T) -> u8 {
    all.iter().position(|known| *known == one).unwrap_or_default() as u8
}

/// Reads from the front of the bytes. `None`: they are not what `pack` writes.
struct Unpacker<'a>(&'a [u8]);

impl<'a> Unpacker<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    fn flag(&mut self) -> Option<bool> {
        self.byte().map(|byte| byte != 0)
    }

    fn wide_number(&mut self) -> Option<u128> {
        let mut number = 0;
        for shift in (0..128).step_by(7) {
            let byte = self.byte()?;
            number |= u128::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn number(&mut self) -> Option<u64> {
        self.wide_number()?.try_into().ok()
    }

    fn optional(&mut self) -> Option<Option<u64>> {
        if self.flag()? { self.number().map(Some) } else { Some(None) }
    }

    fn text(&mut self) -> Option<Arc<str>> {
        let length = self.number()?.try_into().ok()?;
        std::str::from_utf8(self.take(length)?).ok().map(Arc::from)
    }

    /// As many as a number says, which comes first.
    fn list<T>(&mut self, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        (0..count).map(|_| one(self)).collect()
    }

    fn uuid(&mut self) -> Option<Uuid> {
        let bytes = self.take(16)?.try_into().ok()?;
        Some(Uuid(u128::from_le_bytes(bytes)))
    }

    fn span(&mut self) -> Option<Span> {
        let first = self.wide_number()?;
        let last = first.checked_add(self.wide_number()?)?;
        Some(Span { first, last })
    }

    fn outcome(&mut self) -> Option<Outcome> {
        Some(match self.byte()? {
            POOL_PUT => Outcome::PoolPut { created: self.flag()?, generation: self.number()? },
            POOL_DELETED => Outcome::PoolDeleted { existed: self.flag()? },
            CLAIMED => {
                let created = self.flag()?;
                Outcome::Claimed { claims: self.list(Self::claim_in)?, created }
            }
            RELEASED => Outcome::Released { existed: self.flag()? },
            LEASED => Outcome::Leased(self.claim_in()?),
            CHECKED => Outcome::Checked,
            TICKED => Outcome::Ticked,
            ALLOCATED => {
                let consumers = self.list(|from| Some((from.uuid()?, from.optional()?)))?;
                Outcome::Allocated { consumers }
            }
            DEALLOCATED => Outcome::Deallocated { existed: self.flag()? },
            EXTENDED => Outcome::Extended {
                consumer: self.uuid()?,
                generation: self.number()?,
                expires_ms: self.optional()?,
            },
            _ => return None,
        })
    }

    fn claim_in(&mut self) -> Option<ClaimIn> {
        let (pool, kind) = (self.text()?, *Kind::ALL.get(usize::from(self.byte()?))?);
        let key = self.text()?;
        let owner = if self.flag()? { self.text()? } else { key.clone() };
        let values = Values::new(&self.list(Self::span)?)?;
        let (version, created_ms) = (self.number()?, self.number()?);
        let expires_ms = self.optional()?;
        let state = match self.optional()? {
            None => ClaimState::Held,
            Some(until_ms) => ClaimState::Quarantined { until_ms },
        };
        let labels: Labels = self.list(|from| Some((from.text()?, from.text()?)))?.into();
        let params = if self.flag()? { Some(Arc::new(self.params()?)) } else { None };
        let claim =
            Claim { key, owner, values, version, created_ms, expires_ms, state, labels, params };
        Some(ClaimIn { pool, kind, claim })
    }

    fn params(&mut self) -> Option<ClaimParams> {
        let value = if self.flag()? { Some(self.span()?) } else { None };
        let (fallback, contiguous) = (self.flag()?, self.flag()?);
        let count = self.number()?.try_into().ok()?;
        let prefix_len = self.optional()?.map(u8::try_from).transpose().ok()?;
        let parity =
            self.byte()?.checked_sub(1).map(|at| Parity::ALL.get(usize::from(at)).copied());
        let strategy =
            self.byte()?.checked_sub(1).map(|at| Strategy::ALL.get(usize::from(at)).copied());
        let want = Want {
            value,
            fallback,
            count,
            contiguous,
            prefix_len,
            parity: parity.flatten(),
            strategy: strategy.flatten(),
        };
        Some(ClaimParams { want, ttl_ms: self.optional()? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::{Just, any, prop_assert_eq, prop_compose, prop_oneof, proptest};
    use proptest::sample::select;
    use proptest::strategy::Strategy as Generator;

    use super::*;

    fn words() -> impl Generator<Value = Arc<str>> {
        ".{0,12}".prop_map(|text: String| text.into())
    }

    fn spans() -> impl Generator<Value = Span> {
        any::<(u128, u128)>()
            .prop_map(|(one, other)| Span { first: one.min(other), last: one.max(other) })
    }

    prop_compose! {
        fn params()(
            value in option::of(spans()),
            (fallback, contiguous) in any::<(bool, bool)>(),
            count in any::<u32>(),
            prefix_len in any::<Option<u8>>(),
            parity in option::of(select(&Parity::ALL[..])),
            strategy in option::of(select(&Strategy::ALL[..])),
            ttl_ms in any::<Option<u64>>(),
        ) -> Arc<ClaimParams> {
            let want = Want { value, fallback, count, contiguous, prefix_len, parity, strategy };
            Arc::new(ClaimParams { want, ttl_ms })
        }
    }

    prop_compose! {
        fn claims()(
            (pool, key, owner) in (words(), words(), option::of(words())),
            kind in select(&Kind::ALL[..]),
            values in vec(spans(), 1..4),
            (version, created_ms) in any::<(u64, u64)>(),
            (expires_ms, until_ms) in any::<(Option<u64>, Option<u64>)>(),
            labels in vec((words(), words()), 0..3),
            params in option::of(params()),
        ) -> ClaimIn {
            let owner = owner.unwrap_or_else(|| key.clone());
            let values = Values::new(&values).unwrap();
            let state = match until_ms {
                None => ClaimState::Held,
                Some(until_ms) => ClaimState::Quarantined { until_ms },
            };
            let labels = labels.into();
            let claim = Claim { key, owner, values, version, created_ms, expires_ms, state, labels, params };
            ClaimIn { pool, kind, claim }
        }
    }

    fn outcomes() -> impl Generator<Value = Outcome> {
        prop_oneof![
            any::<(bool, u64)>()
                .prop_map(|(created, generation)| Outcome::PoolPut { created, generation }),
            any::<bool>().prop_map(|existed| Outcome::PoolDeleted { existed }),
            (vec(claims(), 0..3), any::<bool>())
                .prop_map(|(claims, created)| Outcome::Claimed { claims, created }),
            any::<bool>().prop_map(|existed| Outcome::Released { existed }),
            claims().prop_map(Outcome::Leased),
            Just(Outcome::Checked),
            Just(Outcome::Ticked),
            vec(any::<(u128, Option<u64>)>(), 0..3).prop_map(|all| {
                let consumers = all.into_iter().map(|(uuid, generation)| (Uuid(uuid), generation));
                Outcome::Allocated { consumers: consumers.collect() }
            }),
            any::<bool>().prop_map(|existed| Outcome::Deallocated { existed }),
            any::<(u128, u64, Option<u64>)>().prop_map(|(uuid, generation, expires_ms)| {
                Outcome::Extended { consumer: Uuid(uuid), generation, expires_ms }
            }),
        ]
    }

    proptest! {
        #[test]
        fn unpacked_receipt_is_the_packed_one(outcomes in vec(outcomes(), 0..5), cut in any::<u16>()) {
            let receipt = Receipt { outcomes };
            let mut bytes = Vec::new();
            pack(&receipt, &mut bytes);
            prop_assert_eq!(unpack(&bytes), Some(receipt));
            // Other bytes are never a panic.
            let _ = unpack(&bytes[..usize::from(cut) % (bytes.len() + 1)]);
        }
    }
}
