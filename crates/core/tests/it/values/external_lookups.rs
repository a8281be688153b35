//! Look-ups: resolved once, and what happens when the authority has another value later.

use crate::values::script::{ask, check, play};

#[test]
fn look_up_is_resolved_once_and_kept_while_the_authority_is_down() {
    check(
        "
        authority a poll=60s
        look_up a k -> wanted
        lookup a k -> wanted pin v2 due 0s
        lookups_due a -> k
        unseen a k again=10s why=down -> wanted
        lookup a k -> wanted pin v2 attempts 1 due 10s (down)
        lookups_due a -> next in 10s
        at +10s
        lookups_due a -> k
        saw a k 17 version=3 -> resolved
        lookup a k -> resolved pin v4 17 version 3 since 0s due 60s
        at +60s
        unseen a k again=20s why=down -> resolved
        lookup a k -> resolved pin v4 17 version 3 since 60s attempts 1 due 20s (down)
        at +20s
        # A check that finds the same is no change.
        saw a k 17 version=3 -> resolved
        lookup a k -> resolved pin v4 17 version 3 since 80s due 60s
        saw a k 17 version=4 -> resolved
        lookup a k -> resolved pin v7 17 version 4 since 80s due 60s
        look_up a k -> resolved
        look_up a k pin expect=absent -> no lookup_version_differs: the look-up of 'k' at authority 'a' is at version 7
        saw a k 18 at=4 -> no lookup_version_differs: the look-up of 'k' at authority 'a' is at version 7
        rmauthority a -> no authority_in_use: authority 'a' has 0 pools, 0 claims and 1 look-ups; release the claims, change the pools and delete the look-ups first
        rmlookup a k expect=4 -> no lookup_version_differs: the look-up of 'k' at authority 'a' is at version 7
        rmlookup a k -> deleted true
        rmlookup a k -> deleted false
        lookup a k -> none
        saw a k 18 -> no lookup_unknown: there is no look-up of 'k' at authority 'a'
        rmauthority a -> deleted true
        look_up a k -> no authority_unknown: there is no authority 'a'
        ",
    );
}

#[test]
fn pinned_value_never_changes() {
    check(
        "
        authority a poll=60s
        look_up a k pin
        saw a k 17 version=1
        at +60s
        saw a k 18 version=2 -> drifted
        lookup a k -> drifted pin v4 17 version 1 since 60s seen 18 for 0s due 60s
        alarms -> a Drifted
        at +60s
        saw a k 18 version=2 -> drifted
        lookup a k -> drifted pin v4 17 version 1 since 120s seen 18 for 60s due 60s
        accept a k -> no invalid: the policy of look-up 'k' is pin, so its value never changes; change the policy to ask or follow first
        at +60s
        # The authority has the value again: the drift has ended.
        saw a k 17 version=3 -> resolved
        lookup a k -> resolved pin v6 17 version 3 since 180s due 60s
        alarms -> a Drifted over
        saw a k nothing -> drifted
        lookup a k -> drifted pin v7 17 version 3 since 180s seen nothing for 0s due 60s
        # With another policy the value is replaced at once.
        look_up a k follow -> unknown
        lookup a k -> unknown follow v8 due 60s
        alarms -> a Drifted over
        ",
    );
}

#[test]
fn followed_value_is_replaced() {
    check(
        "
        authority a poll=60s
        look_up a k follow
        saw a k 17 version=1 -> resolved
        at +60s
        saw a k 18 version=2 -> resolved
        lookup a k -> resolved follow v4 18 version 2 since 0s due 60s
        saw a k nothing -> unknown
        lookup a k -> unknown follow v5 due 60s
        at +60s
        saw a k nothing -> unknown
        lookup a k -> unknown follow v5 due 60s
        saw a k 19 -> resolved
        lookup a k -> resolved follow v7 19 since 0s due 60s
        alarms ->
        ",
    );
}

#[test]
fn drift_is_accepted_by_a_client() {
    check(
        "
        authority a poll=60s
        look_up a k ask
        accept a k -> no nothing_to_accept: the look-up of 'k' at authority 'a' has not drifted
        saw a k 17 version=1
        accept a k -> no nothing_to_accept: the look-up of 'k' at authority 'a' has not drifted
        saw a k 18 version=2 -> drifted
        at +1s
        saw a k 19 version=3 -> drifted
        lookup a k -> drifted ask v5 17 version 1 since 1s seen 19 for 0s due 60s
        accept a k expect=4 -> no lookup_version_differs: the look-up of 'k' at authority 'a' is at version 5
        accept a k expect=5 -> resolved
        lookup a k -> resolved ask v6 19 version 3 since 0s due 60s
        alarms -> a Drifted over
        saw a k nothing -> drifted
        accept a k -> unknown
        accept a other -> no lookup_unknown: there is no look-up of 'other' at authority 'a'
        ",
    );
}

#[test]
fn refresh_makes_one_or_all_due() {
    check(
        "
        authority a
        authority b poll=60s
        look_up a k
        look_up a l
        look_up b k
        saw a k 1
        saw a l 2
        saw b k 3
        # Without polling they are never due again by themselves.
        lookups_due a ->
        lookups_due b -> next in 60s
        refresh a k -> resolved
        lookups_due a -> k
        saw a k 1
        refresh a -> refreshed
        lookups_due a -> l k
        lookups_due b -> next in 60s
        unseen a l again=10s
        lookups_due a -> k next in 10s
        saw a k 1
        at +10s
        # A look-up that is due for both reasons is listed once.
        refresh a l
        refresh a
        lookups_due a -> l k
        authority a poll=5s -> generation 2
        lookups_due a -> l k
        saw a l 2
        saw a k 1
        lookups_due a -> next in 5s
        refresh c -> no authority_unknown: there is no authority 'c'
        refresh a x -> no lookup_unknown: there is no look-up of 'x' at authority 'a'
        ",
    );
}

#[test]
fn look_ups_have_limits() {
    let mut world = check(
        "
        authority a poll=60s
        limit lookups_max=2 lookup_bytes_max=10
        look_up a k
        look_up a l
        look_up a m -> no limit_exceeded: lookups_max is 2, the request has 3
        look_up a '' -> no invalid: the key is empty; give the claim a key
        saw a k 1234567890 -> resolved
        saw a l 1234567890 version=1 -> wanted
        lookup a l -> wanted pin v3 attempts 1 due 60s (the value has 11 bytes; lookup_bytes_max is 10)
        limit lookups_bytes_max=1080
        saw a l 1234567890 -> resolved
        limit lookups_bytes_max=1040
        saw a k 9876543210 -> drifted
        saw a l 9876543210 -> resolved
        lookup a l -> resolved pin v6 1234567890 since 0s attempts 1 due 60s (there is no space for the value; lookups_bytes_max is 1040)
        rmlookup a l
        limit lookups_bytes_max=1000
        look_up a m -> no limit_exceeded: lookups_bytes_max is 1000, the request has 1024
        lookups a -> k [drifted 1]
        ",
    );
    world.limits = allod_core::limits::Limits::default();
    for n in 10..20 {
        ask(&mut world, &format!("look_up a n{n}"));
    }
    play(&mut world, "lookups a after=n17 -> n18 n19 [wanted 10, drifted 1]");
}
