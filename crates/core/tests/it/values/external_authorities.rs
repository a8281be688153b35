//! Authorities and their pools: definition, deletion, limits; and every refusal about them.

use std::collections::BTreeSet;

use allod_core::authority::refusal::AuthorityRefusal;
use allod_core::refusal::Refusal;

use crate::values::script::check;

/// The rank of a refusal in the table below. A new refusal does not compile until it has a rank, and then fails the test
/// until it has a line there.
fn rank(refusal: &AuthorityRefusal) -> usize {
    match refusal {
        AuthorityRefusal::AuthorityUnknown { .. } => 0,
        AuthorityRefusal::AuthorityGenerationDiffers { .. } => 1,
        AuthorityRefusal::AuthorityInUse { .. } => 2,
        AuthorityRefusal::PoolHasClaims { .. } => 3,
        AuthorityRefusal::QueueFull { .. } => 4,
        AuthorityRefusal::StillReleasing { .. } => 5,
        AuthorityRefusal::NeedsResolution { .. } => 6,
        AuthorityRefusal::ReferenceUnknown { .. } => 7,
        AuthorityRefusal::NothingToResolve { .. } => 8,
        AuthorityRefusal::LookUpUnknown { .. } => 9,
        AuthorityRefusal::LookUpVersionDiffers { .. } => 10,
        AuthorityRefusal::NothingToAccept { .. } => 11,
        AuthorityRefusal::NotReconciling { .. } => 12,
        AuthorityRefusal::FindingUnknown { .. } => 13,
    }
}

const RANKS: usize = 14;

#[test]
fn every_refusal_has_a_case() {
    let world = check(
        "
        authority a queue=1
        pool p id32 1-9 authority=a
        claim p k
        pool q id32 1-9 authority=b -> no authority_unknown: there is no authority 'b'
        authority a queue=1 expect=7 -> no authority_generation_differs: authority 'a' is at generation 1
        rmauthority a -> no authority_in_use: authority 'a' has 1 pools, 1 claims and 0 look-ups; release the claims, change the pools and delete the look-ups first
        delete p -> no pool_in_use: pool 'p' has 1 claims at its authority; release them first
        claim p l -> no authority_busy: 1 claims wait for authority 'a' (queue_max); retry later
        release p k
        claim p k -> no claim_releasing: the claim 'k' in pool 'p' is being released at its authority; retry when it is gone
        report p k stuck
        release p k -> no claim_stuck: it is unknown whether the authority has granted a value to 'k' in pool 'p'; an operator must resolve it
        report 00000000-0000-0000-0000-000000000001 - gone -> no reference_unknown: no claim has the reference 00000000-0000-0000-0000-000000000001
        claim p m
        resolve p m granted 5 -> no nothing_to_resolve: the claim with reference REFERENCE is wanted, which needs no resolution
        refresh a x -> no lookup_unknown: there is no look-up of 'x' at authority 'a'
        look_up a x ask
        look_up a x pin expect=1 -> no lookup_version_differs: the look-up of 'x' at authority 'a' is at version 7
        accept a x -> no nothing_to_accept: the look-up of 'x' at authority 'a' has not drifted
        found a number=1 -> no not_reconciling: reconciliation 1 of authority 'a' is not wanted
        settle a x forget -> no finding_unknown: the last reconciliation of authority 'a' has nothing to settle for reference x
        ",
    );
    let refusals = world.refusals.iter().map(|refusal| match refusal {
        Refusal::Authority(refusal) => refusal,
        other => panic!("{other}"),
    });
    let ranks: Vec<usize> = refusals.map(rank).collect();
    assert_eq!(ranks, (0..RANKS).collect::<Vec<_>>(), "a refusal lacks a case, or is out of order");
    let codes: BTreeSet<&str> = world.refusals.iter().map(Refusal::code).collect();
    assert_eq!(codes.len(), RANKS, "two refusals share a code");
}

#[test]
fn authority_is_created_changed_and_deleted() {
    check(
        "
        authority a expect=present -> no authority_generation_differs: authority 'a' does not exist
        authority a expect=absent -> created 1
        authority a -> generation 1
        authority a parallel=4 expect=1 -> generation 2
        authority b sql url=postgres://127.0.0.1/db take=x -> created 1
        rmauthority a expect=1 -> no authority_generation_differs: authority 'a' is at generation 2
        rmauthority a expect=2 -> deleted true
        rmauthority a -> deleted false
        limit authorities_max=1
        authority c -> no limit_exceeded: authorities_max is 1, the request has 2
        authority b -> generation 2
        authority '' -> no invalid: the authority's name is empty or has control characters; give it a printable name
        ",
    );
}

