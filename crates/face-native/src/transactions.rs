//! The routes of transactions.
//!
//! - `waiting`: transactions that wait for authorities

mod waiting;

use std::sync::Arc;
use std::time::Duration;

use allod_core::authority::{ExternalClaim, ExternalState, TransactionState};
use allod_core::command::Command;
use allod_core::receipt::{Outcome, Receipt};
use allod_core::refusal::Refused;
use allod_edge::{Call, Reply};
use allod_engine::CommitPoint;
use http::StatusCode;

use crate::claims::external::{self, FoundClaim, WaitedClaim};
use crate::pools::wrong_outcome;
use crate::query::QueryParams;
use crate::scope::AllowedPools;
use crate::to_wire::{OpName, ReasonDetail};
use crate::wire::{OpAnswer, TransactionAnswer, TransactionBody, UuidText};
use crate::{Decided, Native, from_wire, prefer, refusals, to_wire};
use waiting::OpSubject;
pub(crate) use waiting::get;

pub(crate) async fn post(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let wait = prefer::wait(&call)?;
    let body: TransactionBody = call.json()?;
    AllowedPools::of(&call).require_each(&body.ops)?;
    let command = from_wire::transaction(&call, body)?;
    let dry_run = command.dry_run;
    let names: Vec<OpName> = command.ops.iter().map(OpName::of).collect();
    let subjects: Vec<OpSubject> = command.ops.iter().map(OpSubject::of).collect();
    let Decided { answer, at } = native.submit(Command::Transact(command)).await?;
    let detail = ReasonDetail::of(&call);
    let receipt = answer.map_err(|Refused { op, refusal }| {
        let refusal = refusals::for_client(refusal, detail);
        refusals::in_transaction(&Refused { op, refusal }, &at)
    })?;
    let waits_max = native.waiters.limits().wait_ms_max;
    if let Some(transaction) = receipt.waiting.clone().filter(|_| !dry_run) {
        let outcomes = &receipt.outcomes;
        let reply =
            waiting::answer(&native, transaction, &subjects, outcomes, wait, detail).await?;
        return Ok(prefer::applied(reply, wait, waits_max));
    }
    let external = receipt.outcomes.iter().enumerate().find_map(|(op, outcome)| match outcome {
        Outcome::External(claim) => Some((op, claim.clone())),
        _ => None,
    });
    let Some((op, claim)) = external else { return answered(&names, &receipt, dry_run, &at) };
    let external = ExternalOp { op, claim, dry_run, detail };
    let reply = external.answer(&native, &names, &receipt, wait, at).await?;
    Ok(prefer::applied(reply, wait, waits_max))
}

/// The answer to a transaction that is done.
fn answered(
    names: &[OpName],
    receipt: &Receipt,
    dry_run: bool,
    at: &CommitPoint,
) -> Result<Reply, Reply> {
    let results: Option<Vec<_>> =
        names.iter().zip(&receipt.outcomes).map(|(&op, done)| to_wire::outcome(op, done)).collect();
    match results {
        Some(results) if results.len() == names.len() => {
            let body = TransactionAnswer { results, dry_run, transaction: None, state: None };
            Ok(to_wire::json(StatusCode::OK, &body, at))
        }
        _ => Err(wrong_outcome()),
    }
}

/// The operation of a transaction that an authority has to answer.
struct ExternalOp {
    op: usize,
    claim: Arc<ExternalClaim>,
    dry_run: bool,
    detail: ReasonDetail,
}

impl ExternalOp {
    /// The result of another operation, which in a dry run may also be external.
    fn other<'a>(&self, name: OpName, outcome: &'a Outcome) -> Option<OpAnswer<'a>> {
        match outcome {
            Outcome::External(claim) => {
                let claim = to_wire::authority::claim(None, claim, 0, self.detail);
                Some(OpAnswer::Claim { created: true, claims: vec![claim] })
            }
            outcome => to_wire::outcome(name, outcome),
        }
    }

    async fn answer(
        &self,
        native: &Native,
        names: &[OpName],
        receipt: &Receipt,
        wait: Option<Duration>,
        at: CommitPoint,
    ) -> Result<Reply, Reply> {
        let is_release = names.get(self.op) == Some(&OpName::Release);
        let pending = if is_release { ExternalState::Releasing } else { ExternalState::Wanted };
        let waited = match self.dry_run {
            // The claim does not exist.
            true => {
                let found = FoundClaim { held: None, external: Some(self.claim.clone()) };
                WaitedClaim { found: Some(found), now_ms: 0, at }
            }
            false => {
                external::wait_while(native, self.claim.request.reference, pending, wait).await?
            }
        };
        let WaitedClaim { found, now_ms, at } = waited;
        let external = found.as_ref().and_then(|found| found.external.as_deref());
        let state = external.map(|external| external.progress.state);
        if let Some(external) = external.filter(|_| state == Some(ExternalState::Refused)) {
            return Err(external::refused(external, Some(self.op), &at, self.detail));
        }
        let shown = found.as_ref().and_then(|found| found.shown(now_ms, self.detail));
        let own = match (is_release, shown) {
            (true, shown) => OpAnswer::Release { existed: true, claim: shown.map(Box::new) },
            (false, Some(shown)) => {
                // In a dry run, a new claim has the version that it would get.
                let is_new = self.claim.progress.version >= at.position;
                let created = is_new || state == Some(ExternalState::Held);
                OpAnswer::Claim { created, claims: vec![shown] }
            }
            (false, None) => {
                let (pool, key) = (self.claim.request.pool.clone(), self.claim.request.key.clone());
                let refusal = allod_core::refusal::Refusal::ClaimUnknown { pool, key };
                let refused = Refused { op: self.op, refusal };
                return Err(refusals::in_transaction(&refused, &at));
            }
        };
        let mut own = Some(own);
        let mut results = Vec::with_capacity(names.len());
        for (op, (&name, outcome)) in names.iter().zip(&receipt.outcomes).enumerate() {
            let result = match op == self.op {
                true => own.take(),
                false => self.other(name, outcome),
            };
            results.push(result.ok_or_else(wrong_outcome)?);
        }
        let is_done = self.dry_run || matches!(state, None | Some(ExternalState::Held));
        let status = if is_done { StatusCode::OK } else { StatusCode::ACCEPTED };
        // A claim alone is a transaction under its reference.
        let is_transaction = !self.dry_run && !is_release;
        let done = if is_done { TransactionState::Done } else { TransactionState::Waiting };
        let body = TransactionAnswer {
            results,
            dry_run: self.dry_run,
            transaction: is_transaction.then_some(UuidText(self.claim.request.reference)),
            state: is_transaction.then_some(done.name()),
        };
        Ok(to_wire::json(status, &body, &at))
    }
}
