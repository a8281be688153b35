//! Transactions: atomicity, order of operations, idempotency keys.

use crate::values::script::check;

#[test]
fn transaction_is_atomic() {
    check(
        "
        pool p id32 1-3
        pool q id32 1-1
        begin
        claim p a
        claim p b
        claim q c
        end -> new 1; new 2; new 1
        begin
        claim p d
        release p a
        claim q e
        end -> no op 2: exhausted: pool 'q' has no value free [size 1, held 1]
        show p a -> 1 by a v3
        usage p -> size 3 claims 2 held 2 free 1
        begin
        end -> no invalid: the transaction has no operation; give at least one
        begin
        claim p d
        claim nowhere d
        end -> no op 1: pool_unknown: there is no pool 'nowhere'
        ",
    );
}

#[test]
fn each_operation_sees_the_ones_before_it() {
    check(
        "
        pool p id32 1-2
        claim p a -> new 1
        begin
        release p a
        check p a expect=absent
        check_free p 1
        claim p b value=1
        check p b owner=b value=1
        claim p a
        end -> released; holds; holds; new 1; holds; new 2
        begin
        release p b
        claim p b
        end -> released; new 1
        show p b -> 1 by b v4
        begin
        claim p x
        end -> no exhausted: pool 'p' has no value free [size 2, held 2]
        begin
        claim p b
        release p b
        claim p b
        release p b
        end -> same 1; released; new 1; released
        ",
    );
}

#[test]
fn value_can_be_released_and_claimed_again_in_one_transaction() {
    check(
        "
        pool p id32 1-1 quarantine=1h
        claim p a owner=o -> new 1
        begin
        release p a
        claim p b owner=other value=1
        end -> no op 1: value_quarantined: 1 of pool 'p' is in quarantine, reserved for its former owner [for 3600s]
        show p a -> 1 by o v2
        begin
        release p a
        claim p b owner=o value=1
        end -> released; new 1
        show p b -> 1 by o v3
        show p a -> none
        ",
    );
}

#[test]
fn leases_can_be_renewed_and_confirmed_in_a_transaction() {
    check(
        "
        pool p id32 1-9
        begin
        claim p a ttl=10s
        renew p a ttl=20s
        claim p b ttl=10s
        confirm p b
        end -> new 1; 1; new 2; 2
        show p a -> 1 by a v2 lease 20s
        show p b -> 2 by b v2
        ",
    );
}

#[test]
fn checks_refuse_the_transaction() {
    check(
        "
        pool p id32 1-9 exclude=9
        claim p a owner=o -> new 1
        check p a expect=present -> holds
        check p a expect=2 owner=o value=1 -> holds
        check p a expect=3 -> no check_failed: the condition on claim 'a' in pool 'p' does not hold: it is at version 2, held by 'o', with 1
        check p a owner=x -> no check_failed: the condition on claim 'a' in pool 'p' does not hold: it is at version 2, held by 'o', with 1
        check p a value=2 -> no check_failed: the condition on claim 'a' in pool 'p' does not hold: it is at version 2, held by 'o', with 1
        check p a expect=absent -> no check_failed: the condition on claim 'a' in pool 'p' does not hold: it is at version 2, held by 'o', with 1
        check p b expect=absent -> holds
        check p b -> holds
        check p b owner=o -> no check_failed: the condition on claim 'b' in pool 'p' does not hold: nothing is held under it
        check p b expect=present -> no check_failed: the condition on claim 'b' in pool 'p' does not hold: nothing is held under it
        check nowhere b -> no pool_unknown: there is no pool 'nowhere'
        check_free p 2 -> holds
        check_free p 1 -> no check_failed: that 1 of pool 'p' is free does not hold: it is held under 'a' by 'o'
        check_free p 9 -> no value_excluded: 9 is excluded in pool 'p'
        check_free p 10 -> no value_outside: 10 is outside the ranges of pool 'p'
        check_pool p expect=1 -> holds
        check_pool p expect=2 -> no check_failed: the condition on pool 'p' does not hold: it is at generation 1
        check_pool nowhere expect=absent -> holds
        check_pool nowhere expect=present -> no check_failed: the condition on pool 'nowhere' does not hold: it does not exist
        pool q id32 1-2 quarantine=10s
        claim q a
        release q a
        check_free q 1 -> no check_failed: that 1 of pool 'q' is free does not hold: it is held under 'a' by 'a'
        at +10s
        check_free q 1 -> holds
        ",
    );
}

