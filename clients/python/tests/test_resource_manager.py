"""The functions of NSO's resource-manager, on a real server."""

from __future__ import annotations

import itertools
import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, Dict, Iterator, List, Tuple
from urllib.parse import quote

import pytest
from server import Server, Wire

from allod import Client, Invalid, Retry
from allod.resource_manager import allocation, id_allocator
from allod.resource_manager import ipaddress_allocator as ip_allocator

ROOT = "/restconf/data/resource-allocator:resource-pools"
SERVICE = "/services/vl:vlan[name='one']"
OTHER = "/services/vl:vlan[name='two']"
_names = itertools.count()


@pytest.fixture
def root(server: Server) -> Iterator[Client]:
    with Client(server.url, retry=Retry(total=20.0)) as client:
        yield client


def put(server: Server, path: str, body: object) -> None:
    request = urllib.request.Request(
        f"{server.url}{ROOT}/{path}",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/yang-data+json"},
        method="PUT",
    )
    with urllib.request.urlopen(request, timeout=20):
        pass


def id_pool(server: Server, start: int, end: int, name: str = "") -> str:
    name = name or f"ids {next(_names)}/ü"
    pool = {"name": name, "range": {"start": start, "end": end}}
    path = f"id-allocator:id-pool={quote(name, safe='')}"
    put(server, path, {"id-allocator:id-pool": [pool]})
    return name


def ip_pool(server: Server, *subnets: str) -> str:
    name = f"nets {next(_names)}/ü"
    entries: List[object] = []
    for subnet in subnets:
        address, mask = subnet.split("/")
        entries.append({"address": address, "cidrmask": int(mask)})
    path = f"ipaddress-allocator:ip-address-pool={quote(name, safe='')}"
    put(server, path, {"ipaddress-allocator:ip-address-pool": [{"name": name, "subnet": entries}]})
    return name


def request_id(root: Client, pool: str, name: str, service: str = SERVICE, **more: object) -> None:
    arguments = {"sync": False, "root": root, **more}
    id_allocator.id_request(None, service, "admin", pool, name, **arguments)  # type: ignore[arg-type]


def test_id_is_available_when_the_request_returns(server: Server, root: Client) -> None:
    pool = id_pool(server, 10, 20)
    id_allocator.id_request(None, SERVICE, "admin", pool, "a/1:x", False, root=root)
    assert id_allocator.id_read("admin", root, pool, "a/1:x") == 10
    # Idempotent.
    id_allocator.id_request(None, SERVICE, "admin", pool, "a/1:x", False, root=root)
    assert id_allocator.id_read("admin", root, pool, "a/1:x") == 10


def test_id_0_is_valid(server: Server, root: Client) -> None:
    pool = id_pool(server, 0, 0)
    request_id(root, pool, "a")
    read = id_allocator.id_read("admin", root, pool, "a")
    assert read == 0 and read is not None


def test_sync_gives_the_same_id_in_three_pools(server: Server, root: Client) -> None:
    pools = [id_pool(server, start, 200) for start in (20, 30, 40)]
    for pool in reversed(pools):
        request_id(root, pool, "a", sync=True)
    assert [id_allocator.id_read("admin", root, pool, "a") for pool in pools] == [40, 40, 40]


def test_requested_id_and_parity(server: Server, root: Client) -> None:
    pool = id_pool(server, 100, 200)
    request_id(root, pool, "odd", oddeven_alloc="odd")
    request_id(root, pool, "this", requested_id=150)
    request_id(root, pool, "taken", requested_id=150)
    assert id_allocator.id_read("admin", root, pool, "odd") == 101
    assert id_allocator.id_read("admin", root, pool, "this") == 150
    with pytest.raises(LookupError) as error:
        id_allocator.id_read("admin", root, pool, "taken")
    assert str(error.value) == (
        "com.tailf.pkg.idpool.exceptions.PoolExhaustedException: "
        f"Requested id (150) not available in pool {pool}"
    )


def test_missing_pool_or_allocation_raises_lookup_error(server: Server, root: Client) -> None:
    pool, net = id_pool(server, 1, 2), ip_pool(server, "10.0.0.0/24")
    cases: List[Tuple[Callable[[], object], str]] = [
        (lambda: id_allocator.id_read("u", root, "none", "a"), "ID pool none does not exist"),
        (lambda: request_id(root, "none", "a"), "ID pool none does not exist"),
        (
            lambda: id_allocator.id_read("u", root, pool, "a"),
            f"allocation a does not exist in pool {pool}",
        ),
        (lambda: ip_allocator.net_read("u", root, "none", "a"), "IP pool none does not exist"),
        (
            lambda: ip_allocator.net_read("u", root, net, "a"),
            f"allocation a does not exist in pool {net}",
        ),
    ]
    for call, text in cases:
        with pytest.raises(LookupError) as error:
            call()
        assert str(error.value) == text


