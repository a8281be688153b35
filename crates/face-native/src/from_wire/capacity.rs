//! Translates operations on capacity.

use allod_core::capacity::Reclaim;
use allod_core::command::Expect;
use allod_core::command::capacity::{AllocateOp, ExtendOp, Holding, LeaseTerms};
use allod_edge::Problem;

use crate::wire::{AllocateBody, ExtendBody, HoldingBody, OrderedMap, ReclaimName, Seconds};

pub(super) fn allocate(body: AllocateBody) -> AllocateOp {
    let consumers = match body {
        AllocateBody::Each(consumers) => consumers.into_iter().map(holding).collect(),
        AllocateBody::One(one) => vec![holding(*one)],
    };
    AllocateOp { consumers }
}

fn holding(body: HoldingBody) -> Holding {
    let OrderedMap(allocations) = body.allocations;
    let amounts = |OrderedMap(amounts): OrderedMap<String, u64>| {
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
        return Err(Problem::malformed("extend: reclaim needs ttl"));
    }
    Ok(ExtendOp {
        consumer: body.consumer.0,
        expect: body.expect.map_or(Expect::Any, |condition| condition.0),
        lease: lease(body.ttl, body.reclaim),
    })
}

fn lease(ttl: Option<Seconds>, reclaim: Option<ReclaimName>) -> Option<LeaseTerms> {
    let reclaim = reclaim.map_or(Reclaim::Reap, Into::into);
    ttl.map(|ttl| LeaseTerms { ttl_ms: ttl.ms, reclaim })
}

#[cfg(test)]
mod tests {
    use allod_core::capacity::Uuid;
    use allod_core::command::capacity::DeallocateOp;
    use allod_core::command::{Check, Command, Op, Transact};
    use allod_testkit::history::Request;

    use super::super::operation;
    use super::*;
    use crate::wire::TransactionBody;

    #[test]
    fn operations_written_by_the_test_kit_are_read_back() {
        let (host, consumer) = (Uuid(1), Uuid(2 << 90));
        let reap = LeaseTerms { ttl_ms: 1500, reclaim: Reclaim::Reap };
        let keep = LeaseTerms { ttl_ms: 60_000, reclaim: Reclaim::Keep };
        let holding = |expect, lease, allocations| Holding {
            consumer,
            expect,
            project: "red".into(),
            user: "anna".into(),
            consumer_type: None,
            allocations,
            lease,
        };
        // The test kit writes names in order.
        let amounts = vec![("MEMORY_MB".into(), 512), ("VCPU".into(), 2)];
        let other = Holding {
            consumer: Uuid(3),
            consumer_type: Some("INSTANCE".into()),
            ..holding(Expect::Is(7), Some(keep), vec![])
        };
        let first = holding(Expect::Absent, Some(reap), vec![(host, amounts)]);
        let ops = vec![
            Op::Allocate(AllocateOp { consumers: vec![first, other] }),
            Op::Allocate(AllocateOp { consumers: vec![holding(Expect::Any, None, vec![])] }),
            Op::Deallocate(DeallocateOp { consumer, expect: Expect::Present }),
            Op::Extend(ExtendOp { consumer, expect: Expect::Is(2), lease: Some(keep) }),
            Op::Extend(ExtendOp { consumer, expect: Expect::Any, lease: None }),
            Op::Check(Check::Provider { provider: host, expect: Expect::Is(4) }),
            Op::Check(Check::Consumer { consumer, expect: Expect::Absent }),
        ];
        let transact = Transact { ops: ops.clone(), ..Transact::default() };
        let request = Request::Command(Command::Transact(transact));
        let wire = allod_testkit::native::wire(&request);
        let text = wire.body.unwrap();
        let body: TransactionBody = serde_json::from_str(&text).unwrap();
        let read: Vec<Op> = body.ops.into_iter().map(|op| operation(op).unwrap()).collect();
        assert_eq!(read, ops);
    }
}
