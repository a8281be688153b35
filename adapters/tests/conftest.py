"""Fixtures: the inventories, each started once, and a served adapter for each test."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Iterator, Type

import pytest
from adapter_client import AdapterClient, at_once
from etcd_inventory import EtcdInventory, EtcdWithLeases
from inventory import Inventory
from kea_inventory import KeaInventory, KeaOverHttp
from nautobot_inventory import NautobotAddresses, NautobotPrefixes, NautobotVlans, stop_server
from neutron_inventory import NeutronInventory
from proxy import LossyProxy

from allod.authority import AuthorityServer, Wanted

INVENTORIES: Dict[str, Type[Inventory]] = {
    "etcd": EtcdInventory,
    "etcd-with-leases": EtcdWithLeases,
    "kea": KeaInventory,
    "kea-over-http": KeaOverHttp,
    "nautobot-addresses": NautobotAddresses,
    "nautobot-vlans": NautobotVlans,
    "nautobot-prefixes": NautobotPrefixes,
    "neutron": NeutronInventory,
}
FAST = ["etcd", "etcd-with-leases", "kea", "kea-over-http"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--inventory",
        action="append",
        choices=sorted(INVENTORIES),
        help=f"an inventory to test; can be repeated; default: {' '.join(FAST)}",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "inventory" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--inventory") or FAST
        if "wanted" in metafunc.fixturenames:
            chosen = [name for name in chosen if INVENTORIES[name].grants_wanted]
        if "fact" in metafunc.fixturenames:
            chosen = [name for name in chosen if INVENTORIES[name].has_lookups]
        metafunc.parametrize("inventory", chosen, indirect=True, scope="session")


@pytest.fixture(scope="session", autouse=True)
def nautobot_stops() -> Iterator[None]:
    """Its kinds of pools share a server, which ends after the last one."""
    yield
    stop_server()


@pytest.fixture(scope="session")
def inventory(request: pytest.FixtureRequest) -> Iterator[Inventory]:
    running = INVENTORIES[request.param]()
    yield running
    running.stop()


@pytest.fixture
def served(inventory: Inventory) -> Iterator[AdapterClient]:
    """A client of an adapter in front of an inventory without grants. After the test all grants are released."""
    with AuthorityServer(inventory.adapter()) as server:
        client = AdapterClient(server.url, inventory.want)
        yield client
        at_once(client.delete, list(client.list()))
        assert client.list() == {}
    assert inventory.count() == 0


@pytest.fixture
def wanted(inventory: Inventory) -> Wanted:
    """A value to ask for. Tests with it are for inventories that grant a certain value."""
    return inventory.other


@pytest.fixture
def fact(inventory: Inventory) -> Any:
    """The value of a fact with the name router1.example. Tests with it are for inventories with facts."""
    return inventory.add_fact("router1.example")


@pytest.fixture
def proxy(inventory: Inventory, tmp_path: Path) -> Iterator[LossyProxy]:
    between = LossyProxy(inventory.upstream, tmp_path)
    yield between
    between.close()
