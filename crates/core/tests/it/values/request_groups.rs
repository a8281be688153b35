//! Groups: requests of one key in several pools that must all get the same id, or none.

use crate::values::script::check;

#[test]
fn example_with_three_pools() {
    check(
        "
        idpool lan1 20-200
        idpool lan2 30-200
        idpool lan3 40-200
        ask lan3 a sync -> 40
        ask lan2 a sync -> 40
        ask lan1 a sync -> 40
        left lan1 -> 20-39,41-200
        left lan2 -> 30-39,41-200
        left lan3 -> 41-200
        ask lan1+lan2+lan3 b sync -> 41 41 41
        withdraw lan1 a
        withdraw lan2 a
        withdraw lan3 a
        ask lan1+lan2+lan3 c sync -> 40 40 40
        ",
    );
}

#[test]
fn group_gets_one_id_or_none() {
    check(
        "
        idpool management 5-10
        idpool lan1 20-200
        ask management a sync -> 5
        ask lan1 a sync -> ! IdUnavailable(5)
        left lan1 -> 20-200
        answers management -> a=5
        idpool p 1-10
        idpool q 20-30
        ask p+q x sync -> ! SyncExhausted ! SyncExhausted
        left p -> 1-10
        left q -> 20-30
        # One pool gets an id that is free in all of them.
        idpool q 5-30
        answers p -> x=5
        answers q -> x=5
        ask q used id=7 -> 7
        # The request in p fails only because q does not have the id.
        ask p+q y sync id=7 -> ! SyncExhausted ! IdUnavailable(7)
        left p -> 1-4,6-10
        withdraw q used
        answers p -> x=5 y=7
        answers q -> x=5 y=7
        # Groups ignore round robin.
        ask p+q z sync rr -> 6 6
        # Without sync, requests of the same key are independent.
        ask p w -> 1
        ask q w -> 8
        ",
    );
}

#[test]
fn different_ids_in_one_group_conflict() {
    check(
        "
        idpool p 1-10
        idpool q 1-10
        ask p x sync id=3
        ask q x sync id=4 -> ! SyncConflict
        withdraw p x
        answers q -> x=4
        ",
    );
}

#[test]
fn request_that_leaves_a_group_no_longer_affects_it() {
    check(
        "
        idpool p 1-10
        idpool q 1-10
        # The request leaves the group.
        ask p x sync id=3
        ask q x sync id=4 -> ! SyncConflict
        ask p x id=3 -> 3
        answers q -> x=4
        # Its pool is removed.
        ask p y sync id=5
        ask q y sync id=6 -> ! SyncConflict
        rmpool p
        answers q -> x=4 y=6
        # No id is both odd and even.
        idpool p 1-10
        ask p z sync odd -> 1
        ask p z sync -> 1
        ask q z sync even -> 1
        withdraw q z
        withdraw p z
        ask p w id=1 -> 1
        ask p z sync odd id=1 -> ! IdUnavailable(1)
        ask q z sync even -> ! SyncExhausted
        ask p z sync odd -> ! SyncExhausted
        # A named id of a group moves the cursor.
        ask p+q v sync id=7 -> 7 7
        ask p r rr -> 8
        # A failed member is changed while the others are displaced.
        idpool r 1-2
        ask r a sync -> 1
        idpool s 2-3
        ask s a sync -> ! IdUnavailable(1)
        idpool r 2-3 & ask s a sync user=other
        answers r -> a=2
        answers s -> a=2
        # A new member is included when the group moves.
        idpool t 10-20
        ask t b sync -> 10
        idpool u 50-60
        idpool t 30-100 & ask u b sync
        answers t -> b=50
        answers u -> b=50
        # If one member must give up the id, all do.
        idpool t 55-60
        answers t -> b=55
        answers u -> b=55
        # All displaced members move together.
        idpool t 57-60 & idpool u 56-60
        answers t -> b=57
        answers u -> b=57
        ",
    );
}

#[test]
fn displaced_group_moves_together_or_fails() {
    check(
        "
        limit outbox_max=100
        idpool p 1-10
        idpool q 1-20
        idpool r 1-30
        ask p+q+r a sync svc=/s -> 1 1 1
        done 0
        idpool p 5-10
        answers p -> a=5
        answers q -> a=5
        answers r -> a=5
        outbox -> /s of p/a+q/a+r/a
        # No id is free in all of them.
        idpool p 50-60
        answers p -> a=! SyncExhausted
        answers q -> a=! SyncExhausted
        answers r -> a=! SyncExhausted
        left q -> 1-20
        idpool p 15-60
        answers r -> a=15
        # The id that one member names becomes that of the group.
        ask q a sync id=18 svc=/s -> 18
        answers p -> a=18
        answers r -> a=18
        # An id that is not available in one pool is not granted in any.
        ask q a sync id=99 svc=/s -> ! IdUnavailable(99)
        answers p -> a=! IdUnavailable(99)
        answers r -> a=! IdUnavailable(99)
        ask q a sync svc=/s -> 15
        answers p -> a=15
        # A withdrawn member does not affect the others.
        idpool p 16-60 & withdraw p a
        answers q -> a=15
        answers r -> a=15
        # A request that leaves the group in the same edit keeps its value.
        idpool p 1-60
        ask p a sync -> 15
        idpool r 1-14 & ask q a
        answers p -> a=1
        answers q -> a=15
        answers r -> a=1
        withdraw q a
        idpool r 1-30
        ask q a sync -> 1
        withdraw p a
        idpool p 16-60
        idpool q 1-20 exclude=1-14
        answers q -> a=15
        # Exclusions work like ranges; a later member that cannot have the id fails alone.
        idpool q 1-20 exclude=15-15
        answers q -> a=1
        answers r -> a=1
        ask p a sync -> ! IdUnavailable(1)
        answers q -> a=1
        ",
    );
}

#[test]
fn group_raises_alarms_in_all_of_its_pools() {
    check(
        "
        idpool p 1-1 alarms
        idpool q 5-5 alarms
        ask p+q a sync -> ! SyncExhausted ! SyncExhausted
        alarms ->
        # Only q is edited, but both pools have granted ids.
        idpool q 1-1 alarms
        answers p -> a=1
        alarms -> p Exhausted, q Exhausted
        withdraw p a
        alarms -> p Exhausted over, q Exhausted
        idpool r 1-1 alarms
        ask r a sync id=7 -> ! SyncConflict
        withdraw q a
        ask q a sync -> ! IdUnavailable(7)
        # The member that names an unavailable id is withdrawn, and the others get one.
        ask p a sync -> ! IdUnavailable(7)
        withdraw r a
        answers p -> a=1
        alarms -> p Exhausted, q Exhausted
        # A native claim in one pool is released, and the group gets its id in both.
        withdraw p a
        withdraw q a
        claim p x -> new 1
        ask p+q b sync -> ! SyncExhausted ! SyncExhausted
        alarms -> p Exhausted, q Exhausted over
        release p x
        answers q -> b=1
        alarms -> p Exhausted, q Exhausted
        ",
    );
}
