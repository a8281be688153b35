//! Claims at authorities that wait for an operator: stuck, and in conflict; and alarms.

use crate::values::script::check;

const POOLS: &str = "
    authority a
    pool p id32 1-9 authority=a
    pool n ipv4_prefix 10.0.0.0/24 authority=a
    pool any id32 none authority=a
    ";

fn external(script: &str) {
    check(&format!("{POOLS}\n{script}"));
}

#[test]
fn value_that_the_claim_cannot_have_is_a_conflict() {
    external(
        "
        claim p held
        report p held granted 5
        claim p k
        report p k granted 5 handle=h -> reported
        external p k -> conflict v8 value 5 handle h (the authority has granted 5, which is held under 'held')
        show p held -> 5 by held v6
        claim p k -> conflict
        ready a ->
        claim p outside
        report p outside granted 10
        external p outside -> conflict v10 value 10 (the authority has granted '10': 10 is outside the ranges of pool 'p')
        claim p other value=6
        report p other granted 7
        external p other -> conflict v12 value 7 (the authority has granted '7': another value was wanted)
        claim p text
        report p text granted x
        external p text -> conflict v14 value x (the authority has granted 'x': 'x' is not an id of 32 bits such as 4094: only digits are allowed)
        claim n net len=28
        report n net granted 10.0.0.0/27
        external n net -> conflict v16 value 10.0.0.0/27 (the authority has granted '10.0.0.0/27': another prefix length was wanted)
        alarms -> a Conflict
        at_authority a -> held 1, conflict 5
        # A pool without ranges takes any value of its kind.
        claim any k
        report any k granted 4000000000 -> reported
        show any k -> 4000000000 by k v18
        ",
    );
}

#[test]
fn claim_in_conflict_is_released_by_its_reference_only() {
    external(
        "
        claim p held
        report p held granted 5
        claim p k
        report p k granted 5 handle=h
        release p k -> releasing
        external p k -> releasing v9 handle h due 0s
        alarms -> a Conflict over
        report p k gone
        external p k -> none
        show p held -> 5 by held v6
        ",
    );
}

#[test]
fn grant_of_a_value_that_is_being_released_is_looked_up_first() {
    external(
        "
        claim p old
        report p old granted 5
        release p old
        claim p new
        # The authority must say first whether it still has the old grant.
        report p new granted 5 -> look up p/old
        external p new -> wanted v8 due 0s
        report p old gone
        report p new granted 5 -> reported
        show p new -> 5 by new v10
        release p new
        claim p third
        # It still has it: that is a conflict.
        report p third granted 5 still=p/new -> reported
        external p third -> conflict v13 value 5 (the authority has granted 5, which is held under 'new')
        resolve p third granted 5 -> look up p/new
        report p new gone
        resolve p third granted 5 -> reported
        show p third -> 5 by third v15
        ",
    );
}

#[test]
fn stuck_claim_waits_for_an_operator() {
    external(
        "
        claim p k
        report p k asked -> reported
        external p k -> wanted v6 asked due 0s
        report p k stuck why=cut_off -> reported
        external p k -> stuck v7 asked (cut off)
        alarms -> a Stuck
        claim p k -> stuck
        release p k -> no claim_stuck: it is unknown whether the authority has granted a value to 'k' in pool 'p'; an operator must resolve it
        ready a ->
        resolve p k ask_again -> reported
        external p k -> wanted v8 due 0s (cut off)
        alarms -> a Stuck over
        report p k stuck
        resolve p k gone -> reported
        external p k -> none
        claim p k
        report p k stuck
        resolve p k granted 7 -> reported
        external p k -> held v13 value 7
        show p k -> 7 by k v13
        alarms -> a Stuck over
        ",
    );
}

#[test]
fn resolution_may_lead_to_a_conflict() {
    external(
        "
        claim p held
        report p held granted 7
        claim p k
        report p k stuck
        resolve p k granted 7 -> reported
        external p k -> conflict v9 value 7 (the authority has granted 7, which is held under 'held')
        alarms -> a Stuck over, a Conflict
        resolve p k granted 8 -> reported
        show p k -> 8 by k v10
        alarms -> a Stuck over, a Conflict over
        ",
    );
}

#[test]
fn release_may_be_stuck_too() {
    external(
        "
        claim p k
        report p k granted 7
        release p k
        report p k stuck why=unclear
        external p k -> stuck v8 value 7 (unclear)
        show p k -> 7 by k v6
        renew p k ttl=1h -> no claim_releasing: the claim 'k' in pool 'p' is being released at its authority; retry when it is gone
        resolve p k granted 7 -> reported
        # It was withdrawn, so it is released again.
        external p k -> releasing v9 value 7 due 0s (unclear)
        show p k -> 7 by k v6
        report p k stuck
        resolve p k ask_again -> reported
        external p k -> releasing v11 value 7 due 0s (why)
        report p k stuck
        resolve p k gone
        show p k -> none
        ",
    );
}

#[test]
fn withdrawn_claim_that_was_stuck_is_released() {
    external(
        "
        claim p k
        release p k
        report p k stuck
        resolve p k granted 7 -> reported
        external p k -> releasing v8 value 7 due 0s (why)
        show p k -> none
        ",
    );
}

#[test]
fn held_claim_can_be_given_up_by_an_operator() {
    external(
        "
        claim p k
        report p k granted 7
        resolve p k ask_again -> no nothing_to_resolve: the claim with reference REFERENCE is held, which needs no resolution
        resolve p k gone -> reported
        show p k -> none
        external p k -> none
        ",
    );
}

#[test]
fn alarm_is_raised_when_the_oldest_claim_waits_for_too_long() {
    check(
        "
        authority a alarm=60s
        pool p id32 1-9 authority=a
        next_due -> never
        claim p k
        next_due -> 60s
        at +20s
        claim p l
        at +40s
        next_due -> 0s
        tick -> 1 events
        alarms -> a Overdue
        next_due -> never
        tick -> 0 events
        at +5s
        report p k granted 1
        alarms -> a Overdue over
        next_due -> 15s
        at +15s
        # A report raises the alarm as well.
        report p l failed again=10s why=down
        alarms -> a Overdue
        release p l
        alarms -> a Overdue over
        next_due -> 60s
        authority a alarm=10s
        next_due -> 10s
        at +11s
        authority a alarm=11s
        alarms -> a Overdue
        authority a alarm=12s
        alarms -> a Overdue over
        report p l gone
        release p k
        report p k gone
        delete p -> deleted true
        rmauthority a -> deleted true
        next_due -> never
        ",
    );
}
