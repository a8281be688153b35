//! No command does more work than its limits allow: it is refused before it changes anything, or it is done in parts.

use allod_core::command::{Command, Stamp};
use allod_core::event::{Event, PoolEvent};
use allod_core::limits::Limits;
use allod_core::state::State;
use allod_core::{decide, invariant, view};
use proptest::prelude::*;

use crate::values::naive_requests::Manager;
use crate::values::random_requests::{compare, play as play_naive};
use crate::values::request_steps::{beginning, step};
use crate::values::requests;
use crate::values::script::{Words, ask, check, play};
use crate::values::world::{EPOCH_MS, dump, restored};

#[test]
fn pool_is_removed_in_one_event_with_all_that_it_holds() {
    let mut world = check(
        "
        limit ids_per_edit_max=2 requests_per_edit_max=2
        ids p 0-100
        alloc p a
        alloc p b
        alloc p c
        idpool q 1-3
        ask q a -> 1
        ask q b -> 2
        ask q c -> 3
        ask q d -> ! Exhausted
        pool r id32 1-9 quarantine=1h
        claim r a owner=a
        release r a
        ",
    );
    let entries = world.entries.len();
    play(
        &mut world,
        "
        owners prefix=a -> a=0 a=1
        drop p -> deleted true
        rmpool q
        delete r -> deleted true
        owners prefix=a ->
        pools ->
        # A pool of the same name is another one.
        idpool q 1-3
        ask q z -> 1
        pool r id32 1-9
        claim r a -> new 1
        owners prefix=a -> a=1
        ",
    );
    assert_eq!(world.entries[entries..entries + 3], [1, 1, 1]);
}

#[test]
fn removed_pool_leaves_the_indexes_in_parts() {
    let mut state = State::new();
    let limits = Limits { requests_per_edit_max: 10_000, ..Limits::default() };
    let run = |state: &mut State, line: &str| {
        let command = requests::command(state, &Words::of(line)).expect("a command");
        let stamp = Stamp { now_ms: EPOCH_MS, seed: 1 };
        decide(state, &stamp, &command, &limits).unwrap().events
    };
    run(&mut state, "idpool p 1-1000");
    run(&mut state, "idpool q 1-1000");
    for n in 0..300 {
        run(&mut state, &format!("ask p k{n:03} sync svc=/s"));
        run(&mut state, &format!("ask q k{n:03} sync svc=/s"));
    }
    let removed = run(&mut state, "rmpool p");
    let last = removed.last().unwrap();
    let Event::Pool(PoolEvent::Removed(event)) = last else { panic!("{last:?}") };
    assert_eq!((event.claims, event.requests), (300, 300));
    let before = dump(&state);
    let mut parts = 0;
    while state.needs_clean_up() {
        assert_eq!(invariant::check(&state), Vec::<String>::new());
        drop(state.clean_up(100));
        parts += 1;
    }
    // 300 claims and 300 requests.
    assert_eq!(parts, 7);
    assert_eq!(invariant::check(&state), Vec::<String>::new());
    assert_eq!(dump(&state), before, "cleaning up changed something");
    let page = view::claims_by_owner(&state, EPOCH_MS, "/s", &Default::default(), None, 1000);
    assert_eq!(page.unwrap().items.len(), 300);
}

#[test]
fn waiting_requests_are_answered_in_parts_in_the_order_of_keys() {
    check(
        "
        idpool p 1-1
        ask p used -> 1
        ask p f -> ! Exhausted
        ask p e -> ! Exhausted
        ask p d -> ! Exhausted
        ask p c -> ! Exhausted
        ask p b -> ! Exhausted
        ask p a -> ! Exhausted
        limit waiting_requests_per_entry_max=2
        idpool p 1-6
        answers p -> a=2 b=3 c=! Exhausted d=! Exhausted e=! Exhausted f=! Exhausted used=1
        # A new request is answered at once, as without a limit.
        ask p g -> 4
        tick
        answers p -> a=2 b=3 c=5 d=6 e=! Exhausted f=! Exhausted g=4 used=1
        tick
        withdraw p used
        answers p -> a=2 b=3 c=5 d=6 e=1 f=! Exhausted g=4
        withdraw p e
        answers p -> a=2 b=3 c=5 d=6 f=1 g=4
        ",
    );
}

