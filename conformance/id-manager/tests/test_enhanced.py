"""The specification of enhanced ID allocation, sentence by sentence, in its order."""

from __future__ import annotations

import time
from typing import Any, Dict

import pytest
from controller.account import Account
from controller.dialect import Dialect, Refused

#: The pool of the specification's example, which has a slash in its name.
DHCP = "dhcpPool.a9904b22-7b5c-3661-9a04-dccf8c20f918.10.1.2.0/24"
LOW, HIGH = 167838210, 167838408


def child(ids: Dialect, pool: str) -> Dict[str, Any]:
    """The single child of a pool in the tree."""
    (named,) = ids.read("id-pool", pool)["child-pools"]
    entry: Dict[str, Any] = ids.read("id-pool", named["child-pool-name"])
    return entry


def allocated(ids: Dialect, pool: str) -> Dict[int, Dict[str, Any]]:
    """The allocations by ID."""
    holder = child(ids, pool).get("allocated-ids-holder", {})
    return {entry["id"]: entry for entry in holder.get("allocated-id-entries", [])}


def expired_time(ids: Dialect, pool: str, value: int) -> int:
    return int(allocated(ids, pool)[value]["expired-time-sec"])


def wait_until(second: int) -> None:
    while time.time() < second + 0.05:
        time.sleep(0.05)


def test_the_example_of_the_specification(ids: Dialect) -> None:
    ids.create(DHCP, LOW, HIGH, enhanced_id_allocation=True)
    parent = ids.read("id-pool", DHCP)
    assert parent["block-size"] == 19
    assert parent["released-ids-holder"] == {"available-id-count": 0, "delayed-time-sec": 0}
    holder = parent["available-ids-holder"]
    assert [int(holder[name]) for name in ("start", "end", "cursor")] == [LOW, HIGH, 167838228]
    entry = child(ids, DHCP)
    assert entry["parent-pool-name"] == DHCP and entry["block-size"] == 19
    assert entry["released-ids-holder"]["delayed-time-sec"] == 0
    holder = entry["available-ids-holder"]
    assert [int(holder[name]) for name in ("start", "end", "cursor")] == [LOW, 167838228, LOW - 1]

    assert ids.allocate(DHCP, "gateway") == LOW
    before = int(time.time())
    assert ids.allocate(DHCP, "fa:16:3e:92:45:08", expiration_time_sec=86400) == LOW + 1
    assert ids.release(DHCP, "gateway") == [LOW]
    entries = allocated(ids, DHCP)
    assert list(entries) == [LOW + 1] and entries[LOW + 1]["id-key"] == "fa:16:3e:92:45:08"
    assert before + 86400 <= entries[LOW + 1]["expired-time-sec"] <= before + 86410
    assert ids.read("id-pool", DHCP)["id-entries"] == [{"id-key": "fa:16:3e:92:45:08", "id-value": [LOW + 1]}]
    released = child(ids, DHCP)["released-ids-holder"]
    assert released["available-id-count"] == 1 and released["delayed-id-entries"][0]["id"] == LOW


def test_pool_creation(ids: Dialect) -> None:
    ids.create("plain", 1, 20)
    ids.create("off", 1, 20, enhanced_id_allocation=False)
    ids.create("on", 1, 20, enhanced_id_allocation=True)
    for pool in ("plain", "off"):
        ids.allocate(pool, "k", id_value=15, expiration_time_sec=1)
        entry = child(ids, pool)
        assert "allocated-ids-holder" not in entry and entry["released-ids-holder"]["delayed-time-sec"] == 30
        assert ids.read("id-pool", pool)["id-entries"][0]["id-value"] == [1], "its number was not asked for"
    ids.allocate("on", "k")
    assert list(allocated(ids, "on")) == [1]
    assert child(ids, "on")["released-ids-holder"]["delayed-time-sec"] == 0


def test_each_id_allocation(ids: Dialect) -> None:
    ids.create("p", 1, 20, enhanced_id_allocation=True)
    before = int(time.time())
    assert ids.allocate("p", "with", expiration_time_sec=100) == 1
    assert before + 100 <= expired_time(ids, "p", 1) <= before + 110
    assert ids.allocate("p", "without") == 2
    assert expired_time(ids, "p", 2) == 0
    assert ids.allocate("p", "zero", expiration_time_sec=0) == 3
    assert expired_time(ids, "p", 3) == 0
    assert ids.allocate("p", "most", expiration_time_sec=4294967295) == 4
    assert expired_time(ids, "p", 4) == 4294967295


