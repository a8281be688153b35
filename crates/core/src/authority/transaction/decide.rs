//! Begins a transaction that waits for authorities, and ends it when they have answered.

use std::sync::Arc;

use super::{Part, TransactionState, WaitingTransaction};
use crate::authority::decide::{begin_release, withdraw_stuck};
use crate::authority::event::{
    AuthorityEvent, TransactionForgotten, TransactionSettled, TransactionWaiting,
};
use crate::authority::refusal::AuthorityRefusal;
use crate::authority::{ExternalClaim, ExternalState, RefusalCode};
use crate::capacity::Uuid;
use crate::command::{Idempotency, Op, Transact};
use crate::decide::{Draft, capacity, release};
use crate::event::capacity::CapacityEvent;
use crate::event::{ClaimEvent, Event, ReleaseCause};
use crate::limits::at_most;
use crate::receipt::{Outcome, Receipt};
use crate::refusal::{Refusal, Refused};

/// The events of each operation that was decided so far.
#[derive(Debug, Default)]
pub(crate) struct DecidedOps {
    /// The number of events after each operation.
    ends: Vec<usize>,
    begin: usize,
}

impl DecidedOps {
    pub fn begin(draft: &Draft<'_>) -> DecidedOps {
        DecidedOps { ends: Vec::new(), begin: draft.events.len() }
    }

    pub fn end_op(&mut self, draft: &Draft<'_>) {
        self.ends.push(draft.events.len());
    }

    /// The events with the index of their operation.
    fn events<'a>(&'a self, draft: &'a Draft<'_>) -> impl Iterator<Item = (u32, &'a Event)> {
        let begins = std::iter::once(&self.begin).chain(&self.ends);
        let ops = begins.zip(&self.ends).zip(0..);
        ops.flat_map(|((from, end), op)| draft.events[*from..*end].iter().map(move |e| (op, e)))
    }
}

/// The operations of the transaction were decided, and an authority must answer at least one of them.
pub(crate) fn wait(
    draft: &mut Draft<'_>,
    transact: &Transact,
    ops: &DecidedOps,
    outcomes: &[Outcome],
) -> Result<Option<Arc<WaitingTransaction>>, Refused> {
    let external = |outcome: &Outcome| match outcome {
        Outcome::External(claim) => Some(claim.clone()),
        _ => None,
    };
    let external: Vec<(usize, Arc<ExternalClaim>)> =
        (0..).zip(outcomes).filter_map(|(op, outcome)| Some((op, external(outcome)?))).collect();
    if external.is_empty() || transact.ops.len() == 1 {
        return Ok(None);
    }
    ensure_allowed(draft, transact, ops)?;
    let parts = parts(draft, ops);
    let is_new = |claim: &ExternalClaim| {
        parts.iter().filter_map(Part::external).any(|(_, new)| new == claim.request.reference)
    };
    let before: Vec<_> = external.iter().filter(|(_, claim)| !is_new(claim)).collect();
    if parts.is_empty()
        && let Some(same) = common(draft, &external)
    {
        return Ok(Some(same));
    }
    if let Some((op, claim)) = before.first() {
        let (pool, key) = (claim.request.pool.clone(), claim.request.key.clone());
        let refusal = AuthorityRefusal::StillWanted { pool, key }.into();
        return Err(Refused { op: *op, refusal });
    }
    let op = external.first().map_or(0, |(op, _)| *op);
    begin(draft, transact, parts).map(Some).map_err(|refusal| Refused { op, refusal })
}

