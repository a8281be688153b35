//! Block pools, request by request.

use crate::values::script::{check, play};

#[test]
fn pool_is_divided_into_blocks() {
    check(
        "
        ids p 0-100 -> created 1
        account p -> 0-100 at 9 block 10 | p.1 0-9 at -1
        ids p 5-6 enhanced -> generation 1
        account p -> 0-100 at 9 block 10 | p.1 0-9 at -1
        ids q 10-20
        account q -> 10-20 at 10 block 1 | q.1 10-10 at 9
        ids r 1-12
        account r -> 1-12 at 1 block 1 | r.1 1-1 at 0
        ids dhcp 167838210-167838408
        account dhcp -> 167838210-167838408 at 167838228 block 19 | dhcp.1 167838210-167838228 at 167838209
        ids large 0-655359
        account large -> 0-655359 at 65534 block 65535 | large.1 0-65534 at -1
        ids whole 0-4294967295
        account whole -> 0-4294967295 at 65534 block 65535 | whole.1 0-65534 at -1
        ids none 20-10 -> no exhausted: pool 'none' has no value free []
        ids one 5-5
        alloc one a -> 5
        alloc one b -> no exhausted: pool 'one' has no value free [size 1, held 1]
        ids '' 1-2 -> no invalid: the pool's name is empty or has control characters; give it a printable name
        pool v4 ipv4_address 10.0.0.0/30
        ids v4 1-2 -> no not_ids: pool 'v4' is not a pool of ids below 2^32
        alloc v4 k -> no not_ids: pool 'v4' is not a pool of ids below 2^32
        alloc nowhere k -> no pool_unknown: there is no pool 'nowhere'
        ",
    );
}

#[test]
fn ids_are_granted_from_the_block_in_order() {
    check(
        "
        ids p 0-100
        alloc p k1 -> 0
        alloc p k1 -> 0
        account p -> 0-100 at 9 block 10 | p.1 0-9 at 0
        alloc p k2 -> 1
        range p r 10 -> 2-11
        account p -> 0-100 at 19 block 10 | p.1 10-19 at 11
        range p r 3 -> 2-11
        alloc p r -> 2-11
        range p none 0 -> nothing
        range p rest 88 -> 12-99
        alloc p last -> 100
        alloc p more -> no exhausted: pool 'p' has no value free [size 101, held 101]
        range p more 0 -> no exhausted: pool 'p' has no value free [size 101, held 101]
        ",
    );
}

#[test]
fn range_is_refused_unless_more_ids_are_left() {
    check(
        "
        ids p 10-20
        range p key1 5 -> 10-14
        account p -> 10-20 at 14 block 1 | p.1 14-14 at 14
        range p key2 6 -> no exhausted: pool 'p' has 6 values free, but none that fit [size 11, held 5, free 6, run 6]
        account p -> 10-20 at 14 block 1 | p.1 14-14 at 14
        range p key3 3 -> 15-17
        account p -> 10-20 at 17 block 1 | p.1 17-17 at 17
        range p two 2 -> 18-19
        range p one 1 -> 20
        free p key3 -> 15-17
        account p -> 10-20 at 20 block 1 | p.1 20-20 at 20 | p.1 has 15-17@30
        ",
    );
}

#[test]
fn released_id_is_quarantined_and_granted_after_the_block() {
    check(
        "
        ids p 0-30
        alloc p a -> 0
        free p a -> 0
        free p a -> no id_key_unknown: nothing is held under 'a' in pool 'p'
        account p -> 0-30 at 2 block 3 | p.1 0-2 at 0 | p.1 has 0@30
        alloc p b -> 1
        at +40s
        alloc p c -> 2
        alloc p d -> 0
        account p -> 0-30 at 2 block 3 | p.1 0-2 at 2
        alloc p e -> 3
        free p e -> 3
        # The former holder has no priority.
        alloc p e -> 4
        account p -> 0-30 at 5 block 3 | p.1 3-5 at 4 | p.1 has 3@70
        ",
    );
}

