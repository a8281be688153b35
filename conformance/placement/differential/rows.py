"""Hidden rows that upstream leaves in its database, and how episodes avoid them.

Upstream creates a consumer in its database before it checks the allocations. If nothing is written for the consumer, or if the
write is refused because a provider does not exist, the row stays with generation 0. No answer shows it, but the next writer has
to know it. From then on the two servers are in different states and cannot be compared. So the real server deletes such rows
after each request, unless an episode creates one on purpose.
"""

from __future__ import annotations

from typing import Any, Dict, List

from .request import Request


def meant(steps: List[Request]) -> bool:
    """Whether one of the steps creates such a row on purpose."""
    return any(
        written.get("allocations") == {} and written.get("consumer_generation", 0) is None
        for step in steps
        for written in _consumers(step)
    )


def _consumers(request: Request) -> List[Dict[str, Any]]:
    """The allocations that a request writes, by consumer."""
    body = request.body
    if request.route == "/allocations/{consumer}":
        body = {"": body}
    elif request.route != "/allocations":
        return []
    return [one for one in body.values() if isinstance(one, dict)] if isinstance(body, dict) else []
