//! Quarantine: a released value is reserved for its former owner for a while.

use crate::values::script::check;

#[test]
fn released_value_is_quarantined() {
    check(
        "
        pool p id32 1-2 quarantine=30s
        claim p a -> new 1
        release p a -> released
        usage p -> size 2 quarantined 1 free 1
        who p 1 -> quarantined a
        show p a -> none
        claim p b -> new 2
        claim p c -> no exhausted: pool 'p' has no value free [size 2, held 1, quarantined 1, next in 30s]
        claim p c value=1 -> no value_quarantined: 1 of pool 'p' is in quarantine, reserved for its former owner [for 30s]
        at +29s
        claim p c -> no exhausted: pool 'p' has no value free [size 2, held 1, quarantined 1, next in 1s]
        at +1s
        # The quarantine ends at its time, even before the next tick.
        claim p c -> new 1
        ",
    );
}

#[test]
fn tick_ends_a_quarantine() {
    check(
        "
        pool p id32 1-9 quarantine=30s
        claim p a count=3
        release p a
        tick -> 0 events
        at +30s
        tick -> 1 events
        usage p -> size 9 free 9
        claim p b value=2 -> new 2
        ",
    );
}

#[test]
fn former_owner_gets_the_value_back_by_key_or_by_value() {
    check(
        "
        pool p id32 1-9 quarantine=30s
        claim p a -> new 1
        claim p b owner=bob -> new 2
        claim p c owner=bob -> new 3
        release p a
        release p b
        release p c
        claim p x -> new 4
        claim p a -> new 1
        # By key, the owner must be the same as well.
        claim p b owner=eve -> new 5
        release p b
        # By value, any key of the owner gets it.
        claim p other owner=eve value=2 -> no value_quarantined: 2 of pool 'p' is in quarantine, reserved for its former owner [for 30s]
        claim p other owner=bob value=2 -> new 2
        claim p c owner=bob -> new 3
        usage p -> size 9 claims 4 held 4 quarantined 1 free 4
        ",
    );
}

#[test]
fn quarantined_values_are_given_back_only_if_they_satisfy_the_claim() {
    check(
        "
        pool p id32 1-20 quarantine=1h
        claim p a count=2 -> new 1-2
        release p a
        claim p a -> new 3
        release p a
        # Both are in quarantine; the claim gets the one that satisfies it.
        claim p a count=2 -> new 1-2
        release p a
        claim p a count=2 contiguous -> new 1-2
        release p a
        claim p a even -> new 4
        release p a
        claim p a odd -> new 3
        release p a
        claim p a -> new 3
        pool n ipv4_prefix 10.0.0.0/24 quarantine=1h
        claim n a len=26 -> new 10.0.0.0/26
        release n a
        claim n a len=27 -> new 10.0.0.64/27
        release n a
        claim n a len=26 -> new 10.0.0.0/26
        ",
    );
}

#[test]
fn last_release_is_given_back_first() {
    check(
        "
        pool p id32 1-20 quarantine=1h
        claim p a value=7
        release p a
        claim p a value=3
        release p a
        claim p a value=5
        release p a
        claim p a -> new 5
        ",
    );
}

#[test]
fn value_that_the_pool_excludes_now_is_not_given_back() {
    check(
        "
        pool p id32 1-9 quarantine=30s
        claim p a -> new 1
        claim p b -> new 2
        claim p c -> new 3
        release p a
        release p b
        release p c
        pool p id32 2-9 quarantine=30s exclude=2 draining=3
        claim p a -> new 4
        claim p b -> new 5
        claim p c -> new 6
        claim p c2 owner=c value=3 -> no value_draining: 3 is in a draining range of pool 'p'
        at +30s
        tick -> 3 events
        usage p -> size 8 claims 3 held 3 excluded 1 draining 1 free 3
        ",
    );
}

#[test]
fn reaped_value_is_quarantined() {
    check(
        "
        pool p id32 1-2 quarantine=30s reap lease=10s
        claim p a -> new 1
        at +10s
        tick -> 1 events
        who p 1 -> quarantined a
        claim p b -> new 2
        claim p a -> new 1
        ",
    );
}

#[test]
fn quarantine_time_can_change_and_does_not_prevent_deletion() {
    check(
        "
        pool p id32 1-2 quarantine=30s
        claim p a -> new 1
        release p a
        pool p id32 1-2
        claim p b -> new 2
        # Values that are in quarantine already keep their end time.
        claim p c -> no exhausted: pool 'p' has no value free [size 2, held 1, quarantined 1, next in 30s]
        release p b
        claim p c -> new 2
        delete p -> no pool_in_use: pool 'p' has 1 claims held and 1 in quarantine
        release p c
        delete p -> deleted true
        owners ->
        ",
    );
}

#[test]
fn values_of_two_owners_under_one_key_are_quarantined_separately() {
    check(
        "
        pool p id32 1-9 quarantine=1h
        claim p k owner=x -> new 1
        release p k
        claim p k owner=y -> new 2
        release p k
        claim p k owner=z -> new 3
        release p k
        claim p k owner=y -> new 2
        release p k
        claim p k owner=x -> new 1
        list p quarantined -> k=2 k=3
        ",
    );
}
