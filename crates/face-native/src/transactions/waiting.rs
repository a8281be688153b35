//! Transactions that wait for authorities: the answer while they wait, and after they have ended.

use std::sync::Arc;
use std::time::Duration;

use allod_core::authority::{
    ExternalState, Part, RefusalCode, TransactionState, WaitingTransaction,
};
use allod_core::capacity::Uuid;
use allod_core::command::Op;
use allod_core::receipt::Outcome;
use allod_core::view::{self, State};
use allod_edge::{Call, Problem, Reply};
use allod_engine::CommitPoint;
use http::StatusCode;

use crate::claims::external::{self, FoundClaim};
use crate::query::{self, QueryParams};
use crate::scope::AllowedPools;
use crate::to_wire::ReasonDetail;
use crate::waiters::WaitKey;
use crate::wire::{
    HoldingAnswer, OpAnswer, PartAnswer, RefusalMembers, Time, Transaction, TransactionAnswer,
    UuidText,
};
use crate::{Native, prefer, to_wire};

/// What an operation is about, to show its result when authorities have answered.
pub(super) enum OpSubject {
    Claims(Vec<(Arc<str>, Arc<str>)>),
    Consumers(Vec<Uuid>),
    Check,
    /// No operation of a transaction that waits.
    Other,
}

impl OpSubject {
    pub(super) fn of(op: &Op) -> OpSubject {
        match op {
            Op::Claim(claim) => {
                let pools = claim.pools.iter();
                OpSubject::Claims(pools.map(|pool| (pool.clone(), claim.key.clone())).collect())
            }
            Op::Allocate(allocate) => {
                OpSubject::Consumers(allocate.consumers.iter().map(|one| one.consumer).collect())
            }
            Op::Check(_) => OpSubject::Check,
            Op::Release(_) | Op::Renew(_) | Op::Confirm(_) => OpSubject::Other,
            Op::Deallocate(_) | Op::Extend(_) => OpSubject::Other,
        }
    }

    fn found(&self, state: &State) -> FoundSubject {
        match self {
            OpSubject::Claims(names) => {
                let found = names.iter().filter_map(|(pool, key)| FoundClaim::of(state, pool, key));
                FoundSubject::Claims(found.collect())
            }
            OpSubject::Consumers(consumers) => {
                let capacity = view::capacity::capacity(state);
                let generation = |&consumer: &Uuid| {
                    (consumer, capacity.consumer(consumer).map(|found| found.generation()))
                };
                FoundSubject::Consumers(consumers.iter().map(generation).collect())
            }
            OpSubject::Check | OpSubject::Other => FoundSubject::Check,
        }
    }
}

/// The result of an operation as it is now.
enum FoundSubject {
    Claims(Vec<FoundClaim>),
    Consumers(Vec<(Uuid, Option<u64>)>),
    Check,
}

impl FoundSubject {
    fn shown(&self, created: bool, now_ms: u64, detail: ReasonDetail) -> OpAnswer<'_> {
        match self {
            FoundSubject::Claims(claims) => {
                let claims = claims.iter().filter_map(|claim| claim.shown(now_ms, detail));
                OpAnswer::Claim { created, claims: claims.collect() }
            }
            FoundSubject::Consumers(consumers) => OpAnswer::Allocate {
                consumers: consumers
                    .iter()
                    .map(|&(consumer, generation)| HoldingAnswer {
                        consumer: UuidText(consumer),
                        generation,
                    })
                    .collect(),
            },
            FoundSubject::Check => OpAnswer::Check {},
        }
    }
}

/// A transaction at a moment.
struct SeenTransaction {
    transaction: Arc<WaitingTransaction>,
    subjects: Vec<FoundSubject>,
    now_ms: u64,
    at: CommitPoint,
}

/// Reads a transaction; with `wait`, as soon as it has ended, or after that time.
async fn wait_until_ended(
    native: &Native,
    known: Arc<WaitingTransaction>,
    subjects: &[OpSubject],
    wait: Option<Duration>,
) -> Result<SeenTransaction, Reply> {
    let mut waiter =
        wait.and_then(|wait| native.waiters.join(WaitKey::Transaction(known.id), wait));
    loop {
        let seen = native.read(|snapshot| {
            let now = view::authority::transaction(snapshot.state, known.id).unwrap_or(&known);
            let subjects = subjects.iter().map(|one| one.found(snapshot.state)).collect();
            let (transaction, now_ms) = (now.clone(), snapshot.now_ms);
            SeenTransaction { transaction, subjects, now_ms, at: snapshot.at }
        })?;
        match waiter.take().filter(|_| seen.transaction.is_waiting()) {
            None => return Ok(seen),
            Some(waiting) => waiter = waiting.changed().await.then_some(waiting),
        }
    }
}

