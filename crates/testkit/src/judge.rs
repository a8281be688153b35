//! Judges accepted commands and reads at their positions.

use allod_core::command::{Command, Op, Transact};
use allod_core::event::{ClaimEvent, Event, ReleaseCause};

use crate::history::{Call, CallAnswer, ClaimSeen, OpOutcome, PoolSeen, Request, UsageSeen};
use crate::model::{ModelZone, NaiveModel, ValueHolder};
use crate::refusals::Judgement::{self, Open, Right, Wrong};
use crate::{refusals, room};

/// Judges a call by the model at its position and the events of the entry there, which may belong to another call.
pub fn judge(model: &NaiveModel, events: &[Event], call: &Call) -> Judgement {
    let now_ms = model.now_ms.max(call.earliest_ms);
    match (&call.request, &call.answer) {
        (_, CallAnswer::Failed | CallAnswer::Lost) => Open,
        (Request::Command(command), CallAnswer::Refused(refused)) => {
            refusals::judge(model, command, refused, now_ms)
        }
        (Request::Command(command), CallAnswer::Done(done)) => {
            accepted(model, events, command, done, now_ms)
        }
        (Request::GetClaim { pool, key }, CallAnswer::Claim(seen)) => {
            same(seen, &model.seen(pool, &ValueHolder::Held(key.as_str().into())))
        }
        (Request::GetClaim { pool, .. }, CallAnswer::Refused(refused)) => {
            unknown(model, pool, &refused.code)
        }
        (Request::GetValue { pool, value }, CallAnswer::Value { state, claim }) => {
            value_read(model, pool, value, state, claim)
        }
        (Request::GetValue { pool, .. }, CallAnswer::Refused(refused)) => {
            unknown(model, pool, &refused.code)
        }
        (Request::GetPool { pool }, CallAnswer::Pool(seen)) => same(seen, &pool_seen(model, pool)),
        (request, answer) => Wrong(format!("{answer:?} is not an answer to {request:?}")),
    }
}

fn same<T: PartialEq + std::fmt::Debug>(said: &T, is: &T) -> Judgement {
    if said == is { Right } else { Wrong(format!("the answer says {said:?}, it is {is:?}")) }
}

fn unknown(model: &NaiveModel, pool: &str, code: &str) -> Judgement {
    match (code, model.pools.contains_key(pool)) {
        ("pool_unknown", false) => Right,
        ("pool_unknown", true) => Wrong("the pool exists".into()),
        (code, _) => Wrong(format!("'{code}' is not an answer to a read")),
    }
}

fn pool_seen(model: &NaiveModel, pool: &str) -> Option<PoolSeen> {
    let pool = model.pools.get(pool)?;
    let sum = |spans: &[allod_core::span::Span]| {
        spans.iter().fold(0, |sum: u128, span| sum.saturating_add(span.len()))
    };
    let ranges: Vec<_> = pool.spec.ranges.iter().map(|range| range.span).collect();
    let usage = UsageSeen {
        size: sum(&ranges),
        claims: pool.held.len() as u64,
        held: pool.held_values,
        quarantined: pool.kept_values,
        free: sum(&room::free(pool, &|_| true)),
    };
    Some(PoolSeen { generation: pool.generation, usage })
}

fn value_read(
    model: &NaiveModel,
    name: &str,
    value: &str,
    state: &str,
    claim: &Option<ClaimSeen>,
) -> Judgement {
    let Some(pool) = model.pools.get(name) else { return Wrong("the pool does not exist".into()) };
    let Ok(value) = pool.spec.kind.parse(value) else {
        return Wrong("it was not a value of the pool".into());
    };
    let holder = pool.holders(value).first().copied();
    let expected = match (holder, pool.zone(value)) {
        (Some(ValueHolder::Held(_)), _) => "held",
        (Some(ValueHolder::Kept(_)), _) => "quarantined",
        (None, ModelZone::Automatic) => "free",
        (None, ModelZone::Manual) => "manual",
        (None, ModelZone::Draining) => "draining",
        (None, ModelZone::Excluded) => "excluded",
        (None, ModelZone::Outside) => "outside",
    };
    match same(&state, &expected) {
        Right => same(claim, &holder.and_then(|holder| model.seen(name, holder))),
        wrong => wrong,
    }
}

