"""Authorities through both clients: a real server with a pool that an adapter in this process serves."""

from __future__ import annotations

import itertools
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pytest

from allod import (
    AuthorityInUse,
    AuthoritySpec,
    AuthorityUnknown,
    Exhausted,
    Invalid,
    LookUpUnknown,
    NotGranted,
    NotHeld,
    NothingToAccept,
    NothingToResolve,
    ReferenceUnknown,
    Taken,
    Transaction,
    VersionDiffers,
)
from allod.authority import Adapter, Ask, Fact, Grant, Known, Refused
from allod.authority.server import AuthorityServer

_names = itertools.count()


class Numbers(Adapter):
    """Grants the numbers from 1 to 3."""

    def __init__(self) -> None:
        self.held: Dict[str, int] = {}
        self.facts: Dict[str, Any] = {}
        self.down = False

    def grant(self, ask: Ask) -> Grant:
        if self.down:
            raise OSError("the inventory is down")
        if ask.ref not in self.held:
            free = [number for number in (1, 2, 3) if number not in self.held.values()]
            if ask.value is not None and ask.value not in free:
                raise Refused("taken", f"{ask.value} belongs to another owner")
            if not free:
                raise Refused("exhausted", "all three numbers are in use")
            self.held[ask.ref] = int(ask.value or free[0])
        return Grant(self.held[ask.ref], handle=f"number-{self.held[ask.ref]}")

    def find(self, known: Known) -> Optional[Grant]:
        number = self.held.get(known.ref)
        return None if number is None else Grant(number)

    def look_up(self, name: str) -> Optional[Fact]:
        if self.down:
            raise OSError("the inventory is down")
        return Fact(self.facts[name]) if name in self.facts else None

    def release(self, known: Known) -> None:
        if self.down:
            raise OSError("the inventory is down")
        self.held.pop(known.ref, None)


@pytest.fixture
def numbers() -> Iterator[Tuple[Numbers, str]]:
    adapter = Numbers()
    with AuthorityServer(adapter) as serving:
        yield adapter, serving.url


@pytest.fixture
def outside(client: Any, numbers: Tuple[Numbers, str]) -> Iterator[Tuple[Numbers, str, str]]:
    """The adapter, the name of its authority and that of its pool."""
    adapter, url = numbers
    name = f"inventory {next(_names)}/ü"
    client.put_authority(name, AuthoritySpec("http", url))
    client.put_pool(f"{name} pool", "id32", authority=name)
    yield adapter, name, f"{name} pool"
    # The next adapter has another port, and this one ends.
    adapter.down = False
    for look_up in client.lookups(name):
        client.delete_lookup(name, look_up.key)
    for claim in client.claims(f"{name} pool"):
        client.release(claim.pool, claim.key, wait=20.0)


def until(look: Any) -> Any:
    """The first true result."""
    give_up = time.monotonic() + 20
    while True:
        found = look()
        if found or time.monotonic() > give_up:
            return found
        time.sleep(0.01)


def test_authority_is_created_changed_and_removed(client: Any) -> None:
    name = f"life {next(_names)}"
    spec = AuthoritySpec("sql", "postgres://ipam@127.0.0.1:9/ipam", take="select 1", timeout=2.5)
    made = client.put_authority(name, spec, absent=True)
    assert made.new and made.kind == "sql" and made.state == "ok"
    assert (made.members["take"], made.members["timeout"]) == ("select 1", 2.5)
    again = client.put_authority(name, {**spec, "parallel": 4}, version=made.generation)
    assert not again.new and again.generation == made.generation + 1
    assert [one.name for one in client.authorities(name, page_size=1)] == [name]
    with pytest.raises(VersionDiffers):
        client.delete_authority(name, version=made.generation)
    client.delete_authority(name, version=again.generation)
    client.delete_authority(name)
    with pytest.raises(AuthorityUnknown):
        client.authority(name)
    with pytest.raises(Invalid):
        client.put_authority(name, AuthoritySpec("allod", "http://127.0.0.1:9"))


def test_claim_waits_for_the_authority(client: Any, outside: Tuple[Numbers, str, str]) -> None:
    adapter, name, pool = outside
    claim = client.claim(pool, "a", owner="tenant", wait=20.0)
    assert claim.new and claim.held and claim.value == 1 and claim.handle == "number-1"
    assert claim.authority == name and adapter.held == {claim.reference: 1}
    again = client.claim(pool, "a", owner="tenant")
    assert not again.new and (again.value, again.reference) == (1, claim.reference)
    assert client.get(pool, "a").reference == claim.reference
    with pytest.raises(Taken):
        client.claim(pool, "b", value=1, wait=20.0)
    client.claim(pool, "b", wait=20.0)
    client.claim(pool, "c", wait=20.0)
    with pytest.raises(Exhausted) as refused:
        client.claim(pool, "d", wait=20.0)
    assert "all three numbers are in use" in refused.value.detail
    state = client.authority(name)
    assert (state.held, state.refused, state.wanted) == (3, 1, 0)
    with pytest.raises(AuthorityInUse):
        client.delete_authority(name)
    assert [one.key for one in client.claims(pool)] == ["a", "b", "c", "d"]
    assert [one.value_or_none for one in client.claims(pool)] == [1, 2, 3, None]
    assert [one.key for one in client.authority_claims(name)] == ["d"]
    assert client.release(pool, "a", wait=20.0) is None
    assert claim.reference not in adapter.held


