"""Candidates that upstream loses, because it takes two for the same that are meant for different trees.

What the group without a suffix gets from providers that share is the same in every tree that they share with. Upstream keeps one of
them, with the tree that it was found in first. Together with another group, which is in another tree, there is nothing then.
"""

from __future__ import annotations

from typing import Any, List

from .amounts import providers, requested, total
from .compare import canonical
from .exchange import Exchange
from .vocabulary import SHARES


def upstream_loses_trees(exchange: Exchange) -> bool:
    """Whether ours has all that upstream has, and more that comes from providers that share."""
    left, right = exchange.left.json(), exchange.right.json()
    statuses = exchange.left.status, exchange.right.status
    if exchange.request.route != "/allocation_candidates" or statuses != (200, 200) or not (left and right):
        return False
    groups = {name for name, _ in exchange.request.query if name.startswith("resources")}
    if "resources" not in groups or len(groups) < 2:
        return False
    more = [canonical(one) for one in right["allocation_requests"]]
    for one in left["allocation_requests"]:
        if canonical(one) not in more:
            return False
        more.remove(canonical(one))
    extra = [one for one in right["allocation_requests"] if canonical(one) in more]
    asked, _ = requested(exchange.request)
    return bool(extra) and all(total(one) == asked and _shared(one, right) for one in extra)


def _shared(candidate: Any, answer: Any) -> bool:
    """Whether all that the group without a suffix gets is shared, as far as the version tells."""
    summaries = answer["provider_summaries"]
    of_group: List[str] = candidate.get("mappings", {}).get("", [])
    sharing = [uuid for uuid in providers(candidate) if SHARES in summaries[uuid].get("traits", [SHARES])]
    return set(of_group) <= set(sharing) if of_group else bool(sharing)
