//! Claims in pools with an authority: wanted, granted, refused, failed, releasing, gone.

use allod_core::view;

use crate::values::authorities::reference;
use crate::values::script::{check, play};
use crate::values::world::World;

const POOL: &str = "
    authority a -> created 1
    pool p id32 1-9 authority=a -> created 1
    ";

fn external(script: &str) -> World {
    check(&format!("{POOL}\n{script}"))
}

#[test]
fn claim_is_wanted_until_the_authority_grants_it() {
    external(
        "
        claim p k owner=o label=site:north -> wanted
        external p k -> wanted v3 due 0s
        show p k -> none
        at_authority a -> wanted 1, oldest 0s
        ready a -> k
        at +5s
        claim p k owner=o label=site:north -> wanted
        report p k granted 7 handle=h version=3 -> reported
        external p k -> held v4 value 7 handle h version 3
        show p k -> 7 by o v4 site:north
        at_authority a -> held 1
        ready a ->
        claim p k owner=o label=site:north -> same 7
        ",
    );
}

#[test]
fn refused_claim_is_shown_and_can_be_asked_for_again() {
    external(
        "
        limit refused_claim_ms=60000
        claim p k value=7
        report p k refused taken why=other_team -> reported
        external p k -> refused v4 taken due 60s (other team)
        show p k -> none
        ready a ->
        at +50s
        # A new request has a new reference, and may ask for another value.
        claim p k value=8 -> wanted
        external p k -> wanted v5 due 0s
        report p k refused exhausted why=full
        release p k -> released
        external p k -> none
        claim p k
        report p k refused differs why=other_request
        next_due -> 60s
        at +60s
        tick -> 1 events
        external p k -> none
        release p k -> was not held
        ",
    );
}

#[test]
fn refused_claim_counts_as_absent() {
    external(
        "
        claim p k
        report p k refused taken
        claim p k expect=present -> no claim_version_differs: nothing is held under 'k' in pool 'p'
        claim p k expect=absent -> wanted
        claim p k expect=absent -> no claim_version_differs: claim 'k' in pool 'p' is at version 5
        claim p k expect=5 -> wanted
        report p k granted 4
        release p k expect=5 -> no claim_version_differs: claim 'k' in pool 'p' is at version 6
        release p k expect=6 -> releasing
        ",
    );
}

#[test]
fn failed_attempt_is_repeated_at_its_time() {
    external(
        "
        claim p k
        report p k failed again=10s why=timeout -> reported
        external p k -> wanted v4 attempts 1 due 10s (timeout)
        ready a -> next in 10s
        at +10s
        ready a -> k
        report p k failed again=20s why=reset asked
        external p k -> wanted v5 asked attempts 2 due 20s (reset)
        # A report about an earlier version is refused.
        report p k granted 3 at=4 -> no claim_version_differs: claim 'k' in pool 'p' is at version 5
        report p k granted 3 at=5 -> reported
        external p k -> held v6 asked value 3
        # A claim that is not open has nothing to report.
        report p k failed again=10s -> reported
        report p k refused taken -> reported
        report p k gone -> reported
        report p k granted 9 -> reported
        external p k -> held v6 asked value 3
        ",
    );
}

#[test]
fn value_stays_held_until_the_release_is_confirmed() {
    external(
        "
        claim p k
        report p k granted 5 handle=h
        at +1h
        release p k -> releasing
        external p k -> releasing v5 value 5 handle h due 0s
        show p k -> 5 by k v4
        usage p -> size 9 claims 1 held 1 free 8
        at_authority a -> releasing 1, oldest 0s
        release p k -> releasing
        claim p k -> no claim_releasing: the claim 'k' in pool 'p' is being released at its authority; retry when it is gone
        renew p k ttl=10s -> no claim_releasing: the claim 'k' in pool 'p' is being released at its authority; retry when it is gone
        confirm p k -> no claim_releasing: the claim 'k' in pool 'p' is being released at its authority; retry when it is gone
        claim p other value=5 -> no taken: 5 of pool 'p' is held under 'k' by 'k'
        report p k failed again=60s why=down
        external p k -> releasing v6 value 5 handle h attempts 1 due 60s (down)
        report p k gone -> reported
        external p k -> none
        show p k -> none
        release p k -> was not held
        claim p other value=5 -> wanted
        ",
    );
}