#[test]
fn options_of_an_authority_are_validated() {
    check(
        "
        authority a parallel=0 -> no invalid: parallel is zero; allow at least one request at a time
        authority a parallel=257 -> no limit_exceeded: authority_parallel_max is 256, the request has 257
        authority a timeout=0s -> no invalid: the time limit is zero; give a time above zero
        authority a timeout=601s -> no limit_exceeded: authority_timeout_ms_max is 600000, the request has 601000
        authority a poll=10ms -> no invalid: 'poll' is less than a second; give a longer time, or none
        authority a reconcile=10ms -> no invalid: 'reconcile' is less than a second; give a longer time, or none
        authority a url=postgres://me:secret@host/db -> no invalid: the URL has a password; store it as a secret on the server and give the secret's name
        authority a url=postgres://me@host:5432/db?x=a:b@c -> created 1
        limit authority_bytes_max=30
        authority a sql url=postgres://host/db take=select -> generation 2
        authority a sql url=postgres://host/db take=select_values -> no limit_exceeded: authority_bytes_max is 30, the request has 31
        ",
    );
}

#[test]
fn pool_with_claims_at_its_authority_keeps_it() {
    check(
        "
        authority a
        authority b
        pool p id32 1-9 authority=a
        pool p id32 1-9 authority=b -> generation 2
        claim p k
        pool p id32 1-9 -> no pool_in_use: pool 'p' has 1 claims at its authority; release them first
        pool p id32 1-20 authority=b -> generation 3
        delete p -> no pool_in_use: pool 'p' has 1 claims at its authority; release them first
        report p k granted 5
        pool p id32 1-20 authority=a -> no pool_in_use: pool 'p' has 1 claims held and 0 in quarantine
        delete p -> no pool_in_use: pool 'p' has 1 claims held and 0 in quarantine
        release p k
        delete p -> no pool_in_use: pool 'p' has 1 claims held and 0 in quarantine
        report p k gone
        rmauthority b -> no authority_in_use: authority 'b' has 1 pools, 0 claims and 0 look-ups; release the claims, change the pools and delete the look-ups first
        pool p id32 1-20 -> generation 4
        rmauthority b -> deleted true
        # A pool with claims of its own gets no authority.
        claim p k -> new 1
        pool p id32 1-20 authority=a -> no pool_in_use: pool 'p' has 1 claims held and 0 in quarantine
        pool q id32 1-9 quarantine=5s authority=a -> no invalid: the pool has an authority and a quarantine; leave the quarantine out; the authority decides when it grants a value again
        ids blocks 0-100
        pool blocks id32 0-100 authority=a -> no invalid: pool 'blocks' is a pool of the id-manager; give the authority to a pool that is not
        ",
    );
}

#[test]
fn request_that_no_authority_can_answer_is_refused() {
    check(
        "
        authority a
        pool p id32 1-9 exclude=3 authority=a
        pool own id32 1-9
        claim p k count=2 -> no invalid: an authority grants the pool's values, and 'count' cannot be asked for; leave it out; value and prefix_len are allowed
        claim p k odd -> no invalid: an authority grants the pool's values, and 'parity' cannot be asked for; leave it out; value and prefix_len are allowed
        claim p k strategy=next -> no invalid: an authority grants the pool's values, and 'strategy' cannot be asked for; leave it out; value and prefix_len are allowed
        claim p k value=4 fallback -> no invalid: an authority grants the pool's values, and 'fallback' cannot be asked for; leave it out; value and prefix_len are allowed
        claim p+own k -> no invalid: authority 'a' cannot grant the same value in several pools; claim in one pool
        claim own+p k -> no invalid: authority 'a' cannot grant the same value in several pools; claim in one pool
        claim p k value=12 -> no value_outside: 12 is outside the ranges of pool 'p'
        claim p k value=3 -> no value_excluded: 3 is excluded in pool 'p'
        claim p k value=x -> no malformed: value: 'x' is not an id of 32 bits such as 4094: only digits are allowed
        claim p '' -> no invalid: the key is empty; give the claim a key
        release p k expect=present -> no claim_unknown: nothing is held under 'k' in pool 'p'
        release p k -> was not held
        external p k -> none
        ",
    );
}

#[test]
fn queue_has_a_limit_that_releases_do_not_need() {
    check(
        "
        authority a queue=2
        pool p id32 1-9 authority=a
        claim p a
        claim p b
        report p a failed again=10s why=timeout
        claim p c -> no authority_busy: 2 claims wait for authority 'a' (queue_max); retry later; its last error: timeout
        claim p a -> wanted
        report p a granted 1
        claim p c -> wanted
        release p a -> releasing
        release p b -> releasing
        release p c -> releasing
        claim p d -> wanted
        at_authority a -> wanted 1, releasing 3, oldest 0s
        authority b
        pool q id32 1-9 authority=b
        claim q a -> wanted
        ",
    );
}

#[test]
fn operation_that_an_authority_answers_is_sent_on_its_own() {
    check(
        "
        authority a
        pool p id32 1-9 authority=a
        pool own id32 1-9
        begin
        claim own k
        claim p k
        end -> no op 1: invalid: an authority has to answer this operation, and the transaction has others; send it on its own
        show own k -> none
        begin
        claim p k
        end dry -> wanted
        external p k -> none
        begin
        claim p k
        end key=x -> wanted
        begin
        claim p k
        end key=x -> wanted
        report p k granted 4
        begin
        claim own k
        claim p k
        end -> new 1; same 4
        begin
        release p k
        release own k
        end -> no op 0: invalid: an authority has to answer this operation, and the transaction has others; send it on its own
        ",
    );
}