/// Refuses operations that cannot be taken back.
fn ensure_allowed(draft: &Draft<'_>, transact: &Transact, ops: &DecidedOps) -> Result<(), Refused> {
    let refused = |op: u32| {
        let what =
            "the transaction waits for an authority, and this operation cannot be undone later";
        let fix = "send it on its own; claims, checks and allocations of new consumers can wait";
        Err(Refused { op: op as usize, refusal: Refusal::Invalid { what: what.into(), fix } })
    };
    for (op, operation) in (0..).zip(&transact.ops) {
        match operation {
            Op::Claim(_) | Op::Check(_) | Op::Allocate(_) => {}
            Op::Release(_) | Op::Renew(_) | Op::Confirm(_) | Op::Deallocate(_) | Op::Extend(_) => {
                return refused(op);
            }
        }
    }
    for (op, event) in ops.events(draft) {
        match event {
            Event::Capacity(CapacityEvent::AllocationsSet(event)) if event.generation > 1 => {
                return refused(op);
            }
            Event::Capacity(CapacityEvent::AllocationsReleased(_)) => return refused(op),
            _ => {}
        }
    }
    Ok(())
}

/// What the operations have claimed.
fn parts(draft: &Draft<'_>, ops: &DecidedOps) -> Vec<Part> {
    let part = |(op, event): (u32, &Event)| match event {
        Event::Claim(ClaimEvent::Granted(event)) => {
            Some(Part::Claim { pool: event.pool.clone(), key: event.key.clone() })
        }
        Event::Authority(AuthorityEvent::Wanted(event)) => {
            let request = &event.request;
            let (pool, key) = (request.pool.clone(), request.key.clone());
            Some(Part::External { op, reference: request.reference, pool, key })
        }
        Event::Capacity(CapacityEvent::AllocationsSet(event)) => {
            Some(Part::Consumer(event.consumer))
        }
        _ => None,
    };
    ops.events(draft).filter_map(part).collect()
}

/// The transaction that has all of these claims.
fn common(
    draft: &Draft<'_>,
    claims: &[(usize, Arc<ExternalClaim>)],
) -> Option<Arc<WaitingTransaction>> {
    let all = &draft.state.authorities.transactions;
    let mut of = claims.iter().map(|(_, claim)| all.with(claim.request.reference));
    let first = of.next()??;
    of.all(|other| other.is_some_and(|other| other.id == first.id)).then(|| first.clone())
}

fn begin(
    draft: &mut Draft<'_>,
    transact: &Transact,
    parts: Vec<Part>,
) -> Result<Arc<WaitingTransaction>, Refusal> {
    // It has ended, and its time is over.
    let key = transact.idempotency.as_ref().map(|idempotency| &idempotency.key);
    let old = key.and_then(|key| draft.state.authorities.transactions.of_key(key));
    if let Some(id) = old.map(|old| old.id) {
        draft.record(TransactionForgotten { id });
    }
    let (limits, all) = (draft.limits, &draft.state.authorities.transactions);
    at_most("waiting_transactions_max", limits.waiting_transactions_max, all.waiting + 1)?;
    let many = all.parts.saturating_add(parts.len() as u64);
    at_most("transaction_parts_max", limits.transaction_parts_max, many)?;
    let transaction = WaitingTransaction {
        id: draft.reference(),
        state: TransactionState::Waiting,
        version: draft.version,
        since_ms: draft.now_ms,
        until_ms: None,
        parts: parts.into(),
        idempotency: transact.idempotency.clone(),
        op: None,
        code: None,
        reason: None,
    };
    draft.record(TransactionWaiting { transaction: transaction.clone() });
    Ok(Arc::new(transaction))
}

/// The transaction that waits or has ended under this idempotency key.
pub(crate) fn remembered(
    draft: &Draft<'_>,
    idempotency: &Idempotency,
) -> Result<Option<Receipt>, Refusal> {
    let known = draft.state.authorities.transactions.of_key(&idempotency.key);
    let known = known.filter(|known| known.until_ms.is_none_or(|until| until > draft.now_ms));
    let Some(known) = known else { return Ok(None) };
    let before = known.idempotency.as_ref().map(|before| before.fingerprint);
    if before != Some(idempotency.fingerprint) {
        let key = Idempotency::sent_key(&idempotency.key).into();
        return Err(Refusal::IdempotencyDiffers { key });
    }
    Ok(Some(Receipt { outcomes: Vec::new(), waiting: Some(known.clone()) }))
}