#[test]
fn withdrawn_claim_is_released_at_the_authority_too() {
    external(
        "
        claim p k
        release p k -> releasing
        external p k -> releasing v4 due 0s
        # The authority has granted a value meanwhile: the release must name it.
        report p k granted 6 handle=h -> reported
        external p k -> releasing v5 value 6 handle h due 0s
        show p k -> none
        report p k gone
        external p k -> none
        claim p k
        release p k
        # The authority has refused the claim, so there is nothing to release.
        report p k refused taken
        external p k -> none
        ",
    );
}

#[test]
fn grant_of_a_held_value_changes_nothing_while_it_is_released() {
    external(
        "
        claim p k
        report p k granted 6 handle=h
        release p k
        report p k granted 6 handle=h2 -> reported
        external p k -> releasing v5 value 6 handle h due 0s
        ",
    );
}

#[test]
fn repeated_request_must_have_the_same_parameters() {
    external(
        "
        claim p k value=5 ttl=10s
        claim p k value=6 ttl=10s -> no params_differ: 'k' in pool 'p' was claimed with different value
        claim p k value=5 -> no params_differ: 'k' in pool 'p' was claimed with different ttl
        claim p k value=5 ttl=10s owner=o -> no params_differ: 'k' in pool 'p' was claimed with different owner
        claim p k value=5 ttl=10s label=a:b -> no params_differ: 'k' in pool 'p' was claimed with different labels
        claim p k value=5 ttl=10s -> wanted
        report p k granted 5
        claim p k value=6 ttl=10s -> no params_differ: 'k' in pool 'p' was claimed with different value
        claim p k value=5 ttl=10s -> same 5
        ",
    );
}

#[test]
fn lease_begins_with_the_grant_and_its_end_releases_the_claim() {
    external(
        "
        pool p id32 1-9 authority=a reap lease=100s
        claim p k ttl=10s
        claim p l
        at +1h
        report p k granted 5
        report p l granted 6
        show p k -> 5 by k v6 lease 10s
        show p l -> 6 by l v7 lease 100s
        renew p k ttl=20s -> 5
        at +20s
        tick -> 2 events
        # The value is held, without a lease, until the authority confirms the release.
        external p k -> releasing v9 value 5 due 0s
        show p k -> 5 by k v9
        next_due -> 80s
        confirm p l -> 6
        next_due -> 300s
        report p k gone
        show p k -> none
        next_due -> never
        ",
    );
}

#[test]
fn references_are_own_and_never_used_again() {
    let mut world = external("claim p k");
    let first = reference(&world.state, "p", "k");
    play(
        &mut world,
        "
        release p k
        report p k gone
        claim p k
        ",
    );
    let second = reference(&world.state, "p", "k");
    assert_ne!(first, second);
    let authorities = view::authority::authorities(&world.state).clone();
    assert!(authorities.is_own(first) && authorities.is_own(second));
    let other = check(&format!("pool before id32 1-9\n{POOL}\nclaim p k"));
    assert!(!authorities.is_own(reference(&other.state, "p", "k")), "of another journal");
    let late = format!(
        "report {first} - granted 5 -> no reference_unknown: no claim has the reference REFERENCE"
    );
    play(&mut world, &late);
    // A journal that was restored to an earlier position goes on with other references.
    let mut again = external("");
    again.seed += 100;
    play(&mut again, "claim p k");
    let third = reference(&again.state, "p", "k");
    assert!(authorities.is_own(third));
    assert!(third != first && third != second);
}

#[test]
fn identity_is_drawn_once() {
    let mut world = external("claim p k");
    play(
        &mut world,
        "
        authority b -> created 1
        rmauthority b -> deleted true
        claim p l
        ",
    );
    let (k, l) = (reference(&world.state, "p", "k"), reference(&world.state, "p", "l"));
    let authorities = view::authority::authorities(&world.state);
    assert!(authorities.is_own(k) && authorities.is_own(l));
}

#[test]
fn expired_claim_is_released_at_the_authority_in_every_pool() {
    external(
        "
        claim p k ttl=10s
        report p k granted 5
        next_due -> 10s
        at +10s
        tick -> 2 events
        external p k -> releasing v5 value 5 due 0s
        next_due -> 300s
        report p k gone
        show p k -> none
        ",
    );
}