fn accepted(
    model: &NaiveModel,
    events: &[Event],
    command: &Command,
    done: &[OpOutcome],
    now_ms: u64,
) -> Judgement {
    match (command, done) {
        (Command::PutPool(put), [OpOutcome::PoolPut { generation, .. }]) => {
            let pool = model.pools.get(&put.pool);
            let is =
                pool.is_some_and(|pool| pool.generation == *generation && pool.spec == put.spec);
            if is { Right } else { Wrong(format!("the pool is {pool:?}")) }
        }
        (Command::DeletePool(delete), [OpOutcome::PoolDeleted]) => {
            same(&model.pools.contains_key(&delete.pool), &false)
        }
        (Command::Transact(transact), done) => transaction(model, events, transact, done, now_ms),
        (Command::Capacity(_), [OpOutcome::Capacity]) => Open,
        (
            Command::Blocks(_)
            | Command::Requests(_)
            | Command::Outbox(_)
            | Command::Alarm(_)
            | Command::Authority(_),
            [_],
        ) => Open,
        (command, done) => Wrong(format!("{done:?} is not an answer to {command:?}")),
    }
}

fn transaction(
    model: &NaiveModel,
    events: &[Event],
    transact: &Transact,
    done: &[OpOutcome],
    now_ms: u64,
) -> Judgement {
    if done.len() != transact.ops.len() {
        return Wrong(format!("{} operations have {} outcomes", transact.ops.len(), done.len()));
    }
    if transact.dry_run {
        // With an idempotency key it may be a repeated answer.
        let fresh = transact.idempotency.is_none();
        return if fresh { dry_run(model, transact, done, now_ms) } else { Open };
    }
    if let Some(given) = &transact.idempotency {
        let Some(known) = model.requests.get(&given.key) else {
            return Wrong("no answer is stored for its idempotency key".into());
        };
        if known.fingerprint() != given.fingerprint {
            return Wrong("another request is stored for its idempotency key".into());
        }
        let outcomes: Vec<OpOutcome> = known.receipt().outcomes.iter().map(OpOutcome::of).collect();
        let same = outcomes.iter().zip(done).all(|(remembered, said)| alike(remembered, said));
        let same = same && outcomes.len() == done.len();
        return if same { Right } else { Wrong(format!("{outcomes:?} is stored")) };
    }
    for (index, (op, done)) in transact.ops.iter().zip(done).enumerate() {
        let later = &transact.ops[index + 1..];
        let alone = transact.ops.len() == 1;
        match operation(model, events, op, done, later, alone) {
            Wrong(what) => return Wrong(format!("operation {index}: {what}")),
            Right | Open => {}
        }
    }
    Right
}

/// Equal, except for what one of the two does not say.
fn alike(remembered: &OpOutcome, said: &OpOutcome) -> bool {
    matches!(
        (remembered, said),
        (OpOutcome::Released { .. }, OpOutcome::Released { existed: None })
    ) || remembered == said
}

/// A dry run leaves no trace, but the values that it would get must be available.
fn dry_run(model: &NaiveModel, transact: &Transact, done: &[OpOutcome], now_ms: u64) -> Judgement {
    let ([Op::Claim(op)], [OpOutcome::Claimed { created: true, claims }]) = (&*transact.ops, done)
    else {
        return Open;
    };
    let owner = op.owner.as_ref().unwrap_or(&op.key);
    for claim in claims {
        let Some(pool) = model.pools.get(claim.pool.as_str()) else {
            return Wrong("the pool does not exist".into());
        };
        if pool.held.contains_key(&op.key) {
            continue;
        }
        for value in &claim.values {
            let Ok(value) = pool.spec.kind.parse(value) else {
                return Wrong(format!("{value} is no value of the pool"));
            };
            // The decision may have been made later; a lease that expired in between blocks nothing.
            let blocked = room::in_the_way(pool, value, owner, now_ms);
            if let Some((holder, claim)) = blocked
                && claim.expires_ms.or(claim.until_ms).is_none()
            {
                return Wrong(format!("{value:?} is {holder:?}'s"));
            }
        }
    }
    Right
}