def test_specific_id_that_does_not_exist(ids: Dialect) -> None:
    """A free ID is allocated, and dynamic allocation skips it."""
    ids.create("p", 1, 20, enhanced_id_allocation=True)
    cursor = ids.read("id-pool", "p")["available-ids-holder"]["cursor"]
    assert ids.allocate("p", "a", id_value=15) == 15
    assert ids.read("id-pool", "p")["available-ids-holder"]["cursor"] == cursor
    others = [ids.allocate("p", f"k{number}") for number in range(19)]
    assert sorted(others) == [number for number in range(1, 21) if number != 15]
    with pytest.raises(Refused, match="Ids exhausted for pool : p"):
        ids.allocate("p", "one more")


def test_specific_id_that_exists_and_is_valid(ids: Dialect) -> None:
    ids.create("p", 1, 20, enhanced_id_allocation=True)
    before = int(time.time())
    assert ids.allocate("p", "a", id_value=15, expiration_time_sec=50) == 15
    # Identical: this is a renew request.
    assert ids.allocate("p", "a", id_value=15, expiration_time_sec=500) == 15
    assert expired_time(ids, "p", 15) >= before + 500
    # Different: another id is tried.
    assert ids.allocate("p", "b", id_value=15) == 1
    assert allocated(ids, "p")[15]["id-key"] == "a"


def test_specific_id_that_exists_and_is_expired(ids: Dialect) -> None:
    ids.create("p", 1, 20, enhanced_id_allocation=True)
    ids.allocate("p", "a", id_value=15, expiration_time_sec=1)
    ids.allocate("p", "mine", id_value=16, expiration_time_sec=1)
    wait_until(max(expired_time(ids, "p", 15), expired_time(ids, "p", 16)))
    # Expired but still shown: it is only removed when it is needed.
    assert allocated(ids, "p")[15]["id-key"] == "a"
    assert ids.allocate("p", "b", id_value=15, expiration_time_sec=100) == 15
    assert allocated(ids, "p")[15]["id-key"] == "b"
    entries = {entry["id-key"]: entry["id-value"] for entry in ids.read("id-pool", "p")["id-entries"]}
    assert entries == {"b": [15], "mine": [16]}, "the former entry is gone from the parent"
    # The same key: only the expiry time changes.
    assert ids.allocate("p", "mine", id_value=16, expiration_time_sec=100) == 16
    assert expired_time(ids, "p", 16) > time.time()
    with pytest.raises(Refused, match="Specified Id key a does not exist in id pool p"):
        ids.release("p", "a")


def test_dynamic_allocation_takes_expired_ids_last(ids: Dialect) -> None:
    ids.create("p", 1, 4, enhanced_id_allocation=True)
    ids.allocate("p", "later", expiration_time_sec=2)
    ids.allocate("p", "sooner", expiration_time_sec=1)
    ids.allocate("p", "for ever")
    wait_until(expired_time(ids, "p", 1))
    assert ids.allocate("p", "x") == 4, "an id that is free comes first"
    ids.release("p", "x")
    assert ids.allocate("p", "y") == 4, "and one that was released"
    assert ids.allocate("p", "z") == 2, "then the one that expired first"
    assert ids.allocate("p", "zz") == 1
    with pytest.raises(Refused, match="Ids exhausted for pool : p"):
        ids.allocate("p", "zzz")
    entries = {entry["id-key"]: entry["id-value"] for entry in ids.read("id-pool", "p")["id-entries"]}
    assert entries == {"for ever": [3], "y": [4], "z": [2], "zz": [1]}


def test_id_release(ids: Dialect) -> None:
    ids.create("p", 1, 20, enhanced_id_allocation=True)
    ids.allocate("p", "a", id_value=15)
    assert ids.release("p", "a") == [15]
    assert 15 not in allocated(ids, "p")
    # Available at once, and removed from the released list.
    assert ids.allocate("p", "b", id_value=15) == 15
    Account(ids.read(), "p").check(1, 20)
