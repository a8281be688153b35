//! Judges refusals at their positions.

use std::sync::Arc;

use allod_core::claim::{ClaimParams, Want};
use allod_core::command::{Check, ClaimOp, Command, Expect, Op, Transact};
use allod_core::span::Span;
use allod_core::value::ValueText;

use crate::history::RefusalSeen;
use crate::model::{ModelPool, ModelZone, NaiveModel, ValueHolder};
use crate::room;

/// The judgement of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    Right,
    /// It cannot be verified from outside.
    Open,
    Wrong(String),
}

use Judgement::{Open, Right, Wrong};

fn wrong(what: impl Into<String>) -> Judgement {
    Wrong(what.into())
}

/// Right if `holds`, wrong otherwise.
fn only_if(holds: bool, what: impl Into<String>) -> Judgement {
    if holds { Right } else { wrong(what) }
}

/// Whether this version satisfies the expectation.
fn meets(expect: Expect, actual: Option<u64>) -> bool {
    match expect {
        Expect::Any => true,
        Expect::Absent => actual.is_none(),
        Expect::Present => actual.is_some(),
        Expect::Is(version) => actual == Some(version),
    }
}

/// `now_ms` is not later than the decision: what had not expired at that time may have expired since, but not the other
/// way round.
pub fn judge(
    model: &NaiveModel,
    command: &Command,
    refused: &RefusalSeen,
    now_ms: u64,
) -> Judgement {
    match command {
        Command::PutPool(put) => {
            let pool = model.pools.get(&put.pool);
            let generation = pool.map(|pool| pool.generation);
            match refused.code.as_str() {
                "pool_generation_differs" => differs(put.expect, generation, refused.actual),
                "pool_kind_differs" => only_if(
                    pool.is_some_and(|pool| pool.spec.kind != put.spec.kind),
                    "the kind is the same",
                ),
                "held_outside" => {
                    let inside =
                        |span: &Span| put.spec.ranges.iter().any(|range| range.span.covers(*span));
                    let outside = pool.is_some_and(|pool| {
                        let spans = pool.held.values().flat_map(|claim| &claim.spans);
                        spans.into_iter().any(|span| !inside(span))
                    });
                    only_if(outside && !put.keep_held, "nothing is held outside the new ranges")
                }
                "kept_by_resource_manager" => only_if(
                    model.wanted.contains_key(&put.pool),
                    "the pool is not managed by the resource-manager",
                ),
                "invalid" | "limit_exceeded" => Open,
                code => wrong(format!("'{code}' is not an answer to a pool definition")),
            }
        }
        Command::DeletePool(delete) => {
            let pool = model.pools.get(&delete.pool);
            match refused.code.as_str() {
                "pool_generation_differs" => {
                    differs(delete.expect, pool.map(|pool| pool.generation), refused.actual)
                }
                "pool_in_use" => only_if(
                    pool.is_some_and(|pool| !pool.held.is_empty() || !pool.kept.is_empty()),
                    "the pool is not in use",
                ),
                "kept_by_resource_manager" => only_if(
                    model.wanted.contains_key(&delete.pool),
                    "the pool is not managed by the resource-manager",
                ),
                "invalid" | "limit_exceeded" => Open,
                code => wrong(format!("'{code}' is not an answer to a pool deletion")),
            }
        }
        Command::Transact(transact) => judge_transaction(model, transact, refused, now_ms),
        Command::Capacity(_)
        | Command::Blocks(_)
        | Command::Requests(_)
        | Command::Outbox(_)
        | Command::Alarm(_)
        | Command::Authority(_) => Open,
        Command::Tick => wrong("a tick is never refused"),
    }
}

fn differs(expect: Expect, actual: Option<u64>, said: Option<u64>) -> Judgement {
    if meets(expect, actual) {
        return wrong(format!("{expect:?} holds of {actual:?}"));
    }
    only_if(said == actual, format!("it is at {actual:?}, the answer says {said:?}"))
}

fn judge_transaction(
    model: &NaiveModel,
    transact: &Transact,
    refused: &RefusalSeen,
    now_ms: u64,
) -> Judgement {
    match (refused.code.as_str(), &transact.idempotency) {
        ("invalid" | "limit_exceeded" | "idempotency_full" | "search_too_long", _) => return Open,
        ("idempotency_differs", Some(given)) => {
            let known = model.requests.get(&given.key);
            let other = known.is_some_and(|known| known.fingerprint() != given.fingerprint);
            return only_if(other, "the idempotency key is not in use");
        }
        _ => {}
    }
    let Some(op) = transact.ops.get(refused.op) else {
        return wrong("it names an operation that the transaction does not have");
    };
    // The model knows providers and consumers only as they were before the transaction.
    let of_capacity = |op: &Op| matches!(op, Op::Allocate(_) | Op::Deallocate(_) | Op::Extend(_));
    let checks_capacity = matches!(op, Op::Check(Check::Provider { .. } | Check::Consumer { .. }));
    if checks_capacity && transact.ops[..refused.op].iter().any(of_capacity) {
        return Open;
    }
    // The effect of earlier operations is known only for other pools.
    let touched = pools_of(op);
    let before = transact.ops[..refused.op].iter().flat_map(pools_of);
    if before.into_iter().any(|pool| touched.contains(&pool)) {
        return Open;
    }
    judge_op(model, op, refused, now_ms)
}

