//! Requests that are answered from outside: by an external allocator, or by an authority.

use crate::values::script::check;

#[test]
fn external_allocator_answers_requests() {
    check(
        "
        limit outbox_max=100
        idpool p 20-30 external exclude=25-25
        ask p a svc=/a -> wanted
        # Nothing is held, and no service is notified yet.
        left p -> 20-24,26-30
        outbox ->
        reply p a 22 -> written
        answers p -> a=22
        left p -> 20-21,23-24,26-30
        outbox -> /a of p/a
        # The same answer again changes nothing.
        reply p a 22 -> written
        outbox -> /a of p/a
        # Another answer replaces it.
        reply p a 23 -> written
        answers p -> a=23
        reply p a no=maintenance -> written
        answers p -> a=! refused_by_allocator: maintenance
        left p -> 20-24,26-30
        reply p a 24 -> written
        # An error is not retried by the server.
        ask p b -> wanted
        reply p b no=full
        withdraw p a
        left p -> 20-24,26-30
        answers p -> b=! refused_by_allocator: full
        tick
        answers p -> b=! refused_by_allocator: full
        rmpool p
        answers p -> none
        ",
    );
}

#[test]
fn answer_must_be_a_value_that_the_request_can_have() {
    check(
        "
        idpool p 20-30 external exclude=25-25
        idpool own 1-9
        ask own a -> 1
        reply own a 2 -> no answers_itself: pool 'own' has no external allocator; its responses are read only
        reply p a 22 -> no request_unknown: pool 'p' has no request 'a'
        ask p a -> wanted
        ask p seven id=27 -> wanted
        ask p odd odd -> wanted
        claim p native value=21 -> new 21
        reply p a 31 -> no value_outside: 31 is outside the ranges of pool 'p'
        reply p a 25 -> no value_excluded: 25 is excluded in pool 'p'
        reply p a 21 -> no taken: 21 of pool 'p' is held under 'native' by 'native'
        reply p seven 28 -> no answer_differs: request 'seven' in pool 'p' wants the id 27
        reply p odd 22 -> no answer_differs: request 'odd' in pool 'p' wants an id that is odd
        reply p a 22 version=1 -> no resources_changed: the pools have changed at position 6, after they were read
        reply p a 22 seen=1 -> no resources_changed: the pools have changed at position 6, after they were read
        answers p -> a=wanted odd=wanted seven=wanted
        reply p seven 27 -> written
        reply p a 27 -> no taken: 27 of pool 'p' is held under 'seven' by 'seven'
        reply p odd 23 -> written
        # A value that is refused leaves the present one in place.
        reply p odd 27 -> no taken: 27 of pool 'p' is held under 'seven' by 'seven'
        answers p -> a=wanted odd=23 seven=27
        ippool net nets=10.0.0.0/24 external
        net net x 28 -> wanted
        net net y 30 start=10.0.0.32 -> wanted
        reply net x 10.0.1.0/28 -> no value_outside: 10.0.1.0/28 is outside the ranges of pool 'net'
        reply net x 10.0.0.0/27 -> no answer_differs: request 'x' in pool 'net' wants a prefix of length 28
        reply net y 10.0.0.16/30 -> no answer_differs: request 'y' in pool 'net' wants the prefix 10.0.0.32/30
        reply net x 10.0.0.32/28 -> written
        reply net y 10.0.0.32/30 -> no taken: 10.0.0.32/30 of pool 'net' is held under 'x' by 'x'
        answers net -> x=10.0.0.32/28 y=wanted
        ",
    );
}

#[test]
fn changed_request_asks_again() {
    check(
        "
        limit outbox_max=100
        idpool p 20-30 external
        ask p a svc=/a -> wanted
        reply p a 22
        # Another service gets the answer, and is notified; the value stays.
        ask p a svc=/a,/b -> 22
        outbox -> /a of p/a, /b of p/a
        # A wish that the value satisfies keeps it.
        ask p a svc=/a,/b id=22 -> 22
        ask p a svc=/a,/b id=23 -> wanted
        left p -> 20-30
        reply p a 23
        ask p a svc=/a,/b id=23 site=acme:vrf -> wanted
        left p -> 20-30
        reply p a 23
        # A value outside of a smaller range is asked for again.
        idpool p 20-22 external
        answers p -> a=wanted
        ask p b -> wanted
        # A service that joins a request without an answer is notified with the answer.
        ask p b svc=/c -> wanted
        reply p b 20
        outbox -> /a of p/a, /b of p/a, /a of p/a, /b of p/a, /a of p/a, /b of p/a, /c of p/b
        ",
    );
}

