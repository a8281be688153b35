"""Requests for IDs. ``allocation`` sends them."""

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
    """Requests an ID. Idempotent; several services can request the same allocation.

    ``sync``: the same ID in every pool that has an allocation of this name with ``sync``. ``requested_id``: this ID only; a
    negative number means any. ``sync_alloc``: if no ID is available, raises ``LookupError`` and changes nothing, and the
    service is not notified of the result. Without it the request waits, and ``id_read`` raises the reason.
    """
    client = allocation.client_of(root)
    location = allocation.AllocationPath(ID_POOL, pool_name, allocation_name)
    requester = allocation.Requester(svc_xpath, username, redeploy_type)
    wanted: Dict[str, object] = {"sync": sync}
    if oddeven_alloc != "default":
        wanted["oddeven-alloc"] = oddeven_alloc
    if sync_alloc:
        wanted["requestedId"] = str(requested_id)
        output = allocation.call_action(client, location, requester, "sync-alloc-id", wanted)
        parsed = str(output.get("allocatedId", ""))
        if not parsed.isdigit():
            raise LookupError(parsed)
        return
    if requested_id >= 0:
        wanted["id"] = requested_id
    allocation.send_request(client, location, requester, wanted)


def id_read(username: str, root: object, pool_name: str, allocation_name: str) -> Optional[int]:
    """The ID; ``None`` while there is no result. Raises ``LookupError`` if the request failed or does not exist."""
    location = allocation.AllocationPath(ID_POOL, pool_name, allocation_name)
    result = allocation.result(allocation.client_of(root), location)
    return None if "id" not in result else int(str(result["id"]))


def id_release(svc_xpath: str, pool_name: str, allocation_name: str, root: object = None) -> None:
    """Removes the service from the request. The ID is released with the last service."""
    location = allocation.AllocationPath(ID_POOL, pool_name, allocation_name)
    allocation.release(allocation.client_of(root), location, svc_xpath)
