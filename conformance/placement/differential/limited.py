"""Compares candidates with a limit: any subset of the right size is a correct answer.

The answer is compared with the complete answer of the reference. Before 1.29 the reference itself may return fewer candidates
than it could: it applies the limit before it removes candidates that use several providers of one tree.
"""

from __future__ import annotations

from typing import Any, List

from .compare import Difference, canonical
from .request import Request
from .target import Reply


def applies(request: Request, left: Reply, right: Reply) -> bool:
    """Whether both answered a query for candidates that has a limit."""
    limited = request.route == "/allocation_candidates" and request.parameter("limit") is not None
    return limited and left.status == 200 and right.status == 200


def compare(whole: Reply, left: Reply, right: Reply, limit: int) -> List[Difference]:
    """``whole`` is the reference's answer without the limit, ``left`` its answer with it."""
    all_of_them, some = whole.json(), right.json()
    known = [canonical(one) for one in all_of_them["allocation_requests"]]
    given = [canonical(one) for one in some["allocation_requests"]]
    least, most = len(left.json()["allocation_requests"]), min(limit, len(known))
    if not least <= len(given) <= most:
        return [Difference("number of candidates", f"{least} to {most}", str(len(given)))]
    for one in given:
        if one not in known:
            return [Difference("an invalid candidate", "", one)]
        known.remove(one)
    return _compare_summaries(all_of_them["provider_summaries"], some["provider_summaries"], some)


def _compare_summaries(known: Any, given: Any, some: Any) -> List[Difference]:
    for uuid, summary in given.items():
        if canonical(known.get(uuid)) != canonical(summary):
            return [Difference(f"summary of {uuid}", canonical(known.get(uuid)), canonical(summary))]
    used = _used(some)
    missing = sorted(set(used) - set(given))
    if missing:
        return [Difference("summaries of the candidates", canonical(missing), "missing")]
    # Before 1.29, which does not show trees, the rest of a tree may or may not be included.
    roots = {known[uuid].get("root_provider_uuid") for uuid in used}
    wanted = sorted(uuid for uuid in known if known[uuid].get("root_provider_uuid") in roots)
    if None not in roots and sorted(given) != wanted:
        return [Difference("summaries of the candidates", canonical(wanted), canonical(sorted(given)))]
    return []


def _used(some: Any) -> List[str]:
    used: List[str] = []
    for one in some["allocation_requests"]:
        if isinstance(one["allocations"], dict):
            used.extend(one["allocations"])
        else:
            used.extend(part["resource_provider"]["uuid"] for part in one["allocations"])
    return used
