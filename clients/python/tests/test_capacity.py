"""Capacity: in one transaction with values, with conditions, with detailed refusals, in history and watch."""

from __future__ import annotations

import json
import urllib.request
import uuid
from typing import Any, Tuple

import pytest
from server import Server

from allod import Allocated, CapacityExceeded, Claimed, Extended, Released, Transaction, VersionDiffers


@pytest.fixture
def parties(server: Server) -> Tuple[str, str]:
    """A provider with eight CPUs, created through the Placement API, and a consumer without allocations."""
    provider, consumer = str(uuid.uuid4()), str(uuid.uuid4())

    def place(method: str, path: str, body: object) -> None:
        headers = {"content-type": "application/json", "openstack-api-version": "placement 1.39"}
        data = json.dumps(body).encode()
        request = urllib.request.Request(server.url + path, data, headers, method=method)
        with urllib.request.urlopen(request) as reply:
            assert reply.status == 200

    place("POST", "/resource_providers", {"uuid": provider, "name": f"host {provider}"})
    stock = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}
    place("PUT", f"/resource_providers/{provider}/inventories", stock)
    return provider, consumer


def test_capacity_and_values_in_one_transaction(
    client: Any, pool: str, parties: Tuple[str, str]
) -> None:
    provider, consumer = parties
    began = client.position
    boot = Transaction().check_provider(provider, expect=1)
    two, four, nine = ({provider: {"VCPU": cores}} for cores in (2, 4, 9))
    boot.allocate(consumer, two, project="red", user="anna", expect="absent", ttl=60)
    boot.claim(pool, "net")
    _, allocated, claimed = client.transact(boot).results
    assert allocated == Allocated({consumer: 1})
    assert isinstance(claimed, Claimed)
    # A transaction with an outdated expectation changes nothing.
    again = Transaction().claim(pool, "other")
    again.allocate(consumer, four, project="red", user="anna", expect="absent")
    with pytest.raises(VersionDiffers) as stale:
        client.transact(again)
    assert stale.value.actual == 1 and stale.value.op == 1
    assert [claim.key for claim in client.claims(pool)] == ["net"]
    with pytest.raises(CapacityExceeded) as full:
        client.transact(Transaction().allocate(consumer, nine, project="red", user="anna"))
    assert full.value.provider == provider and full.value.resource_class == "VCPU"
    (extended,) = client.transact(Transaction().extend(consumer, expect=1)).results
    assert extended == Extended(consumer, 2, None)
    gone = Transaction().check_consumer(consumer, expect=2).deallocate(consumer, expect=2)
    assert client.transact(gone).results[1] == Released(existed=True)
    changes = list(client.history(consumer=consumer, order="oldest_first"))
    kinds = [event.kind for change in changes for event in change.events]
    assert kinds == ["allocations_set", "allocations_extended", "allocations_released"]
    with client.watch(after=began, provider=provider, kind="allocations_released") as watch:
        (event,) = next(iter(watch)).events
    assert (event.consumer, event.pool, event.cause) == (consumer, None, "asked")
    # A watch without a filter includes capacity.
    with client.watch(after=began) as everything:
        (made,) = next(iter(everything)).events
    assert (made.kind, made.provider, made.pool) == ("provider_defined", provider, None)
