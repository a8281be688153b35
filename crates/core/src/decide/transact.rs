//! Decides the operations of a transaction: all of them, or none.

use std::sync::Arc;

use super::{Draft, capacity, check, claim, lease, release};
use crate::command::{Idempotency, Op, Transact};
use crate::event::IdempotencyStored;
use crate::extension;
use crate::limits::at_most;
use crate::receipt::Receipt;
use crate::refusal::{Refusal, Refused};

pub(super) fn run(draft: &mut Draft<'_>, transact: &Transact) -> Result<Receipt, Refused> {
    let whole = |refusal| Refused { op: 0, refusal };
    let ops = &transact.ops;
    if ops.is_empty() {
        let what = "the transaction has no operation".into();
        return Err(whole(Refusal::Invalid { what, fix: "give at least one" }));
    }
    at_most("ops_per_transaction_max", draft.limits.ops_per_transaction_max, ops.len() as u64)
        .map_err(whole)?;
    let values = ops.iter().map(|op| match op {
        Op::Claim(claim) => u64::from(claim.want.count).saturating_mul(claim.pools.len() as u64),
        Op::Release(_) | Op::Renew(_) | Op::Confirm(_) | Op::Check(_) => 0,
        Op::Allocate(_) | Op::Deallocate(_) | Op::Extend(_) => 0,
    });
    let values = values.fold(0, u64::saturating_add);
    at_most("values_per_transaction_max", draft.limits.values_per_transaction_max, values)
        .map_err(whole)?;
    if let Some(idempotency) = &transact.idempotency
        && let Some(receipt) = remembered(draft, idempotency).map_err(whole)?
    {
        return Ok(receipt);
    }
    let mut outcomes = Vec::with_capacity(ops.len());
    for (op, operation) in ops.iter().enumerate() {
        let outcome = match operation {
            Op::Claim(claim) => claim::run(draft, claim),
            Op::Release(release) => release::run(draft, release),
            Op::Renew(renew) => lease::renew(draft, renew),
            Op::Confirm(confirm) => lease::confirm(draft, confirm),
            Op::Allocate(allocate) => capacity::allocate(draft, allocate),
            Op::Deallocate(deallocate) => capacity::deallocate(draft, deallocate),
            Op::Extend(extend) => capacity::extend(draft, extend),
            Op::Check(check) => check::run(draft, check),
        };
        outcomes.push(outcome.map_err(|refusal| Refused { op, refusal })?);
    }
    let receipt = Receipt { outcomes };
    if let Some(idempotency) = &transact.idempotency {
        draft.record(IdempotencyStored {
            key: idempotency.key.clone(),
            fingerprint: idempotency.fingerprint,
            until_ms: draft.now_ms.saturating_add(draft.limits.idempotency_ms),
            receipt: Arc::new(receipt.clone()),
        });
    }
    extension::claims_decided(draft).map_err(whole)?;
    Ok(receipt)
}

/// The receipt that is stored under this key, if any.
fn remembered(draft: &Draft<'_>, idempotency: &Idempotency) -> Result<Option<Receipt>, Refusal> {
    let key = &idempotency.key;
    at_most("key_bytes_max", draft.limits.key_bytes_max, key.len() as u64)?;
    if key.is_empty() {
        let what = "the idempotency key is empty".into();
        return Err(Refusal::Invalid { what, fix: "leave it out, or give one" });
    }
    match draft.state.idempotency(key) {
        Some(stored) if stored.until_ms <= draft.now_ms => Ok(None),
        Some(stored) if stored.fingerprint != idempotency.fingerprint => {
            Err(Refusal::IdempotencyDiffers { key: key.clone() })
        }
        Some(stored) => Ok(Some(Receipt::clone(&stored.receipt))),
        None => {
            let known = draft.state.idempotency.len() as u64 + 1;
            at_most("idempotency_keys_max", draft.limits.idempotency_keys_max, known)?;
            Ok(None)
        }
    }
}
