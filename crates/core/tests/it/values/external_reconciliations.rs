//! Reconciliation: requests, findings, and what an operator does with them.

use crate::values::script::check;

const POOL: &str = "
    pool own id32 1-9
    authority a
    pool p id32 1-9 authority=a
    claim p k owner=o ttl=1h label=x:y
    report p k granted 5 handle=h
    ";

fn reconciled(script: &str) {
    check(&format!("{POOL}\n{script}"));
}

#[test]
fn reconciliation_is_requested_once_until_it_has_ended() {
    reconciled(
        "
        findings a -> none
        reconcile a -> reconciliation 6
        reconcile a -> reconciliation 6
        findings a -> wanted 6
        found a number=5 -> no not_reconciling: reconciliation 5 of authority 'a' is not wanted
        found a orphan=x/6 missing=p/k -> reported
        findings a -> done 6; orphan x 6 -; missing p/k 5 [1, 1, 0, 0]
        found a -> no not_reconciling: reconciliation 6 of authority 'a' is not wanted
        # The findings stay until the next one has ended.
        reconcile a -> reconciliation 8
        findings a -> wanted 8; orphan x 6 -; missing p/k 5 [1, 1, 0, 0]
        unfound a -> reported
        findings a -> failed 8 (why)
        reconcile a -> reconciliation 10
        found a
        findings a -> done 10
        reconcile b -> no authority_unknown: there is no authority 'b'
        ",
    );
}

#[test]
fn reconciliation_is_scheduled() {
    check(
        "
        authority a reconcile=60s
        next_due -> -1000000s
        tick -> 1 events
        findings a -> wanted 2
        tick -> 0 events
        next_due -> never
        at +5s
        found a
        next_due -> 60s
        at +60s
        tick -> 1 events
        findings a -> wanted 4
        unfound a
        next_due -> 60s
        authority a
        next_due -> never
        authority a reconcile=90s
        next_due -> 90s
        rmauthority a
        next_due -> never
        ",
    );
}

#[test]
fn findings_that_do_not_hold_any_more_are_left_out() {
    reconciled(
        "
        claim p l
        limit reconcile_findings_max=2
        reconcile a
        found a orphan=x/1 orphan=y/2 orphan=z/3 orphans=10 missing=p/l missing=p/k drift=p/l/7 conflict=x/5/p/k
        findings a -> done 7; orphan x 1 -; orphan y 2 -; missing p/k 5; conflict x 5 with p/k [10, 1, 0, 1]
        ",
    );
}

#[test]
fn orphan_is_adopted_as_a_claim() {
    reconciled(
        "
        reconcile a
        found a orphan=x/6/h6 orphan=y/5/h5 orphan=z/12
        settle a x adopt p k o -> no claim_version_differs: claim 'k' in pool 'p' is at version 5
        settle a x adopt q l o -> no pool_unknown: there is no pool 'q'
        settle a x adopt p l -> no invalid: the owner is empty; name one
        settle a y adopt p l o -> no taken: 5 of pool 'p' is held under 'k' by 'o'
        settle a z adopt p l o -> no invalid: the authority has granted '12': 12 is outside the ranges of pool 'p'; change the ranges of the pool
        settle a x forget -> no invalid: an orphan cannot be forgotten; adopt or release it
        settle a x adopt p l o -> reported
        external p l -> held v8 value 6 handle h6
        show p l -> 6 by o v8
        findings a -> done 6; orphan y 5 h5; orphan z 12 - [2, 0, 0, 0]
        settle a x adopt p m o -> no finding_unknown: the last reconciliation of authority 'a' has nothing to settle for reference x
        release p l -> releasing
        report p l gone
        show p l -> none
        settle a z adopt own l o -> no invalid: pool 'own' does not have authority 'a'; name a pool that has it
        claim p l
        report p l refused taken
        reconcile a
        found a orphan=x/6
        settle a x adopt p l o -> reported
        external p l -> held v15 value 6
        ",
    );
}

#[test]
fn orphan_is_released_at_the_authority() {
    reconciled(
        "
        reconcile a
        found a orphan=x/6/h6
        settle a x release -> reported
        findings a -> done 6
        settle a x release -> no finding_unknown: the last reconciliation of authority 'a' has nothing to settle for reference x
        at_authority a -> held 1, releasing 1, oldest 0s
        ready a -> 00000000-0000-0000-0000-000000000078
        reconcile a
        # It is known now, so it is no orphan.
        found a orphan=x/6/h6
        findings a -> done 9
        report 00000000-0000-0000-0000-000000000078 - failed again=10s -> reported
        report 00000000-0000-0000-0000-000000000078 - gone -> reported
        at_authority a -> held 1
        ",
    );
}

#[test]
fn missing_claim_is_forgotten() {
    reconciled(
        "
        reconcile a
        found a missing=p/k
        settle a p/k release -> no invalid: a missing claim can only be forgotten; forget it
        settle a p/k forget -> reported
        show p k -> none
        external p k -> none
        findings a -> done 6
        claim p k
        report p k granted 5
        reconcile a
        found a missing=p/k
        release p k
        settle a p/k forget -> no finding_unknown: the last reconciliation of authority 'a' has nothing to settle for reference REFERENCE
        ",
    );
}

#[test]
fn drifted_claim_gets_the_value_of_the_authority() {
    reconciled(
        "
        claim p l
        report p l granted 6
        at +60s
        reconcile a
        found a drift=p/k/7 drift=p/l/5
        settle a p/k forget -> no invalid: a drifted claim cannot be released or forgotten here; adopt the value of the authority, or release the claim
        settle a p/l adopt -> no taken: 5 of pool 'p' is held under 'k' by 'o'
        settle a p/k adopt -> reported
        show p k -> 7 by o v10 lease 3540s x:y
        external p k -> held v10 value 7 handle h
        settle a p/l adopt -> reported
        show p l -> 5 by l v11
        findings a -> done 8
        ",
    );
}
