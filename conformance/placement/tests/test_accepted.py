"""The accepted differences: what each is recognised by, and that readers are told of all of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Optional

from differential.accepted import LIST, Exchange, Register
from differential.compare import compare
from differential.request import Request
from differential.target import Reply

DOCUMENT = Path(__file__).resolve().parents[3] / "docs/reference/placement-differences.md"
PUT = Request("PUT", "/allocations/x")


def refusal(status: int, detail: str) -> Reply:
    body = {"errors": [{"status": status, "detail": detail}]}
    return Reply(status, {"content-type": "application/json"}, json.dumps(body).encode())


def name_of(request: Request, left: Reply, right: Reply) -> Optional[str]:
    register = Register()
    exchange = Exchange(request, left, right, compare(left, right)[0])
    return next(iter(register.counts)) if register.accepts(exchange) else None


def test_each_is_recognised() -> None:
    done = Reply(204, {}, b"")
    gone = refusal(409, "consumer generation conflict - expected 0 but got None")
    assert name_of(PUT, gone, done) == "empty-consumer"
    leak = refusal(409, "Update conflict: (sqlite3.IntegrityError) UNIQUE constraint failed")
    assert name_of(PUT, leak, refusal(409, "Update conflict: there is one")) == "sql-in-texts"
    odd = Request("POST", "/allocations", body={"-" * 36: {}})
    assert name_of(odd, done, refusal(400, "no uuid")) == "consumers-are-uuids"
    parsers = refusal(400, "Malformed JSON: line 1"), refusal(400, "Malformed JSON: EOF")
    assert name_of(PUT, *parsers) == "words-of-the-json-parser"
    assert name_of(PUT, refusal(500, "TypeError"), refusal(400, "no")) == "internal-errors"


def test_nothing_else_is() -> None:
    done = Reply(204, {}, b"")
    assert name_of(PUT, refusal(409, "expected 1 but got None"), done) is None
    assert name_of(PUT, refusal(409, "sqlite3.IntegrityError"), done) is None
    sound = Request("POST", "/allocations", body={"00000001-cccc-4000-8000-000000000000": {}})
    assert name_of(sound, done, refusal(400, "no uuid")) is None
    assert name_of(PUT, refusal(400, "no"), refusal(500, "panic")) is None


def test_one_that_never_matches_is_told() -> None:
    register = Register()
    exchange = Exchange(PUT, refusal(500, "x"), refusal(400, "y"), compare(refusal(500, "x"), refusal(400, "y"))[0])
    assert register.accepts(exchange)
    assert register.idle() == [entry.name for entry in LIST if entry.name != "internal-errors"]


def test_readers_are_told_of_all_of_them() -> None:
    told = re.findall(r"^\| `([a-z-]+)` \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert told == [entry.name for entry in LIST]
    assert all(entry.reason for entry in LIST)
