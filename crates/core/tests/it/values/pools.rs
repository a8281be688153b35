//! Pools: definition, change of ranges, draining, exclusions, manual values, deletion, lists.

use crate::values::script::check;

#[test]
fn repeated_definition_changes_nothing() {
    let world = check(
        "
        pool p id32 1-9 strategy=next label=a:b -> created 1
        pool p id32 1-9 strategy=next label=a:b -> generation 1
        pool p id32 1-9 strategy=next label=a:c -> generation 2
        pool p id32 1-9 expect=1 -> no pool_generation_differs: pool 'p' is at generation 2
        pool p id32 1-9 expect=absent -> no pool_generation_differs: pool 'p' is at generation 2
        pool p id32 1-9 expect=2 -> generation 3
        pool q id32 1-9 expect=present -> no pool_generation_differs: pool 'q' does not exist
        pool q id32 1-9 expect=absent -> created 1
        pool p id64 1-9 -> no pool_kind_differs: pool 'p' is of kind id32, which cannot be changed
        pools -> p q
        ",
    );
    assert_eq!(world.state.position, 4);
}

#[test]
fn held_values_survive_a_change_of_ranges() {
    check(
        "
        pool p id32 10-20
        claim p a value=12
        claim p b value=19
        claim p c count=2 -> new 10-11
        pool p id32 5-15 -> no held_outside: 1 claim(s) of pool 'p' hold values outside the new ranges [b 19]
        pool p id32 12-15 -> no held_outside: 2 claim(s) of pool 'p' hold values outside the new ranges [c 10-11, b 19]
        usage p -> size 11 claims 3 held 4 free 7
        pool p id32 5-15 keep_held -> generation 2
        usage p -> size 11 claims 3 held 4 free 8 outside 1
        show p b -> 19 by b v3
        claim p b value=19 -> same 19
        claim p d value=19 -> no value_outside: 19 is outside the ranges of pool 'p'
        # The value is already outside of the ranges, so this change needs no keep_held.
        pool p id32 5-16 -> generation 3
        release p b
        usage p -> size 12 claims 2 held 3 free 9
        who p 19 -> outside
        claim p e -> new 5
        pool p id32 5-30
        who p 19 -> free
        claim p f strategy=highest -> new 30
        ",
    );
}

#[test]
fn ranges_can_grow_shrink_and_move() {
    check(
        "
        pool p id32 10-200
        pool p id32 5-150
        usage p -> size 146 free 146
        claim p a -> new 5
        pool p id32 5-150 exclude=8-30
        usage p -> size 146 claims 1 held 1 excluded 23 free 122
        claim p b count=3 -> new 6-7,31
        pool p id32 5-40,60-70,50 exclude=8-30 -> generation 4
        claim p c count=12 -> new 32-40,50,60-61
        pool p id32 5-150
        claim p d -> new 8
        usage p -> size 146 claims 4 held 17 free 129
        ",
    );
}

#[test]
fn exclusions_may_overlap_and_reach_outside() {
    check(
        "
        pool p id32 5-20 exclude=10-15,10-20,0-5,100
        usage p -> size 16 excluded 12 free 4
        claim p a count=4 -> new 6-9
        claim p b value=12 -> no value_excluded: 12 is excluded in pool 'p'
        claim p b -> no exhausted: pool 'p' has no value free [size 16, held 4, excluded 12]
        pool p id32 5-20 exclude=10-20
        claim p b -> new 5
        # A held value may be excluded: it stays held, and is not given again.
        pool p id32 5-20 exclude=5-20
        show p b -> 5 by b v4
        usage p -> size 16 claims 2 held 5 excluded 11
        release p b
        claim p b -> no exhausted: pool 'p' has no value free [size 16, held 4, excluded 12]
        ",
    );
}

#[test]
fn manual_values_are_given_only_by_name() {
    check(
        "
        pool p id32 1-9 manual=1-7
        claim p a -> new 8
        claim p b value=3 -> new 3
        claim p c -> new 9
        claim p d -> no exhausted: pool 'p' has no value free [size 9, held 3, manual 6]
        who p 4 -> manual
        usage p -> size 9 claims 3 held 3 manual 6
        claim p e value=3 fallback -> no exhausted: pool 'p' has no value free [size 9, held 3, manual 6]
        release p b
        claim p e value=3 fallback -> new 3
        pool p id32 1-9
        claim p f -> new 1
        pool p id32 1-9 manual=1-9
        release p a
        claim p g -> no exhausted: pool 'p' has no value free [size 9, held 3, manual 6]
        ",
    );
}

#[test]
fn expired_claim_of_a_manual_value_is_taken_only_by_name() {
    check(
        "
        pool p id32 1-2 manual=1
        claim p a value=1 ttl=1s
        claim p b -> new 2
        at +1h
        claim p c -> no exhausted: pool 'p' has no value free [size 2, held 2, expired 1]
        claim p c value=1 -> new 1
        ",
    );
}