/// The answer to a transaction that waits or has waited. `outcomes` is empty if it was requested before.
pub(super) async fn answer(
    native: &Native,
    known: Arc<WaitingTransaction>,
    subjects: &[OpSubject],
    outcomes: &[Outcome],
    wait: Option<Duration>,
    detail: ReasonDetail,
) -> Result<Reply, Reply> {
    let requested = known.version;
    let seen = wait_until_ended(native, known, subjects, wait).await?;
    let SeenTransaction { transaction, subjects, now_ms, at } = &seen;
    if transaction.state == TransactionState::Refused {
        return Err(refused(transaction, at, detail));
    }
    let created = |op: usize| match outcomes.get(op) {
        Some(Outcome::Claimed { created, .. }) => *created,
        Some(Outcome::External(claim)) => claim.progress.version == requested,
        _ => false,
    };
    let results = subjects.iter().enumerate();
    let results = results.map(|(op, one)| one.shown(created(op), *now_ms, detail)).collect();
    let body = TransactionAnswer {
        results,
        dry_run: false,
        transaction: Some(UuidText(transaction.id)),
        state: Some(transaction.state.name()),
    };
    let status = if transaction.is_waiting() { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok(to_wire::json(status, &body, at))
}

fn reason(transaction: &WaitingTransaction, detail: ReasonDetail) -> Option<&str> {
    let reason = transaction.reason.as_deref()?;
    Some(match (detail, transaction.code) {
        (ReasonDetail::Full, _) => reason,
        (ReasonDetail::Short, Some(RefusalCode::Taken)) => "another holder has the value",
        (ReasonDetail::Short, Some(RefusalCode::Exhausted)) => "no value is free",
        (ReasonDetail::Short, Some(RefusalCode::Differs)) => {
            "the authority cannot grant what is wanted"
        }
        (ReasonDetail::Short, None) => "an operation was withdrawn",
    })
}

fn refused(transaction: &WaitingTransaction, at: &CommitPoint, detail: ReasonDetail) -> Reply {
    let (code, title, advice) = external::refusal_words(transaction.code);
    let why = reason(transaction, detail).unwrap_or(title);
    let problem = Problem::new(
        StatusCode::CONFLICT,
        code,
        title,
        format!(
            "transaction {} was refused, and all of it is released again: {why}",
            transaction.id
        ),
    );
    let op = transaction.op.and_then(|op| usize::try_from(op).ok());
    let part = transaction.parts.iter().find_map(|part| match part {
        Part::External { op, pool, key, .. } if Some(*op) == transaction.op => Some((pool, key)),
        _ => None,
    });
    let (pool, key) = part.map(|(pool, key)| (&**pool, &**key)).unzip();
    let members = RefusalMembers { op, advice, pool, key, ..RefusalMembers::default() };
    to_wire::at_position(problem.reply_with(members), at)
}

/// What `GET /v1/transactions/{id}` found under an ID.
enum FoundTransaction {
    Waiting(Arc<WaitingTransaction>),
    /// A claim alone is a transaction under its reference.
    Claim(FoundClaim),
}

pub(crate) async fn get(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let wait = prefer::wait(&call)?;
    let id = query::uuid("the transaction", &call.param(0)?)?;
    native.wait_for_position(&call).await?;
    let find = || {
        native.read(|snapshot| {
            let state = snapshot.state;
            let claim = || view::authority::authorities(state).get(id);
            let claim = || claim().map(|claim| FoundClaim::of_external(state, claim));
            let found = view::authority::transaction(state, id).cloned();
            let found = found.map(FoundTransaction::Waiting);
            (found.or_else(|| claim().map(FoundTransaction::Claim)), snapshot.now_ms, snapshot.at)
        })
    };
    let key = match find()?.0 {
        Some(FoundTransaction::Claim(_)) => WaitKey::Claim(id),
        _ => WaitKey::Transaction(id),
    };
    let mut waiter = wait.and_then(|wait| native.waiters.join(key, wait));
    let (found, now_ms, at) = loop {
        let seen = find()?;
        let pending = match &seen.0 {
            Some(FoundTransaction::Waiting(transaction)) => transaction.is_waiting(),
            Some(FoundTransaction::Claim(found)) => state_of(found) == TransactionState::Waiting,
            None => false,
        };
        match waiter.take().filter(|_| pending) {
            None => break seen,
            Some(waiting) => waiter = waiting.changed().await.then_some(waiting),
        }
    };
    let (pools, detail) = (AllowedPools::of(&call), ReasonDetail::of(&call));
    let reply = match &found {
        Some(FoundTransaction::Waiting(transaction)) => {
            for part in transaction.parts.iter() {
                match part {
                    Part::Claim { pool, .. } | Part::External { pool, .. } => {
                        pools.require(pool)?
                    }
                    Part::Consumer(_) => pools.require_capacity()?,
                }
            }
            let claims = native.read(|snapshot| claims(snapshot.state, transaction))?;
            to_wire::json(StatusCode::OK, &shown(transaction, &claims, now_ms, detail), &at)
        }
        Some(FoundTransaction::Claim(found)) => {
            let claim = found.shown(now_ms, detail).ok_or_else(crate::pools::wrong_outcome)?;
            pools.require(claim.pool)?;
            let body = Transaction {
                transaction: UuidText(id),
                state: state_of(found).name(),
                since: claim.created,
                until: None,
                op: None,
                code: claim.code,
                reason: claim.reason,
                parts: vec![PartAnswer::Claim(Box::new(claim))],
            };
            to_wire::json(StatusCode::OK, &body, &at)
        }
        None => {
            let problem = Problem::new(
                StatusCode::NOT_FOUND,
                "transaction_unknown",
                "transaction not found",
                format!("there is no transaction {id} that waits, or has waited a short time ago"),
            );
            to_wire::at_position(problem.reply(), &at)
        }
    };
    Ok(prefer::applied(reply, wait, native.waiters.limits().wait_ms_max))
}

/// The state of a transaction that consists of one claim.
fn state_of(found: &FoundClaim) -> TransactionState {
    match found.external.as_ref().map(|claim| claim.progress.state) {
        Some(ExternalState::Held) => TransactionState::Done,
        Some(ExternalState::Refused | ExternalState::Releasing) | None => TransactionState::Refused,
        Some(ExternalState::Wanted | ExternalState::Stuck | ExternalState::Conflict) => {
            TransactionState::Waiting
        }
    }
}

/// The claims of the parts, as they are now.
fn claims(state: &State, transaction: &WaitingTransaction) -> Vec<Option<FoundClaim>> {
    let claim = |part: &Part| match part {
        Part::Claim { pool, key } => FoundClaim::of(state, pool, key),
        Part::External { reference, .. } => {
            let claim = view::authority::authorities(state).get(*reference)?;
            Some(FoundClaim::of_external(state, claim))
        }
        Part::Consumer(_) => None,
    };
    transaction.parts.iter().map(claim).collect()
}

fn shown<'a>(
    transaction: &'a WaitingTransaction,
    claims: &'a [Option<FoundClaim>],
    now_ms: u64,
    detail: ReasonDetail,
) -> Transaction<'a> {
    let part = |(part, claim): (&'a Part, &'a Option<FoundClaim>)| match part {
        Part::Consumer(consumer) => PartAnswer::Consumer(UuidText(*consumer)),
        Part::Claim { pool, key } | Part::External { pool, key, .. } => {
            match claim.as_ref().and_then(|claim| claim.shown(now_ms, detail)) {
                Some(claim) => PartAnswer::Claim(Box::new(claim)),
                None => PartAnswer::Gone { pool, key },
            }
        }
    };
    Transaction {
        transaction: UuidText(transaction.id),
        state: transaction.state.name(),
        since: Time { ms: transaction.since_ms },
        until: transaction.until_ms.map(|ms| Time { ms }),
        op: transaction.op,
        code: transaction.code.map(RefusalCode::name),
        reason: reason(transaction, detail),
        parts: transaction.parts.iter().zip(claims).map(part).collect(),
    }
}
