"""Addresses and networks: what a service asks for, and what it got. What is sent for it is ``allocation``."""

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
    """Asks for a network of this size. The same again changes nothing; other services may ask for the same allocation.

    ``invert_cidr``: ``cidrmask`` counts the bits behind the prefix. ``sync_alloc``: as in ``id_request``.
    """
    about = allocation.About(IP_POOL, pool_name, allocation_name)
    how = allocation.How(svc_xpath, username, redeploy_type)
    _ask(root, about, how, cidrmask, invert_cidr, "", sync_alloc)


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
    """Asks for exactly the network that starts with this address."""
    about = allocation.About(IP_POOL, pool_name, allocation_name)
    how = allocation.How(svc_xpath, username, redeploy_type)
    _ask(root, about, how, cidrmask, invert_cidr, subnet_start_ip, sync_alloc)


def net_read(username: str, root: object, pool_name: str, allocation_name: str) -> Optional[str]:
    """The network, as ``10.0.0.8/29``; ``None`` while there is no answer; ``LookupError`` as in ``id_read``."""
    return _of_answer(root, pool_name, allocation_name, "subnet")


def net_from(username: str, root: object, pool_name: str, allocation_name: str) -> Optional[str]:
    """The subnet of the pool that the network was taken from; ``None`` when it is part of several."""
    return _of_answer(root, pool_name, allocation_name, "from")


def net_release(svc_xpath: str, pool_name: str, allocation_name: str, root: object = None) -> None:
    """The service needs it no longer. The network is free once no service needs it."""
    about = allocation.About(IP_POOL, pool_name, allocation_name)
    allocation.release(allocation.client_of(root), about, svc_xpath)


def _ask(
    root: object,
    about: allocation.About,
    how: allocation.How,
    size: int,
    invert: bool,
    start: str,
    at_once: bool,
) -> None:
    client = allocation.client_of(root)
    if at_once:
        wanted: Dict[str, object] = {"cidrmask": size, "invertcidr": invert}
        if start:
            wanted["subnetstartip"] = start
        output = allocation.ask_at_once(client, about, how, "sync-alloc", wanted)
        if "subnet" not in output:
            raise LookupError(str(output.get("allocated", "")))
        return
    request: Dict[str, object] = {"subnet-size": size}
    if start:
        request["subnet-start-ip"] = start
    if invert:
        request["invert-subnet-size"] = [None]
    allocation.ask(client, about, how, request)


def _of_answer(root: object, pool: str, name: str, leaf: str) -> Optional[str]:
    about = allocation.About(IP_POOL, pool, name)
    answer = allocation.answer(allocation.client_of(root), about)
    return None if leaf not in answer else str(answer[leaf])
