//! Leases: renew, confirm, expiry, reaping.

use crate::values::script::check;

#[test]
fn claim_can_be_renewed_confirmed_and_repeated() {
    check(
        "
        pool p id32 1-9
        claim p a ttl=10s -> new 1
        show p a -> 1 by a v2 lease 10s
        at +4s
        # Repeating the claim changes nothing before the lease expires.
        claim p a ttl=10s -> same 1
        show p a -> 1 by a v2 lease 6s
        renew p a -> 1
        show p a -> 1 by a v3 lease 10s
        renew p a ttl=60s -> 1
        show p a -> 1 by a v4 lease 60s
        confirm p a expect=4 -> 1
        show p a -> 1 by a v5
        confirm p a -> 1
        show p a -> 1 by a v5
        claim p a ttl=10s -> same 1
        at +100d
        claim p b -> new 2
        renew p b -> no no_lease: claim 'b' in pool 'p' has no lease; give a ttl
        renew p b ttl=5s -> 2
        show p b -> 2 by b v7 lease 5s
        renew p b expect=6 ttl=5s -> no claim_version_differs: claim 'b' in pool 'p' is at version 7
        renew p c -> no claim_unknown: nothing is held under 'c' in pool 'p'
        confirm p c -> no claim_unknown: nothing is held under 'c' in pool 'p'
        confirm p b expect=6 -> no claim_version_differs: claim 'b' in pool 'p' is at version 7
        ",
    );
}

#[test]
fn claim_without_ttl_gets_the_lease_of_its_pool() {
    check(
        "
        pool p id32 1-9 lease=30s
        claim p a -> new 1
        show p a -> 1 by a v2 lease 30s
        claim p b ttl=5s
        show p b -> 2 by b v3 lease 5s
        at +20s
        renew p a
        renew p b
        show p a -> 1 by a v4 lease 30s
        show p b -> 2 by b v5 lease 5s
        ",
    );
}

#[test]
fn expired_claim_is_taken_only_when_no_value_is_free() {
    check(
        "
        pool p id32 1-4
        claim p a ttl=20s -> new 1
        claim p b ttl=10s -> new 2
        claim p c ttl=30s -> new 3
        at +1h
        usage p -> size 4 claims 3 held 3 expired 3 free 1
        list p expired=yes -> a=1 b=2 c=3
        claim p d -> new 4
        # The claim that expired first is taken first.
        claim p e -> new 2
        show p b -> none
        claim p f -> new 1
        claim p g -> new 3
        claim p h -> no exhausted: pool 'p' has no value free [size 4, held 4]
        ",
    );
}

#[test]
fn expired_claim_is_taken_by_a_claim_that_names_its_value() {
    check(
        "
        pool p id32 1-9
        claim p a ttl=10s -> new 1
        claim p b value=1 -> no taken: 1 of pool 'p' is held under 'a' by 'a'
        at +9999ms
        claim p b value=1 -> no taken: 1 of pool 'p' is held under 'a' by 'a'
        at +1ms
        claim p b value=1 -> new 1
        show p a -> none
        ",
    );
}

#[test]
fn repeating_an_expired_claim_restarts_its_lease() {
    check(
        "
        pool p id32 1-1 lease=10s
        claim p a -> new 1
        at +20s
        claim p a -> same 1
        show p a -> 1 by a v3 lease 10s
        claim p b -> no exhausted: pool 'p' has no value free [size 1, held 1]
        at +20s
        renew p a
        claim p b -> no exhausted: pool 'p' has no value free [size 1, held 1]
        at +20s
        claim p a owner=other -> no params_differ: 'a' in pool 'p' was claimed with different owner
        confirm p a
        claim p b value=1 -> no taken: 1 of pool 'p' is held under 'a' by 'a'
        ",
    );
}

