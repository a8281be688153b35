//! Transactions of several operations of which an authority must answer at least one.

use crate::values::script::{ask, check, play};

const POOLS: &str = "
    authority a
    pool p id32 1-9 authority=a
    pool q id32 1-9 authority=a
    pool own id32 1-9 quarantine=1h
    provider n
    stock n VCPU=8
    ";

fn mixed(script: &str) -> crate::values::world::World {
    check(&format!("{POOLS}\n{script}"))
}

const MIXED: &str = "
    begin
    claim own k
    claim p k
    claim q k
    take c n:VCPU=2
    end -> new 1; wanted; wanted; c at 1; WAITING
    transactions -> waiting v7 [own/k p/k q/k c]
    show own k -> 1 by k v7
    holds c -> at 1 n:VCPU=2 p/u/-
    ";

#[test]
fn transaction_is_done_when_all_parts_are_held() {
    mixed(&format!(
        "
        {MIXED}
        report p k granted 5
        transactions -> waiting v7 [own/k p/k q/k c]
        report q k granted 6
        transactions -> done v9 [own/k p/k q/k c] until 3600s
        show own k -> 1 by k v7
        show p k -> 5 by k v8
        # What is held already is no part.
        begin
        claim own k
        claim p k
        end -> same 1; same 5
        next_due -> 3600s
        at +3600s
        tick -> 1 events
        transactions ->
        next_due -> never
        "
    ));
}

#[test]
fn refused_part_releases_all_others() {
    mixed(&format!(
        "
        {MIXED}
        report p k granted 5
        report q k refused exhausted why=full
        transactions -> refused v9 [own/k p/k q/k c] op 2 exhausted (full) until 3600s
        # Values of our own are free at once.
        show own k -> none
        who own 1 -> free
        holds c -> nothing
        external p k -> releasing v9 value 5 due 0s
        external q k -> refused v9 exhausted due 3600s (full)
        report p k gone
        begin
        claim own k
        claim p k
        claim q k
        end -> new 1; wanted; wanted; WAITING
        "
    ));
}

#[test]
fn withdrawn_part_releases_all_others() {
    mixed(&format!(
        "
        {MIXED}
        release p k -> releasing
        transactions -> refused v8 [own/k p/k q/k c] op 1 (a claim of the transaction was released) until 3600s
        external q k -> releasing v8 due 0s
        show own k -> none
        holds c -> nothing
        "
    ));
    mixed(&format!(
        "
        {MIXED}
        report q k stuck
        transactions -> waiting v7 [own/k p/k q/k c]
        report p k refused taken
        # It is released when the operator says what the authority has granted.
        external q k -> stuck v9 (why)
        resolve q k granted 4 -> reported
        external q k -> releasing v10 value 4 due 0s (why)
        "
    ));
    mixed(&format!(
        "
        {MIXED}
        report q k stuck
        resolve q k gone
        transactions -> refused v9 [own/k p/k q/k c] op 2 (a claim of the transaction was released) until 3600s
        "
    ));
    mixed(&format!(
        "
        {MIXED}
        report p k granted 12
        transactions -> waiting v7 [own/k p/k q/k c]
        report q k refused taken
        external p k -> releasing v9 due 0s
        "
    ));
}

#[test]
fn parts_that_were_changed_since_are_kept() {
    mixed(&format!(
        "
        {MIXED}
        renew own k ttl=1h -> 1
        take c n:VCPU=3
        report p k refused taken
        transactions -> refused v10 [own/k p/k q/k c] op 1 taken (why) until 3600s
        show own k -> 1 by k v8 lease 3600s
        holds c -> at 2 n:VCPU=3 p/u/-
        "
    ));
    mixed(&format!(
        "
        {MIXED}
        release own k
        claim own other value=2
        give c -> given up
        report p k refused taken
        transactions -> refused v11 [own/k p/k q/k c] op 1 taken (why) until 3600s
        show own other -> 2 by other v9
        "
    ));
}

