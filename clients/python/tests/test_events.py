"""The state of a watch: messages in pieces, resume, no duplicates, back-off."""

from __future__ import annotations

import json
from typing import Any, Dict, List

import pytest

from allod import BadAnswer, PositionTrimmed, Retry, Unavailable, Unreachable
from allod.events import EventReader, WatchState
from allod.http1 import Response
from allod.retry import Surroundings


def message(position: int, **more: Any) -> bytes:
    event: Dict[str, Any] = {"kind": "claim_granted", "pool": "p", "key": "k", "values": [7]}
    change = {"position": position, "at": "2026-01-01T08:00:00.000Z", "events": [event], **more}
    return f"id: {position}\ndata: {json.dumps(change)}\n\n".encode()


def heartbeat(position: int) -> bytes:
    return f'event: heartbeat\nid: {position}\ndata: {{"position":{position}}}\n\n'.encode()


def state(time: List[float], patience: float = 10.0) -> WatchState:
    around = Surroundings(lambda: time[0], lambda: 1.0, lambda: 0.0)
    return WatchState(
        5,
        pool="p",
        owner_prefix=None,
        kind=["claim_granted"],
        patience=patience,
        retry=Retry(first=1.0, most=4.0),
        around=around,
    )


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_messages_are_parsed_in_pieces_of_any_size(step: int) -> None:
    raw = b": a comment\r\n\r\nid: 1\r\ndata: a\r\ndata: b\r\n\r\nevent: x\ndata:c\n\nid: 3\n\ndata: unfinished"
    reader, got = EventReader(), []
    for at in range(0, len(raw), step):
        got += reader.feed(raw[at : at + step])
    assert got == [{"id": "1", "data": "a\nb"}, {"event": "x", "data": "c"}]


def test_watch_resumes_at_its_position() -> None:
    watch = state([0.0])
    assert watch.request().target == "/v1/watch?from=5&pool=p&kind=claim_granted"
    for position, _ in watch.feed(message(6) + heartbeat(9)):
        assert watch.advance(position)
    assert watch.position == 9
    assert watch.request().headers["last-event-id"] == "9"


def test_incomplete_message_of_an_old_stream_is_discarded() -> None:
    watch = state([0.0])
    assert watch.feed(message(6)[:-10]) == []
    watch.request()
    assert [position for position, _ in watch.feed(message(6))] == [6]


def test_repeated_position_is_not_new() -> None:
    watch = state([0.0])
    new = [watch.advance(position) for position, _ in watch.feed(message(6) + message(6) + message(4))]
    assert new == [True, False, False]


def test_any_message_restarts_the_back_off() -> None:
    time = [0.0]
    watch = state(time)
    pauses = []
    for _ in range(2):
        pauses.append(watch.ended())
        time[0] += pauses[-1]
    watch.feed(heartbeat(6))
    pauses.append(watch.ended())
    assert pauses == [1.0, 2.0, 1.0]
    time[0] += 20.0
    with pytest.raises(Unreachable):
        watch.ended(OSError("gone"))


def test_watch_without_patience_limit_never_gives_up() -> None:
    time = [0.0]
    around = Surroundings(lambda: time[0], lambda: 1.0, lambda: 0.0)
    watch = WatchState(
        0, pool=None, owner_prefix=None, kind=None, patience=None, retry=Retry(), around=around
    )
    for _ in range(50):
        time[0] += watch.ended() + 1000.0
    assert watch.ended() == Retry().most


def test_permanent_refusal_raises_and_temporary_one_is_retried() -> None:
    watch = state([0.0])
    trimmed = {"code": "position_trimmed", "oldest_position": 40}
    with pytest.raises(PositionTrimmed) as raised:
        watch.refused(Response(410, {}, json.dumps(trimmed).encode()))
    assert raised.value.oldest_position == 40
    assert watch.refused(Response(503, {"retry-after": "3"})) == 3.0
    with pytest.raises(Unavailable):
        watch.refused(Response(503, {"retry-after": "11"}))


def test_malformed_event_raises_bad_answer() -> None:
    with pytest.raises(BadAnswer):
        state([0.0]).feed(b"data: nonsense\n\n")
    with pytest.raises(BadAnswer):
        state([0.0]).feed(b"data: {}\n\n")
