"""Ids: what a service asks for, and what it got. What is sent for it is ``allocation``."""

from __future__ import annotations

from typing import Dict, Optional

from . import allocation
from .allocation import ID_POOL


def id_request(
    service: object,
    svc_xpath: str,
    username: str,
    pool_name: str,
    allocation_name: str,
    sync: bool,
    requested_id: int = -1,
    redeploy_type: str = "default",
    sync_alloc: bool = False,
    root: object = None,
    oddeven_alloc: str = "default",
) -> None:
    """Asks for an id. The same again changes nothing; other services may ask for the same allocation.

    ``sync``: the same id in every pool that has an allocation of this name with it. ``requested_id``: this one or none;
    below 0 it is any. ``sync_alloc``: if there is nothing to be had, that is a ``LookupError`` now and all is as it was;
    without it the request waits, and ``id_read`` says why. And the service is not told of an answer that it waited for.
    """
    client = allocation.client_of(root)
    about = allocation.About(ID_POOL, pool_name, allocation_name)
    how = allocation.How(svc_xpath, username, redeploy_type)
    wanted: Dict[str, object] = {"sync": sync}
    if oddeven_alloc != "default":
        wanted["oddeven-alloc"] = oddeven_alloc
    if sync_alloc:
        wanted["requestedId"] = str(requested_id)
        output = allocation.ask_at_once(client, about, how, "sync-alloc-id", wanted)
        said = str(output.get("allocatedId", ""))
        if not said.isdigit():
            raise LookupError(said)
        return
    if requested_id >= 0:
        wanted["id"] = requested_id
    allocation.ask(client, about, how, wanted)


def id_read(username: str, root: object, pool_name: str, allocation_name: str) -> Optional[int]:
    """The id; ``None`` while there is no answer; ``LookupError`` when there is none, or no such allocation."""
    about = allocation.About(ID_POOL, pool_name, allocation_name)
    answer = allocation.answer(allocation.client_of(root), about)
    return None if "id" not in answer else int(str(answer["id"]))


def id_release(svc_xpath: str, pool_name: str, allocation_name: str, root: object = None) -> None:
    """The service needs it no longer. The id is free once no service needs it."""
    about = allocation.About(ID_POOL, pool_name, allocation_name)
    allocation.release(allocation.client_of(root), about, svc_xpath)