#[test]
fn pool_with_an_allocator_outside_refuses_what_needs_an_answer_at_once() {
    check(
        "
        idpool p 20-30 external
        idpool own 20-30
        seize p a -> no answered_outside: the allocator of pool 'p' is outside and answers later; write a request and read its response
        look own+p a -> no answered_outside: the allocator of pool 'p' is outside and answers later; write a request and read its response
        ask p s sync -> no invalid: request 's' has sync, but the allocator of its pool answers each request alone; leave sync out
        answers p ->
        ask p a -> wanted
        idpool p 20-30 -> no allocator_in_use: pool 'p' has 1 requests, so its allocator cannot be changed; withdraw them first
        withdraw p a
        idpool p 20-30
        ask p a -> 20
        idpool p 20-30 by=ipam -> no authority_unknown: there is no authority 'ipam'
        inventory ipam
        idpool p 20-30 by=ipam -> no allocator_in_use: pool 'p' has 1 requests, so its allocator cannot be changed; withdraw them first
        withdraw p a
        idpool p 20-30 by=ipam
        ask p o odd -> no invalid: request 'o' has a parity or a method, but an authority chooses the value; leave them out; a certain id can be requested
        reply p a 20 -> no answers_itself: pool 'p' has no external allocator; its responses are read only
        ",
    );
}

#[test]
fn authority_answers_requests() {
    check(
        "
        limit outbox_max=100
        inventory ipam
        idpool p 20-30 by=ipam site=acme:region
        ask p a svc=/a site=acme:vrf -> wanted
        asks p a -> wanted region=x vrf=x
        left p -> 20-30
        outbox ->
        grants p a 22
        asks p a -> held region=x vrf=x
        answers p -> a=22
        outbox -> /a of p/a
        ask p b svc=/b -> wanted
        refuses p b
        answers p -> a=22 b=! exhausted: none left
        outbox -> /a of p/a, /b of p/b
        # A refusal stays the answer when the authority's record of it is forgotten.
        at +2h
        tick
        asks p b -> none
        answers p -> a=22 b=! exhausted: none left
        # The value is held until the authority has confirmed the release.
        withdraw p a
        answers p -> b=! exhausted: none left
        asks p a -> releasing region=x vrf=x
        left p -> 20-21,23-30
        # A new request with the same name waits for that, and then asks.
        ask p a id=23 -> wanted, has 22
        asks p a -> releasing region=x vrf=x
        gone p a
        asks p a -> wanted region=x
        left p -> 20-30
        grants p a 23
        answers p -> a=23 b=! exhausted: none left
        # A changed request releases its value and asks again.
        ask p a id=24 -> wanted, has 23
        gone p a
        asks p a -> wanted region=x
        grants p a 24
        # A value that the pool does not have, or that is held, needs not be asked for.
        ask p c id=24 -> ! IdUnavailable(24)
        ask p d id=31 -> ! IdUnavailable(31)
        asks p c -> none
        # If the outcome at the authority is unknown, it is not asked again: an operator must resolve it.
        ask p e -> wanted
        stuck p e
        answers p -> a=24 b=! exhausted: none left c=! IdUnavailable(24) d=! IdUnavailable(31) e=wanted
        withdraw p e -> no claim_stuck: it is unknown whether the authority has granted a value to 'e' in pool 'p'; an operator must resolve it
        # A native claim goes to the authority too.
        claim p n
        asks p n -> wanted
        ask p n -> no params_differ: 'n' in pool 'p' was claimed with different owner
        ",
    );
}

#[test]
fn pool_of_an_authority_is_removed_after_its_claims() {
    check(
        "
        inventory ipam
        ippool p nets=10.0.0.0/24 by=ipam
        net p a 28 -> wanted
        grants p a 10.0.0.16/28
        answers p -> a=10.0.0.16/28
        ippool p nets=10.0.1.0/24 by=ipam -> no held_outside: 1 claim(s) of pool 'p' hold values outside the new ranges [a 10.0.0.16/28]
        rmpool p -> no pool_in_use: pool 'p' has 1 claims at its authority; release them first
        withdraw p a
        rmpool p -> no pool_in_use: pool 'p' has 1 claims at its authority; release them first
        gone p a
        rmpool p
        answers p -> none
        ",
    );
}
