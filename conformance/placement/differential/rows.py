"""Rows that upstream leaves behind unseen, and how an episode can do without them.

A consumer is created in upstream's database before its allocations are looked at. When nothing is written for it, or when the
write is refused because of a provider that does not exist, the row stays, with generation 0. No answer shows it, but the next
writer has to know of it. After that both servers are in different states, and there is nothing more to compare. So the real one
is made to forget such rows after each request, unless an episode leaves one on purpose.
"""

from __future__ import annotations

from typing import Any, Dict, List

from .request import Request


def meant(steps: List[Request]) -> bool:
    """Whether one of the steps says that a consumer is new and writes nothing for it."""
    return any(
        written.get("allocations") == {} and written.get("consumer_generation", 0) is None
        for step in steps
        for written in _consumers(step)
    )


def _consumers(request: Request) -> List[Dict[str, Any]]:
    """What a request writes, for each consumer."""
    body = request.body
    if request.route == "/allocations/{consumer}":
        body = {"": body}
    elif request.route != "/allocations":
        return []
    return [one for one in body.values() if isinstance(one, dict)] if isinstance(body, dict) else []
