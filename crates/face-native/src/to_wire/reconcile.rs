//! Translates reconciliations.

use allod_core::authority::{FindingCounts, Reconciliation, ReconciliationState};

use super::ReasonDetail;
use crate::wire::{
    self, ConflictAnswer, DriftedAnswer, FindingCountsAnswer, MissingAnswer, OrphanAnswer, Time,
    UuidText,
};

/// Why a reconciliation has failed.
pub(crate) fn failure(last: &Reconciliation, detail: ReasonDetail) -> Option<&str> {
    let reason = last.reason.as_deref().filter(|_| last.state == ReconciliationState::Failed)?;
    Some(match detail {
        ReasonDetail::Full => reason,
        ReasonDetail::Short => "the attempt failed",
    })
}

pub(crate) fn reconciliation<'a>(
    authority: &'a str,
    last: &'a Reconciliation,
    detail: ReasonDetail,
) -> wire::Reconciliation<'a> {
    let findings = &last.findings;
    let FindingCounts { orphans, missing, drifted, conflicts } = findings.counts;
    wire::Reconciliation {
        authority,
        number: last.number,
        state: last.state.name(),
        at: Time { ms: last.at_ms },
        position: Some(last.position).filter(|&position| position > 0),
        reason: failure(last, detail),
        orphans: findings
            .orphans
            .iter()
            .map(|one| OrphanAnswer {
                reference: UuidText(one.reference),
                value: &one.value,
                handle: one.handle.as_deref(),
                own: one.own,
            })
            .collect(),
        missing: findings
            .missing
            .iter()
            .map(|one| MissingAnswer {
                reference: UuidText(one.reference),
                pool: &one.pool,
                key: &one.key,
                value: &one.value,
            })
            .collect(),
        drifted: findings
            .drifted
            .iter()
            .map(|one| DriftedAnswer {
                reference: UuidText(one.reference),
                pool: &one.pool,
                key: &one.key,
                value: &one.value,
                seen: &one.seen,
            })
            .collect(),
        conflicts: findings
            .conflicts
            .iter()
            .map(|one| ConflictAnswer {
                reference: UuidText(one.reference),
                value: &one.value,
                pool: &one.pool,
                key: &one.key,
            })
            .collect(),
        counts: FindingCountsAnswer { orphans, missing, drifted, conflicts },
    }
}
