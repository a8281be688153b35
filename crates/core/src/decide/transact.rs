//! Decides the operations of a transaction: all of them, or none.

use super::{Draft, capacity, check, claim, lease, release};
use crate::authority::transaction::{self, decide::DecidedOps};
use crate::command::{Idempotency, Op, Transact};
use crate::event::IdempotencyStored;
use crate::extension;
use crate::limits::at_most;
use crate::receipt::{Outcome, Receipt};
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
    let claims = ops.iter().map(|op| match op {
        Op::Claim(claim) => claim.pools.len() as u64,
        Op::Release(_) | Op::Renew(_) | Op::Confirm(_) | Op::Check(_) => 0,
        Op::Allocate(_) | Op::Deallocate(_) | Op::Extend(_) => 0,
    });
    at_most("claims_per_transaction_max", draft.limits.claims_per_transaction_max, claims.sum())
        .map_err(whole)?;
    if let Some(idempotency) = &transact.idempotency
        && let Some(receipt) = remembered(draft, idempotency).map_err(whole)?
    {
        return Ok(receipt);
    }
    let mut outcomes = Vec::with_capacity(ops.len());
    let mut decided = DecidedOps::begin(draft);
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
        decided.end_op(draft);
    }
    let is_external = |outcome: &Outcome| matches!(outcome, Outcome::External(_));
    let external = outcomes.iter().position(is_external);
    let waiting = transaction::decide::wait(draft, transact, &decided, &outcomes)?;
    let receipt = Receipt { outcomes, waiting };
    // An answer that is still to come is not stored: the key of the claim makes the request repeatable.
    if let Some(idempotency) = transact.idempotency.as_ref().filter(|_| external.is_none()) {
        let until_ms = draft.now_ms.saturating_add(draft.limits.idempotency_ms);
        let Idempotency { key, fingerprint } = idempotency;
        let stored = IdempotencyStored::new(key, *fingerprint, until_ms, &receipt);
        ensure_space(draft, &stored).map_err(whole)?;
        draft.record(stored);
    }
    extension::claims_decided(draft).map_err(whole)?;
    Ok(receipt)
}

/// The receipt that is stored under this key, if any.
fn remembered(draft: &Draft<'_>, idempotency: &Idempotency) -> Result<Option<Receipt>, Refusal> {
    let key = &idempotency.key;
    let sent = Idempotency::sent_key(key);
    at_most("key_bytes_max", draft.limits.key_bytes_max, sent.len() as u64)?;
    if sent.is_empty() {
        let what = "the idempotency key is empty".into();
        return Err(Refusal::Invalid { what, fix: "leave it out, or give one" });
    }
    match draft.state.idempotency(key) {
        Some(stored) if stored.until_ms() <= draft.now_ms => Ok(None),
        Some(stored) if stored.fingerprint() != idempotency.fingerprint => {
            Err(Refusal::IdempotencyDiffers { key: sent.into() })
        }
        Some(stored) => Ok(Some(stored.receipt())),
        None => transaction::decide::remembered(draft, idempotency),
    }
}

/// Refuses when there is no space for another answer: of all clients, or of this one.
fn ensure_space(draft: &Draft<'_>, stored: &IdempotencyStored) -> Result<(), Refusal> {
    let (limits, answers) = (draft.limits, &draft.state.answers);
    let client = Idempotency::client_of(stored.key());
    // Without authentication there is one client, which may use all.
    let percent = if client.is_empty() { 100 } else { limits.idempotency_client_percent_max };
    let share = |max: u64| (u128::from(max) * u128::from(percent) / 100) as u64;
    let (total, own, bytes) = (answers.total(), answers.used_by(client), stored.bytes());
    let is_full = |used: u64, more: u64, max: u64| used.saturating_add(more) > max;
    let limit = if is_full(total.keys, 1, limits.idempotency_keys_max) {
        "idempotency_keys_max"
    } else if is_full(total.bytes, bytes, limits.idempotency_bytes_max) {
        "idempotency_bytes_max"
    } else if is_full(own.keys, 1, share(limits.idempotency_keys_max))
        || is_full(own.bytes, bytes, share(limits.idempotency_bytes_max))
    {
        "idempotency_client_percent_max"
    } else {
        return Ok(());
    };
    let until_ms = answers.next_due().map_or(draft.now_ms, IdempotencyStored::until_ms);
    Err(Refusal::IdempotencyFull { limit, until_ms })
}
