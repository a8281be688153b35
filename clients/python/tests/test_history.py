"""History and holders in the past, on a real server."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from allod import PositionUnknown


def test_holder_at_a_position_and_at_a_time(client: Any, pool: str) -> None:
    first = client.claim(pool, "a", owner="alice", value=7)
    client.release(pool, "a")
    released = client.position
    client.claim(pool, "b", owner="bob", value=7)
    had = client.who(pool, 7, at=first.version)
    assert had.state == "held" and had.claim.owner == "alice"
    assert had.at_position == first.version and had.at_time is not None
    assert client.who(pool, 7, at=released).state == "free"
    now = client.who(pool, 7, at=datetime.now(timezone.utc))
    assert now.claim is not None and now.claim.owner == "bob"
    assert client.who(pool, 7).at_position is None
    with pytest.raises(PositionUnknown):
        client.who(pool, 7, at=client.position + 1000)
    with pytest.raises(ValueError):
        client.who(pool, 7, at=datetime.now())


def test_history_is_filtered_by_pool_value_key_owner_and_time(client: Any, pool: str) -> None:
    began = client.position
    for number in range(5):
        client.claim(pool, f"k{number}", owner=f"owner {number % 2}")
    client.release(pool, "k1")
    kinds = [(event.kind, event.key) for change in client.history(pool=pool, value=2) for event in change.events]
    assert kinds == [("claim_released", "k1"), ("claim_granted", "k1")]
    changes = list(client.history(pool=pool, owner="owner 0", order="oldest_first", page_size=2))
    assert [event.key for change in changes for event in change.events] == ["k0", "k2", "k4"]
    assert [change.position for change in changes] == sorted(change.position for change in changes)
    assert len(list(client.history(pool=pool, since=began + 1))) == 6
    assert len(list(client.history(pool=pool, key="k1", until=client.position))) == 2
    tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
    assert len(list(client.history(pool=pool, until=tomorrow, page_size=3))) == 7
