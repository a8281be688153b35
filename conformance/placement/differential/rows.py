"""A row that upstream leaves behind unseen, and how to do without it most of the time.

Whoever writes no allocations for a consumer that does not exist creates it in upstream's database, with generation 0. That is
an accepted difference, after which both servers are in different states and an episode has to end. Where it would come about
by chance, because a consumer turned out not to exist, the request is not sent.
"""

from __future__ import annotations

from typing import Any, Dict

from .request import Request


def would_leave(made: Request, filled: Request) -> bool:
    """Whether a request that was made in good faith would leave such a row behind."""
    before, after = _consumers(made), _consumers(filled)
    return any(_empty(after[key]) and isinstance(before[key].get("consumer_generation"), dict) for key in after)


def _empty(written: Dict[str, Any]) -> bool:
    return written.get("allocations") == {} and written.get("consumer_generation", 0) is None


def _consumers(request: Request) -> Dict[str, Dict[str, Any]]:
    """What a request writes, by consumer."""
    body = request.body
    if request.route == "/allocations/{consumer}":
        body = {"": body}
    elif request.route == "/reshaper" and isinstance(body, dict):
        body = body.get("allocations")
    elif request.route != "/allocations":
        return {}
    if not isinstance(body, dict):
        return {}
    return {key: written for key, written in body.items() if isinstance(written, dict)}
