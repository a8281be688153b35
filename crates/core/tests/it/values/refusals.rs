//! Every refusal once, in the order in which the checks are made.

use std::collections::BTreeSet;

use allod_core::refusal::{Advice, Refusal};

use crate::values::script::check;

/// The rank of a refusal in that order. A new refusal does not compile until it has a rank, and then fails the test below
/// until it has a line there.
fn rank(refusal: &Refusal) -> usize {
    match refusal {
        Refusal::Invalid { .. } => 0,
        Refusal::LimitExceeded { .. } => 1,
        Refusal::IdempotencyDiffers { .. } => 2,
        Refusal::PoolUnknown { .. } => 3,
        Refusal::PoolGenerationDiffers { .. } => 4,
        Refusal::PoolKindDiffers { .. } => 5,
        Refusal::ValueMalformed { .. } => 6,
        Refusal::PoolInUse { .. } => 7,
        Refusal::HeldOutside { .. } => 8,
        Refusal::ClaimUnknown { .. } => 9,
        Refusal::ClaimVersionDiffers { .. } => 10,
        Refusal::ParamsDiffer { .. } => 11,
        Refusal::NoLease { .. } => 12,
        Refusal::ValueOutside { .. } => 13,
        Refusal::ValueExcluded { .. } => 14,
        Refusal::ValueDraining { .. } => 15,
        Refusal::ValueTaken { .. } => 16,
        Refusal::ValueQuarantined { .. } => 17,
        Refusal::SyncDiffers { .. } => 18,
        Refusal::PoolExhausted { .. } => 19,
        Refusal::SyncExhausted { .. } => 20,
        Refusal::SearchTooLong { .. } => 21,
        Refusal::IdempotencyFull { .. } => 22,
        Refusal::CheckFailed { .. } => RANKS - 1,
        Refusal::Config(_)
        | Refusal::Capacity(_)
        | Refusal::Blocks(_)
        | Refusal::Requests(_)
        | Refusal::Outbox(_)
        | Refusal::Alarm(_)
        | Refusal::Authority(_) => RANKS,
    }
}

const RANKS: usize = 24;

#[test]
fn every_refusal_has_a_case() {
    let world = check(
        "
        pool p id32 1-9 exclude=8 draining=9 quarantine=60s
        claim p a
        claim p q value=6
        release p q
        pool one id32 1
        claim one a
        pool other id32 20-30
        claim other a -> new 20
        begin
        claim p b
        end key=k
        claim p x count=0 -> no invalid: count is zero; ask for at least one value
        claim p x ttl=99999999d -> no limit_exceeded: lease_ms_max is 3162240000000, the request has 8639999913600000
        begin
        claim p x
        end key=k fingerprint=1 -> no idempotency_differs: idempotency key 'k' was used for a different request
        claim nowhere x -> no pool_unknown: there is no pool 'nowhere'
        pool p id32 1-9 expect=7 -> no pool_generation_differs: pool 'p' is at generation 1
        pool p id64 1-9 -> no pool_kind_differs: pool 'p' is of kind id32, which cannot be changed
        claim p x value=y -> no malformed: value: 'y' is not an id of 32 bits such as 4094: only digits are allowed
        delete p -> no pool_in_use: pool 'p' has 2 claims held and 1 in quarantine
        pool p id32 2-9 -> no held_outside: 1 claim(s) of pool 'p' hold values outside the new ranges [a 1]
        release p x expect=present -> no claim_unknown: nothing is held under 'x' in pool 'p'
        release p a expect=1 -> no claim_version_differs: claim 'a' in pool 'p' is at version 2
        claim p a odd -> no params_differ: 'a' in pool 'p' was claimed with different parity
        renew p a -> no no_lease: claim 'a' in pool 'p' has no lease; give a ttl
        claim p x value=10 -> no value_outside: 10 is outside the ranges of pool 'p'
        claim p x value=8 -> no value_excluded: 8 is excluded in pool 'p'
        claim p x value=9 -> no value_draining: 9 is in a draining range of pool 'p'
        claim p x value=1 -> no taken: 1 of pool 'p' is held under 'a' by 'a'
        claim p x value=6 -> no value_quarantined: 6 of pool 'p' is in quarantine, reserved for its former owner [for 60s]
        claim p+one+other a -> no sync_differs: the pools already hold different values under 'a' [p 1, one 1, other 20]
        claim one x -> no exhausted: pool 'one' has no value free [size 1, held 1]
        claim one+other x -> no sync_exhausted: no value is free in all of the 2 pools one [size 1, held 1] other [size 11, held 1, free 10, run 10]
        pool high id32 1-9
        claim high x value=4
        claim high y value=6
        claim p y value=5
        limit search_steps_max=1
        claim p+high z strategy=lowest -> no search_too_long: no value that is free in all of the 2 pools was found in 1 steps (search_steps_max), because their free values are too fragmented; name a value, or claim fewer values in one transaction
        limit idempotency_keys_max=1
        begin
        claim high w value=9
        end key=other -> no idempotency_full: there is no space for another idempotency key (idempotency_keys_max); retry later, or send the request without a key
        check p a expect=absent -> no check_failed: the condition on claim 'a' in pool 'p' does not hold: it is at version 2, held by 'a', with 1
        ",
    );
    let ranks: Vec<usize> = world.refusals.iter().map(rank).collect();
    let all: Vec<usize> = (0..RANKS).collect();
    assert_eq!(ranks, all, "a refusal lacks a case, or is out of order");
    let codes: BTreeSet<&str> = world.refusals.iter().map(Refusal::code).collect();
    assert_eq!(codes.len(), RANKS, "two refusals share a code");
}

#[test]
fn advice_says_when_to_retry() {
    let world = check(
        "
        pool p id32 1-2 quarantine=60s
        claim p a
        claim p b ttl=30s
        release p a
        claim p x value=1 -> no value_quarantined: 1 of pool 'p' is in quarantine, reserved for its former owner [for 60s]
        claim p x value=2 -> no taken: 2 of pool 'p' is held under 'b' by 'b'
        claim p x -> no exhausted: pool 'p' has no value free [size 2, held 1, quarantined 1, next in 60s]
        confirm p b
        claim p x value=2 -> no taken: 2 of pool 'p' is held under 'b' by 'b'
        release p b expect=1 -> no claim_version_differs: claim 'b' in pool 'p' is at version 5
        claim p x value=3 -> no value_outside: 3 is outside the ranges of pool 'p'
        ",
    );
    let at = |seconds: u64| Advice::WaitUntil(crate::values::world::EPOCH_MS + seconds * 1000);
    let advice: Vec<Advice> = world.refusals.iter().map(Refusal::advice).collect();
    let wanted = [at(60), at(30), at(60), Advice::WaitForRelease, Advice::Reread, Advice::Change];
    assert_eq!(advice, wanted);
}
