"""A request as data, for the generator, the shrinker and the script writer.

A body may contain placeholders for generations, which are filled in when the request is sent. So a request stays valid after
earlier requests have been removed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Optional, Tuple

ROUTES = [
    (re.compile(pattern), route)
    for pattern, route in [
        (r"/?", "/"),
        (r"/resource_providers", "/resource_providers"),
        (r"/resource_providers/[^/]+", "/resource_providers/{uuid}"),
        (r"/resource_providers/[^/]+/inventories/[^/]+", "/resource_providers/{uuid}/inventories/{class}"),
        *(
            (rf"/resource_providers/[^/]+/{part}", f"/resource_providers/{{uuid}}/{part}")
            for part in ("inventories", "usages", "aggregates", "allocations", "traits")
        ),
        (r"/resource_classes", "/resource_classes"),
        (r"/resource_classes/[^/]+", "/resource_classes/{name}"),
        (r"/traits", "/traits"),
        (r"/traits/[^/]+", "/traits/{name}"),
        (r"/allocations", "/allocations"),
        (r"/allocations/[^/]+", "/allocations/{consumer}"),
        (r"/allocation_candidates", "/allocation_candidates"),
        (r"/usages", "/usages"),
        (r"/reshaper", "/reshaper"),
    ]
]

PROVIDER, CONSUMER = "generation of provider", "generation of consumer"
Lookup = Callable[[str, str], Any]


def generation_of(provider: str) -> Dict[str, str]:
    """Placeholder for the generation of a provider at the time of sending."""
    return {"$": PROVIDER, "of": provider}


def consumer_generation_of(consumer: str) -> Dict[str, str]:
    """Placeholder for the generation of a consumer; null if it does not exist."""
    return {"$": CONSUMER, "of": consumer}


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    """Without the query."""
    version: Optional[str] = None
    """The microversion; without one the header is omitted."""
    query: Tuple[Tuple[str, str], ...] = ()
    body: Any = None
    """A JSON value. If this and ``text`` are None, there is no body."""
    text: Optional[str] = None
    """A body that is not a JSON value."""
    headers: Tuple[Tuple[str, str], ...] = ()
    """Headers that are added to the default ones or replace them; an empty value removes a header."""

    @property
    def route(self) -> str:
        """The route of the path, for classifying differences."""
        for pattern, route in ROUTES:
            if pattern.fullmatch(self.path):
                return route
        return "(no route)"

    @property
    def reads(self) -> bool:
        return self.method == "GET"

    def sent_body(self) -> Optional[str]:
        return self.text if self.body is None else json.dumps(self.body)

    def parameter(self, name: str) -> Optional[str]:
        """The first value of a query parameter."""
        return next((value for key, value in self.query if key == name), None)

    def without(self, parameter: str) -> Request:
        return replace(self, query=tuple(pair for pair in self.query if pair[0] != parameter))

    def resolved(self, lookup: Lookup) -> Request:
        """With every placeholder filled in by ``lookup(kind, uuid)``."""
        return replace(self, body=_resolve(self.body, lookup))

    def places(self) -> List[Tuple[str, str]]:
        """The placeholders that have to be looked up before sending."""
        found: List[Tuple[str, str]] = []

        def note(kind: str, uuid: str) -> None:
            found.append((kind, uuid))

        _resolve(self.body, note)
        return found


def _resolve(value: Any, lookup: Lookup) -> Any:
    if isinstance(value, dict):
        if "$" in value:
            return lookup(value["$"], value["of"])
        return {key: _resolve(inner, lookup) for key, inner in value.items()}
    if isinstance(value, list):
        return [_resolve(inner, lookup) for inner in value]
    return value
