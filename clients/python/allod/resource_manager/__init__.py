"""NSO's resource-manager API for Python, on allod.

A service that uses the resource-manager works with allod after its imports are changed::

    from allod.resource_manager import id_allocator
    from allod.resource_manager import ipaddress_allocator as ip_allocator

The functions, their arguments and their ``LookupError`` are those of releases 3 and 4, with two improvements: the result is
available when the request returns, and the ID 0 is valid. ``root`` can be an ``allod.Client``; any other value, including
``None``, selects the server of ``ALLOD_SERVER``.

Programs without FASTMAP release allocations with ``id_release`` and ``net_release``.
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
