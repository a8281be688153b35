"""The retry policy, without a socket."""

from __future__ import annotations

import json
from typing import Any, Callable, List, Optional, Tuple

import pytest

from allod import NotHeld, Problem, Retry, Transaction, Unavailable, Unreachable, VersionDiffers, api
from allod.http1 import Response
from allod.retry import Attempt, Lost, NotSent, Outcome, Pause, Surroundings, exchange, retry_after

BROKEN = OSError("broken")


class World:
    """A simulated clock, a fixed random number, and a record of all attempts and pauses."""

    def __init__(self, chance: float = 1.0) -> None:
        self.time = 100.0
        self.attempts: List[Attempt] = []
        self.pauses: List[float] = []
        self.around = Surroundings(lambda: self.time, lambda: chance, lambda: 1_000_000_000.0)

    def run(self, call: Any, outcomes: List[Any], retry: Retry = Retry(), takes: float = 0.0) -> Any:
        """Returns the outcomes in order, and repeats the last one."""
        steps = exchange(call, retry, timeout=10.0, around=self.around)
        outcome: Optional[Outcome] = None
        try:
            while True:
                step = steps.send(outcome)
                if isinstance(step, Pause):
                    self.pauses.append(step.seconds)
                    self.time += step.seconds
                    outcome = None
                else:
                    self.attempts.append(step)
                    self.time += takes
                    outcome = outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]
        except StopIteration as stop:
            return stop.value


def answer(status: int, body: object = None, **headers: str) -> Response:
    raw = b"" if body is None else json.dumps(body).encode()
    return Response(status, {name.replace("_", "-"): text for name, text in headers.items()}, raw)


def problem(status: int, code: str, **more: Any) -> Response:
    return answer(status, {"code": code, "detail": "words", **more})


LIMITS = answer(200, {"a": 1})
BUSY = answer(503, {"code": "queue_full"}, retry_after="1")


def test_success_needs_one_attempt() -> None:
    world = World()
    assert world.run(api.limits(), [LIMITS]) == {"a": 1}
    assert len(world.attempts) == 1 and world.pauses == []


@pytest.mark.parametrize("outcome", [NotSent(BROKEN), Lost(BROKEN), BUSY, answer(504), answer(408)])
def test_temporary_failure_is_retried_with_the_same_request(outcome: Any) -> None:
    world = World()
    assert world.run(api.limits(), [outcome, outcome, LIMITS]) == {"a": 1}
    assert len(world.attempts) == 3
    assert len({attempt.request.target for attempt in world.attempts}) == 1


@pytest.mark.parametrize(
    "status, code", [(400, "malformed"), (404, "pool_unknown"), (409, "taken"), (500, "internal")]
)
def test_permanent_failure_is_not_retried(status: int, code: str) -> None:
    world = World()
    with pytest.raises(Problem) as raised:
        world.run(api.limits(), [problem(status, code), LIMITS])
    assert raised.value.code == code and len(world.attempts) == 1


def test_pauses_double_up_to_a_bound_until_the_total_time() -> None:
    world = World()
    with pytest.raises(Unreachable) as raised:
        world.run(api.limits(), [NotSent(BROKEN)], Retry(total=10.0, first=0.5, most=3.0))
    assert world.pauses == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert world.time < 110.0
    assert raised.value.maybe_done is False and raised.value.__cause__ is BROKEN


def test_pauses_are_random_but_never_zero() -> None:
    low, high = World(chance=0.0), World(chance=1.0)
    for world in (low, high):
        world.run(api.limits(), [NotSent(BROKEN), NotSent(BROKEN), LIMITS], Retry(first=1.0))
    assert low.pauses == [0.25, 0.5] and high.pauses == [1.0, 2.0]


def test_retry_after_is_respected() -> None:
    world = World()
    world.run(api.limits(), [answer(503, retry_after="7"), LIMITS])
    assert world.pauses == [7.0]


def test_retry_after_beyond_the_total_time_gives_up_at_once() -> None:
    world = World()
    with pytest.raises(Unavailable):
        world.run(api.limits(), [answer(503, retry_after="31")])
    assert world.pauses == []


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("12", 12.0),
        ("Sun, 09 Sep 2001 01:46:50 GMT", 10.0),
        ("Sun, 09 Sep 2001 01:46:30 GMT", 0.0),
        ("soon", 0.0),
        ("-3", 0.0),
        ("", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str, seconds: float) -> None:
    assert retry_after(answer(503, retry_after=text), 1_000_000_000.0) == seconds


