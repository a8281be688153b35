"""The bodies and queries of the contract: parses what allod sends, encodes what an adapter returns. No sockets here."""

from __future__ import annotations

import json
import uuid
from typing import Any, Dict, List, Mapping, Optional
from urllib.parse import parse_qs

from .adapter import Ask, Fact, Grant, Known, Listed, Page, Wanted

MESSAGE_CHARACTERS_MAX = 300
LENGTH_MAX = 128


class BadRequest(Exception):
    """The request does not follow the contract."""


def reference(text: str) -> str:
    try:
        parsed = str(uuid.UUID(text))
    except ValueError:
        raise BadRequest(f"{text!r:.60} is not a UUID") from None
    if parsed != text.lower():
        raise BadRequest(f"{text!r:.60} is not a UUID with hyphens")
    return parsed


def query(text: str) -> Dict[str, str]:
    try:
        parsed = parse_qs(text, keep_blank_values=True, strict_parsing=bool(text), errors="strict", max_num_fields=8)
    except ValueError as error:
        raise BadRequest(f"the query is malformed: {error}") from None
    return {name: values[-1] for name, values in parsed.items()}


def ask(ref: str, raw: bytes) -> Ask:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise BadRequest("the body is not JSON") from None
    if not isinstance(body, dict):
        raise BadRequest("the body is not an object")
    want, params = body.get("want"), body.get("params")
    if not isinstance(want, dict) or len(want) > 1 or set(want) - {"value", "length"}:
        raise BadRequest('"want" must be {}, {"value": V} or {"length": N}')
    if params is not None and not isinstance(params, dict):
        raise BadRequest('"params" is not an object')
    length = want.get("length")
    if "length" in want and (not isinstance(length, int) or isinstance(length, bool) or not 0 <= length <= LENGTH_MAX):
        raise BadRequest(f'"length" must be a number from 0 to {LENGTH_MAX}')
    if "value" in want and not _is_value(want["value"]):
        raise BadRequest('"value" must be a number or text')
    pool, key, owner = (_text(body, name) for name in ("pool", "key", "owner"))
    return Ask(ref, pool, key, owner, want.get("value"), length, params or {})


def known(ref: str, asked: Mapping[str, str]) -> Known:
    text = asked.get("value")
    value: Optional[Wanted] = text
    if text is not None and text.isascii() and text.isdigit():
        value = int(text)
    return Known(ref, value, asked.get("handle"))


def grant(made: Grant) -> Dict[str, Any]:
    if not isinstance(made, Grant) or not _is_value(made.value):
        raise TypeError(f"the adapter returned {made!r:.200}; expected a Grant with a number or text")
    return {"value": made.value, "handle": made.handle, "version": made.version}


def page(listed: Page) -> Dict[str, Any]:
    if not isinstance(listed, Page):
        raise TypeError(f"the adapter returned {listed!r:.200}; expected a Page")
    grants: List[Dict[str, Any]] = []
    for one in listed.grants:
        if not isinstance(one, Listed):
            raise TypeError(f"the page contains {one!r:.200}; expected Listed")
        grants.append({"ref": one.ref, **grant(Grant(one.value, one.handle, one.version))})
    return {"grants": grants, "next": listed.next}


def fact(found: Fact) -> Dict[str, Any]:
    if not isinstance(found, Fact):
        raise TypeError(f"the adapter returned {found!r:.200}; expected a Fact")
    return {"value": found.value, "version": found.version}


def message(text: str) -> str:
    """Short, on one line, without control characters."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return printable[:MESSAGE_CHARACTERS_MAX]


def _text(body: Mapping[str, Any], name: str) -> str:
    text = body.get(name)
    if not isinstance(text, str):
        raise BadRequest(f'"{name}" is missing or not text')
    return text


def _is_value(value: object) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)
