"""The accepted differences: each is recognised, nothing else is, and all are documented."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Dict, Optional

from differential.accepted import LIST, Register
from differential.compare import compare
from differential.exchange import Exchange
from differential.request import Request
from differential.target import Reply

DOCUMENT = Path(__file__).resolve().parents[3] / "docs/reference/placement-differences.md"
PUT = Request("PUT", "/allocations/x")


def refusal(status: int, detail: str) -> Reply:
    body = {"errors": [{"status": status, "detail": detail}]}
    return Reply(status, {"content-type": "application/json"}, json.dumps(body).encode())


def name_of(request: Request, left: Reply, right: Reply, *, keep_rows: bool = False) -> Optional[str]:
    register = Register()
    exchange = Exchange(request, left, right, compare(left, right)[0], keep_rows)
    return next(iter(register.counts)) if register.accepts(exchange) else None


def test_each_accepted_difference_is_recognised() -> None:
    done = Reply(204, {}, b"")
    gone = refusal(409, "consumer generation conflict - expected 0 but got None")
    assert name_of(PUT, gone, done) == "empty-consumer"
    typed, untyped = answer({"consumer_type": "INSTANCE"}), answer({"consumer_type": "unknown"})
    assert name_of(PUT, typed, untyped, keep_rows=True) == "empty-consumer"
    leak = refusal(409, "Update conflict: (sqlite3.IntegrityError) UNIQUE constraint failed")
    assert name_of(PUT, leak, refusal(409, "Update conflict: there is one")) == "sql-in-texts"
    odd = Request("POST", "/allocations", body={"-" * 36: {}})
    assert name_of(odd, done, refusal(400, "no uuid")) == "consumers-are-uuids"
    parsers = refusal(400, "Malformed JSON: line 1"), refusal(400, "Malformed JSON: EOF")
    assert name_of(PUT, *parsers) == "words-of-a-parser"
    assert name_of(PUT, refusal(500, "TypeError"), refusal(400, "no")) == "internal-errors"
    loud = Request("GET", "/resource_providers/00000001-AAAA-4000-8000-000000000000")
    assert name_of(loud, refusal(404, "no such provider"), done) == "spelling-of-uuids"
    bare = Request("PUT", "/resource_providers/x/aggregates", body=["0" * 32])
    assert name_of(bare, answer({"aggregates": ["0" * 32]}), answer({"aggregates": ["0-0"]})) == "spelling-of-uuids"
    empty = answer({"allocation_requests": [], "provider_summaries": {}})
    assert name_of(PUT, empty, refusal(400, "No such trait(s): CUSTOM_X.")) == "names-before-answers"
    dated = Reply(200, {"last-modified": "Sun, 06 Nov 1994"}, b"")
    assert name_of(PUT, Reply(200, {}, b""), dated) == "always-dated"
    two = Request("PUT", "/allocations/x", body={"allocations": {"p": {"resources": {"VCPU": 1, "DISK_GB": 2}}}})
    reasons = [refusal(409, f"Unable to allocate inventory: {why}") for why in ("too much", "too little")]
    assert name_of(two, *reasons) == "one-of-several-reasons"
    stale = [refusal(409, f"consumer generation conflict - expected {n} but got 9") for n in (1, 2)]
    assert name_of(Request("POST", "/allocations", body={"c": {}, "d": {}}), *stale) == "one-of-several-reasons"
    reshape = Request("POST", "/reshaper", body={"inventories": {"p": {}, "q": {}}, "allocations": {}})
    gone, changed = refusal(400, "p in inventories not found"), refusal(409, "resource provider generation conflict")
    assert name_of(reshape, gone, changed) == "one-of-several-reasons"
    stock = Request("PUT", "/resource_providers/x/inventories", body={"inventories": {"VCPU": {}, "DISK_GB": {}}})
    bad = [refusal(400, f"Invalid inventory for '{name}'") for name in ("VCPU", "DISK_GB")]
    assert name_of(stock, *bad) == "one-of-several-reasons"
    traits = refusal(400, "No such trait(s): a."), refusal(400, "No such trait(s): a, b.")
    assert name_of(PUT, *traits) == "one-of-several-reasons"
    scope = refusal(403, "denied placement:traits:show"), refusal(403, "Policy does not allow placement:traits:show")
    assert name_of(PUT, *scope) == "words-of-a-wrong-scope"


def answer(body: object) -> Reply:
    return Reply(200, {"content-type": "application/json"}, json.dumps(body).encode())


def candidates(*amounts: Dict[str, int]) -> Reply:
    """One candidate for each mapping from providers to amounts of VCPU."""
    asked = [
        {
            "allocations": {uuid: {"resources": {"VCPU": amount}} for uuid, amount in held.items()},
            "mappings": {"": [min(held)], "1": [max(held)]},
        }
        for held in amounts
    ]
    return answer({"allocation_requests": asked, "provider_summaries": {}})


def test_wrong_sums_are_accepted_only_from_upstream() -> None:
    query = (("resources", "VCPU:1"), ("resources1", "VCPU:1"))
    two_groups = Request("GET", "/allocation_candidates", "1.39", query)
    sound = candidates({"p": 1, "q": 1}, {"p": 2})
    leaked = candidates({"p": 2, "q": 1}, {"p": 2})
    lost = candidates({"p": 1, "q": 1})
    assert name_of(two_groups, leaked, sound) == "amounts-that-add-up"
    assert name_of(two_groups, lost, sound) == "amounts-that-add-up"
    assert name_of(two_groups, sound, leaked) is None, "our sums must be right"
    assert name_of(two_groups, sound, lost) is None, "ours must have all candidates"
    assert name_of(two_groups, candidates({"q": 2}), sound) is None, "upstream has a candidate that ours lacks"
    with_copies = Request("GET", "/allocation_candidates", "1.39", (*query, ("group_policy", "none")))
    assert name_of(with_copies, leaked, sound) is None
    one_group = Request("GET", "/allocation_candidates", "1.39", (("resources", "VCPU:2"),))
    assert name_of(one_group, leaked, sound) is None


def test_other_differences_are_not_accepted() -> None:
    done = Reply(204, {}, b"")
    assert name_of(PUT, refusal(409, "expected 1 but got None"), done) is None
    assert name_of(PUT, refusal(409, "sqlite3.IntegrityError"), done) is None
    sound = Request("POST", "/allocations", body={"00000001-cccc-4000-8000-000000000000": {}})
    assert name_of(sound, done, refusal(400, "no uuid")) is None
    assert name_of(PUT, refusal(400, "no"), refusal(500, "panic")) is None
    usual = Request("GET", "/resource_providers/00000001-aaaa-4000-8000-000000000000")
    assert name_of(usual, refusal(404, "no such provider"), done) is None
    one = Request("PUT", "/allocations/x", body={"allocations": {"p": {"resources": {"VCPU": 1}}}})
    reasons = [refusal(409, f"Unable to allocate inventory: {why}") for why in ("too much", "too little")]
    assert name_of(one, *reasons) is None, "there is only one reason"
    dated = Reply(200, {"last-modified": "Sun, 06 Nov 1994"}, b"")
    assert name_of(PUT, dated, Reply(200, {}, b"")) is None
    typed, untyped = answer({"consumer_type": "INSTANCE"}), answer({"consumer_type": "unknown"})
    assert name_of(PUT, typed, untyped) is None, "no hidden rows are kept"
    assert name_of(PUT, answer({"a": 1}), answer({"a": 2}), keep_rows=True) is None
    traits = refusal(400, "No such trait(s): a, b."), refusal(400, "No such trait(s): a.")
    assert name_of(PUT, *traits) is None, "ours must name all of them"
    full = candidates({"p": 1})
    assert name_of(PUT, full, refusal(400, "No such trait(s): CUSTOM_X.")) is None


def test_unused_entries_are_reported() -> None:
    register = Register()
    exchange = Exchange(PUT, refusal(500, "x"), refusal(400, "y"), compare(refusal(500, "x"), refusal(400, "y"))[0])
    assert register.accepts(exchange)
    assert register.idle() == [entry.name for entry in LIST if entry.name != "internal-errors"]


def test_all_entries_are_documented() -> None:
    documented = re.findall(r"^\| `([a-z-]+)` \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert documented == [entry.name for entry in LIST]
    assert all(entry.reason for entry in LIST)


def test_lost_trees_are_accepted_only_from_upstream() -> None:
    def found(*held: str) -> Reply:
        asked = [
            {
                "allocations": {"s": {"resources": {"DISK_GB": 1}}, uuid: {"resources": {"VCPU": 1}}},
                "mappings": {"": ["s"], "1": [uuid]},
            }
            for uuid in held
        ]
        traits = {"s": ["MISC_SHARES_VIA_AGGREGATE"], "p": [], "q": []}
        summaries = {uuid: {"resources": {}, "traits": traits[uuid]} for uuid in ["s", *held]}
        return answer({"allocation_requests": asked, "provider_summaries": summaries})

    both = Request("GET", "/allocation_candidates", "1.39", (("resources", "DISK_GB:1"), ("resources1", "VCPU:1")))
    assert name_of(both, found("p"), found("p", "q")) == "lost-anchors"
    assert name_of(both, found("p", "q"), found("p")) is None, "ours must have all candidates"
    other_way = Request("GET", "/allocation_candidates", "1.39", (("resources", "VCPU:1"), ("resources1", "DISK_GB:1")))
    swapped = [Reply(200, one.headers, one.body.replace(b'{"": ["s"], "1"', b'{"1": ["s"], ""')) for one in (found("p"), found("p", "q"))]
    assert name_of(other_way, *swapped) is None, "no sharing provider serves the unsuffixed group"