#[test]
fn dry_run_answers_and_changes_nothing() {
    check(
        "
        pool p id32 1-9
        begin
        claim p a
        claim p b
        end dry -> new 1; new 2
        usage p -> size 9 free 9
        begin
        claim p a
        release nowhere b
        end dry -> no op 1: pool_unknown: there is no pool 'nowhere'
        begin
        claim p a
        end dry key=k -> new 1
        begin
        claim p b
        end key=k fingerprint=2 -> new 1
        ",
    );
}

#[test]
fn idempotency_key_repeats_the_answer() {
    check(
        "
        pool p id32 1-9
        limit idempotency_ms=60000 idempotency_keys_max=2
        begin
        claim p a
        end key=k -> new 1
        release p a
        begin
        claim p a
        end key=k -> new 1
        # The answer was stored, not decided again.
        show p a -> none
        begin
        claim p b
        end key=k fingerprint=2 -> no idempotency_differs: idempotency key 'k' was used for a different request
        at +59999ms
        begin
        claim p a
        end key=k -> new 1
        show p a -> none
        at +1ms
        # The stored answer has expired, even before the next tick.
        begin
        claim p a
        end key=k fingerprint=2 -> new 1
        show p a -> 1 by a v4
        begin
        claim p c
        end key=l -> new 2
        begin
        claim p d
        end key=m -> no idempotency_full: there is no space for another idempotency key (idempotency_keys_max); retry later, or send the request without a key
        at +1m
        tick -> 2 events
        begin
        claim p d
        end key=m -> new 3
        begin
        claim p d
        end key='' -> no invalid: the idempotency key is empty; leave it out, or give one
        ",
    );
}

#[test]
fn clients_have_their_own_idempotency_keys() {
    check(
        "
        pool p id32 1-100
        limit idempotency_keys_max=8
        begin
        claim p a
        end key=k client=one -> new 1
        # The same key of another client is another key.
        begin
        claim p b
        end key=k client=two fingerprint=1 -> new 2
        begin
        claim p b
        end key=k client=one fingerprint=1 -> no idempotency_differs: idempotency key 'k' was used for a different request
        # A client gets a quarter of the space, and the others are not affected.
        begin
        claim p c
        end key=l client=one -> new 3
        begin
        claim p d
        end key=m client=one -> no idempotency_full: there is no space for another idempotency key (idempotency_client_percent_max); retry later, or send the request without a key
        begin
        claim p d
        end key=m client=two -> new 4
        limit idempotency_bytes_max=1000
        begin
        claim p e
        end key=n client=three -> no idempotency_full: there is no space for another idempotency key (idempotency_bytes_max); retry later, or send the request without a key
        # Stored answers are still repeated.
        begin
        claim p a
        end key=k client=one -> new 1
        ",
    );
}

#[test]
fn refusal_is_not_stored_under_the_idempotency_key() {
    check(
        "
        pool p id32 1-1
        claim p a
        begin
        claim p b
        end key=k -> no exhausted: pool 'p' has no value free [size 1, held 1]
        release p a
        begin
        claim p b
        end key=k -> new 1
        ",
    );
}

