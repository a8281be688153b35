"""Makes invalid requests: changes one thing in a valid request, so that this is the reason for its refusal."""

from __future__ import annotations

import copy
from dataclasses import replace
from random import Random
from typing import Any, Callable, List, Tuple

from . import vocabulary as v
from .request import Request
from .vocabulary import chance

WRONG_VALUES: List[Any] = [None, True, -1, 0, 2**31, 1.5, "", "x", "CUSTOM_", "a" * 256, [], {}, ["x", "x"], {"x": 1}]
NOT_QUITE_UUIDS = ["00000001-aaaa-4000-8000-00000000000", "not-a-uuid", "0" * 32, "-" * 36]
WRONG_QUERY = ["", ",", ":", "VCPU", "VCPU:", "VCPU:x", "VCPU:0", "VCPU:-1", "VCPU:1,", "in:", "!", "!in:", "a,b", "0", "-1"]
HEADERS = [
    ("x-auth-token", ""),
    ("x-auth-token", "someuser:project-1"),
    ("x-roles", "member,reader"),
    ("x-roles", "service"),
    ("accept", ""),
    ("accept", "*/*"),
    ("accept", "text/html"),
    ("accept", "text/plain"),
    ("accept", "application/*"),
    ("openstack-api-version", "placement 1.10, compute 2.1"),
    ("openstack-api-version", "compute 2.1"),
    ("openstack-api-version", "placement"),
    ("openstack-system-scope", "all"),
]
PATHS = ["/no_such_thing", "/resource_providers/", "/traits/", "/resource_providers/x/y", "/allocation_candidate"]


def spoil(rng: Random, request: Request) -> Request:
    """The request with one fault."""
    kinds: List[Callable[[Random, Request], Request]] = [_version, _method, _path, _query, _header, _header]
    if request.body is not None:
        kinds = [_value, _value, _value, _member, _member, _surplus, _text, _content_type, *kinds]
    if request.query:
        kinds = [_parameter, _parameter, _parameter, *kinds]
    return rng.choice(kinds)(rng, request)


def _version(rng: Random, request: Request) -> Request:
    if chance(rng, 3):
        # A body or query of one version in another.
        return replace(request, version=f"1.{rng.randint(0, v.NEWEST)}")
    return replace(request, version=rng.choice(["1.40", "2.0", "0.9", "latest", "x", "1", None]))


def _method(rng: Random, request: Request) -> Request:
    return replace(request, method=rng.choice(["PATCH", "PUT", "POST", "DELETE", "GET"]))


def _path(rng: Random, request: Request) -> Request:
    if chance(rng, 2):
        return replace(request, path=rng.choice(PATHS))
    parts = request.path.split("/")
    parts[min(2, len(parts) - 1)] = rng.choice([*NOT_QUITE_UUIDS, v.UNKNOWN, "CUSTOM_" + "A" * 250])
    return replace(request, path="/".join(parts))


def _header(rng: Random, request: Request) -> Request:
    if chance(rng, 8):
        return _case(rng, request)
    return replace(request, headers=(rng.choice(HEADERS),))


def _case(rng: Random, request: Request) -> Request:
    """A UUID in upper case or without dashes: the same UUID, but a different text."""
    change: Callable[[str], str] = rng.choice([str.upper, lambda text: text.replace("-", "")])
    parts = [change(part) if part.count("-") == 4 else part for part in request.path.split("/")]
    return replace(request, path="/".join(parts))


def _query(rng: Random, request: Request) -> Request:
    return replace(request, query=(*request.query, rng.choice([("bogus", "1"), ("limit", "0"), ("name", "")])))


def _parameter(rng: Random, request: Request) -> Request:
    """Removes or repeats one parameter, or gives it an invalid value."""
    query = list(request.query)
    at = rng.randrange(len(query))
    name, value = query[at]
    wrong = rng.choice([*WRONG_QUERY, value + ",", f" {value}", value.lower(), *NOT_QUITE_UUIDS])
    changes: List[List[Tuple[str, str]]] = [[], [(name, value), (name, value)], [(name + "01", value)]]
    query[at : at + 1] = rng.choice([*changes, [(name, wrong)], [(name, wrong)], [(name, wrong)]])
    return replace(request, query=tuple(query))


def _value(rng: Random, request: Request) -> Request:
    """Replaces one value at any depth by one that is probably invalid."""
    body = copy.deepcopy(request.body)
    places = list(_places(body))
    if not places:
        return replace(request, body=rng.choice(WRONG_VALUES[1:]))
    holder, key = rng.choice(places)
    holder[key] = rng.choice([*WRONG_VALUES, *NOT_QUITE_UUIDS])
    return replace(request, body=body)


def _member(rng: Random, request: Request) -> Request:
    """Removes or renames one member of an object."""
    body = copy.deepcopy(request.body)
    places = [(holder, key) for holder, key in _places(body) if isinstance(holder, dict)]
    if not places:
        return _value(rng, request)
    holder, key = rng.choice(places)
    value = holder.pop(key)
    if chance(rng, 2):
        holder[rng.choice(["bogus", "", "lower", *NOT_QUITE_UUIDS, "CUSTOM_UNKNOWN"])] = value
    return replace(request, body=body)


def _surplus(rng: Random, request: Request) -> Request:
    body = copy.deepcopy(request.body)
    holders = [body, *(holder[key] for holder, key in _places(body))]
    objects = [holder for holder in holders if isinstance(holder, dict) and "$" not in holder]
    if not objects:
        return _value(rng, request)
    rng.choice(objects)[rng.choice(["bogus", "generation", "uuid"])] = 1
    return replace(request, body=body)


def _text(rng: Random, request: Request) -> Request:
    return replace(request, body=None, text=rng.choice(["", "{", "[1,", "nonsense", '"text"', "null", "{}", "[]", "1"]))


def _content_type(rng: Random, request: Request) -> Request:
    return replace(request, headers=(("content-type", rng.choice(["text/plain", "application/octet-stream", ""])),))


def _places(value: Any) -> List[Tuple[Any, Any]]:
    """All containers and keys in a JSON value whose values can be changed."""
    if isinstance(value, dict) and "$" not in value:
        keys: List[Any] = list(value)
    elif isinstance(value, list):
        keys = list(range(len(value)))
    else:
        return []
    return [place for key in keys for place in [(value, key), *_places(value[key])]]
