"""Which answers count as equal."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional

from differential import limited
from differential.compare import canonical, compare
from differential.explain import explain
from differential.target import Reply

JSON = {"content-type": "application/json"}


def reply(body: Any, status: int = 200, headers: Optional[Dict[str, str]] = None) -> Reply:
    return Reply(status, {**JSON, **(headers or {})}, json.dumps(body).encode())


def refusal(detail: str, code: str = "placement.undefined_code", status: int = 400) -> Reply:
    return reply({"errors": [{"status": status, "detail": detail, "code": code, "request_id": detail}]}, status)


def aspects(left: Reply, right: Reply) -> List[str]:
    return [difference.aspect for difference in compare(left, right)]


def test_lists_are_compared_as_multisets() -> None:
    assert aspects(reply({"traits": ["a", "b"]}), reply({"traits": ["b", "a"]})) == []
    assert aspects(reply({"traits": ["a", "a"]}), reply({"traits": ["a"]})) == ["body"]
    nested = [{"x": [1, 2]}, {"x": [3]}]
    assert aspects(reply(nested), reply([{"x": [3]}, {"x": [2, 1]}])) == []


def test_numbers_are_compared_by_value() -> None:
    assert aspects(reply({"allocation_ratio": 1.0}), reply({"allocation_ratio": 1})) == []
    assert aspects(reply({"allocation_ratio": 1.5}), reply({"allocation_ratio": 1})) == ["body"]
    assert aspects(reply({"total": True}), reply({"total": 1})) == ["body"]


def test_a_different_status_is_the_only_difference_reported() -> None:
    assert aspects(reply({}), refusal("no")) == ["status"]
    assert compare(reply({}), refusal("no  way"))[0].right == "400 no way"


def test_headers_that_clients_use_are_compared() -> None:
    with_vary = {"vary": "openstack-api-version"}
    assert aspects(reply({}, headers=with_vary), reply({})) == ["header vary"]
    assert aspects(reply({}, headers={"allow": "GET, PUT"}), reply({}, headers={"allow": "PUT,GET"})) == []
    early, late = {"last-modified": "Sun, 06 Nov 1994"}, {"last-modified": "Mon, 07 Nov 1994"}
    assert aspects(reply({}, headers=early), reply({}, headers=late)) == []
    assert aspects(reply({}, headers=early), reply({})) == ["header last-modified"]
    assert aspects(reply({}, headers={"server": "gunicorn"}), reply({})) == []


def test_refusals_are_compared_by_code_and_message() -> None:
    assert aspects(refusal("no such\n\n trait  A, B "), refusal("no such trait B, A")) == []
    assert aspects(refusal("no such trait A"), refusal("no such trait B")) == ["detail"]
    assert aspects(refusal("no", "placement.concurrent_update"), refusal("no")) == ["code"]


def test_the_schema_dump_is_not_compared() -> None:
    said = "JSON does not validate: 0 is less than the minimum of 1 Failed validating 'minimum' in schema['properties']['total']"
    assert aspects(refusal(f"{said}: {{'type': 'integer'}} On instance['total']: 0"), refusal(f"{said}: {{}}")) == []
    other = said.replace("['total']", "['reserved']")
    assert aspects(refusal(f"{said}: {{}}"), refusal(f"{other}: {{}}")) == ["detail"]


def candidates(*providers: str, root: str = "r") -> Reply:
    asked = [{"allocations": {uuid: {"resources": {"VCPU": 1}}}} for uuid in providers]
    summaries = {uuid: {"resources": {}, "root_provider_uuid": root} for uuid in [*providers, root]}
    return reply({"allocation_requests": asked, "provider_summaries": summaries if providers else {}})


def limited_aspects(whole: Reply, right: Reply, limit: int, left: Optional[Reply] = None) -> List[str]:
    """Without ``left``, the reference returns as many candidates as possible."""
    if left is None:
        left = reply({"allocation_requests": json.loads(whole.body)["allocation_requests"][:limit]})
    return [difference.aspect for difference in limited.compare(whole, left, right, limit)]


def test_any_subset_of_candidates_satisfies_a_limit() -> None:
    whole = candidates("a", "b", "c")
    kept = json.loads(whole.body)
    kept["allocation_requests"] = kept["allocation_requests"][1:]
    assert limited_aspects(whole, reply(kept), 2) == []
    assert limited_aspects(whole, whole, 5) == []
    assert limited_aspects(whole, reply(kept), 3) == ["number of candidates"]
    assert limited_aspects(whole, whole, 2) == ["number of candidates"]
    assert limited_aspects(whole, reply(kept), 3, left=candidates("a")) == [], "the reference itself returned fewer"
    assert limited_aspects(whole, candidates("a", "d"), 2) == ["an invalid candidate"]
    assert limited_aspects(whole, candidates("a", "a"), 2) == ["an invalid candidate"]
    assert limited_aspects(whole, candidates("a", "b"), 2) == ["summaries of the candidates"]
    del kept["provider_summaries"]["b"]
    assert limited_aspects(whole, reply(kept), 2) == ["summaries of the candidates"]


def test_before_1_29_summaries_may_include_unused_providers() -> None:
    whole, kept = (json.loads(candidates("a", "b").body) for _ in range(2))
    kept["allocation_requests"].pop()
    for answer in (whole, kept):
        for summary in answer["provider_summaries"].values():
            del summary["root_provider_uuid"]
    assert limited_aspects(reply(whole), reply(kept), 1) == []
    del kept["provider_summaries"]["b"]
    assert limited_aspects(reply(whole), reply(kept), 1) == []
    del kept["provider_summaries"]["a"]
    assert limited_aspects(reply(whole), reply(kept), 1) == ["summaries of the candidates"]


def test_a_difference_between_bodies_is_explained() -> None:
    left = canonical({"a": {"b": 1}, "c": [1, 2, 2], "d": 0, "same": [1]})
    right = canonical({"a": {"b": 2}, "c": [2, 3], "e": None, "same": [1]})
    assert explain(left, right) == [
        *(".a.b: 1 | 2", ".c[]: only real: 1", ".c[]: only real: 2", ".c[]: only this: 3"),
        *(".d: only real: 0", ".e: only this: null"),
    ]
    assert explain("", "text") == [" | text"]
    many = explain(canonical(list(range(40))), canonical([]))
    assert len(many) == 13 and many[-1] == "and 28 more"
