"""Requests for addresses and networks. ``allocation`` sends them."""

from __future__ import annotations

from typing import Dict, Optional

from . import allocation
from .allocation import IP_POOL


def net_request(
    service: object,
    svc_xpath: str,
    username: str,
    pool_name: str,
    allocation_name: str,
    cidrmask: int,
    invert_cidr: bool = False,
    redeploy_type: str = "default",
    sync_alloc: bool = False,
    root: object = None,
) -> None:
    """Requests a network of this size. Idempotent; several services can request the same allocation.

    ``invert_cidr``: ``cidrmask`` is the number of bits after the prefix. ``sync_alloc``: as in ``id_request``.
    """
    location = allocation.AllocationPath(IP_POOL, pool_name, allocation_name)
    requester = allocation.Requester(svc_xpath, username, redeploy_type)
    _request(root, location, requester, cidrmask, invert_cidr, "", sync_alloc)


def net_request_static(
    service: object,
    svc_xpath: str,
    username: str,
    pool_name: str,
    allocation_name: str,
    subnet_start_ip: str,
    cidrmask: int,
    invert_cidr: bool = False,
    redeploy_type: str = "default",
    sync_alloc: bool = False,
    root: object = None,
) -> None:
    """Requests the network that starts with this address."""
    location = allocation.AllocationPath(IP_POOL, pool_name, allocation_name)
    requester = allocation.Requester(svc_xpath, username, redeploy_type)
    _request(root, location, requester, cidrmask, invert_cidr, subnet_start_ip, sync_alloc)


def net_read(username: str, root: object, pool_name: str, allocation_name: str) -> Optional[str]:
    """The network, such as ``10.0.0.8/29``; ``None`` while there is no result. Raises ``LookupError`` as ``id_read`` does."""
    return _leaf_of_result(root, pool_name, allocation_name, "subnet")


def net_from(username: str, root: object, pool_name: str, allocation_name: str) -> Optional[str]:
    """The subnet of the pool from which the network was taken; ``None`` if it is part of several."""
    return _leaf_of_result(root, pool_name, allocation_name, "from")


def net_release(svc_xpath: str, pool_name: str, allocation_name: str, root: object = None) -> None:
    """Removes the service from the request. The network is released with the last service."""
    location = allocation.AllocationPath(IP_POOL, pool_name, allocation_name)
    allocation.release(allocation.client_of(root), location, svc_xpath)


def _request(
    root: object,
    location: allocation.AllocationPath,
    requester: allocation.Requester,
    size: int,
    invert: bool,
    start: str,
    sync_alloc: bool,
) -> None:
    client = allocation.client_of(root)
    if sync_alloc:
        wanted: Dict[str, object] = {"cidrmask": size, "invertcidr": invert}
        if start:
            wanted["subnetstartip"] = start
        output = allocation.call_action(client, location, requester, "sync-alloc", wanted)
        if "subnet" not in output:
            raise LookupError(str(output.get("allocated", "")))
        return
    request: Dict[str, object] = {"subnet-size": size}
    if start:
        request["subnet-start-ip"] = start
    if invert:
        request["invert-subnet-size"] = [None]
    allocation.send_request(client, location, requester, request)


def _leaf_of_result(root: object, pool: str, name: str, leaf: str) -> Optional[str]:
    location = allocation.AllocationPath(IP_POOL, pool, name)
    result = allocation.result(allocation.client_of(root), location)
    return None if leaf not in result else str(result[leaf])