#[test]
fn expired_claim_ends_its_transaction() {
    check(
        "
        authority a
        pool p id32 1-9 authority=a reap
        pool own id32 1-9
        begin
        claim own k
        claim p k ttl=10s
        claim p l
        end -> new 1; wanted; wanted; WAITING
        report p k granted 5
        at +10s
        tick -> 5 events
        show own k -> none
        external p l -> releasing v6 due 0s
        ",
    );
}

#[test]
fn repeated_transaction_is_the_same() {
    mixed(
        "
        begin
        claim own k
        claim p k
        end key=x fingerprint=1 -> new 1; wanted; WAITING
        begin
        claim own k
        claim p k
        end key=x fingerprint=1 -> WAITING
        begin
        claim own k
        claim p k
        end key=x fingerprint=2 -> no op 0: idempotency_differs: idempotency key 'x' was used for a different request
        # The keys of its claims identify it, too.
        begin
        claim own k
        claim p k
        check_pool own
        end -> same 1; wanted; holds; WAITING
        begin
        claim own l
        claim p k
        end -> no op 1: claim_pending: the claim 'k' in pool 'p' waits for its authority already; repeat the transaction when it has an answer
        begin
        claim q k
        claim p k
        end -> no op 1: claim_pending: the claim 'k' in pool 'p' waits for its authority already; repeat the transaction when it has an answer
        claim p k -> wanted
        report p k granted 5
        begin
        claim own k
        claim p k
        end key=x fingerprint=1 -> DONE
        at +3600s
        # Its time is over, although it was not forgotten yet.
        begin
        claim own k
        claim q k
        end key=x fingerprint=2 -> same 1; wanted; WAITING
        transactions -> waiting v9 [q/k]
        report q k refused taken
        begin
        claim own k
        claim q k
        end key=x fingerprint=2 -> REFUSED
        show own k -> 1 by k v7
        ",
    );
}

#[test]
fn dry_run_asks_no_authority() {
    mixed(
        "
        begin
        claim own k
        claim p k
        end dry -> new 1; wanted; WAITING
        transactions ->
        external p k -> none
        show own k -> none
        ",
    );
}

#[test]
fn operation_that_cannot_be_undone_is_sent_on_its_own() {
    mixed(
        "
        claim own held ttl=1h
        take c n:VCPU=1
        begin
        claim p k
        release own held
        end -> no op 1: invalid: the transaction waits for an authority, and this operation cannot be undone later; send it on its own; claims, checks and allocations of new consumers can wait
        begin
        renew own held
        claim p k
        end -> no op 0: invalid: the transaction waits for an authority, and this operation cannot be undone later; send it on its own; claims, checks and allocations of new consumers can wait
        begin
        claim p k
        take c n:VCPU=2
        end -> no op 1: invalid: the transaction waits for an authority, and this operation cannot be undone later; send it on its own; claims, checks and allocations of new consumers can wait
        begin
        claim p k
        claim own held ttl=1h
        check own held expect=present
        end -> wanted; same 1; holds; WAITING
        transactions -> waiting v9 [p/k]
        report p k refused taken
        show own held -> 1 by held v7 lease 3600s
        begin
        claim p k
        end key=x -> wanted
        begin
        release p k
        release own held
        end -> no op 0: invalid: the transaction waits for an authority, and this operation cannot be undone later; send it on its own; claims, checks and allocations of new consumers can wait
        ",
    );
}

#[test]
fn transactions_have_limits() {
    let mut world = mixed(
        "
        limit waiting_transactions_max=2
        begin
        claim own a
        claim p a
        end -> new 1; wanted; WAITING
        begin
        claim own b
        claim p b
        end -> new 2; wanted; WAITING
        begin
        claim own c
        claim p c
        end -> no op 1: limit_exceeded: waiting_transactions_max is 2, the request has 3
        report p a granted 1
        limit transaction_parts_max=5
        begin
        claim own c
        claim p c
        end -> no op 1: limit_exceeded: transaction_parts_max is 5, the request has 6
        # An authority whose queue is full refuses the whole transaction.
        authority a queue=1
        begin
        claim own c
        claim q c
        end -> no op 1: authority_busy: 1 claims wait for authority 'a' (queue_max); retry later
        show own c -> none
        ",
    );
    ask(&mut world, "at +1h");
    play(&mut world, "tick -> 2 events");
}
