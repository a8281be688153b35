"""What is special about Kea: leases of DHCP clients, reserved addresses, a restart."""

from __future__ import annotations

from typing import Iterator

import pytest
from adapter_client import AdapterClient, refs
from kea_inventory import RESERVED, KeaInventory

from allod.authority import AuthorityServer


@pytest.fixture(scope="module")
def kea() -> Iterator[KeaInventory]:
    running = KeaInventory()
    yield running
    running.stop()


@pytest.fixture
def client(kea: KeaInventory) -> Iterator[AdapterClient]:
    with AuthorityServer(kea.adapter()) as server:
        yield AdapterClient(server.url, {})


def test_addresses_of_dhcp_clients_and_hosts_are_left_out(kea: KeaInventory, client: AdapterClient) -> None:
    kea.occupy("192.0.2.10")
    one, other = refs(2)
    assert client.put(one, "pool").value == "192.0.2.12"
    assert client.put(other, "pool", {"value": RESERVED}).code == (409, "taken")
    assert client.delete(one) == 204
    kea.vacate("192.0.2.10")


def test_address_outside_of_the_ranges_is_granted_only_if_it_is_asked_for(
    kea: KeaInventory, client: AdapterClient
) -> None:
    (ref,) = refs(1)
    assert client.put(ref, "pool", {"value": "192.0.2.200"}).value == "192.0.2.200"
    assert client.delete(ref) == 204


def test_lease_has_no_end_and_names_the_claim(kea: KeaInventory, client: AdapterClient) -> None:
    (ref,) = refs(1)
    address = client.put(ref, "pool").value
    lease = kea.call("lease4-get", {"ip-address": address})["arguments"]
    assert lease["valid-lft"] == 0xFFFFFFFF
    assert lease["user-context"] == {"allod": {"ref": ref, "key": f"key {ref[:4]}/ü", "owner": "tests"}}
    assert client.delete(ref) == 204


def test_grants_survive_a_restart_of_kea(kea: KeaInventory, client: AdapterClient) -> None:
    (ref,) = refs(1)
    granted = client.put(ref, "pool")
    kea.restart()
    assert client.get(ref) == granted
    assert client.delete(ref) == 204