#[test]
fn draining_values_are_not_given_and_remaining_claims_are_listed() {
    check(
        "
        pool p id32 1-20
        claim p a count=3 -> new 1-3
        claim p b value=12
        claim p c value=13 ttl=1s
        claim p d count=2 -> new 4-5
        claim p e value=18
        claim p f count=12 -> new 6-11,14-17,19-20
        release p d
        pool p id32 1-20 draining=5-15 -> generation 2
        usage p -> size 20 claims 5 held 18 draining 11 draining_held 10 free 1
        # All claims that overlap the range, also one that begins before it.
        list p within=5-15 -> f=6-11,14-17,19-20 b=12 c=13
        list p within=5-15 page=1 -> f=6-11,14-17,19-20 | b=12 | c=13 |
        list p within=15-16 -> f=6-11,14-17,19-20
        list p within=2-2 -> a=1-3
        list p within=4-5 ->
        list p within=19-4294967295 -> f=6-11,14-17,19-20
        claim p x value=5 -> no value_draining: 5 is in a draining range of pool 'p'
        claim p x -> new 4
        claim p y -> no exhausted: pool 'p' has no value free [size 20, held 19, draining 1]
        renew p c
        release p b
        release p f
        release p c
        usage p -> size 20 claims 3 held 5 draining 11 free 4
        list p within=5-15 ->
        pool p id32 1-4,16-20
        claim p y -> new 16
        ",
    );
}

#[test]
fn list_of_a_draining_block_has_a_prefix_that_overlaps_it() {
    check(
        "
        pool n ipv4_prefix 10.0.0.0/23
        claim n a len=23 -> new 10.0.0.0/23
        pool n ipv4_prefix 10.0.0.0/23 draining=10.0.1.0/24
        usage n -> size 512 claims 1 held 512 draining 256 draining_held 256
        list n within=10.0.1.0/24 -> a=10.0.0.0/23
        list n within=10.0.1.0/24 page=1 -> a=10.0.0.0/23
        release n a
        claim n b len=24 -> new 10.0.0.0/24
        ",
    );
}

#[test]
fn pool_with_claims_cannot_be_deleted() {
    check(
        "
        pool p id32 1-9
        claim p a
        delete p -> no pool_in_use: pool 'p' has 1 claims held and 0 in quarantine
        delete p expect=7 -> no pool_generation_differs: pool 'p' is at generation 1
        release p a
        delete p expect=1 -> deleted true
        delete p -> deleted false
        delete p expect=present -> no pool_generation_differs: pool 'p' does not exist
        claim p a -> no pool_unknown: there is no pool 'p'
        usage p -> none
        pool q id32 1-9
        pool p id32 5-9 -> created 1
        claim p a -> new 5
        claim q a -> new 1
        owners -> a=1 a=5
        ",
    );
}

#[test]
fn invalid_definitions_are_refused() {
    check(
        "
        pool p id32 none -> no invalid: the pool has no range; give at least one
        pool p id32 1-5,5-9 -> no invalid: ranges 1-5 and 5-9 overlap; give each value once
        pool p ipv4_address 10.0.0.0/24,10.0.0.0/8 -> no invalid: ranges 10.0.0.0-10.0.0.255 and 10.0.0.0-10.255.255.255 overlap; give each value once
        pool '' id32 1-5 -> no invalid: the pool's name is empty or has control characters; give it a printable name
        pool p id32 1-5 lease=0s -> no invalid: ttl is zero; leave it out, or give a time above zero
        ",
    );
}

#[test]
fn pages_of_a_list_have_no_gap_and_no_repetition() {
    check(
        "
        pool p id32 1-99 quarantine=1h
        pool q id32 1-99
        claim p a owner=x
        claim p b owner=y
        claim p c owner=x ttl=1s
        claim p d owner=xx
        claim q e owner=x count=2
        claim p f owner=x
        release p f
        release p b
        list p -> a=1 c=3 d=4
        list p page=1 -> a=1 | c=3 | d=4 |
        list p page=2 -> a=1 c=3 | d=4
        list p quarantined page=1 -> b=2 | f=5
        list p owner=x key=d -> d=4
        list p within=3-4 page=1 -> c=3 | d=4
        list p within=4-4 -> d=4
        list p within=9-10 ->
        owners prefix=x page=1 -> a=1 | c=3 | e=1-2 | d=4
        owners prefix=xx -> d=4
        owners prefix=zz ->
        owners prefix=x pool=q -> e=1-2
        owners pool=z ->
        # Claims in quarantine are listed separately.
        owners prefix=x quarantined page=1 -> f=5 |
        owners quarantined page=1 -> f=5 | b=2
        pools page=1 -> p | q
        pools prefix=q -> q
        pools prefix=zz ->
        at +1h
        list p expired=yes -> c=3
        list p expired=no -> a=1 d=4
        ",
    );
}
