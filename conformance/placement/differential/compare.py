"""Compares two replies to one request, after normalising what may differ.

Which differences are accepted is defined in ``accepted``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from .explain import explain
from .request import Request
from .target import Reply

HEADERS = ("content-type", "openstack-api-version", "vary", "location", "allow", "cache-control")
# Only their presence is compared, because the values change over time.
PRESENT = ("last-modified", "x-openstack-request-id")

# The dump of the schema and the instance that python-jsonschema appends.
_DUMP = re.compile(r"(Failed validating '\w+' in schema\S*?):\s.*", re.DOTALL)
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|[0-9a-fA-F]{32}")
_NAME = re.compile(r"'[A-Z0-9_]+'")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Difference:
    """One difference between two replies."""

    aspect: str
    """``status``, ``body``, ``detail``, ``code`` or ``header NAME``."""
    left: str
    right: str

    def kind(self, request: Request) -> str:
        """A key that is the same for differences with the same cause, as far as possible."""
        both = f"{_skeleton(self.left)} | {_skeleton(self.right)}"
        if self.aspect == "detail":
            return f"detail: {both}"
        route = f"{request.method} {request.route}: {self.aspect}"
        if self.aspect == "body":
            places = (line.split(": ")[0] for line in explain(self.left, self.right))
            return f"{route}: {_skeleton(next(places, ''))}"
        if self.aspect == "status":
            return f"{route}: {self.left[:4]}{_skeleton(self.left[4:])} | {self.right[:4]}{_skeleton(self.right[4:])}"
        return f"{route}: {both}"


def compare(left: Reply, right: Reply) -> List[Difference]:
    """The differences, the most significant first."""
    if left.status != right.status:
        return [Difference("status", _said(left), _said(right))]
    found = []
    for name in HEADERS:
        pair = left.headers.get(name), right.headers.get(name)
        if _header(name, pair[0]) != _header(name, pair[1]):
            found.append(Difference(f"header {name}", str(pair[0]), str(pair[1])))
    for name in PRESENT:
        if (name in left.headers) != (name in right.headers):
            there = ["present" if name in reply.headers else "missing" for reply in (left, right)]
            found.append(Difference(f"header {name}", *there))
    return found + _compare_bodies(left, right)


def _compare_bodies(left: Reply, right: Reply) -> List[Difference]:
    if left.error() and right.error():
        return _compare_errors(left.error(), right.error())
    # The text of an error that is not JSON is not compared; its media type is, with the headers.
    if left.status >= 400 and left.json() is None and right.json() is None:
        return []
    pair = canonical(left.json()), canonical(right.json())
    if left.json() is None and right.json() is None:
        pair = left.body.decode(errors="replace"), right.body.decode(errors="replace")
    return [] if pair[0] == pair[1] else [Difference("body", *pair)]


def _compare_errors(left: Dict[str, Any], right: Dict[str, Any]) -> List[Difference]:
    found = []
    if left.get("code") != right.get("code"):
        found.append(Difference("code", str(left.get("code")), str(right.get("code"))))
    pair = message(left), message(right)
    if pair[0] != pair[1] and _words(pair[0]) != _words(pair[1]):
        found.append(Difference("detail", *pair))
    rest = [canonical({k: v for k, v in one.items() if k not in ("code", "detail", "request_id")}) for one in (left, right)]
    if rest[0] != rest[1]:
        found.append(Difference("body", *rest))
    return found


def message(error: Dict[str, Any]) -> str:
    """The detail of an error on one line, without the schema dump."""
    return _DUMP.sub(r"\1", " ".join(str(error.get("detail", "")).split()))


def canonical(value: Any) -> str:
    """A JSON value as text, the same for all equivalent values.

    The API promises no order of lists, so they are compared as multisets. Integers and floats of the same value are equal.
    """
    return json.dumps(_sorted(value), sort_keys=True, ensure_ascii=False)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(inner) for key, inner in value.items()}
    if isinstance(value, list):
        items = [_sorted(inner) for inner in value]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _header(name: str, value: Optional[str]) -> Optional[str]:
    if value is None:
        return None
    if name in ("vary", "allow"):
        return ", ".join(sorted(part.strip().lower() for part in value.split(",")))
    if name == "content-type":
        return value.replace(" ", "").lower()
    return value


def _words(text: str) -> List[str]:
    """The words of a message, sorted, because upstream lists sets in any order."""
    return sorted(re.findall(r"[\w-]+", text))


def _skeleton(text: str) -> str:
    """A message without the values of one request."""
    for pattern, instead in ((_UUID, "UUID"), (_NAME, "'X'"), (_NUMBER, "N")):
        text = pattern.sub(instead, text)
    return text[:300]


def _said(reply: Reply) -> str:
    said = message(reply.error()) if reply.error() else ""
    return f"{reply.status} {said}".strip()