#[test]
fn release_during_a_retry_tries_all_requests_again() {
    check(
        "
        idpool p 1-4
        ask p u1 id=1 -> 1
        ask p u2 id=2 -> 2
        ask p u3 id=3 -> 3
        ask p a id=1 -> ! IdUnavailable(1)
        ask p b id=2 -> ! IdUnavailable(2)
        ask p c id=3 -> ! IdUnavailable(3)
        ask p d id=9 -> ! IdUnavailable(9)
        limit waiting_requests_per_entry_max=1
        # Tries a, which gets nothing.
        withdraw p u3
        answers p -> a=! IdUnavailable(1) b=! IdUnavailable(2) c=! IdUnavailable(3) d=! IdUnavailable(9) u1=1 u2=2
        withdraw p u1
        tick
        tick
        answers p -> a=! IdUnavailable(1) b=! IdUnavailable(2) c=3 d=! IdUnavailable(9) u2=2
        tick
        tick
        answers p -> a=1 b=! IdUnavailable(2) c=3 d=! IdUnavailable(9) u2=2
        tick
        tick
        answers p -> a=1 b=! IdUnavailable(2) c=3 d=! IdUnavailable(9) u2=2
        ",
    );
}

#[test]
fn groups_of_a_removed_pool_are_answered_in_parts() {
    check(
        "
        idpool p 1-9
        idpool q 1-9
        ask p a sync id=1 -> 1
        ask p b sync id=2 -> 2
        ask q a sync id=3 -> ! SyncConflict
        ask q b sync id=4 -> ! SyncConflict
        limit waiting_requests_per_entry_max=1
        rmpool p
        answers q -> a=! SyncConflict b=! SyncConflict
        tick
        answers q -> a=3 b=! SyncConflict
        tick
        answers q -> a=3 b=4
        tick
        ",
    );
}

#[test]
fn retry_waits_while_the_outbox_is_full() {
    let mut world = check(
        "
        limit outbox_max=2
        idpool p 1-1
        ask p used id=1 -> 1
        ask p a svc=/a waits -> ! Exhausted
        ask p b svc=/b waits -> ! Exhausted
        limit waiting_requests_per_entry_max=1
        idpool p 1-3
        answers p -> a=2 b=! Exhausted used=1
        limit outbox_max=1
        tick
        answers p -> a=2 b=! Exhausted used=1
        ",
    );
    assert_eq!(world.state.next_due_ms(), Some(world.now_ms + 10_000));
    play(
        &mut world,
        "
        limit outbox_max=2
        at +10s
        tick
        answers p -> a=2 b=3 used=1
        ",
    );
}

#[test]
fn edits_of_requests_are_counted_before_they_change_anything() {
    check(
        "
        idpool p 1-9
        ask p a -> 1
        ask p b -> 2
        ask p c -> 3
        limit requests_per_edit_max=2 pools_per_edit_max=2 pools_per_group_max=2
        # Displaced requests count.
        idpool p 4-9 -> no limit_exceeded: requests_per_edit_max is 2, the request has 3
        idpool p 2-9
        answers p -> a=4 b=2 c=3
        ask p+p+p d -> no limit_exceeded: pools_per_edit_max is 2, the request has 3
        idpool q 1-9
        idpool r 1-9
        ask p+q g sync -> 5 5
        ask r g sync -> no limit_exceeded: pools_per_group_max is 2, the request has 3
        rmpool q
        ask r g sync -> 5
        # All members of a displaced group count.
        limit requests_per_edit_max=1
        idpool r 6-9 -> no limit_exceeded: requests_per_edit_max is 1, the request has 2
        limit requests_per_edit_max=0
        withdraw p a -> no limit_exceeded: requests_per_edit_max is 0, the request has 1
        # Removing a pool is not limited.
        rmpool p
        pools -> r
        ",
    );
}

#[test]
fn edits_of_ids_are_counted_before_they_change_anything() {
    check(
        "
        ids p 0-100
        alloc p a
        alloc p b
        alloc p c
        limit ids_per_edit_max=2 ids_per_range_max=3
        entry p x 7,9,11 -> no limit_exceeded: ids_per_edit_max is 2, the request has 3
        entry p x 7-10 -> no limit_exceeded: ids_per_range_max is 3, the request has 4
        entry p x 7-8
        limit ids_per_edit_max=0
        unentry p x -> no limit_exceeded: ids_per_edit_max is 0, the request has 1
        range p many 4 -> no limit_exceeded: ids_per_range_max is 3, the request has 4
        drop p -> deleted true
        ",
    );
}