#[test]
fn released_first_order_prefers_released_ids() {
    check(
        "
        ids p 0-30
        range p r 3 order=released -> 0-2
        free p r
        alloc p a order=released -> 3
        at +30s
        alloc p b order=released -> 0
        alloc p c order=released -> 1
        account p -> 0-30 at 5 block 3 | p.1 3-5 at 3 | p.1 has 2@30
        ",
    );
}

#[test]
fn surplus_of_a_child_is_returned_to_the_pool() {
    check(
        "
        ids p 0-30
        range p r 8 -> 0-7
        account p -> 0-30 at 8 block 3 | p.1 6-8 at 7
        free p r
        account p -> 0-30 at 8 block 3 | p.1 6-8 at 7 | p.1 has 0-7@30
        tick -> 0 events
        at +30s
        tick -> 2 events
        account p -> 0-30 at 8 block 3 | p.1 6-8 at 7 | p.1 has 3-7@30 | pool has 0-2@30
        tick -> 0 events
        # The block, released ids, new blocks, then the ids returned to the pool.
        range p rest 23 -> 3-25
        range p more 4 -> 26-29
        alloc p x -> 30
        alloc p y -> 0
        account p -> 0-30 at 30 block 3 | p.1 30-30 at 30 | p.1 has 1-2@30
        ",
    );
}

#[test]
fn edits_replace_definition_and_entries() {
    check(
        "
        ids p 0-100
        frame p 0-100 at=101 block=10 child=0-9:10 released=1@0,2@0,3@0 -> written
        account p -> 0-100 at 101 block 10 | p.1 0-9 at 10 | p.1 has 1@0,2@0,3@0
        alloc p k1 -> 1
        account p -> 0-100 at 101 block 10 | p.1 0-9 at 10 | p.1 has 2@0,3@0
        alloc p k2 -> 2
        alloc p k3 -> 3
        alloc p k4 -> no exhausted: pool 'p' has 98 values free, but none that fit [size 101, held 3, free 98, run 97]
        # Allocation continues at a cursor that an operator has set.
        frame p 0-100 at=59 block=10 child=50-59:53
        alloc p k4 -> 54
        entry p k9 7,9 -> written
        alloc p k9 -> 7,9
        entry p k9 8 -> written
        alloc p k9 -> 8
        entry p k10 8 -> no taken: 8 of pool 'p' is held under 'k9' by 'k9'
        entry p k10 101 -> no value_outside: 101 is outside the ranges of pool 'p'
        unentry p k9
        account p -> 0-100 at 59 block 10 | p.1 50-59 at 54 | p.1 has 7@0,9@0,8@0
        frame p 0-100 at=59 block=10 child=50-59:53 released=54@0 -> no account_contradicts: the definition of pool 'p' contradicts itself: 'k4' holds 54, which is released
        frame p 0-100 at=59 block=10 child=50-59:53 released=4@0 returned=4@0 -> no account_contradicts: the definition of pool 'p' contradicts itself: 4 is released twice
        frame p 0-100 at=49 block=10 child=50-59:53 -> no account_contradicts: the definition of pool 'p' contradicts itself: 54 is available in two places
        frame p 0-50 at=49 block=10 child=40-49:40 -> no account_contradicts: the definition of pool 'p' contradicts itself: 'k4' holds 54, which is outside
        frame p 9-5 at=49 block=10 child=40-49:40 -> no account_contradicts: the definition of pool 'p' contradicts itself: it ends at 5, before its start 9
        entry p k seen=3 5 -> no pool_changed: pool 'p' has changed at position 10, after it was read
        entry new k 5 -> no pool_unknown: there is no pool 'new'
        entry p alone 5 alone
        alloc p alone -> 5
        alloc p k4 -> 55
        wipe p -> written
        wipe p -> written
        account p -> none
        frame p 1-9 at=3 block=3 child=1-3:1 released=1@0
        account p -> 1-9 at 3 block 3 | p.1 1-3 at 1 | p.1 has 1@0
        drop p -> deleted true
        drop p -> no pool_unknown: there is no pool 'p'
        ",
    );
}

