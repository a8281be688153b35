"""The contract of adapters, on every real inventory."""

from __future__ import annotations

import importlib
import socket
from pathlib import Path
from typing import Any, Dict, List

import pytest
from adapter_client import AdapterClient, Answer, at_once, refs
from inventory import Inventory
from proxy import LossyProxy

from allod.authority import AuthorityServer, Wanted

PARALLEL = 8


def test_abilities(served: AdapterClient, inventory: Inventory) -> None:
    answer = served.call("GET", "/")
    parallel = answer.body.pop("parallel")
    assert answer.body == {"find": "ref", "list": True, "lookup": inventory.has_lookups, "idempotent": True}
    assert parallel >= 1


def test_repeated_grant_is_the_same_grant(served: AdapterClient, inventory: Inventory) -> None:
    (ref,) = refs(1)
    assert served.get(ref).status == 404
    first = served.put(ref, inventory.pool)
    assert inventory.is_in_pool(first.value)
    assert [served.put(ref, inventory.pool) for _ in range(2)] == [first, first]
    with AuthorityServer(inventory.adapter()) as restarted:
        other = AdapterClient(restarted.url, inventory.want)
        assert [other.get(ref), other.put(ref, inventory.pool)] == [first, first]
        assert other.list() == {ref: first.value}
    assert first.body["handle"] is not None and first.body["version"] is not None
    assert inventory.count() == 1


def test_equal_requests_at_the_same_time_are_one_grant(served: AdapterClient, inventory: Inventory) -> None:
    (ref,) = refs(1)
    answers = at_once(lambda _: served.put(ref, inventory.pool), range(PARALLEL))
    assert {str(answer.value) for answer in answers} == {str(served.get(ref).value)}
    assert inventory.count() == 1


def test_parallel_grants_are_distinct(served: AdapterClient, inventory: Inventory) -> None:
    keys = refs(PARALLEL * 3)
    answers: List[Answer] = []
    for start in range(0, len(keys), PARALLEL):
        answers += at_once(lambda ref: served.put(ref, inventory.pool), keys[start : start + PARALLEL])
    granted = {ref: answer.value for ref, answer in zip(keys, answers)}
    assert len(set(granted.values())) == len(keys)
    assert all(inventory.is_in_pool(value) for value in granted.values())
    assert served.list() == granted
    assert inventory.count() == len(keys)


def test_wanted_value_is_granted_once(served: AdapterClient, inventory: Inventory, wanted: Wanted) -> None:
    first, second, third = refs(3)
    want = {"value": wanted}
    assert served.put(first, inventory.pool, want).value == wanted
    assert served.put(first, inventory.pool, want).value == wanted
    assert served.put(second, inventory.pool, want).code == (409, "taken")
    assert served.get(second).status == 404
    assert served.delete(first) == 204
    inventory.occupy(wanted)
    assert served.put(third, inventory.pool, want).code == (409, "taken")
    assert served.list() == {}
    inventory.vacate(wanted)
    assert served.put(second, inventory.pool, want).value == wanted


def test_one_of_several_gets_a_wanted_value(served: AdapterClient, inventory: Inventory, wanted: Wanted) -> None:
    answers = at_once(lambda ref: served.put(ref, inventory.pool, {"value": wanted}), refs(PARALLEL))
    assert sorted(answer.code for answer in answers) == [(200, None), *[(409, "taken")] * (PARALLEL - 1)]


def test_requests_that_cannot_be_served_differ(served: AdapterClient, inventory: Inventory) -> None:
    wants: List[Dict[str, Any]] = [{"value": inventory.outside}, {"value": "malformed"}, {"value": 4294967296}]
    if "length" not in inventory.want:
        wants.append({"length": 24})
    keys = refs(len(wants) + 1)
    answers = [served.put(ref, inventory.pool, want) for ref, want in zip(keys, wants)]
    answers.append(served.put(keys[-1], "unknown"))
    assert [answer.code for answer in answers] == [(409, "differs")] * len(keys)
    assert [served.get(ref).status for ref in keys] == [404] * len(keys)


def test_exhausted_pool_grants_released_values_again(served: AdapterClient, inventory: Inventory) -> None:
    keys = refs(PARALLEL)
    answers = at_once(lambda ref: served.put(ref, inventory.small), keys)
    held = {ref: answer.value for ref, answer in zip(keys, answers) if answer.status == 200}
    refused = [ref for ref in keys if ref not in held]
    assert len(set(held.values())) == 4
    assert {answer.code for answer in answers if answer.status != 200} == {(409, "exhausted")}
    released = next(iter(held))
    assert served.delete(released) == 204
    assert served.put(refused[0], inventory.small).value == held[released]
    assert served.put(refused[1], inventory.small).code == (409, "exhausted")


