//! What a request about capacity means.

use allod_core::capacity::Reclaim;
use allod_core::command::Expect;
use allod_core::command::capacity::{AllocateOp, ExtendOp, Holding, LeaseAsk};
use allod_edge::Problem;

use crate::wire::{AllocateBody, ExtendBody, HoldingBody, Pairs, ReclaimName, Seconds};

pub(super) fn allocate(body: AllocateBody) -> AllocateOp {
    let consumers = match body {
        AllocateBody::Each(consumers) => consumers.into_iter().map(holding).collect(),
        AllocateBody::One(one) => vec![holding(*one)],
    };
    AllocateOp { consumers }
}

fn holding(body: HoldingBody) -> Holding {
    let Pairs(allocations) = body.allocations;
    let amounts = |Pairs(amounts): Pairs<String, u64>| {
        amounts.into_iter().map(|(class, amount)| (class.into(), amount)).collect()
    };
    Holding {
        consumer: body.consumer.0,
        expect: body.expect.map_or(Expect::Any, |condition| condition.0),
        project: body.project.into(),
        user: body.user.into(),
        consumer_type: body.r#type.map(Into::into),
        allocations: allocations.into_iter().map(|(of, held)| (of.0, amounts(held))).collect(),
        lease: lease(body.ttl, body.reclaim),
    }
}

pub(super) fn extend(body: ExtendBody) -> Result<ExtendOp, Problem> {
    if body.reclaim.is_some() && body.ttl.is_none() {
        let detail = "extend: reclaim says what happens when ttl is over; give ttl, too";
        return Err(Problem::malformed(detail));
    }
    Ok(ExtendOp {
        consumer: body.consumer.0,
        expect: body.expect.map_or(Expect::Any, |condition| condition.0),
        lease: lease(body.ttl, body.reclaim),
    })
}

fn lease(ttl: Option<Seconds>, reclaim: Option<ReclaimName>) -> Option<LeaseAsk> {
    let reclaim = match reclaim {
        None | Some(ReclaimName::Reap) => Reclaim::Reap,
        Some(ReclaimName::Keep) => Reclaim::Keep,
    };
    ttl.map(|ttl| LeaseAsk { ttl_ms: ttl.ms, reclaim })
}