def test_claim_without_an_answer_has_no_value(client: Any, outside: Tuple[Numbers, str, str]) -> None:
    adapter, name, pool = outside
    adapter.down = True
    claim = client.claim(pool, "a")
    assert (claim.state, claim.value_or_none, claim.held) == ("wanted", None, False)
    with pytest.raises(NotGranted):
        claim.value
    assert client.claim(pool, "a", wait=0.0).reference == claim.reference
    failing = until(lambda: [one for one in [client.authority(name)] if one.state == "failing"])
    assert failing and failing[0].last_error and failing[0].oldest.key == "a"
    adapter.down = False
    assert client.claim(pool, "a", wait=20.0).value == 1
    adapter.down = True
    releasing = client.release(pool, "a")
    assert releasing is not None and (releasing.state, releasing.value) == ("releasing", 1)
    adapter.down = False
    assert client.release(pool, "a", wait=20.0) is None
    with pytest.raises(NotHeld):
        client.get(pool, "a")


def test_transaction_of_one_claim_can_be_external(
    client: Any, outside: Tuple[Numbers, str, str]
) -> None:
    _, _, pool = outside
    done = client.transact(Transaction().claim(pool, "a"))
    assert done.results[0].claim.state in ("wanted", "held")
    assert client.claim(pool, "a", wait=20.0).value == 1
    (released,) = client.transact(Transaction().release(pool, "a")).results
    assert released.existed and (released.claim is None or released.claim.state == "releasing")
    assert client.release(pool, "a", wait=20.0) is None


def test_only_stuck_claims_are_resolved(client: Any, outside: Tuple[Numbers, str, str]) -> None:
    adapter, name, pool = outside
    reference = client.claim(pool, "a", wait=20.0).reference
    with pytest.raises(NothingToResolve):
        client.resolve(name, reference, granted=2)
    with pytest.raises(ReferenceUnknown):
        client.resolve(name, "5d3c1f0a-7be2-8a41-9c6d-000000001c00", gone=True)
    assert client.resolve(name, reference, gone=True) is None
    adapter.held.clear()
    kinds: List[str] = [
        event.kind for change in client.history(pool=pool, key="a") for event in change.events
    ]
    assert {"claim_wanted", "claim_granted", "claim_closed"} <= set(kinds)


def test_look_up_stays_the_same_until_it_is_accepted(
    client: Any, outside: Tuple[Numbers, str, str]
) -> None:
    adapter, name, _ = outside
    adapter.facts = {"site/fra": {"gateway": "10.0.0.1", "vlans": [7, 8]}, "site/ham": 7}
    found = client.put_lookup(name, "site/fra", policy="ask")
    assert (found.state, found.policy, found.value) == ("resolved", "ask", adapter.facts["site/fra"])
    assert found.resolved is not None and found.seen is None
    assert client.put_lookup(name, "site/fra") == found
    adapter.down = True
    assert client.lookup(name, "site/fra").value == found.value
    waiting = client.put_lookup(name, "site/ham", wait=0.0)
    assert (waiting.state, waiting.value) == ("wanted", None)
    adapter.down = False
    adapter.facts["site/fra"] = {"gateway": "10.0.0.2"}
    drifted = client.refresh_lookup(name, "site/fra")
    assert (drifted.state, drifted.value) == ("drifted", found.value)
    assert drifted.seen is not None and drifted.seen.value == {"gateway": "10.0.0.2"}
    assert client.authority(name).drifted == 1
    assert [one.key for one in client.lookups(name, state="drifted")] == ["site/fra"]
    with pytest.raises(VersionDiffers):
        client.accept_lookup(name, "site/fra", version=1)
    accepted = client.accept_lookup(name, "site/fra", version=drifted.version)
    assert (accepted.state, accepted.value) == ("resolved", {"gateway": "10.0.0.2"})
    with pytest.raises(NothingToAccept):
        client.accept_lookup(name, "site/fra")
    client.put_lookup(name, "site/fra", policy="follow")
    adapter.facts["site/fra"] = 9
    client.hint(name, ["site/fra", "site/muc"])
    assert until(lambda: client.lookup(name, "site/fra").value == 9)
    assert client.put_lookup(name, "site/muc").state == "unknown"
    assert until(lambda: client.refresh_lookup(name, "site/ham").value == 7)
    assert [one.key for one in client.lookups(name, "site/", page_size=1)] == [
        "site/fra",
        "site/ham",
        "site/muc",
    ]
    client.delete_lookup(name, "site/muc", version=client.lookup(name, "site/muc").version)
    client.delete_lookup(name, "site/muc")
    with pytest.raises(LookUpUnknown):
        client.lookup(name, "site/muc")
