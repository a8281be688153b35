"""Export, delete and restore of the tree, as operators of OpenDaylight do it."""

from __future__ import annotations

from controller.account import Account
from controller.dialect import Dialect, Refused


def fill(ids: Dialect) -> None:
    ids.create("plain", 0, 100)
    ids.create("enhanced", 1, 50, enhanced_id_allocation=True)
    for key in ("a", "b", "c/d e"):
        ids.allocate("plain", key)
        ids.allocate("enhanced", key, expiration_time_sec=1000)
    ids.allocate_range("plain", "range", 7)
    ids.allocate("enhanced", "fixed", id_value=33)
    ids.release("plain", "b")


def test_restored_tree_equals_the_export(ids: Dialect) -> None:
    fill(ids)
    exported = ids.session.get(ids.data())
    assert exported.status == 200, exported
    assert ids.session.delete(ids.data()).status in (200, 204)
    try:
        ids.read()
        raise AssertionError("the tree is not empty")
    except Refused as refused:
        assert refused.reply.status in (404, 409)
    put = ids.session.put(ids.data(), exported.text)
    assert put.status in (200, 201, 204), put
    assert ids.session.get(ids.data()).text == exported.text
    # Allocation continues where it stopped.
    assert ids.allocate("plain", "a") == 0
    assert ids.allocate("plain", "next") == 10
    assert ids.allocate("enhanced", "x", id_value=33) != 33
    tree = ids.read()
    Account(tree, "plain").check(0, 100)
    Account(tree, "enhanced").check(1, 50)


def test_restore_from_xml(ids: Dialect) -> None:
    fill(ids)
    exported = ids.session.get(ids.data(), Accept="application/xml").text
    as_json = ids.session.get(ids.data()).text
    assert ids.session.delete(ids.data()).status in (200, 204)
    put = ids.session.put(ids.data(), exported, Content_Type="application/xml")
    assert put.status in (200, 201, 204), put
    assert ids.session.get(ids.data(), Accept="application/xml").text == exported
    assert ids.session.get(ids.data()).text == as_json
