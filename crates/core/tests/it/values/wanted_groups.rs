//! Requests of one key in several pools that must get the same id: one id for all or nothing for any.

use crate::values::script::check;

#[test]
fn the_three_pools_of_the_specification() {
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
fn one_id_for_all_or_nothing_for_any() {
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
        # Room for all appears in one of them.
        idpool q 5-30
        answers p -> x=5
        answers q -> x=5
        ask q used id=7 -> 7
        # Nothing is wrong in p, but that q has not got it.
        ask p+q y sync id=7 -> ! SyncExhausted ! IdUnavailable(7)
        left p -> 1-4,6-10
        withdraw q used
        answers p -> x=5 y=7
        answers q -> x=5 y=7
        # Round robin is overridden.
        ask p+q z sync rr -> 6 6
        # Without sync the same name is nothing to each other.
        ask p w -> 1
        ask q w -> 8
        ",
    );
}

#[test]
fn different_wishes_of_a_group_contradict() {
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
fn whoever_leaves_a_group_is_in_nobodys_way() {
    check(
        "
        idpool p 1-10
        idpool q 1-10
        # It goes its own way.
        ask p x sync id=3
        ask q x sync id=4 -> ! SyncConflict
        ask p x id=3 -> 3
        answers q -> x=4
        # Its pool goes.
        ask p y sync id=5
        ask q y sync id=6 -> ! SyncConflict
        rmpool p
        answers q -> x=4 y=6
        # Nothing is odd and even.
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
        # An id that a group has named is where going round goes on.
        ask p+q v sync id=7 -> 7 7
        ask p r rr -> 8
        # Somebody who waits asks anew while what the others had is displaced.
        idpool r 1-2
        ask r a sync -> 1
        idpool s 2-3
        ask s a sync -> ! IdUnavailable(1)
        idpool r 2-3 & ask s a sync user=other
        answers r -> a=2
        answers s -> a=2
        # Whoever is new in a group is counted in when it has to move.
        idpool t 10-20
        ask t b sync -> 10
        idpool u 50-60
        idpool t 30-100 & ask u b sync
        answers t -> b=50
        answers u -> b=50
        # What one of them must leave the other leaves, too.
        idpool t 55-60
        answers t -> b=55
        answers u -> b=55
        # All of a group that move move together.
        idpool t 57-60 & idpool u 56-60
        answers t -> b=57
        answers u -> b=57
        ",
    );
}

#[test]
fn a_group_moves_together_or_has_nothing() {
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
        # One of them names an id, and then it is the group's.
        ask q a sync id=18 svc=/s -> 18
        answers p -> a=18
        answers r -> a=18
        # An id that cannot be had in one of them cannot be had in any.
        ask q a sync id=99 svc=/s -> ! IdUnavailable(99)
        answers p -> a=! IdUnavailable(99)
        answers r -> a=! IdUnavailable(99)
        ask q a sync svc=/s -> 15
        answers p -> a=15
        # Whoever goes takes nobody along.
        idpool p 16-60 & withdraw p a
        answers q -> a=15
        answers r -> a=15
        # Whoever leaves the group in that moment keeps what it has.
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
        # An exclusion is like a range; who comes later and cannot have the id is alone with that.
        idpool q 1-20 exclude=15-15
        answers q -> a=1
        answers r -> a=1
        ask p a sync -> ! IdUnavailable(1)
        answers q -> a=1
        ",
    );
}

#[test]
fn a_group_raises_alarms_in_all_of_its_pools() {
    check(
        "
        idpool p 1-1 alarms
        idpool q 5-5 alarms
        ask p+q a sync -> ! SyncExhausted ! SyncExhausted
        alarms ->
        # Only q is written over, but both have given what they had.
        idpool q 1-1 alarms
        answers p -> a=1
        alarms -> p Exhausted, q Exhausted
        withdraw p a
        alarms -> p Exhausted over, q Exhausted
        idpool r 1-1 alarms
        ask r a sync id=7 -> ! SyncConflict
        withdraw q a
        ask q a sync -> ! IdUnavailable(7)
        # Whoever names an id that is nowhere goes, and the others have one.
        ask p a sync -> ! IdUnavailable(7)
        withdraw r a
        answers p -> a=1
        alarms -> p Exhausted, q Exhausted
        # Somebody else's claim in one pool ends, and the group gets it in both.
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
