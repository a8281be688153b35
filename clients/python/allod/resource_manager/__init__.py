"""NSO's resource-manager API for Python, on allod.

A service that asked the resource-manager for ids and addresses asks allod once its imports are other ones::

    from allod.resource_manager import id_allocator
    from allod.resource_manager import ipaddress_allocator as ip_allocator

The calls, their arguments and their ``LookupError`` are those of releases 3 and 4. Two things are better: the answer is
there when the request returns, and an id of 0 is an id. What ``root`` is in NSO may be an ``allod.Client`` here; anything
else, ``None`` too, means the server that ``ALLOD_SERVER`` and its like name.

Where FASTMAP does not take back what a service wrote, ``id_release`` and ``net_release`` do.
"""

from .id_allocator import id_read, id_release, id_request
from .ipaddress_allocator import net_from, net_read, net_release, net_request, net_request_static

__all__ = [
    "id_read",
    "id_release",
    "id_request",
    "net_from",
    "net_read",
    "net_release",
    "net_request",
    "net_request_static",
]