#[test]
fn enhanced_pool_grants_the_wanted_id() {
    check(
        "
        ids e 1-20 enhanced
        alloc e k1 -> 1
        alloc e k2 id=15 -> 15
        account e -> 1-20 at 1 block 1 | e.1 1-1 at 1
        alloc e k3 id=15 -> 2
        alloc e k2 id=15 exp=100 -> 15
        alloc e k2 id=16 -> 15
        alloc e k4 id=999 -> 3
        alloc e k4b id=999 strict -> no id_unavailable: id 999 is not available in pool 'e'
        alloc e k4b id=15 strict -> no id_unavailable: id 15 is not available in pool 'e'
        free e k2 -> 15
        account e -> 1-20 at 3 block 1 | e.1 3-3 at 3 | e.1 has 15@0
        alloc e k5 id=15 -> 15
        account e -> 1-20 at 3 block 1 | e.1 3-3 at 3
        # The cursor skips ids that were granted by value.
        range e all 12 -> 4-14,16
        account e -> 1-20 at 16 block 1 | e.1 16-16 at 16
        # Released ids first, as specified; the block first on request.
        ids f 1-40 enhanced
        range f r 2 -> 1-2
        free f r
        alloc f k6 order=available -> 3
        alloc f k7 -> 1
        # Other pools ignore these fields.
        ids n 1-20
        alloc n k id=15 exp=1 -> 1
        at +1h
        alloc n k2 -> 2
        ",
    );
}

#[test]
fn expired_ids_are_taken_when_no_other_ids_are_left() {
    check(
        "
        ids e 1-4 enhanced
        alloc e a exp=10 -> 1
        alloc e b exp=5 -> 2
        alloc e c -> 3
        at +20s
        # Free ids first.
        alloc e d -> 4
        show e a -> 1 by a v2 lease -10s
        alloc e f exp=100 -> 2
        alloc e b -> 1
        free e a -> no id_key_unknown: nothing is held under 'a' in pool 'e'
        alloc e g -> no exhausted: pool 'e' has no value free [size 4, held 4]
        # Allocated again without an expiration, it does not expire.
        alloc e f
        at +200s
        alloc e g -> no exhausted: pool 'e' has no value free [size 4, held 4]
        alloc e f exp=1 -> 2
        at +2s
        # Its own key gets it back; a key that wants another id gets that one, if it is available.
        alloc e f exp=1 id=3 -> 2
        free e c
        at +2s
        alloc e f id=3 exp=1 -> 3
        account e -> 1-4 at 4 block 1 | e.1 4-4 at 4 | e.1 has 2@224
        at +2s
        alloc e h id=3 -> 3
        alloc e i exp=4294967295 -> 2
        show e i -> 2 by i v14 lease 4293967069s
        ",
    );
}

#[test]
fn native_pool_is_divided_at_its_first_allocation() {
    check(
        "
        pool v id32 1-30,40-49 exclude=3
        claim v x value=2 -> new 2
        account v -> 1-49 at 4 block 4 | v.1 1-4 at 0
        alloc v a -> 1
        alloc v b -> 4
        claim v y -> new 5
        alloc v c -> 6
        release v y
        account v -> 1-49 at 8 block 4 | v.1 5-8 at 6 | v.1 has 5@0
        claim v z -> new 5
        account v -> 1-49 at 8 block 4 | v.1 5-8 at 6
        range v r 30 -> 7-30,40-45
        pool v id32 1-100 exclude=3 -> generation 2
        account v -> 1-100 at 9 block 9 | v.1 1-9 at 0
        alloc v d -> 31
        delete v -> no pool_in_use: pool 'v' has 7 claims held and 0 in quarantine
        ids w 1-9
        claim w a strategy=next -> new 1
        alloc w b -> 2
        claim w c value=7 -> new 7
        range w d 5 -> 3-6,8
        ",
    );
}

