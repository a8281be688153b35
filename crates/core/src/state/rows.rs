//! The claims of a pool: compact rows in shared chunks.
//!
//! A checkpoint or a second copy of the state shares the chunks and pays only for those that change while it lives.

use std::sync::Arc;

use super::Slot;
use crate::claim::{Asked, Claim, ClaimState, Values};
use crate::event::Was;
use crate::pool::Labels;
use crate::span::Span;
use crate::value::Kind;

const CHUNK: usize = 256;

/// A claim as stored: what nearly every claim has inline, the rest behind one pointer.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub key: Arc<str>,
    pub first: Span,
    pub version: u64,
    pub created_ms: u64,
    /// `u64::MAX`: no lease.
    expires_ms: u64,
    /// `u64::MAX`: held; otherwise in quarantine until then.
    until_ms: u64,
    extra: Option<Arc<Extra>>,
}

/// What most claims do not have.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Extra {
    owner: Option<Arc<str>>,
    values: Option<Values>,
    labels: Labels,
    asked: Option<Arc<Asked>>,
}

const NEVER: u64 = u64::MAX;

impl Row {
    pub fn of(claim: Claim) -> Row {
        let extra = Extra {
            owner: (claim.owner != claim.key).then_some(claim.owner),
            values: claim.values.spans().nth(1).is_some().then(|| claim.values.clone()),
            labels: claim.labels,
            asked: claim.asked,
        };
        let plain = extra.owner.is_none()
            && extra.values.is_none()
            && extra.labels.is_empty()
            && extra.asked.is_none();
        Row {
            key: claim.key,
            first: claim.values.first(),
            version: claim.version,
            created_ms: claim.created_ms,
            expires_ms: claim.expires_ms.unwrap_or(NEVER),
            until_ms: match claim.state {
                ClaimState::Held => NEVER,
                ClaimState::Quarantined { until_ms } => until_ms.min(NEVER - 1),
            },
            extra: (!plain).then(|| Arc::new(extra)),
        }
    }

    pub fn claim(&self) -> Claim {
        Claim {
            key: self.key.clone(),
            owner: self.owner().clone(),
            values: self.values(),
            version: self.version,
            created_ms: self.created_ms,
            expires_ms: self.expires_ms(),
            state: self.state(),
            labels: self.extra.as_ref().map(|extra| extra.labels.clone()).unwrap_or_default(),
            asked: self.asked().cloned(),
        }
    }

    /// Whose values these are, for an event that is about them.
    pub fn was(&self, kind: Kind) -> Option<Was> {
        Some(Was { owner: self.owner().clone(), values: self.values(), kind })
    }

    pub fn owner(&self) -> &Arc<str> {
        self.extra.as_ref().and_then(|extra| extra.owner.as_ref()).unwrap_or(&self.key)
    }

    pub fn asked(&self) -> Option<&Arc<Asked>> {
        self.extra.as_ref().and_then(|extra| extra.asked.as_ref())
    }

    pub fn labels(&self) -> Option<&Labels> {
        self.extra.as_ref().map(|extra| &extra.labels)
    }

    pub fn expires_ms(&self) -> Option<u64> {
        (self.expires_ms != NEVER).then_some(self.expires_ms)
    }

    pub fn expired(&self, now_ms: u64) -> bool {
        self.expires_ms().is_some_and(|at| at <= now_ms)
    }

    pub fn state(&self) -> ClaimState {
        match self.quarantined_until() {
            None => ClaimState::Held,
            Some(until_ms) => ClaimState::Quarantined { until_ms },
        }
    }

    pub fn quarantined_until(&self) -> Option<u64> {
        (self.until_ms != NEVER).then_some(self.until_ms)
    }

    pub fn held(&self) -> bool {
        self.until_ms == NEVER
    }

    pub fn values(&self) -> Values {
        match self.extra.as_ref().and_then(|extra| extra.values.as_ref()) {
            Some(values) => values.clone(),
            None => Values::one(self.first),
        }
    }
}

/// Rows by slot. Slots are given back last in, first out, so that undoing restores exactly what was there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    chunks: Vec<Arc<Vec<Option<Row>>>>,
    vacant: Vec<Slot>,
    len: usize,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn get(&self, slot: Slot) -> Option<&Row> {
        self.chunks.get(slot as usize / CHUNK)?.get(slot as usize % CHUNK)?.as_ref()
    }

    pub fn insert(&mut self, row: Row) -> Slot {
        self.len += 1;
        if let Some(slot) = self.vacant.pop() {
            self.place(slot, Some(row));
            return slot;
        }
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => Arc::make_mut(chunk).push(Some(row)),
            _ => self.chunks.push(Arc::new(vec![Some(row)])),
        }
        (self.len - 1) as Slot
    }

    pub fn remove(&mut self, slot: Slot) -> Option<Row> {
        let row = self.place(slot, None)?;
        self.len -= 1;
        self.vacant.push(slot);
        Some(row)
    }

    fn place(&mut self, slot: Slot, row: Option<Row>) -> Option<Row> {
        let chunk = self.chunks.get_mut(slot as usize / CHUNK)?;
        let place = Arc::make_mut(chunk).get_mut(slot as usize % CHUNK)?;
        std::mem::replace(place, row)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Slot, &Row)> {
        let rows = self.chunks.iter().flat_map(|chunk| chunk.iter());
        (0..).zip(rows).filter_map(|(slot, row)| Some((slot, row.as_ref()?)))
    }

    /// The chunks as they are now, unchanged by what happens to the rows afterwards.
    pub fn freeze(&self) -> FrozenRows {
        FrozenRows(self.chunks.clone())
    }
}

/// The rows of one moment.
#[derive(Debug, Clone)]
pub struct FrozenRows(Vec<Arc<Vec<Option<Row>>>>);

impl FrozenRows {
    pub fn claims(&self) -> impl Iterator<Item = Claim> {
        self.0.iter().flat_map(|chunk| chunk.iter().flatten()).map(Row::claim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: &str) -> Row {
        Row::of(Claim {
            key: key.into(),
            owner: key.into(),
            values: Values::one(Span::one(1)),
            version: 1,
            created_ms: 1,
            expires_ms: None,
            state: ClaimState::Held,
            labels: Labels::default(),
            asked: None,
        })
    }

    #[test]
    fn a_row_is_small() {
        assert!(size_of::<Option<Row>>() <= 96, "{}", size_of::<Option<Row>>());
    }

    #[test]
    fn slots_come_back_last_in_first_out_and_a_frozen_copy_stays() {
        let mut rows = Rows::default();
        for n in 0..1000 {
            assert_eq!(rows.insert(row(&n.to_string())), n);
        }
        let frozen = rows.freeze();
        rows.remove(5);
        rows.remove(700);
        assert_eq!(rows.remove(700).map(|row| row.key), None);
        assert_eq!((rows.insert(row("a")), rows.insert(row("b")), rows.len()), (700, 5, 1000));
        assert_eq!(frozen.claims().nth(5).map(|claim| claim.key), Some("5".into()));
    }
}