#[test]
fn change_of_a_pool_moves_a_limited_number_of_claims() {
    check(
        "
        pool p id32 1-9
        claim p a value=1
        claim p b value=2
        claim p c value=9
        limit claims_per_pool_change_max=1
        pool p id32 1-9 draining=1-2 -> no limit_exceeded: claims_per_pool_change_max is 1, the request has 2
        pool p id32 1-9 draining=1 -> generation 2
        pool p id32 1-20 draining=1 -> generation 3
        pool p id32 3-20 keep_held -> no limit_exceeded: claims_per_pool_change_max is 1, the request has 2
        pool p id32 3-20 -> no held_outside: at least 1 claim(s) of pool 'p' hold values outside the new ranges [a 1]
        pool p id32 2-20 keep_held -> generation 4
        ",
    );
}

#[test]
fn transaction_has_a_limited_number_of_claims() {
    check(
        "
        pool p id32 1-9
        pool q id32 1-9
        limit claims_per_transaction_max=3
        begin
        claim p+q a
        claim p+q b
        end -> no op 0: limit_exceeded: claims_per_transaction_max is 3, the request has 4
        begin
        claim p+q a
        claim p b
        end -> new 1 1; new 2
        ",
    );
}

/// Ticks until nothing is due.
fn settle(state: &mut State, limits: &Limits, seed: u64) {
    for n in 0..1000 {
        if state.next_due_ms().is_none_or(|due| due > EPOCH_MS) {
            return;
        }
        let stamp = Stamp { now_ms: EPOCH_MS, seed: seed * 1000 + n };
        // Every part continues after a restart. It also orders pools by name, as the model does.
        *state = restored(state);
        decide(state, &stamp, &Command::Tick, limits).expect("a tick is not refused");
    }
    panic!("ticks never end");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Answering in parts of any size has the same result as answering all at once.
    #[test]
    fn parts_have_the_same_result_as_the_whole(
        steps in prop::collection::vec(step().boxed(), 1..=60),
        max in 1..4u64,
    ) {
        let (mut state, mut model) = (State::new(), Manager::default());
        let limits = Limits { waiting_requests_per_entry_max: max, ..Limits::default() };
        for (command, seed) in [beginning()].iter().chain(steps.iter().map(|step| &step.0)).zip(1..) {
            let stamp = Stamp { now_ms: EPOCH_MS, seed };
            let done = decide(&mut state, &stamp, command, &limits).is_ok();
            // Groups of a removed pool are answered in the order of all groups, not before other requests.
            let groups = state.freeze().retries.iter().any(|one| one.pool.is_none());
            settle(&mut state, &limits, seed);
            let wrong = invariant::check(&state);
            prop_assert!(wrong.is_empty(), "{wrong:#?}");
            if groups {
                break;
            }
            if let Some(wanted) = play_naive(&mut model, command) {
                prop_assert_eq!(done, wanted, "{:?}", command);
            }
            compare(&state, &model)?;
        }
    }
}

#[test]
fn amounts_and_moved_providers_are_limited() {
    let mut world = check("limit allocations_per_request_max=12 providers_per_move_max=2");
    for line in ["provider top", "provider other", "provider a parent=top", "provider b parent=a"] {
        ask(&mut world, line);
    }
    assert_eq!(
        ask(&mut world, "update top parent=other"),
        "no limit_exceeded: providers_per_move_max is 2, the request has 3"
    );
    play(
        &mut world,
        "
        stock top VCPU=100 DISK_GB=100
        stock other VCPU=100 DISK_GB=100
        # Each consumer counts as four amounts, with those that are set and those that it has.
        take c1 top:VCPU=1 top:DISK_GB=1 other:VCPU=1 other:DISK_GB=1
        take c2 top:VCPU=1 | c3 top:VCPU=1
        take c2 top:VCPU=1 top:DISK_GB=1 | c3 top:VCPU=1 -> no limit_exceeded: allocations_per_request_max is 12, the request has 13
        take c4 top:VCPU=1 top:DISK_GB=1 | c5 top:VCPU=1 top:DISK_GB=1
        take c6 top:VCPU=1 top:DISK_GB=1 | c7 top:VCPU=1 top:DISK_GB=1 other:VCPU=1 -> no limit_exceeded: allocations_per_request_max is 12, the request has 13
        # What one consumer holds can always be released.
        limit allocations_per_request_max=4
        give c1
        take c6 top:VCPU=1 -> no limit_exceeded: allocations_per_request_max is 4, the request has 5
        ",
    );
}