def test_total_of_zero_means_one_attempt() -> None:
    world = World()
    with pytest.raises(Unreachable):
        world.run(api.limits(), [NotSent(BROKEN)], Retry(total=0.0))
    assert len(world.attempts) == 1 and world.attempts[0].timeout == 10.0


def test_last_attempt_ends_with_the_total_time() -> None:
    world = World()
    with pytest.raises(Unreachable):
        world.run(api.limits(), [Lost(BROKEN)], Retry(total=15.0), takes=9.0)
    assert [round(attempt.timeout) for attempt in world.attempts] == [10, 6]


def test_stale_idle_connection_is_retried_without_pause() -> None:
    world = World()
    world.run(api.limits(), [Lost(BROKEN, stale=True), LIMITS])
    assert world.pauses == [0.0]
    world = World()
    world.run(api.limits(), [Lost(BROKEN, stale=True), Lost(BROKEN, stale=True), LIMITS])
    assert world.pauses[0] == 0.0 and world.pauses[1] > 0.0


def test_lost_response_means_maybe_executed() -> None:
    for outcome in (Lost(BROKEN), answer(504), answer(503, {"code": "unavailable"})):
        with pytest.raises((Unreachable, Unavailable)) as raised:
            World().run(api.release("p", "k", version=None), [outcome])
        error: Any = raised.value
        assert error.maybe_done if isinstance(error, Unreachable) else error.after_lost
    with pytest.raises(Unavailable) as busy:
        World().run(api.release("p", "k", version=None), [BUSY])
    assert not busy.value.after_lost


def test_release_with_version_succeeds_if_nothing_is_left_after_a_lost_response() -> None:
    gone = problem(404, "claim_unknown")
    for call in (api.release("p", "k", version=7), api.delete_pool("p", version=7)):
        assert World().run(call, [Lost(BROKEN), gone]) is None
        with pytest.raises(NotHeld):
            World().run(call, [gone])
    absent = problem(412, "pool_generation_differs")
    assert World().run(api.delete_pool("p", version=7), [Lost(BROKEN), absent]) is None


def test_release_with_version_does_not_release_a_newer_claim() -> None:
    moved = problem(412, "claim_version_differs", actual=9)
    with pytest.raises(VersionDiffers) as raised:
        World().run(api.release("p", "k", version=7), [Lost(BROKEN), moved])
    assert raised.value.after_lost and raised.value.actual == 9


def test_absent_claim_after_a_lost_response_raises_with_after_lost() -> None:
    there = problem(412, "claim_version_differs", actual=9)
    call = api.claim("p", "k", {}, version=None, absent=True)
    with pytest.raises(VersionDiffers) as raised:
        World().run(call, [Lost(BROKEN), there])
    assert raised.value.after_lost


def test_idempotency_key_is_the_same_for_all_attempts_of_a_transaction() -> None:
    def keys(call: Any) -> List[str]:
        world = World()
        world.run(call, [Lost(BROKEN), answer(504), answer(200, {"results": [], "dry_run": False})])
        return [attempt.request.headers["idempotency-key"] for attempt in world.attempts]

    make: Callable[[Optional[str]], Any] = lambda key: api.transact(
        Transaction().release("p", "k"), dry_run=False, idempotency_key=key
    )
    first, second = keys(make(None)), keys(make(None))
    assert len(first) == 3 and len(set(first)) == 1 and set(first) != set(second)
    assert set(keys(make("mine"))) == {"mine"}


def test_requests_are_encoded_correctly() -> None:
    claim = api.claim("a b/ü", "k?", {"value": 7}, version=3, absent=False).request
    assert (claim.method, claim.target) == ("PUT", "/v1/pools/a%20b%2F%C3%BC/claims/k%3F")
    assert claim.headers["if-match"] == '"3"' and claim.body == b'{"value":7}'
    listed = api.claims(None, {"owner_prefix": "a&b", "expired": True, "after": None}).request
    assert listed.target == "/v1/claims?owner_prefix=a%26b&expired=true"
    watch = api.watch({"pool": ["a", "b"], "kind": None}, 5)
    assert watch.target == "/v1/watch?from=5&pool=a&pool=b"
    assert watch.headers["last-event-id"] == "5"
    wanted: Tuple[Optional[int], bool] = (4, True)
    read = api.get("p", "k", min_position=wanted[0], linearizable=wanted[1]).request
    assert read.headers == {"allod-min-position": "4", "allod-consistency": "linearizable"}
    with pytest.raises(ValueError):
        api.claim("p", "k", {}, version=3, absent=True)