#[test]
fn another_node_gets_its_own_block_and_later_the_ids_of_the_first() {
    check(
        "
        ids p 0-30
        alloc p a -> 0
        alloc p b node=2 -> 3
        account p -> 0-30 at 5 block 3 | p.2 3-5 at 3 | p.1 0-2 at 0
        free p a
        alloc p c -> 1
        account p -> 0-30 at 5 block 3 | p.1 0-2 at 1 | p.2 3-5 at 3 | p.2 has 0@30
        range p r 25 -> 2,6-29
        alloc p d -> 30
        alloc p e -> 4
        alloc p f -> 5
        alloc p g -> no exhausted: pool 'p' has no value free [size 31, held 30, quarantined 1, next in 30s]
        at +30s
        alloc p g -> 0
        ",
    );
}

#[test]
fn time_never_goes_back() {
    let mut world = check(
        "
        ids e 1-4 enhanced
        alloc e a exp=10 -> 1
        at +20s
        alloc e b -> 2
        ",
    );
    world.now_ms -= 3_600_000;
    play(
        &mut world,
        "
        alloc e c -> 3
        alloc e d -> 4
        alloc e f -> 1
        alloc e g -> no exhausted: pool 'e' has no value free [size 4, held 4]
        ",
    );
}

#[test]
fn whole_new_pools_and_removals_ignore_other_changes() {
    check(
        "
        ids p 0-100 -> created 1
        ids q 0-100 -> created 1
        alloc q k -> 0
        # A whole pool, based on an old state.
        frame new 1-9 at=0 child=1-1:1 alone seen=1 -> written
        # Not a whole pool: the rest is not known.
        frame newer 1-9 at=0 child=1-1:1 seen=1 -> no pool_changed: pool 'newer' has changed at position 4, after it was read
        # Now the pool exists.
        frame new 1-9 at=0 child=1-1:1 alone seen=1 -> no pool_changed: pool 'new' has changed at position 4, after it was read
        # A removal is accepted unless it depends on all pools being unchanged.
        wipe q seen=2 all -> no pool_changed: pool 'q' has changed at position 4, after it was read
        wipe q seen=2 -> written
        wipe p all -> written
    ",
    );
}

#[test]
fn unknown_key_can_be_released_while_another_key_holds_ids() {
    check(
        "
        ids p 0-100 -> created 1
        free p k fine -> no id_key_unknown: nothing is held under 'k' in pool 'p'
        alloc p other -> 0
        free p k fine -> nothing
        free p k -> no id_key_unknown: nothing is held under 'k' in pool 'p'
        free p other fine -> 0
    ",
    );
}

#[test]
fn exhausted_pool_is_reported_before_the_limit_on_values() {
    check(
        "
        ids p 0-10 -> created 1
        range p k 70000 -> no exhausted: pool 'p' has 11 values free, but none that fit [size 11, free 11, run 11]
        ids q 0-100000 -> created 1
        range q k 70000 -> no limit_exceeded: ids_per_range_max is 65536, the request has 70000
    ",
    );
}

#[test]
fn edit_of_one_entry_ignores_changes_of_others() {
    check(
        "
        ids p 0-100 -> created 1
        entry p k 50 -> written
        alloc p other -> 0
        entry p k 51 seen=2 -> no pool_changed: pool 'p' has changed at position 3, after it was read
        entry p k 51 seen=2 saw=50 -> written
        entry p k 52 seen=2 saw=50 -> no pool_changed: pool 'p' has changed at position 4, after it was read
        entry p new 52 seen=2 saw=none -> written
        entry p new 53 seen=2 saw=none -> no pool_changed: pool 'p' has changed at position 5, after it was read
        unentry p k seen=2 saw=51 -> written
        unentry p k seen=2 saw=51 -> no pool_changed: pool 'p' has changed at position 6, after it was read
        entry p new 53 seen=2 saw=52 all -> no pool_changed: pool 'p' has changed at position 6, after it was read
    ",
    );
}