def test_released_twice_is_gone_and_the_value_is_free(served: AdapterClient, inventory: Inventory) -> None:
    old, new, unknown = refs(3)
    value = served.put(old, inventory.pool).value
    assert [served.delete(old), served.delete(old), served.delete(unknown)] == [204, 204, 204]
    assert served.get(old).status == 404
    assert inventory.count() == 0
    again = served.put(new, inventory.pool, {"value": value} if inventory.grants_wanted else None)
    assert again.status == 200
    # A release that arrives late does not touch the value, which has a new reference now.
    assert served.delete(old) == 204
    assert served.get(new) == again


def test_cut_connections_leave_grants_that_are_found(served: AdapterClient, inventory: Inventory) -> None:
    keys = refs(16)
    cut = set(keys[::2])
    with AuthorityServer(inventory.adapter()) as server:
        other = AdapterClient(server.url, inventory.want)

        def put(ref: str) -> None:
            if ref in cut:
                other.put_and_leave(ref, inventory.pool)
            else:
                assert other.put(ref, inventory.pool).status == 200

        for start in range(0, len(keys), PARALLEL):
            at_once(put, keys[start : start + PARALLEL])
    # The server has finished all calls. Requests that it refused because it was busy left nothing.
    found = {ref: served.get(ref) for ref in keys}
    assert {answer.status for answer in found.values()} <= {200, 404}
    assert any(found[ref].status == 200 for ref in cut)
    again = {ref: served.put(ref, inventory.pool) for ref in keys}
    assert all(again[ref] == answer for ref, answer in found.items() if answer.status == 200)
    assert len({answer.value for answer in again.values()}) == len(keys)
    assert served.list() == {ref: answer.value for ref, answer in again.items()}
    assert inventory.count() == len(keys)


@pytest.mark.parametrize("number", range(6))
def test_lost_answer_of_the_inventory_is_an_unknown_outcome(
    served: AdapterClient, inventory: Inventory, proxy: LossyProxy, number: int
) -> None:
    granted, released = refs(2)
    assert served.put(released, inventory.pool).status == 200
    with AuthorityServer(inventory.adapter(proxy.address)) as server:
        other = AdapterClient(server.url, inventory.want)
        proxy.lose(number)
        put = other.put(granted, inventory.pool).status
        assert put == (500 if proxy.connections > number else 200)
        proxy.lose(number)
        delete = other.delete(released)
        assert delete == (500 if proxy.connections > number else 204)
        proxy.lose(None)
        found, again = other.get(granted), other.put(granted, inventory.pool)
        assert again.status == 200 and found in (again, Answer(404, found.body))
        assert other.delete(released) == 204
        assert other.list() == {granted: again.value}
    assert inventory.count() == 1


def test_unreachable_inventory_gives_no_definite_answer(inventory: Inventory, tmp_path: Path) -> None:
    (ref,) = refs(1)
    if isinstance(inventory.upstream, str):
        nowhere: Any = str(tmp_path / "nothing")
    else:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            nowhere = ("127.0.0.1", listener.getsockname()[1])
    with AuthorityServer(inventory.adapter(nowhere)) as server:
        other = AdapterClient(server.url, inventory.want)
        answers = [other.put(ref, inventory.pool), other.get(ref), other.call("GET", "/grants")]
        assert [answer.status for answer in answers] == [500, 500, 500]
        assert other.delete(ref) == 500


def test_list_in_pages_without_objects_of_others(
    served: AdapterClient, inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module(type(inventory.adapter()).__module__)
    monkeypatch.setattr(module, "PAGE", 2)
    granted = {ref: served.put(ref, inventory.pool).value for ref in refs(5)}
    inventory.occupy(inventory.other)
    pages = served.pages()
    inventory.vacate(inventory.other)
    assert max(len(page) for page in pages) <= 2 and len(pages) >= 3
    assert {grant["ref"]: grant["value"] for page in pages for grant in page} == granted


def test_facts_are_looked_up(served: AdapterClient, inventory: Inventory, fact: Any) -> None:
    answer = served.call("GET", "/lookup/router1.example")
    assert (answer.status, answer.body["value"]) == (200, fact) and answer.body["version"] is not None
    assert served.call("GET", "/lookup/unknown").status == 404