fn pools_of(op: &Op) -> Vec<Arc<str>> {
    match op {
        Op::Claim(op) => op.pools.clone(),
        Op::Release(op) => vec![op.pool.clone()],
        Op::Renew(op) => vec![op.pool.clone()],
        Op::Confirm(op) => vec![op.pool.clone()],
        Op::Check(Check::Claim { pool, .. } | Check::Free { pool, .. }) => vec![pool.clone()],
        Op::Check(Check::Pool { pool, .. }) => vec![pool.clone()],
        Op::Check(Check::Provider { .. } | Check::Consumer { .. })
        | Op::Allocate(_)
        | Op::Deallocate(_)
        | Op::Extend(_) => Vec::new(),
    }
}

fn judge_op(model: &NaiveModel, op: &Op, refused: &RefusalSeen, now_ms: u64) -> Judgement {
    let code = refused.code.as_str();
    if code == "pool_unknown" {
        let unknown = pools_of(op).iter().any(|pool| !model.pools.contains_key(pool));
        return only_if(unknown, "the pool exists");
    }
    let (name, key, expect) = match op {
        Op::Claim(op) => return judge_claim(model, op, refused, now_ms),
        Op::Check(check) => {
            return match (code, check) {
                ("check_failed", check) => only_if(!holds(model, check, now_ms), "the check holds"),
                (
                    "value_outside" | "value_excluded" | "value_draining",
                    Check::Free { pool, value },
                ) => zoned_text(model.pools.get(pool), value, code),
                (
                    "malformed",
                    Check::Claim { pool, value: Some(value), .. } | Check::Free { pool, value },
                ) => {
                    only_if(parsed(model.pools.get(pool), value).is_none(), "the value can be read")
                }
                _ => wrong(format!("'{code}' is not an answer to a check")),
            };
        }
        // The model does not know what is free at a provider; the capacity is checked event by event.
        Op::Allocate(_) | Op::Deallocate(_) | Op::Extend(_) => return Open,
        Op::Release(op) => (&op.pool, &op.key, op.expect),
        Op::Renew(op) => (&op.pool, &op.key, op.expect),
        Op::Confirm(op) => (&op.pool, &op.key, op.expect),
    };
    let Some(pool) = model.pools.get(name) else { return wrong("the pool does not exist") };
    let held = pool.held.get(key);
    match (code, op) {
        ("kept_by_resource_manager", _) => only_if_asked(model, name, key),
        ("claim_unknown", _) => only_if(held.is_none(), "the key holds something"),
        ("claim_version_differs", _) => {
            differs(expect, held.map(|claim| claim.version), refused.actual)
        }
        ("no_lease", Op::Renew(op)) => {
            let first = held.and_then(|claim| claim.params.ttl_ms);
            let lease = op.ttl_ms.or(first).or(pool.spec.lease_ms);
            only_if(held.is_some() && lease.is_none(), "there is a lease")
        }
        _ => wrong(format!("'{code}' is not an answer to {op:?}")),
    }
}

/// The resource-manager protects the claims of its requests.
fn only_if_asked(model: &NaiveModel, pool: &Arc<str>, key: &Arc<str>) -> Judgement {
    let asked = model.wanted.get(pool).is_some_and(|keys| keys.contains(key));
    only_if(asked, "there is no request under the key")
}

