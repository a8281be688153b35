"""Accepted differences, each with the reason and a matcher.

`docs/reference/placement-differences.md` is the same list for readers; a test compares the two. An entry that matches
nothing in a long run is reported, because it may be obsolete.
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
    """The real Placement expects generation 0 of a consumer that has no allocations."""
    said, ours = message(exchange.left.error()), message(exchange.right.error())
    if exchange.keep_rows and exchange.difference.aspect == "body":
        # A later write with a version without types keeps the type in the row.
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
    """Whether it is a UUID in an unusual form."""
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
    """Placement looks them up in several steps, and names those of the first step that fails."""
    named = [set(re.findall(r"[^ ,]+", said.split("No such trait(s):")[-1].rstrip("."))) for said in (theirs, ours)]
    return all("No such trait(s):" in said for said in (theirs, ours)) and named[0] < named[1]


def _one_of_several_providers(exchange: Exchange) -> bool:
    """A reshape with one provider that does not exist and another that has changed."""
    body = exchange.request.body
    inventories = body.get("inventories") if isinstance(body, dict) else None
    several = exchange.request.route == "/reshaper" and isinstance(inventories, dict) and len(inventories) > 1
    both = [message(reply.error()) for reply in (exchange.left, exchange.right)]
    reasons = ("in inventories not found", "resource provider generation conflict")
    return several and all(any(reason in said for reason in reasons) for said in both)


def resources_written(body: Any) -> List[int]:
    """The amounts of all allocations in a body of any version."""
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
        "a consumer that is written with nothing, and was unknown, stays unknown; upstream keeps a row of generation 0 that no "
        "answer shows and that the next writer has to know of",
        _empty_consumer,
    ),
    Accepted(
        "sql-in-texts",
        "upstream's text of some conflicts is the text of a database error, with the statement; ours says what is in the way",
        _leaks_sql,
    ),
    Accepted(
        "consumers-are-uuids",
        "a key of 36 hexadecimal digits and dashes in any order passes upstream's pattern; ours wants a uuid",
        _consumer_that_is_no_uuid,
    ),
    Accepted(
        "words-of-a-parser",
        "where a text is no JSON, or a version is none, what follows are the words of the parser in use",
        _words_of_a_parser,
    ),
    Accepted(
        "internal-errors",
        "upstream answers 500 where it did not expect what it was sent; ours answers what is wrong with it, or does it",
        _breaks_inside,
    ),
    Accepted(
        "amounts-that-add-up",
        "upstream adds up amounts in objects that several candidates share, so that some candidates ask for more than was "
        "requested, and others are lost because they would not fit",
        amounts.upstream_miscounts,
    ),
    Accepted(
        "lost-anchors",
        "upstream takes what a provider shares with two trees for the same candidate, and loses those of all trees but one when "
        "another group is asked for as well",
        anchors.upstream_loses_trees,
    ),
    Accepted(
        "spelling-of-uuids",
        "a uuid in a path, or of an aggregate, means the same in capital letters or without dashes; upstream compares texts, except "
        "where it does not",
        _spelling_of_a_uuid,
    ),
    Accepted(
        "names-before-answers",
        "a trait or class that does not exist is refused; upstream stops at the first filter that leaves nothing, and does not "
        "look at the names in later ones",
        _unknown_name,
    ),
    Accepted(
        "one-of-several-reasons",
        "of an allocation that is impossible in several ways, each server names one",
        _one_of_several,
    ),
    Accepted(
        "words-of-a-wrong-scope",
        "a token of the wrong scope is refused in the words of every other refusal; upstream says the name of the rule and "
        "nothing else",
        _scope,
    ),
    Accepted(
        "always-dated",
        "from version 1.15 on every answer with a body has last-modified; upstream leaves it out where it has no row to take "
        "a date from",
        _always_dated,
    ),
]


class Register:
    """Looks up differences in the list, and counts how often each entry matched."""

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
