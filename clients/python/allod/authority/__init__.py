"""Adapters: they connect allod to an inventory that has no interface of its own for allod.

An adapter is a subclass of ``Adapter``. One line serves it::

    serve(MyAdapter(), "127.0.0.1:8800")

or, from the shell: ``python -m allod.authority my_module:MyAdapter --listen 127.0.0.1:8800``.
"""

from .adapter import Adapter, Ask, Fact, Grant, Known, Listed, NotNow, Page, Refused, Wanted
from .inventory import HttpInventory, Reply
from .server import AuthorityServer, Limits, serve

__all__ = [
    "Adapter",
    "Ask",
    "AuthorityServer",
    "Fact",
    "Grant",
    "HttpInventory",
    "Known",
    "Limits",
    "Listed",
    "NotNow",
    "Page",
    "Refused",
    "Reply",
    "Wanted",
    "serve",
]
