//! The same value in several pools, or nothing in any.

use crate::values::script::check;

const LANS: &str = "
    pool lan1 id32 20-200
    pool lan2 id32 30-200
    pool lan3 id32 40-200
    ";

fn lans(script: &str) {
    check(&format!("{LANS}\n{script}"));
}

#[test]
fn lowest_value_that_is_free_in_all_pools_is_picked() {
    lans(
        "
        claim lan1+lan2+lan3 b -> new 40 40 40
        claim lan3 a -> new 41
        claim lan1 c value=42
        claim lan1+lan2+lan3 d -> new 43 43 43
        claim lan1+lan2+lan3 d -> same 43 43 43
        # The common value has precedence over the next strategy.
        claim lan2+lan1 e strategy=next -> new 30 30
        claim lan1+lan2 f odd -> new 31 31
        claim lan1+lan3 g count=3 contiguous -> new 44-46 44-46
        release lan2 d
        show lan1 d -> 43 by d v7
        ",
    );
}

#[test]
fn pool_that_is_added_later_gets_the_held_value() {
    lans(
        "
        claim lan3 a -> new 40
        claim lan3+lan2 a -> new 40 40
        claim lan1+lan2+lan3 a -> new 40 40 40
        pool management id32 1-9
        claim management m -> new 1
        claim management+lan1 m -> no value_outside: 1 is outside the ranges of pool 'lan1'
        show management m -> 1 by m v8
        usage lan1 -> size 181 claims 1 held 1 free 180
        claim lan1 n -> new 20
        claim lan2 n -> new 30
        claim lan1+lan2+lan3 n -> no sync_differs: the pools already hold different values under 'n' [lan1 20, lan2 30]
        claim lan1+lan2+lan3 a owner=other -> no params_differ: 'a' in pool 'lan1' was claimed with different owner
        ",
    );
}

#[test]
fn adding_a_pool_restarts_expired_leases() {
    lans(
        "
        claim lan3 a ttl=10s -> new 40
        at +20s
        claim lan3+lan1 a ttl=10s -> new 40 40
        show lan3 a -> 40 by a v5 lease 10s
        show lan1 a -> 40 by a v5 lease 10s
        ",
    );
}

#[test]
fn refusal_changes_no_pool() {
    check(
        "
        pool p id32 1-10
        pool q id32 20-30
        claim p+q x -> no sync_exhausted: no value is free in all of the 2 pools p [size 10, free 10, run 10] q [size 11, free 11, run 11]
        usage p -> size 10 free 10
        claim p+q x value=25 -> no value_outside: 25 is outside the ranges of pool 'p'
        claim p+q x value=25 fallback -> no sync_exhausted: no value is free in all of the 2 pools p [size 10, free 10, run 10] q [size 11, free 11, run 11]
        claim p+r x -> no pool_unknown: there is no pool 'r'
        claim p+p x -> no invalid: the claim names a pool twice; name each pool once
        pool a ipv4_address 10.0.0.0/24
        claim p+a x -> no invalid: pools 'p' and 'a' are of kind id32 and ipv4_address; name pools of one kind
        claim p+q x count=2 -> no invalid: several pools and several scattered values; ask for one value, or for contiguous ones
        ",
    );
}

#[test]
fn named_value_is_claimed_in_all_pools() {
    lans(
        "
        claim lan2 other value=77
        claim lan1+lan2 a value=77 -> no taken: 77 of pool 'lan2' is held under 'other' by 'other'
        usage lan1 -> size 181 free 181
        claim lan1+lan2 a value=77 fallback -> new 30 30
        claim lan1+lan2 b value=78 -> new 78 78
        # All pools get the value that one of them holds, even with a fallback.
        claim lan1 c value=77 fallback -> new 77
        claim lan1+lan2 c value=77 fallback -> no taken: 77 of pool 'lan2' is held under 'other' by 'other'
        ",
    );
}

#[test]
fn nothing_is_ended_in_one_pool_if_another_refuses() {
    lans(
        "
        claim lan1 old value=77 ttl=10s
        claim lan2 other value=77
        at +1h
        # 77 is available in lan1, but not in lan2; so its expired claim in lan1 stays.
        claim lan1+lan2 a value=77 fallback -> new 30 30
        show lan1 old -> 77 by old v4 lease -3590s
        release lan2 other
        claim lan1+lan2 b value=77 -> new 77 77
        show lan1 old -> none
        ",
    );
}

#[test]
fn former_owner_gets_the_value_back_in_all_pools() {
    check(
        "
        pool p id32 1-9 quarantine=1h
        pool q id32 1-9 quarantine=1h
        claim p+q a -> new 1 1
        begin
        release p a
        release q a
        end -> released; released
        claim p+q b -> new 2 2
        claim p+q a -> new 1 1
        release q a
        claim p+q a -> new 1 1
        release p a
        release q a
        claim q c owner=a value=1 -> new 1
        claim p+q a -> new 3 3
        ",
    );
}

#[test]
fn ended_quarantines_count_as_free_and_expired_claims_are_taken_last() {
    check(
        "
        pool p id32 1-3 quarantine=10s
        pool q id32 1-3
        claim p a value=1
        release p a
        claim p b value=2 ttl=30s
        claim q c value=3 ttl=20s
        claim p+q x -> no sync_exhausted: no value is free in all of the 2 pools p [size 3, held 1, quarantined 1, free 1, run 1, next in 10s] q [size 3, held 1, free 2, run 2]
        at +10s
        claim p+q x -> new 1 1
        at +1h
        claim p+q y -> new 3 3
        show q c -> none
        show p b -> 2 by b v5 lease -3580s
        claim p+q z -> new 2 2
        claim p+q zz -> no sync_exhausted: no value is free in all of the 2 pools p [size 3, held 3] q [size 3, held 3]
        ",
    );
}

#[test]
fn prefix_and_address_pools_can_be_claimed_together() {
    check(
        "
        pool n ipv4_prefix 10.0.0.0/24
        pool m ipv4_prefix 10.0.0.128/25
        claim m x value=10.0.0.128/26
        claim n+m a len=27 -> new 10.0.0.192/27 10.0.0.192/27
        claim n+m b len=26 -> no sync_exhausted: no value is free in all of the 2 pools n [size 256, held 32, free 224, run 192, largest /25] m [size 128, held 96, free 32, run 32, largest /27]
        claim n+m c len=28 count=2 contiguous -> no invalid: several pools and several prefixes; ask for one prefix that is large enough
        pool v ipv4_address 10.0.0.0/29
        pool w ipv4_address 10.0.0.4/30
        claim v+w a -> new 10.0.0.5 10.0.0.5
        claim v+w b -> new 10.0.0.6 10.0.0.6
        ",
    );
}