def test_waiting_request_gets_a_released_id(server: Server, root: Client) -> None:
    pool = id_pool(server, 7, 7)
    request_id(root, pool, "a")
    request_id(root, pool, "b", OTHER)
    with pytest.raises(LookupError, match=f"ID pool {pool} exhausted"):
        id_allocator.id_read("admin", root, pool, "b")
    id_allocator.id_release(SERVICE, pool, "a", root)
    assert id_allocator.id_read("admin", root, pool, "b") == 7
    # Releasing again succeeds.
    id_allocator.id_release(SERVICE, pool, "a", root)


def test_allocation_is_released_with_its_last_service(
    server: Server, root: Client
) -> None:
    pool = id_pool(server, 1, 9)
    request_id(root, pool, "shared", SERVICE)
    request_id(root, pool, "shared", OTHER)
    id_allocator.id_release(SERVICE, pool, "shared", root)
    id_allocator.id_release("/unknown", pool, "shared", root)
    assert id_allocator.id_read("admin", root, pool, "shared") == 1
    id_allocator.id_release(OTHER, pool, "shared", root)
    with pytest.raises(LookupError, match="does not exist in pool"):
        id_allocator.id_read("admin", root, pool, "shared")


def test_failed_sync_alloc_changes_nothing(server: Server, root: Client) -> None:
    pool = id_pool(server, 1, 1)
    request_id(root, pool, "a", sync_alloc=True)
    assert id_allocator.id_read("admin", root, pool, "a") == 1
    with pytest.raises(LookupError, match="exhausted"):
        request_id(root, pool, "b", sync_alloc=True)
    with pytest.raises(LookupError, match="allocation b does not exist"):
        id_allocator.id_read("admin", root, pool, "b")


def test_failed_sync_alloc_keeps_the_existing_network(server: Server, root: Client) -> None:
    pool = ip_pool(server, "10.0.0.0/24")
    ask = ip_allocator.net_request
    ask(None, SERVICE, "admin", pool, "a", 30, redeploy_type="touch", sync_alloc=True, root=root)
    assert ip_allocator.net_read("admin", root, pool, "a") == "10.0.0.0/30"
    with pytest.raises(LookupError, match=r"too big\. Available prefix lengths: 24 $"):
        ask(None, SERVICE, "admin", pool, "a", 16, sync_alloc=True, root=root)
    assert ip_allocator.net_read("admin", root, pool, "a") == "10.0.0.0/30"
    # Another service joins; each is removed separately.
    ask(None, OTHER, "admin", pool, "a", 30, sync_alloc=True, root=root)
    entry = allocation._entry(root, allocation.AllocationPath(allocation.IP_POOL, pool, "a"))
    assert entry is not None and entry.services == [SERVICE, OTHER]
    assert entry.leaves["redeploy-type"] == "default"
    ip_allocator.net_release(SERVICE, pool, "a", root)
    assert ip_allocator.net_read("admin", root, pool, "a") == "10.0.0.0/30"
    static = ip_allocator.net_request_static
    static(None, SERVICE, "admin", pool, "b", "10.0.0.64", 3, True, sync_alloc=True, root=root)
    assert ip_allocator.net_read("admin", root, pool, "b") == "10.0.0.64/29"
    with pytest.raises(LookupError, match=r"Requested subnet /10\.0\.0\.64/32 not available\."):
        static(None, SERVICE, "admin", pool, "c", "10.0.0.64", 32, sync_alloc=True, root=root)
    with pytest.raises(LookupError, match=f"allocation c does not exist in pool {pool}"):
        ip_allocator.net_read("admin", root, pool, "c")
    for missing in ("none", id_pool(server, 1, 1)):
        with pytest.raises(LookupError, match=f"IP pool {missing} does not exist"):
            ask(None, SERVICE, "admin", missing, "a", 30, sync_alloc=True, root=root)


def test_sync_alloc_of_boundary_ids_and_groups(server: Server, root: Client) -> None:
    ends = [id_pool(server, 0, 9), id_pool(server, 4294967290, 4294967295)]
    for pool, wanted in zip(ends, (0, 4294967295)):
        request_id(root, pool, "this", sync_alloc=True, requested_id=wanted)
        assert id_allocator.id_read("admin", root, pool, "this") == wanted
    group = [id_pool(server, 1, 9), id_pool(server, 5, 9)]
    for pool in reversed(group):
        request_id(root, pool, "pair", sync=True, sync_alloc=True, oddeven_alloc="even")
    assert [id_allocator.id_read("admin", root, pool, "pair") for pool in group] == [6, 6]
    with pytest.raises(LookupError, match="ID pool none does not exist"):
        request_id(root, "none", "a", sync_alloc=True)
    with pytest.raises(Invalid):
        request_id(root, group[0], "b", sync_alloc=True, redeploy_type="sometimes")


