"""Shows in a few lines where two JSON values differ."""

from __future__ import annotations

import json
from typing import Any, Iterator, List

LINES_MAX = 12


def explain(left: str, right: str) -> List[str]:
    """Lines for two bodies in canonical form; each has a path and both values."""
    try:
        lines = list(_walk("", json.loads(left), json.loads(right)))
    except ValueError:
        lines = [f"{left} | {right}"]
    more = len(lines) - LINES_MAX
    return lines[:LINES_MAX] + ([f"and {more} more"] if more > 0 else [])


def _walk(place: str, left: Any, right: Any) -> Iterator[str]:
    if left == right and type(left) is type(right):
        return
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted({*left, *right}):
            here = f"{place}.{key}"
            if key not in right:
                yield f"{here}: only real: {_short(left[key])}"
            elif key not in left:
                yield f"{here}: only this: {_short(right[key])}"
            else:
                yield from _walk(here, left[key], right[key])
    elif isinstance(left, list) and isinstance(right, list):
        yield from _lists(place, left, right)
    else:
        yield f"{place}: {_short(left)} | {_short(right)}"


def _lists(place: str, left: List[Any], right: List[Any]) -> Iterator[str]:
    """Lists are multisets: shows the items that only one of them has."""
    spare = [_short(item) for item in right]
    for item in (_short(item) for item in left):
        if item in spare:
            spare.remove(item)
        else:
            yield f"{place}[]: only real: {item}"
    for item in spare:
        yield f"{place}[]: only this: {item}"


def _short(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
