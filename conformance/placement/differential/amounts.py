"""Recognises candidates with wrong amounts from upstream, which sums amounts in objects that candidates share.

This happens if several groups request the same class and may use the same provider, unless the group policy is ``none``, for
which upstream makes copies.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Dict, List, Tuple

from .exchange import Exchange
from .request import Request

_RESOURCES = re.compile(r"resources[a-zA-Z0-9_-]{0,64}")

Amounts = Dict[str, int]


def upstream_miscounts(exchange: Exchange) -> bool:
    """Whether our sums are right, and upstream's answer differs only in amounts and in candidates it lost because of them."""
    asked, several = requested(exchange.request)
    left, right = exchange.left.json(), exchange.right.json()
    statuses = exchange.left.status, exchange.right.status
    if exchange.request.route != "/allocation_candidates" or statuses != (200, 200) or not several:
        return False
    if exchange.request.parameter("group_policy") == "none" or not (left and right):
        return False
    ours, theirs = right["allocation_requests"], left["allocation_requests"]
    if any(total(one) != asked for one in ours):
        return False
    if exchange.request.parameter("limit") is not None:
        # With a limit, it is unknown which ones are missing.
        return True
    miscounted = any(total(one) != asked for one in theirs) or len(theirs) < len(ours)
    return miscounted and not Counter(map(_shape, theirs)) - Counter(map(_shape, ours))


def requested(request: Request) -> Tuple[Amounts, bool]:
    """The requested amounts by class, and whether some class is in more than one group."""
    amounts: Counter[str] = Counter()
    groups: Counter[str] = Counter()
    for name, value in request.query:
        if _RESOURCES.fullmatch(name):
            for part in value.split(","):
                kind, _, amount = part.partition(":")
                amounts[kind] += int(amount) if amount.isdigit() else 0
                groups[kind] += 1
    return dict(amounts), any(count > 1 for count in groups.values())


def _resources(candidate: Any) -> List[Tuple[str, Amounts]]:
    held = candidate["allocations"]
    if isinstance(held, dict):
        return [(uuid, one["resources"]) for uuid, one in held.items()]
    return [(one["resource_provider"]["uuid"], one["resources"]) for one in held]


def providers(candidate: Any) -> List[str]:
    return [uuid for uuid, _ in _resources(candidate)]


def total(candidate: Any) -> Amounts:
    """The amounts of a candidate by class, over all providers."""
    taken: Counter[str] = Counter()
    for _, resources in _resources(candidate):
        taken.update(resources)
    return dict(taken)


def _shape(candidate: Any) -> str:
    """A candidate without its amounts."""
    held = sorted((uuid, sorted(resources)) for uuid, resources in _resources(candidate))
    mappings = sorted((name, sorted(uuids)) for name, uuids in candidate.get("mappings", {}).items())
    return str((held, mappings))
