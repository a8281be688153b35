"""A watch on a real server: in order, without gaps or duplicates, across broken connections and restarts."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, List

import pytest
from server import Server, Wire

from allod import Client, PositionUnknown, Retry, Unreachable


def keys(changes: Any, count: int) -> List[Any]:
    """The keys of the first ``count`` events."""
    got: List[Any] = []
    for change in changes:
        got += [event.key for event in change.events]
        if len(got) >= count:
            return got
    raise AssertionError("a watch does not end")


def test_watch_returns_changes_as_they_happen(client: Any, pool: str) -> None:
    with client.watch(pool=pool) as watch:
        claim = client.claim(pool, "a", owner="o", ttl=60)
        client.renew(pool, "a", ttl=90)
        client.release(pool, "a")
        granted, leased, released = (next(watch).events[0] for _ in range(3))
        assert (granted.kind, granted.pool, granted.key, granted.owner) == ("claim_granted", pool, "a", "o")
        assert granted.values == (claim.value,) and granted.version == claim.version
        assert leased.kind == "lease_changed" and leased.expires > granted.expires
        assert released.kind == "claim_released" and released.cause == "asked"
        assert watch.position == client.position


def test_watch_starts_at_a_position_and_filters(
    client: Any, pool: str
) -> None:
    before = client.position
    for number in range(4):
        client.claim(pool, f"k{number}", owner=f"owner {number % 2}")
    client.release(pool, "k0")
    with client.watch(after=before, pool=[pool], kind=["claim_granted"]) as watch:
        assert keys(watch, 4) == ["k0", "k1", "k2", "k3"]
    with client.watch(after=before, owner_prefix="owner 0") as watch:
        assert keys(watch, 3) == ["k0", "k2", "k0"]
    with client.watch(after=client.position + 1000) as watch, pytest.raises(PositionUnknown):
        next(watch)


def test_interrupted_stream_is_resumed(kind: Any, wire: Wire, client: Any, pool: str) -> None:
    before = client.position
    for number in range(60):
        client.claim(pool, f"k{number}")
    watcher = kind(wire.url, retry=Retry(first=0.001))
    # The streams end between two messages, inside a message, and inside the head.
    wire.faults = [f"cut {size}" for size in (400, 1234, 2000, 90, 3333, 10)] + ["refuse"]
    with watcher.watch(after=before, pool=pool) as watch:
        assert keys(watch, 60) == [f"k{number}" for number in range(60)]
    assert wire.faults == []
    watcher.close()


def test_silent_stream_is_reopened(kind: Any, wire: Wire, client: Any, pool: str) -> None:
    before = client.position
    client.claim(pool, "k")
    watcher = kind(wire.url, retry=Retry(first=0.001))
    wire.faults = ["hang", "hang"]
    with watcher.watch(after=before, pool=pool, silence=0.2) as watch:
        assert keys(watch, 1) == ["k"]
    assert wire.connections == 3
    watcher.close()


def test_watch_survives_server_kills(kind: Any, tmp_path: Path) -> None:
    server = Server(tmp_path / "data", "--log", "error")
    writer, watcher = Client(server.url), kind(server.url, retry=Retry(first=0.01, most=0.1))
    writer.put_pool("p", "id32", ["1-100000"])
    seen: List[Any] = []
    watch = watcher.watch(after=writer.position, kind="claim_granted")
    reader = threading.Thread(target=lambda: seen.extend(keys(watch, 90)))
    reader.start()
    for death in range(3):
        for number in range(30):
            writer.claim("p", f"{death}-{number}")
        server.kill()
        server.start()
    reader.join(60)
    watch.close()
    assert seen == [f"{death}-{number}" for death in range(3) for number in range(30)]
    writer.close()
    watcher.close()
    server.stop()


def test_watch_raises_unreachable_if_it_cannot_resume(kind: Any, tmp_path: Path) -> None:
    server = Server(tmp_path / "data", "--log", "error")
    client = kind(server.url, retry=Retry(first=0.01))
    with client.watch(patience=0.5) as watch:
        server.kill()
        with pytest.raises(Unreachable):
            next(watch)
    client.close()
