//! Every limit has a name and a refusal, and is checked only by decisions.

use crate::values::script::{check, play};

#[test]
fn each_limit_refuses_commands_beyond_it() {
    check(
        "
        limit pool_name_bytes_max=3 key_bytes_max=4 owner_bytes_max=5 labels_max=1 label_bytes_max=2
        limit ranges_per_pool_max=3 pools_max=2 values_per_claim_max=2 pools_per_claim_max=2 ops_per_transaction_max=2
        limit lease_ms_max=10000
        pool abcd id32 1-9 -> no limit_exceeded: pool_name_bytes_max is 3, the request has 4
        pool abc id32 1,2,3 exclude=1 -> no limit_exceeded: ranges_per_pool_max is 3, the request has 4
        pool abc id32 1-9 label=a:1 label=b:2 -> no limit_exceeded: labels_max is 1, the request has 2
        pool abc id32 1-9 label=a:123 -> no limit_exceeded: label_bytes_max is 2, the request has 3
        pool abc id32 1-9 lease=11s -> no limit_exceeded: lease_ms_max is 10000, the request has 11000
        pool abc id32 1-9 quarantine=11s -> no limit_exceeded: lease_ms_max is 10000, the request has 11000
        pool a id32 1-9
        pool b id32 1-9
        pool c id32 1-9 -> no limit_exceeded: pools_max is 2, the request has 3
        pool b id32 1-8 -> generation 2
        claim a 12345 -> no limit_exceeded: key_bytes_max is 4, the request has 5
        claim a '' -> no invalid: the key is empty; give the claim a key
        claim a k owner=123456 -> no limit_exceeded: owner_bytes_max is 5, the request has 6
        claim a k owner='' -> no invalid: the owner is empty; leave it out, or name one
        claim a k label=a:1 label=b:2 -> no limit_exceeded: labels_max is 1, the request has 2
        claim a k label=abc:1 -> no limit_exceeded: label_bytes_max is 2, the request has 3
        claim a k count=3 -> no limit_exceeded: values_per_claim_max is 2, the request has 3
        claim a k count=0 -> no invalid: count is zero; ask for at least one value
        claim a k ttl=11s -> no limit_exceeded: lease_ms_max is 10000, the request has 11000
        claim a k ttl=0s -> no invalid: ttl is zero; leave it out, or give a time above zero
        claim a+b+c k -> no limit_exceeded: pools_per_claim_max is 2, the request has 3
        claim none k -> no invalid: the claim names no pool; name one, or several that must give the same value
        renew a k ttl=11s -> no limit_exceeded: lease_ms_max is 10000, the request has 11000
        release a 12345 -> no limit_exceeded: key_bytes_max is 4, the request has 5
        confirm a 12345 -> no limit_exceeded: key_bytes_max is 4, the request has 5
        check a 12345 -> no limit_exceeded: key_bytes_max is 4, the request has 5
        begin
        claim a k
        claim a l
        claim a m
        end -> no op 0: limit_exceeded: ops_per_transaction_max is 2, the request has 3
        limit values_per_transaction_max=3
        begin
        claim a k count=2
        claim a+b l
        end -> no op 0: limit_exceeded: values_per_transaction_max is 3, the request has 4
        begin
        claim a k
        end key=12345 -> no limit_exceeded: key_bytes_max is 4, the request has 5
        ",
    );
}

#[test]
fn contradictory_fields_are_refused() {
    check(
        "
        pool p id32 1-9
        claim p a fallback -> no invalid: fallback is given without a value; name the value that it is the fallback for
        claim p a value=1 count=2 -> no invalid: value and count are both given; name a value, or say how many
        claim p a count=2 contiguous odd -> no invalid: values that follow each other cannot all be even or odd; drop contiguous or parity
        claim p a len=24 -> no invalid: prefix_len is given for a pool of id32; leave it out
        claim p a value=1-3 -> no malformed: value: '1-3' is not an id of 32 bits such as 4094: only digits are allowed
        ",
    );
}

#[test]
fn requests_and_their_pools_have_limits() {
    check(
        "
        limit ranges_per_pool_max=4 owner_bytes_max=5 services_per_request_max=2
        ippool p nets=10.0.0.0/24,10.0.2.0/24,10.0.4.0/24 exclude=10.0.0.0/30,10.0.0.8/30 -> no limit_exceeded: ranges_per_pool_max is 4, the request has 5
        # A range counts as its number of blocks.
        ippool p ranges=10.0.0.1-10.0.0.10 -> no limit_exceeded: ranges_per_pool_max is 4, the request has 5
        ippool p ranges=10.0.0.1-10.0.0.9
        left p -> 10.0.0.1/32,10.0.0.2/31,10.0.0.4/30,10.0.0.8/31
        idpool q 1-9 exclude=1-2,3-4,5-6
        idpool q 1-9 exclude=1-2,3-4,5-6,7-8 -> no limit_exceeded: ranges_per_pool_max is 4, the request has 5
        ask q a svc=/1234 -> 7
        ask q b svc=/12345 -> no limit_exceeded: owner_bytes_max is 5, the request has 6
        ask q b user=absent -> no limit_exceeded: owner_bytes_max is 5, the request has 6
        ask q b svc=/1,/2,/3 -> no limit_exceeded: services_per_request_max is 2, the request has 3
        answers q -> a=7
        seize q a svc=/1,/2 -> no limit_exceeded: services_per_request_max is 2, the request has 3
        ",
    );
}

#[test]
fn state_beyond_lowered_limits_keeps_working() {
    let mut world = check(
        "
        pool pool id32 1-9
        claim pool long-key count=5 label=key:value
        ",
    );
    play(
        &mut world,
        "
        limit pool_name_bytes_max=1 values_per_claim_max=1 label_bytes_max=1 pools_max=0
        claim pool b -> new 6
        release pool long-key -> released
        delete pool -> no pool_in_use: pool 'pool' has 1 claims held and 0 in quarantine
        ",
    );
}

#[test]
fn claim_ends_a_limited_number_of_other_claims() {
    check(
        "
        pool p id32 1-4
        claim p a ttl=1s
        claim p b ttl=1s
        claim p c ttl=1s
        at +1h
        limit claims_ended_per_claim_max=2
        # The limit counts for each claim of a transaction.
        begin
        claim p x value=1
        claim p y value=2
        claim p z value=3
        end dry -> new 1; new 2; new 3
        claim p d count=4 -> no exhausted: pool 'p' has 1 values free, but none that fit [size 4, held 3, expired 3, free 1, run 1]
        usage p -> size 4 claims 3 held 3 expired 3 free 1
        claim p d count=3 -> new 1-2,4
        ",
    );
}
