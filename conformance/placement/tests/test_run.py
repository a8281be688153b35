"""Finding and shrinking differences between two servers."""

from __future__ import annotations

from typing import List, Set

from differential import rows
from differential.request import Request, consumer_generation_of, generation_of
from differential.run import Pair
from differential.shrink import Shrinker
from differential.wrong import Wrong
from toy import Toy


def create(uuid: str) -> Request:
    return Request("POST", "/resource_providers", "1.39", body={"uuid": uuid})


def change(uuid: str, generation: object = None) -> Request:
    body = {"resource_provider_generation": generation_of(uuid) if generation is None else generation}
    return Request("PUT", f"/resource_providers/{uuid}/traits", "1.39", body=body)


def show(uuid: str) -> Request:
    return Request("GET", f"/resource_providers/{uuid}", "1.39")


EPISODE = [
    *(create(uuid) for uuid in "abc"),
    *(change(uuid) for uuid in "abcabc"),
    *(show(uuid) for uuid in "abc"),
    *(change(uuid) for uuid in "abc"),
    *(show(uuid) for uuid in "abc"),
]


def test_equal_servers_have_no_difference() -> None:
    assert Pair(Toy(), Toy()).run(EPISODE, set()) == []


def test_a_difference_is_found_once_and_shrunk() -> None:
    pair = Pair(Toy(), Toy(forgets="b"))
    known: Set[str] = set()
    (found,) = pair.run(EPISODE, known)
    assert found.kind == "GET /resource_providers/{uuid}: status: 200 | 404 no such provider"
    assert found.steps[-1] == show("b")
    assert pair.run(EPISODE, known) == [], "a known difference is not reported again"

    def shows(steps: List[Request]) -> bool:
        return any(one.kind == found.kind for one in pair.run(steps, set()))

    assert Shrinker(shows).shrink(found.symbolic) == [create("b"), *[change("b")] * 3, show("b")]


def test_generated_uuids_are_not_a_difference() -> None:
    """Each server generates its own UUID for a provider without one."""
    steps = [Request("POST", "/resource_providers", "1.39", body={}), show("a")]
    assert Pair(Toy(), Toy()).run(steps, set()) == []
    given = "00000001-aaaa-4000-8000-000000000000"
    steps = [Request("POST", "/resource_providers", "1.39", body={"uuid": given}), show(given)]
    (found,) = Pair(Toy(), Toy(renames=given)).run(steps, set())
    assert given in found.differences[0].left, "a given UUID must not change"


def test_generations_are_read_when_they_are_needed() -> None:
    steps = [create("a"), change("a"), change("a"), change("a", generation=0), show("a")]
    left = Toy()
    assert Pair(left, Toy()).run(steps, set()) == []
    assert left.send(show("a")).json()["generation"] == 2


def test_a_run_ends_when_the_states_differ() -> None:
    """After a write that only one server accepted, everything would differ."""
    right = Toy()
    ahead = Pair(Toy(), right)
    right.reset = lambda keep_rows: None  # type: ignore[method-assign]
    right.send(create("a"))
    right.send(change("a", generation=0))
    found = ahead.run([change("a", generation=1), create("z"), show("a")], set())
    assert [one.steps[-1].method for one in found] == ["PUT"]


def test_hidden_rows_are_kept_only_on_purpose() -> None:
    def written(allocations: object, generation: object) -> Request:
        body = {"allocations": allocations, "consumer_generation": generation}
        return Request("POST", "/allocations", "1.28", body={"c": body})

    assert rows.meant([show("a"), written({}, None)])
    assert not rows.meant([written({}, 1), written({"p": {}}, None), written({}, consumer_generation_of("c"))])
    assert rows.meant([Request("PUT", "/allocations/c", body={"allocations": {}, "consumer_generation": None})])
    assert not rows.meant([show("a"), create("a"), Request("POST", "/allocations", text="{")])


def test_falsified_answers_are_detected() -> None:
    steps = [create("a"), *[change("a")] * 5, show("a")]
    (found,) = Pair(Toy(), Wrong(Toy(), "generation")).run(steps, set())
    assert found.differences[0].aspect == "body" and found.steps[-1].reads


def test_the_shrinker_removes_parts_of_requests() -> None:
    many = Request("GET", "/allocation_candidates", "1.30", (("resources", "VCPU:1"), ("limit", "1"), ("required", "T")))
    body = Request("PUT", "/x", "1.12", body={"a": {"b": [1, 2], "c": 3}, "d": 4})

    def shows(steps: List[Request]) -> bool:
        last = steps[-1]
        return last.parameter("limit") == "1" and any(2 in step.body["a"]["b"] for step in steps if _deep(step))

    small = Shrinker(shows).shrink([body, show("a"), body, many])
    assert small == [
        Request("PUT", "/x", "1.39", body={"a": {"b": [2]}}),
        Request("GET", "/allocation_candidates", "1.39", (("limit", "1"),)),
    ]


def _deep(step: Request) -> bool:
    return isinstance(step.body, dict) and "b" in step.body.get("a", {})


def test_a_step_is_removed_with_the_part_that_needed_it() -> None:
    parent, child = create("p"), Request("POST", "/resource_providers", "1.39", body={"uuid": "c", "parent": "p"})

    def shows(steps: List[Request]) -> bool:
        """Like a server that needs the parent before the child."""
        (made,) = [step for step in steps if "c" in step.body.values()] or [parent]
        return made is not parent and ("parent" not in made.body or parent in steps)

    assert Shrinker(shows).shrink([parent, child]) == [create("c")]


def test_the_shrinker_stops_after_its_maximum_of_tries() -> None:
    asked: List[int] = []

    def shows(steps: List[Request]) -> bool:
        asked.append(len(steps))
        return False

    assert Shrinker(shows, tries=7).shrink(EPISODE) == EPISODE
    assert len(asked) == 7
