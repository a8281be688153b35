"""Differences that are known and wanted, each with the reason and with what it is recognised by.

`docs/reference/placement-differences.md` is the same list for readers; a test holds the two together. One that matches nothing
in a long run is reported, because then it hides nothing any more, or was never needed.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional

from .compare import Difference, message
from .request import Request
from .target import Reply


@dataclass(frozen=True)
class Exchange:
    """One request, what both answered, and in what they differ."""

    request: Request
    left: Reply
    right: Reply
    difference: Difference

    def same_refusal(self) -> bool:
        """Whether both refused it alike, but for the words."""
        return self.left.status == self.right.status >= 400 and self.difference.aspect == "detail"


@dataclass(frozen=True)
class Accepted:
    name: str
    reason: str
    matches: Callable[[Exchange], bool]


def _empty_consumer(exchange: Exchange) -> bool:
    """The real one expects generation 0 of a consumer that holds nothing and was never seen to."""
    said = message(exchange.left.error())
    return exchange.left.status == 409 and "expected 0 but got None" in said


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
    return exchange.same_refusal() and all("Malformed JSON:" in said for said in both)


def _breaks_inside(exchange: Exchange) -> bool:
    return exchange.left.status == 500 and exchange.right.status < 500


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
        "words-of-the-json-parser",
        "where a text is no JSON, what follows 'Malformed JSON:' are the words of the parser in use",
        _words_of_a_parser,
    ),
    Accepted(
        "internal-errors",
        "upstream answers 500 where it did not expect what it was sent; ours answers what is wrong with it, or does it",
        _breaks_inside,
    ),
]


class Register:
    """Looks differences up in the list, and counts how often each entry was needed."""

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
