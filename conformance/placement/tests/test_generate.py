"""The generator is deterministic and covers everything."""

from __future__ import annotations

import json
from collections import Counter

from differential import generate, request, script
from differential.target import headers_of
from differential.vocabulary import NEWEST

MANY = [step for seed in range(20) for step in generate.episode(f"test/{seed}")]


def test_the_same_seed_makes_the_same_requests() -> None:
    assert generate.episode("7/0") == generate.episode("7/0")
    assert generate.episode("7/0") != generate.episode("7/1")
    assert list(generate.episodes(7, 500)) == list(generate.episodes(7, 500))


def test_the_requested_number_of_steps_is_generated() -> None:
    lengths = [len(episode) for episode in generate.episodes(1, 500)]
    assert sum(lengths) >= 500 > sum(lengths[:-1])


def test_every_route_and_every_version_is_used() -> None:
    routes = {step.route for step in MANY}
    assert routes >= {route for _, route in request.ROUTES} - {"/"}
    versions = Counter(step.version for step in MANY)
    assert all(versions[f"1.{minor}"] for minor in range(NEWEST + 1))


def test_every_parameter_of_candidates_is_used() -> None:
    queries = [step.query for step in MANY if step.route == "/allocation_candidates"]
    names = {name for query in queries for name, _ in query}
    assert names >= {
        *("resources", "required", "member_of", "in_tree", "limit", "group_policy", "root_required", "same_subtree"),
        *("resources1", "required1", "member_of1", "in_tree1", "resources_NET", "required_NET"),
    }


def test_every_request_can_be_written_and_read_back() -> None:
    resolved = [step.resolved(lambda _kind, _uuid: 3) for step in MANY]
    read = script.read(script.write(resolved))
    assert len(read) == len(resolved)
    for before, after in zip(resolved, read):
        same = (before.method, before.path, before.query, before.sent_body())
        assert same == (after.method, after.path, after.query, after.sent_body())
        assert headers_of(before) == headers_of(after)


def test_placeholders_for_generations_are_filled_in() -> None:
    body = {"a": [request.generation_of("u")], "b": {"c": request.consumer_generation_of("w")}}
    step = request.Request("PUT", "/x", body=body)
    assert step.places() == [(request.PROVIDER, "u"), (request.CONSUMER, "w")]
    filled = step.resolved(lambda kind, _uuid: 4 if kind == request.PROVIDER else None)
    assert filled.body == {"a": [4], "b": {"c": None}}
    assert json.loads(filled.sent_body() or "") == filled.body
