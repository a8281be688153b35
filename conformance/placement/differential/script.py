"""Cases as text: one ``curl`` line for each request, for a shell or for ``--replay``."""

from __future__ import annotations

import json
import shlex
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import parse_qsl, urlencode

from .request import Request
from .target import headers_of

URL = "$URL"
SERVICE = "placement "


def write(steps: List[Request]) -> str:
    return "".join(f"{_line(step)}\n" for step in steps)


def read(text: str) -> List[Request]:
    lines = [line.strip() for line in text.splitlines()]
    return [_request(line) for line in lines if line and not line.startswith("#")]


def _line(step: Request) -> str:
    path = step.path + (f"?{urlencode(step.query)}" if step.query else "")
    words = ["curl", "-s", "-X", step.method]
    for name, value in {**headers_of(step), **dict(step.headers)}.items():
        # Without a value, curl omits its own header of this name.
        words += ["-H", f"{name}: {value}".rstrip()]
    body = step.sent_body()
    if body is not None:
        words += ["--data-binary", body]
    # In double quotes, so that a shell replaces the variable.
    return " ".join(shlex.quote(word) for word in words) + f' "{URL}{path}"'


def _request(line: str) -> Request:
    words = shlex.split(line)
    if words[:2] != ["curl", "-s"] or not words[-1].startswith(URL):
        raise ValueError(f"not a line of a script: {line}")
    options = list(zip(words[2:-1:2], words[3:-1:2]))
    method = next(value for name, value in options if name == "-X")
    text = next((value for name, value in options if name == "--data-binary"), None)
    headers, version = _headers([value for name, value in options if name == "-H"], text is not None)
    path, _, query = words[-1][len(URL) :].partition("?")
    body, text = _body(text)
    pairs = tuple(parse_qsl(query, keep_blank_values=True))
    return Request(method, path, version, pairs, body, text, headers)


def _headers(lines: List[str], has_body: bool) -> Tuple[Tuple[Tuple[str, str], ...], Optional[str]]:
    given: Dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        given[name] = value.strip()
    named = given.get("openstack-api-version", "")
    minor = named[len(SERVICE) :] if named.startswith(SERVICE) else None
    if minor is not None:
        del given["openstack-api-version"]
    bare = Request("GET", "/", text="" if has_body else None)
    usual = headers_of(bare)
    return tuple((name, value) for name, value in given.items() if usual.get(name) != value), minor


def _body(text: Optional[str]) -> Tuple[Any, Optional[str]]:
    """As a JSON value if it is equivalent, so that the shrinker can take it apart."""
    if text is None:
        return None, None
    try:
        value = json.loads(text)
    except ValueError:
        return None, text
    return (value, None) if value is not None and json.dumps(value) == text else (None, text)
