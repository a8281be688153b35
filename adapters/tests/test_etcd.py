"""What is special about etcd: values that others change or delete, leases, gaps."""

from __future__ import annotations

from typing import Iterator

import pytest
from adapter_client import AdapterClient, refs
from etcd import PAGE, Etcd
from etcd_inventory import VALUES, EtcdInventory, code
from processes import wait_until

from allod.authority import Ask, AuthorityServer, Known

FIRST = f"{VALUES}pool/{100:020}"


@pytest.fixture(scope="module")
def etcd() -> Iterator[EtcdInventory]:
    running = EtcdInventory()
    yield running
    running.stop()


@pytest.fixture
def client(etcd: EtcdInventory) -> Iterator[AdapterClient]:
    with AuthorityServer(etcd.adapter()) as server:
        yield AdapterClient(server.url, {})


def test_value_that_another_client_overwrote_is_not_released(etcd: EtcdInventory, client: AdapterClient) -> None:
    (ref,) = refs(1)
    assert client.put(ref, "pool").value == 100
    etcd.put(FIRST, "reserved by an operator")
    assert client.get(ref).status == 404 and client.list() == {}
    assert client.delete(ref) == 204
    assert etcd.count() == 1
    etcd.vacate(100)


def test_value_that_another_client_changed_has_a_new_version(etcd: EtcdInventory, client: AdapterClient) -> None:
    (ref,) = refs(1)
    before = client.put(ref, "pool").body
    etcd.put(FIRST, f"allod:{ref} with a comment")
    after = client.get(ref).body
    assert after["value"] == before["value"] and after["version"] != before["version"]
    assert client.delete(ref) == 204
    assert etcd.count() == 0


def test_deleted_value_is_not_found_and_can_be_granted_again(etcd: EtcdInventory, client: AdapterClient) -> None:
    (ref,) = refs(1)
    assert client.put(ref, "pool").value == 100
    etcd.vacate(100)
    etcd.occupy(100)
    assert client.get(ref).status == 404
    assert client.put(ref, "pool").value == client.get(ref).value == 101
    assert client.delete(ref) == 204
    etcd.vacate(100)


def test_lease_ends_the_grant_with_both_keys(etcd: EtcdInventory) -> None:
    adapter = Etcd(etcd.url(None), "leased=7-7", prefix="/leased", lease_seconds="1")
    first, second = refs(2)
    assert adapter.grant(Ask(first, "leased", "k", "o")).value == 7

    def is_gone() -> bool:
        # Not by the adapter, which would renew the lease.
        found = etcd.call("kv/range", {"key": code("/leased/"), "range_end": code("/leased0"), "count_only": True})
        return int(found.get("count", 0)) == 0

    wait_until(is_gone, "the lease did not end")
    assert adapter.find(Known(first)) is None
    assert adapter.grant(Ask(second, "leased", "k", "o")).value == 7


def test_lowest_gap_beyond_the_first_page_is_found(etcd: EtcdInventory) -> None:
    adapter = Etcd(etcd.url(None), "long=0-4294967295", prefix="/long")
    for number in range(PAGE + 10):
        etcd.put(f"/long/value/long/{number:020}", "reserved")
    made = adapter.grant(Ask(refs(1)[0], "long", "k", "o"))
    assert made.value == PAGE + 10
    assert len(adapter.list(None).grants) == 0 and adapter.list(None).next is not None
    assert [grant.value for grant in adapter.list(adapter.list(None).next).grants] == [PAGE + 10]
