//! The compact form of a claim in the state.

use std::sync::Arc;

use super::slots::FrozenSlots;
use crate::claim::{Claim, ClaimParams, ClaimState, Values};
use crate::event::Was;
use crate::pool::Labels;
use crate::refusal::Holder;
use crate::span::Span;
use crate::value::Kind;

/// A claim: the fields that all claims have inline, the others behind one pointer.
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

/// Fields that most claims do not have.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Extra {
    owner: Option<Arc<str>>,
    values: Option<Values>,
    labels: Labels,
    params: Option<Arc<ClaimParams>>,
}

const NEVER: u64 = u64::MAX;

impl Row {
    pub fn of(claim: Claim) -> Row {
        let extra = Extra {
            owner: (claim.owner != claim.key).then_some(claim.owner),
            values: claim.values.spans().nth(1).is_some().then(|| claim.values.clone()),
            labels: claim.labels,
            params: claim.params,
        };
        let plain = extra.owner.is_none()
            && extra.values.is_none()
            && extra.labels.is_empty()
            && extra.params.is_none();
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
            params: self.params().cloned(),
        }
    }

    /// The owner and the values, for an event about them.
    pub fn was(&self, kind: Kind) -> Option<Was> {
        Some(Was { owner: self.owner().clone(), values: self.values(), kind })
    }

    /// For the refusal of a claim that wants its values.
    pub fn holder(&self) -> Holder {
        let (key, owner) = (self.key.clone(), self.owner().clone());
        Holder { key, owner, expires_ms: self.expires_ms() }
    }

    pub fn owner(&self) -> &Arc<str> {
        self.extra.as_ref().and_then(|extra| extra.owner.as_ref()).unwrap_or(&self.key)
    }

    pub fn params(&self) -> Option<&Arc<ClaimParams>> {
        self.extra.as_ref().and_then(|extra| extra.params.as_ref())
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

/// An immutable copy of the rows.
#[derive(Debug, Clone)]
pub struct FrozenRows(pub(super) FrozenSlots<Row>);

impl FrozenRows {
    /// The number of claims, held or in quarantine.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn claims(&self) -> impl Iterator<Item = Claim> {
        self.0.iter().map(Row::claim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_fits_in_96_bytes() {
        assert!(size_of::<Option<Row>>() <= 96, "{}", size_of::<Option<Row>>());
    }
}