fn operation(
    model: &NaiveModel,
    events: &[Event],
    op: &Op,
    done: &OpOutcome,
    later: &[Op],
    alone: bool,
) -> Judgement {
    let position = model.position;
    let touched = |pool: &str, key: &str| later.iter().any(|op| touches(op, pool, key));
    let shown = |seen: &ClaimSeen| {
        if touched(&seen.pool, &seen.key) {
            return Right;
        }
        let is = model.seen(&seen.pool, &ValueHolder::Held(seen.key.as_str().into()));
        same(&Some(seen), &is.as_ref())
    };
    match (op, done) {
        (Op::Claim(op), OpOutcome::Claimed { created, claims }) => {
            let pools: Vec<&str> = claims.iter().map(|claim| claim.pool.as_str()).collect();
            let asked: Vec<&str> = op.pools.iter().map(|pool| &**pool).collect();
            if pools != asked || claims.iter().any(|claim| *claim.key != *op.key) {
                return Wrong("these are not the requested claims".into());
            }
            let granted = events.iter().any(|event| {
                matches!(event, Event::Claim(ClaimEvent::Granted(event))
                    if event.key == op.key && op.pools.contains(&event.pool))
            });
            if *created && !granted {
                return Wrong(format!("nothing was granted at position {position}"));
            }
            claims.iter().map(shown).find(|judged| *judged != Right).unwrap_or(Right)
        }
        (Op::Release(op), OpOutcome::Released { existed }) => {
            let released = events.iter().any(|event| {
                matches!(event, Event::Claim(ClaimEvent::Released(event))
                    if event.key == op.key && event.pool == op.pool && event.cause == ReleaseCause::Asked)
            });
            if *existed == Some(true) && !released {
                return Wrong(format!("nothing was released at position {position}"));
            }
            let held =
                model.pools.get(&op.pool).is_some_and(|pool| pool.held.contains_key(&op.key));
            if held && !touched(&op.pool, &op.key) {
                return Wrong("the key still holds something".into());
            }
            Right
        }
        (Op::Renew(op), OpOutcome::Leased(seen)) => {
            let renewed = events.iter().any(|event| {
                matches!(event, Event::Claim(ClaimEvent::LeaseChanged(event))
                    if event.key == op.key && event.pool == op.pool)
            });
            if !renewed {
                return Wrong(format!("nothing was renewed at position {position}"));
            }
            shown(seen)
        }
        (Op::Confirm(_), OpOutcome::Leased(seen)) => {
            if seen.expires_ms.is_some() {
                return Wrong("it still has a lease".into());
            }
            shown(seen)
        }
        // The decision may have been made much later, when every quarantine had ended.
        (Op::Check(check), OpOutcome::Checked) if alone => {
            let holds = refusals::holds(model, check, u64::MAX);
            if holds { Right } else { Wrong("the check does not hold".into()) }
        }
        (Op::Check(_), OpOutcome::Checked) => Open,
        (Op::Allocate(_) | Op::Deallocate(_) | Op::Extend(_), OpOutcome::Capacity) => Open,
        (op, done) => Wrong(format!("{done:?} is not an answer to {op:?}")),
    }
}

fn touches(op: &Op, pool: &str, key: &str) -> bool {
    match op {
        Op::Claim(op) => &*op.key == key && op.pools.iter().any(|name| &**name == pool),
        Op::Release(op) => &*op.key == key && &*op.pool == pool,
        Op::Renew(op) => &*op.key == key && &*op.pool == pool,
        Op::Confirm(op) => &*op.key == key && &*op.pool == pool,
        Op::Check(_) | Op::Allocate(_) | Op::Deallocate(_) | Op::Extend(_) => false,
    }
}