#[test]
fn release_with_an_old_version_is_refused() {
    check(
        "
        pool p id32 1-9
        claim p a -> new 1
        release p a expect=1 -> no claim_version_differs: claim 'a' in pool 'p' is at version 2
        release p a expect=absent -> no claim_version_differs: claim 'a' in pool 'p' is at version 2
        release p a expect=2 -> released
        release p a expect=2 -> no claim_version_differs: nothing is held under 'a' in pool 'p'
        release p a expect=present -> no claim_unknown: nothing is held under 'a' in pool 'p'
        release p a -> was not held
        release p a expect=absent -> was not held
        claim p b -> new 1
        # The value has another holder now: the old one cannot release it.
        release p a -> was not held
        show p b -> 1 by b v4
        claim p a -> new 2
        release p a expect=2 -> no claim_version_differs: claim 'a' in pool 'p' is at version 5
        claim p a expect=5 -> same 2
        claim p a expect=absent -> no claim_version_differs: claim 'a' in pool 'p' is at version 5
        claim p c expect=present -> no claim_version_differs: nothing is held under 'c' in pool 'p'
        claim p c expect=absent -> new 3
        ",
    );
}

#[test]
fn refusal_names_every_parameter_that_differs() {
    check(
        "
        pool p id32 1-99
        claim p a owner=o label=k:v -> new 1
        claim p a owner=o label=k:v -> same 1
        claim p a -> no params_differ: 'a' in pool 'p' was claimed with different owner, labels
        claim p a value=1 fallback count=1 contiguous odd strategy=next ttl=1s -> no params_differ: 'a' in pool 'p' was claimed with different owner, value, fallback, contiguous, parity, strategy, ttl, labels
        claim p a owner=o count=2 label=k:v -> no params_differ: 'a' in pool 'p' was claimed with different count
        claim p b value=7 ttl=1s -> new 7
        claim p b value=7 ttl=1s -> same 7
        claim p b value=7 -> no params_differ: 'b' in pool 'p' was claimed with different ttl
        claim p b ttl=1s -> no params_differ: 'b' in pool 'p' was claimed with different value
        pool n ipv4_prefix 10.0.0.0/24
        claim n a len=25 -> new 10.0.0.0/25
        claim n a len=26 -> no params_differ: 'a' in pool 'n' was claimed with different prefix_len
        ",
    );
}

#[test]
fn value_is_parsed_by_the_kind_that_its_pool_has_at_that_position() {
    check(
        "
        pool p id32 1-9
        pool a ipv4_address 10.0.0.0/24
        pool n ipv4_prefix 10.0.0.0/24
        claim p k value=10.0.0.7 -> no malformed: value: '10.0.0.7' is not an id of 32 bits such as 4094: only digits are allowed
        claim a k value=7 -> no malformed: value: '7' is not an IPv4 address such as 10.0.0.1: four decimal numbers with dots are expected
        claim n k value=10.0.0.7/24 -> no malformed: value: '10.0.0.7/24' is not an IPv4 prefix such as 10.0.0.0/24: it has bits set beyond its length
        check p k expect=absent value=x -> no malformed: value: 'x' is not an id of 32 bits such as 4094: only digits are allowed
        check_free a ::1 -> no malformed: value: '::1' is not an IPv4 address such as 10.0.0.1: four decimal numbers with dots are expected
        # An unknown pool is refused before the text, which nothing can parse.
        claim gone k value=x -> no pool_unknown: there is no pool 'gone'
        check_free gone x -> no pool_unknown: there is no pool 'gone'
        # The operations before it decide first.
        begin
        release p k expect=present
        claim p k value=x
        end -> no op 0: claim_unknown: nothing is held under 'k' in pool 'p'
        begin
        claim p k value=1
        check_free p x
        end -> no op 1: malformed: value: 'x' is not an id of 32 bits such as 4094: only digits are allowed
        usage p -> size 9 free 9
        # A pool of another kind under the same name reads the same text differently.
        claim p k value=7 -> new 7
        release p k
        delete p
        pool p ipv4_address 0.0.0.0-0.0.0.9
        claim p k value=7 -> no malformed: value: '7' is not an IPv4 address such as 10.0.0.1: four decimal numbers with dots are expected
        claim p k value=0.0.0.7 -> new 0.0.0.7
        # A stored answer is repeated although its pool is of another kind now.
        pool q id32 1-9
        begin
        claim q k value=2
        end key=once -> new 2
        release q k
        delete q
        pool q ipv4_address 10.0.0.0/24
        begin
        claim q k value=2
        end key=once -> new 2
        ",
    );
}