def test_missing_result_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: List[Dict[str, object]] = [{}, {"response": {}}]
    for response in waiting:
        monkeypatch.setattr(allocation, "_entry", lambda *_, it=response: allocation.Entry(it, ""))
        with Client("http://127.0.0.1:1") as root:
            assert id_allocator.id_read("admin", root, "p", "a") is None
            assert ip_allocator.net_read("admin", root, "p", "a") is None
            assert ip_allocator.net_from("admin", root, "p", "a") is None


def test_network_by_size_and_by_address(server: Server, root: Client) -> None:
    pool = ip_pool(server, "10.0.0.0/24")
    ip_allocator.net_request(None, SERVICE, "admin", pool, "host", 32, root=root)
    assert ip_allocator.net_read("admin", root, pool, "host") == "10.0.0.1/32"
    assert ip_allocator.net_from("admin", root, pool, "host") == "10.0.0.0/24"
    ip_allocator.net_request(None, SERVICE, "admin", pool, "bits", 2, invert_cidr=True, root=root)
    assert ip_allocator.net_read("admin", root, pool, "bits") == "10.0.0.4/30"
    ip_allocator.net_request_static(
        None, SERVICE, "admin", pool, "this", "10.0.0.64", 28, root=root
    )
    assert ip_allocator.net_read("admin", root, pool, "this") == "10.0.0.64/28"
    ip_allocator.net_request_static(
        None, SERVICE, "admin", pool, "that", "10.0.0.64", 28, root=root
    )
    with pytest.raises(LookupError, match=r"Requested subnet /10\.0\.0\.64/28 not available\."):
        ip_allocator.net_read("admin", root, pool, "that")
    ip_allocator.net_release(SERVICE, pool, "this", root)
    assert ip_allocator.net_read("admin", root, pool, "that") == "10.0.0.64/28"


def test_new_request_replaces_the_old_parameters(server: Server, root: Client) -> None:
    pool = ip_pool(server, "10.0.0.0/24")
    ip_allocator.net_request(None, SERVICE, "admin", pool, "a", 3, invert_cidr=True, root=root)
    assert ip_allocator.net_read("admin", root, pool, "a") == "10.0.0.0/29"
    # Without the leaf invert-subnet-size.
    ip_allocator.net_request(None, SERVICE, "admin", pool, "a", 30, root=root)
    assert ip_allocator.net_read("admin", root, pool, "a") == "10.0.0.0/30"


def test_invalid_request_is_refused(server: Server, root: Client) -> None:
    pool = id_pool(server, 1, 9)
    with pytest.raises(Invalid):
        request_id(root, pool, "a", oddeven_alloc="neither")
    with pytest.raises(LookupError, match="does not exist in pool"):
        id_allocator.id_read("admin", root, pool, "a")


def test_without_root_the_server_of_the_environment_is_used(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = id_pool(server, 3, 9)
    monkeypatch.setenv("ALLOD_SERVER", server.url)
    monkeypatch.setattr(allocation, "_shared", None)
    id_allocator.id_request(object(), SERVICE, "admin", pool, "a", False)
    assert id_allocator.id_read("admin", object(), pool, "a") == 3
    allocation.client_of(None).close()


def test_lost_response_is_retried(server: Server, wire: Wire) -> None:
    pool = id_pool(server, 1, 9)
    with Client(wire.url, retry=Retry(total=20.0)) as root:
        wire.faults = ["lose", "", "tear"]
        request_id(root, pool, "a")
        assert id_allocator.id_read("admin", root, pool, "a") == 1
        request_id(root, pool, "b")
        assert id_allocator.id_read("admin", root, pool, "b") == 2


def test_concurrent_services_of_one_pool(server: Server, root: Client) -> None:
    pool = id_pool(server, 1, 200)

    def one(number: int) -> object:
        request_id(root, pool, f"a{number}")
        request_id(root, pool, "shared", f"/service[{number}]")
        return id_allocator.id_read("admin", root, pool, f"a{number}")

    with ThreadPoolExecutor(16) as threads:
        ids = list(threads.map(one, range(100)))
    assert len(set(ids)) == 100
    for number in range(99):
        id_allocator.id_release(f"/service[{number}]", pool, "shared", root)
    assert id_allocator.id_read("admin", root, pool, "shared") is not None
    id_allocator.id_release("/service[99]", pool, "shared", root)
    with pytest.raises(LookupError):
        id_allocator.id_read("admin", root, pool, "shared")
