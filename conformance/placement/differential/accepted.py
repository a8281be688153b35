"""Known and intended differences, each with its reason and a function that recognises it.

`docs/reference/placement-differences.md` is the same list for readers; a test compares the two. An entry that matches nothing in
a long run is reported, because it may be obsolete.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional

from . import amounts, anchors
from .compare import message
from .exchange import Exchange
from .explain import explain


@dataclass(frozen=True)
class Accepted:
    name: str
    reason: str
    matches: Callable[[Exchange], bool]


def _empty_consumer(exchange: Exchange) -> bool:
    """The real server expects generation 0 for a consumer that no answer has ever shown."""
    said, ours = message(exchange.left.error()), message(exchange.right.error())
    if exchange.keep_rows and exchange.difference.aspect == "body":
        # A later write in a version without types finds the type in that row.
        places = [line.split(": ")[0] for line in explain(exchange.difference.left, exchange.difference.right)]
        return exchange.request.route == "/usages" or places == [".consumer_type"]
    return "expected 0 but got None" in said or ("expected 0 but got" in said and "expected null but got" in ours)


def _leaks_sql(exchange: Exchange) -> bool:
    said = message(exchange.left.error())
    return exchange.same_refusal() and ("sqlite3." in said or "[SQL:" in said)


def _consumer_that_is_no_uuid(exchange: Exchange) -> bool:
    body: Any = exchange.request.body
    if exchange.request.route == "/reshaper" and isinstance(body, dict):
        body = body.get("allocations")
    if exchange.request.route not in ("/allocations", "/reshaper") or not isinstance(body, dict):
        return False
    odd = [key for key in body if re.fullmatch(r"[0-9a-fA-F-]{36}", key) and not _is_uuid(key)]
    return bool(odd) and exchange.right.status == 400


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def _words_of_a_parser(exchange: Exchange) -> bool:
    both = [message(reply.error()) for reply in (exchange.left, exchange.right)]
    begins = ("Malformed JSON:", "invalid version string:")
    return exchange.same_refusal() and any(all(begin in said for said in both) for begin in begins)


def _breaks_inside(exchange: Exchange) -> bool:
    return exchange.left.status == 500 and exchange.right.status < 500


def _spelling_of_a_uuid(exchange: Exchange) -> bool:
    in_path = any(_is_odd(part) for part in exchange.request.path.split("/"))
    in_body = exchange.request.route.endswith("/aggregates") and any(
        _is_odd(text) for text in re.findall(r'"([^"]*)"', exchange.request.sent_body() or "")
    )
    return (in_path or in_body) and exchange.left.status in (200, 404)


def _is_odd(text: str) -> bool:
    """Whether it is a UUID, but not in canonical form."""
    try:
        return str(uuid.UUID(text)) != text
    except ValueError:
        return False


def _unknown_name(exchange: Exchange) -> bool:
    said = message(exchange.right.error())
    found = exchange.left.json() or {}
    nothing = exchange.left.status == 200 and [] in (found.get("allocation_requests"), found.get("resource_providers"))
    return nothing and ("No such trait(s):" in said or "No such resource class" in said)


REASONS = ("Unable to allocate inventory", "consumer generation conflict", "Allocation for resource provider")


def _one_of_several(exchange: Exchange) -> bool:
    both = [message(reply.error()) for reply in (exchange.left, exchange.right)]
    body = exchange.request.body
    several = len(resources_written(body)) > 1 or (exchange.request.method == "POST" and len(body or {}) > 1)
    same = any(all(reason in said for said in both) for reason in REASONS)
    if exchange.same_refusal() and (several and same or _all_of_several_traits(*both)):
        return True
    inventories = body.get("inventories") if isinstance(body, dict) else None
    bad = isinstance(inventories, dict) and len(inventories) > 1 and all("Invalid inventory for" in said for said in both)
    if exchange.same_refusal() and bad:
        return True
    return _one_of_several_providers(exchange)


def _all_of_several_traits(theirs: str, ours: str) -> bool:
    """Upstream looks them up in several steps and names those of the first step that fails."""
    named = [set(re.findall(r"[^ ,]+", said.split("No such trait(s):")[-1].rstrip("."))) for said in (theirs, ours)]
    return all("No such trait(s):" in said for said in (theirs, ours)) and named[0] < named[1]


def _one_of_several_providers(exchange: Exchange) -> bool:
    """A reshape with one unknown provider and another one with a different generation."""
    body = exchange.request.body
    inventories = body.get("inventories") if isinstance(body, dict) else None
    several = exchange.request.route == "/reshaper" and isinstance(inventories, dict) and len(inventories) > 1
    both = [message(reply.error()) for reply in (exchange.left, exchange.right)]
    reasons = ("in inventories not found", "resource provider generation conflict")
    return several and all(any(reason in said for reason in reasons) for said in both)


def resources_written(body: Any) -> List[int]:
    """The amounts of all allocations in a body, in any version."""
    if isinstance(body, list):
        return [amount for item in body for amount in resources_written(item)]
    if not isinstance(body, dict):
        return []
    own = body.get("resources")
    here = list(own.values()) if isinstance(own, dict) else []
    return here + [amount for key, value in body.items() if key != "resources" for amount in resources_written(value)]


def _always_dated(exchange: Exchange) -> bool:
    difference = exchange.difference
    return (difference.aspect, difference.left) == ("header last-modified", "missing")


def _scope(exchange: Exchange) -> bool:
    rule = re.search(r"placement:[a-z_:]+", message(exchange.left.error()))
    both = exchange.same_refusal() and exchange.left.status == 403 and rule is not None
    return both and rule is not None and rule.group() in message(exchange.right.error())


LIST: List[Accepted] = [
    Accepted(
        "empty-consumer",
        "writing nothing for an unknown consumer does not create it; upstream keeps a row with generation 0, which no answer "
        "shows but which the next writer has to know",
        _empty_consumer,
    ),
    Accepted(
        "sql-in-texts",
        "for some conflicts upstream's text is that of a database error, with the statement; ours names the conflict",
        _leaks_sql,
    ),
    Accepted(
        "consumers-are-uuids",
        "upstream accepts any 36 hexadecimal digits and dashes as a consumer; ours requires a UUID",
        _consumer_that_is_no_uuid,
    ),
    Accepted(
        "words-of-a-parser",
        "for malformed JSON or a malformed version, the details are those of the parser in use",
        _words_of_a_parser,
    ),
    Accepted(
        "internal-errors",
        "upstream answers 500 to some unexpected requests; ours refuses them with a reason, or accepts them",
        _breaks_inside,
    ),
    Accepted(
        "amounts-that-add-up",
        "upstream sums amounts in objects that several candidates share, so some candidates have more than was requested, and "
        "others are missing because they would not fit",
        amounts.upstream_miscounts,
    ),
    Accepted(
        "lost-anchors",
        "upstream merges candidates of a sharing provider for different trees, and loses all but one tree if another group is "
        "requested as well",
        anchors.upstream_loses_trees,
    ),
    Accepted(
        "spelling-of-uuids",
        "a UUID in a path or of an aggregate may be in upper case or without dashes; upstream compares texts in most places",
        _spelling_of_a_uuid,
    ),
    Accepted(
        "names-before-answers",
        "an unknown trait or class is refused; upstream stops at the first filter that leaves nothing and does not check the "
        "names in later ones",
        _unknown_name,
    ),
    Accepted(
        "one-of-several-reasons",
        "if an allocation is impossible for several reasons, each server names one of them",
        _one_of_several,
    ),
    Accepted(
        "words-of-a-wrong-scope",
        "a token with the wrong scope gets the same text as every other forbidden request; upstream only names the rule",
        _scope,
    ),
    Accepted(
        "always-dated",
        "from 1.15 on every answer with a body has last-modified; upstream omits it where it has no row with a date",
        _always_dated,
    ),
]


class Register:
    """Looks up differences in the list and counts the uses of each entry."""

    def __init__(self, entries: Optional[List[Accepted]] = None) -> None:
        self._entries = LIST if entries is None else entries
        self.counts: Dict[str, int] = Counter()

    def accepts(self, exchange: Exchange) -> bool:
        for entry in self._entries:
            if entry.matches(exchange):
                self.counts[entry.name] += 1
                return True
        return False

    def idle(self) -> List[str]:
        """Entries that matched nothing."""
        return [entry.name for entry in self._entries if not self.counts[entry.name]]
