"""Recognises candidates that upstream loses because it merges candidates for different trees.

What the unsuffixed group gets from sharing providers is the same in every tree that they serve. Upstream keeps one of these, with
the tree in which it was found first. Another group that is in a different tree then finds no match.
"""

from __future__ import annotations

from typing import Any, List

from .amounts import providers, requested, total
from .compare import canonical
from .exchange import Exchange
from .vocabulary import SHARES


def upstream_loses_trees(exchange: Exchange) -> bool:
    """Whether ours has all candidates of upstream, plus others that use sharing providers."""
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
    """Whether only sharing providers serve the unsuffixed group, as far as the version shows."""
    summaries = answer["provider_summaries"]
    of_group: List[str] = candidate.get("mappings", {}).get("", [])
    sharing = [uuid for uuid in providers(candidate) if SHARES in summaries[uuid].get("traits", [SHARES])]
    return set(of_group) <= set(sharing) if of_group else bool(sharing)