/// Ends the transactions whose claims this decision has changed, if they need not wait any longer.
pub(crate) fn claims_decided(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if draft.state.authorities.transactions.waiting == 0 {
        return Ok(());
    }
    let mut at = 0;
    while let Some(event) = draft.events.get(at) {
        at += 1;
        let reference = match event {
            Event::Authority(AuthorityEvent::Progressed(event)) => event.reference,
            Event::Authority(AuthorityEvent::Closed(event)) => event.reference,
            _ => continue,
        };
        let known = draft.state.authorities.transactions.with(reference).cloned();
        if let Some(transaction) = known {
            claim_changed(draft, &transaction, reference)?;
        }
    }
    Ok(())
}

fn claim_changed(
    draft: &mut Draft<'_>,
    transaction: &WaitingTransaction,
    reference: Uuid,
) -> Result<(), Refusal> {
    let all = &draft.state.authorities;
    let progress = all.get(reference).map(|claim| &claim.progress);
    let withdrawn = || "a claim of the transaction was released".into();
    let (code, reason) = match progress {
        None => (None, withdrawn()),
        Some(progress) => match progress.state {
            _ if progress.withdrawn => (None, withdrawn()),
            ExternalState::Releasing => (None, withdrawn()),
            ExternalState::Refused => {
                (progress.code, progress.reason.clone().unwrap_or_else(|| "refused".into()))
            }
            ExternalState::Held => {
                let is_held = |reference| {
                    all.get(reference)
                        .is_some_and(|claim| claim.progress.state == ExternalState::Held)
                };
                if transaction.references().all(is_held) {
                    settle(draft, transaction, TransactionState::Done, None, None, None);
                }
                return Ok(());
            }
            ExternalState::Wanted | ExternalState::Stuck | ExternalState::Conflict => {
                return Ok(());
            }
        },
    };
    let external = transaction.parts.iter().filter_map(Part::external);
    let op = external.into_iter().find(|(_, part)| *part == reference).map(|(op, _)| op);
    settle(draft, transaction, TransactionState::Refused, op, code, Some(reason));
    transaction.parts.iter().try_for_each(|part| take_back(draft, transaction, part))
}

fn settle(
    draft: &mut Draft<'_>,
    transaction: &WaitingTransaction,
    state: TransactionState,
    op: Option<u32>,
    code: Option<RefusalCode>,
    reason: Option<Arc<str>>,
) {
    let until_ms = draft.now_ms.saturating_add(draft.limits.settled_transaction_ms);
    let (id, version) = (transaction.id, draft.version);
    draft.record(TransactionSettled { id, state, version, until_ms, op, code, reason });
}

/// Releases a part of a refused transaction, unless it was changed since.
fn take_back(
    draft: &mut Draft<'_>,
    transaction: &WaitingTransaction,
    part: &Part,
) -> Result<(), Refusal> {
    match part {
        Part::Claim { pool, key } => {
            let pool = draft.state.pool(pool);
            let held = pool.and_then(|pool| Some((pool, pool.held(key)?.1)));
            let held = held.filter(|(_, row)| row.version == transaction.version);
            if let Some((pool, row)) = held {
                let released = release::released_at_once(draft, pool, row, ReleaseCause::Asked);
                draft.record(released);
            }
        }
        Part::Consumer(consumer) => {
            let known = draft.state.capacity.consumer(*consumer);
            let is_new =
                |generation, written_ms| generation == 1 && written_ms == transaction.since_ms;
            if known.is_some_and(|known| is_new(known.generation, known.written_ms))
                && let Some(released) = capacity::released(draft, *consumer, ReleaseCause::Asked)
            {
                draft.record(released);
            }
        }
        Part::External { reference, .. } => {
            let Some(claim) = draft.state.authorities.get(*reference).cloned() else {
                return Ok(());
            };
            match claim.progress.state {
                ExternalState::Wanted | ExternalState::Held | ExternalState::Conflict => {
                    begin_release(draft, &claim)?;
                }
                ExternalState::Stuck => withdraw_stuck(draft, &claim),
                ExternalState::Refused | ExternalState::Releasing => {}
            }
        }
    }
    Ok(())
}