fn judge_claim(model: &NaiveModel, op: &ClaimOp, refused: &RefusalSeen, now_ms: u64) -> Judgement {
    // Pools are checked in order, so a refusal of one counts even if the next does not exist.
    let pools: Vec<&ModelPool> = op.pools.iter().map_while(|name| model.pools.get(name)).collect();
    let all = pools.len() == op.pools.len();
    let held: Vec<_> = pools.iter().map(|pool| pool.held.get(&op.key)).collect();
    let missing: Vec<&ModelPool> =
        pools.iter().zip(&held).filter(|(_, held)| held.is_none()).map(|(pool, _)| *pool).collect();
    let owner = op.owner.as_ref().unwrap_or(&op.key);
    let code = refused.code.as_str();
    let want = match pools.first().map(|pool| op.want.parse(pool.spec.kind)) {
        Some(Ok(want)) => want,
        Some(Err(_)) => return only_if(code == "malformed", "the value cannot be read"),
        None => return wrong("a pool does not exist"),
    };
    match code {
        "kept_by_resource_manager" => {
            let mut each = op.pools.iter().map(|pool| only_if_asked(model, pool, &op.key));
            each.find(|each| *each == Right)
                .unwrap_or_else(|| wrong("no request of the resource-manager has the key"))
        }
        "claim_version_differs" => {
            let versions = held.iter().map(|held| held.map(|claim| claim.version));
            let met = versions.clone().all(|version| meets(op.expect, version));
            let said = versions.into_iter().any(|version| version == refused.actual);
            only_if(!met && said, "the claim is as it was expected")
        }
        "params_differ" => {
            let params = ClaimParams { want: want.clone(), ttl_ms: op.ttl_ms };
            let mut others = held.iter().flatten().filter(|claim| {
                claim.params != params || claim.owner != *owner || claim.labels != op.labels
            });
            only_if(others.next().is_some(), "the key holds what was requested, or nothing")
        }
        _ if !all => wrong("a pool does not exist"),
        "sync_differs" => {
            let firsts: Vec<_> = held.iter().flatten().map(|claim| &claim.spans).collect();
            only_if(firsts.windows(2).any(|pair| pair[0] != pair[1]), "the values are the same")
        }
        _ if missing.is_empty() => wrong(format!("'{code}', although the key holds something")),
        "value_outside" | "value_excluded" | "value_draining" => {
            let Some(value) = wanted(&want, &held) else { return wrong("no value was requested") };
            let zones = missing.iter().map(|pool| zoned(Some(pool), value, code));
            zones.min_by_key(|zone| *zone != Right).unwrap_or(Open)
        }
        "taken" | "value_quarantined" => {
            let Some(value) = wanted(&want, &held) else { return wrong("no value was requested") };
            let found =
                missing.iter().find_map(|pool| room::in_the_way(pool, value, owner, now_ms));
            let Some((holder, claim)) = found else { return wrong("nothing blocks the value") };
            let by = (claim.key.to_string(), claim.owner.to_string());
            match (code, holder) {
                ("taken", ValueHolder::Held(_)) => only_if(
                    refused.by.as_ref().is_none_or(|said| *said == by),
                    format!("it is held by {by:?}, the answer says {:?}", refused.by),
                ),
                ("value_quarantined", ValueHolder::Kept(_)) => Right,
                _ => wrong(format!("the value is blocked by {holder:?}")),
            }
        }
        "exhausted" => {
            let [pool] = *missing.as_slice() else { return Open };
            match room::would_get(pool, &want, &op.key, owner, now_ms) {
                Some(why) => wrong(why),
                None => Right,
            }
        }
        "sync_exhausted" => match room::in_common(&missing, &want) {
            Some(value) => wrong(format!("{value} is free in all of them")),
            None => Right,
        },
        code => wrong(format!("'{code}' is not an answer to a claim")),
    }
}

/// The required value: the one that the claim names, or the one that it already holds in another pool.
fn wanted(want: &Want, held: &[Option<&crate::model::ModelClaim>]) -> Option<Span> {
    held.iter().flatten().map(|claim| claim.spans[0]).next().or(want.value)
}

fn parsed(pool: Option<&ModelPool>, text: &ValueText) -> Option<Span> {
    pool?.spec.kind.parse(&text.0).ok()
}

fn zoned_text(pool: Option<&ModelPool>, text: &ValueText, code: &str) -> Judgement {
    match parsed(pool, text) {
        Some(value) => zoned(pool, value, code),
        None => wrong("the value cannot be read"),
    }
}

fn zoned(pool: Option<&ModelPool>, value: Span, code: &str) -> Judgement {
    let Some(pool) = pool else { return wrong("the pool does not exist") };
    let expected = match pool.zone(value) {
        ModelZone::Outside => "value_outside",
        ModelZone::Excluded => "value_excluded",
        ModelZone::Draining => "value_draining",
        ModelZone::Manual | ModelZone::Automatic => "",
    };
    only_if(expected == code, format!("the value is {:?}", pool.zone(value)))
}

pub fn holds(model: &NaiveModel, check: &Check, now_ms: u64) -> bool {
    match check {
        Check::Claim { pool, key, expect, owner, value } => {
            let Some(pool) = model.pools.get(pool) else { return false };
            let held = pool.held.get(key);
            meets(*expect, held.map(|claim| claim.version))
                && owner.as_ref().is_none_or(|owner| held.is_some_and(|held| held.owner == *owner))
                && value.as_ref().is_none_or(|value| {
                    let Some(value) = parsed(Some(pool), value) else { return false };
                    held.is_some_and(|held| held.spans.iter().any(|span| span.covers(value)))
                })
        }
        Check::Free { pool, value } => {
            let Some(pool) = model.pools.get(pool) else { return false };
            let Some(value) = parsed(Some(pool), value) else { return false };
            let kept_over = |holder: &&ValueHolder| {
                let until = pool.claim(holder).and_then(|claim| claim.until_ms);
                until.is_some_and(|until| until <= now_ms)
            };
            let mut holders = pool.holders(value).into_iter().filter(|holder| !kept_over(holder));
            matches!(pool.zone(value), ModelZone::Automatic | ModelZone::Manual)
                && holders.next().is_none()
        }
        Check::Pool { pool, expect } => {
            meets(*expect, model.pools.get(pool).map(|pool| pool.generation))
        }
        Check::Provider { provider, expect } => {
            meets(*expect, model.capacity.provider_generation(*provider))
        }
        Check::Consumer { consumer, expect } => {
            meets(*expect, model.capacity.consumer_generation(*consumer))
        }
    }
}
