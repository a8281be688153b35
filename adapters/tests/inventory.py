"""What the contract tests need to know about an inventory, and do with it directly."""

from __future__ import annotations

import http.client
import json
from abc import ABC, abstractmethod
from typing import Any, Dict, Optional, Tuple, Union

from allod.authority import Adapter, Wanted

Address = Union[str, Tuple[str, int]]
"""Where an inventory listens: the path of a socket, or host and port."""


class Inventory(ABC):
    """A running inventory with two pools: ``pool`` has at least 40 values, ``small`` has four."""

    want: Dict[str, Any] = {}
    """How to ask for any value."""
    has_lookups = True
    grants_wanted = True
    """Whether a grant can be for a certain value."""
    upstream: Address
    pool, small = "pool", "small"
    other: Wanted = 0
    """A value of ``pool`` that is not among the first."""
    outside: Wanted = 0
    """A value that is not in ``pool``."""

    @abstractmethod
    def adapter(self, upstream: Optional[Address] = None) -> Adapter:
        """A new adapter. ``upstream`` replaces the address of the inventory."""

    @abstractmethod
    def occupy(self, value: Wanted) -> None:
        """Another client of the inventory takes a value of ``pool``."""

    @abstractmethod
    def vacate(self, value: Wanted) -> None:
        """What ``occupy`` did is undone."""

    @abstractmethod
    def count(self) -> int:
        """The number of values in use in both pools, counted without the adapter."""

    def is_in_pool(self, value: Wanted) -> bool:
        return True

    def add_fact(self, name: str) -> Any:
        """Adds a fact that can be looked up. Returns its value."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stops the programs, by their process IDs."""

    def url(self, upstream: Optional[Address]) -> str:
        at = upstream or self.upstream
        return at if isinstance(at, str) else f"http://{at[0]}:{at[1]}"


def ask(url: str, method: str, path: str, body: Any = None, headers: Optional[Dict[str, str]] = None) -> Any:
    """A request to the inventory itself. Returns the JSON of a successful answer."""
    connection = http.client.HTTPConnection(url.partition("//")[2], timeout=60)
    try:
        raw = None if body is None else json.dumps(body).encode()
        connection.request(method, path, raw, {"Content-Type": "application/json", **(headers or {})})
        response = connection.getresponse()
        text = response.read()
        if response.status >= 300:
            raise RuntimeError(f"{method} {path}: {response.status} {text[:500]!r}")
        return json.loads(text) if text.strip() else None
    finally:
        connection.close()