#[test]
fn only_expired_claims_with_suitable_values_are_taken() {
    check(
        "
        pool p id32 1-6
        claim p a count=2 contiguous ttl=20s -> new 1-2
        claim p b odd ttl=10s -> new 3
        claim p c ttl=30s -> new 4
        claim p d count=2 ttl=40s -> new 5-6
        at +1h
        claim p e even -> new 2
        show p a -> none
        show p b -> 3 by b v3 lease -3590s
        claim p f -> new 1
        claim p g count=2 contiguous -> new 5-6
        claim p h count=2 -> new 3-4
        ",
    );
}

#[test]
fn expired_claim_without_a_suitable_value_stays() {
    check(
        "
        pool p id32 1-4
        claim p a count=2 even ttl=10s -> new 2,4
        claim p b count=2 odd -> new 1,3
        at +1h
        claim p c odd -> no exhausted: pool 'p' has no value free [size 4, held 4, expired 2]
        claim p c count=2 contiguous -> no exhausted: pool 'p' has no value free [size 4, held 4, expired 2]
        show p a -> 2,4 by a v2 lease -3590s
        pool n ipv4_prefix 10.0.0.0/28
        claim n s count=2 len=30 ttl=10s -> new 10.0.0.0/30,10.0.0.4/30
        claim n t len=29 -> new 10.0.0.8/29
        at +1h
        claim n u len=29 -> no exhausted: pool 'n' has no value free [size 16, held 16, expired 8]
        claim n v len=31 -> new 10.0.0.0/31
        show n s -> none
        ",
    );
}

#[test]
fn expired_claim_in_a_draining_range_is_not_given_again() {
    check(
        "
        pool p id32 1-2
        claim p a ttl=10s -> new 1
        claim p b -> new 2
        pool p id32 1-2 draining=1
        at +1h
        claim p c -> no exhausted: pool 'p' has no value free [size 2, held 2, expired 1]
        claim p c value=1 -> no value_draining: 1 is in a draining range of pool 'p'
        claim p a ttl=10s -> same 1
        ",
    );
}

#[test]
fn tick_releases_expired_claims_of_a_pool_that_reaps() {
    check(
        "
        pool p id32 1-9 reap
        claim p a ttl=10s
        claim p b ttl=20s
        tick -> 0 events
        at +10s
        tick -> 1 events
        show p a -> none
        show p b -> 2 by b v3 lease 10s
        at +10s
        tick -> 1 events
        usage p -> size 9 free 9
        pool q id32 1-9
        claim q a ttl=10s
        at +1h
        tick -> 0 events
        show q a -> 1 by a v7 lease -3590s
        # Reaping can be enabled later.
        pool q id32 1-9 reap
        tick -> 1 events
        show q a -> none
        ",
    );
}

#[test]
fn tick_is_limited_and_the_next_one_continues() {
    let mut world = check("pool p id32 0-9999 reap lease=1s");
    for n in 0..300 {
        crate::values::script::ask(&mut world, &format!("claim p k{n}"));
    }
    crate::values::script::play(
        &mut world,
        "
        at +1s
        tick -> 256 events
        tick -> 44 events
        tick -> 0 events
        ",
    );
    assert_eq!(world.state.next_due_ms(), None);
}

#[test]
fn expired_prefix_is_taken_if_it_is_large_enough() {
    check(
        "
        pool n ipv4_prefix 10.0.0.0/24
        claim n a len=26 ttl=30s -> new 10.0.0.0/26
        claim n b len=26 ttl=10s -> new 10.0.0.64/26
        claim n c len=25 ttl=20s -> new 10.0.0.128/25
        at +1h
        claim n d len=25 -> new 10.0.0.128/25
        claim n e len=27 -> new 10.0.0.64/27
        claim n f len=27 -> new 10.0.0.96/27
        claim n g len=26 -> new 10.0.0.0/26
        claim n h len=25 -> no exhausted: pool 'n' has no value free [size 256, held 256]
        ",
    );
}
