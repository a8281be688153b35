"""The six cases of OpenDaylight's own system test of the id-manager, in its order. Each depends on the previous ones.

It sends only ``Content-Type: application/json``, writes leaves with their module, and ends the paths of reads with a slash.
These tests do the same, in the old and in the new dialect.
"""

from __future__ import annotations

import re
from typing import Any, Dict

import pytest
from controller.server import Server
from controller.session import Reply, Session

ALLOWED_STATUS_CODES = (200, 201, 204)
NO_CONTENT_STATUS_CODES = (404, 409)

POOL = "test-pool"


class Suite:
    """The keywords of the suite."""

    def __init__(self, port: int, operations: str, pool: str) -> None:
        self.session = Session(port, ("admin", "admin"))
        self.operations, self.pool = operations, pool

    def post(self, operation: str, **leaves: Any) -> Reply:
        named = {f"id-manager:{name.replace('_', '-')}": value for name, value in leaves.items()}
        body: Dict[str, Any] = {"input": named}
        return self.session.post(f"{self.operations}/id-manager:{operation}", body)

    def holder(self, pool: str, holder: str) -> Reply:
        return self.session.get(self.pool.format(pool) + f"/{holder}/")


@pytest.mark.parametrize(
    ("operations", "pool"),
    [
        ("/restconf/operations", "/restconf/config/id-manager:id-pools/id-pool/{}"),
        ("/rests/operations", "/rests/data/id-manager:id-pools/id-pool={}"),
    ],
    ids=["draft-02", "rfc-8040"],
)
def test_the_six_cases(server: Server, operations: str, pool: str) -> None:
    suite = Suite(server.port, operations, pool)

    # Create an id pool.
    reply = suite.post("createIdPool", pool_name=POOL, low=10, high=20)
    assert reply.status in ALLOWED_STATUS_CODES, reply
    reply = suite.holder(POOL, "available-ids-holder")
    assert reply.status == 200, reply
    for words in ('"start":10', '"end":20'):
        assert words in reply.text.replace(" ", ""), reply
    assert re.search(r'"cursor":"?10"?', reply.text), reply

    # Allocate five ids.
    reply = suite.post("allocateIdRange", pool_name=POOL, id_key="test-key1", size=5)
    assert reply.status == 200, reply
    assert re.findall(r"\d+", reply.text.split("[")[1]) == ["10", "11", "12", "13", "14"]
    assert re.search(r'"cursor":"?14"?', suite.holder(POOL, "available-ids-holder").text)

    # More IDs than available are refused, and so are exactly as many as available.
    reply = suite.post("allocateIdRange", pool_name=POOL, id_key="test-key2", size=6)
    assert reply.status == 500, reply
    assert "Ids exhausted for pool : test-pool" in reply.text
    assert re.search(r'"cursor":"?14"?', suite.holder(POOL, "available-ids-holder").text)

    # Allocate three of the rest.
    reply = suite.post("allocateIdRange", pool_name=POOL, id_key="test-key3", size=3)
    assert re.findall(r"\d+", reply.text.split("[")[1]) == ["15", "16", "17"]
    assert re.search(r'"cursor":"?17"?', suite.holder(POOL, "available-ids-holder").text)

    # Release them, and find them in the child.
    reply = suite.post("releaseId", pool_name=POOL, id_key="test-key3")
    assert reply.status in ALLOWED_STATUS_CODES, reply
    tree = suite.session.get(pool.rsplit("/", 1)[0] if "=" in pool else pool[: pool.rindex("/id-pool")])
    child = re.search(r"test-pool\.[-]?[0-9]+", tree.text)
    assert child is not None, tree
    reply = suite.holder(child.group(), "released-ids-holder")
    assert reply.status == 200, reply
    for number in (15, 16, 17):
        assert re.search(rf'"id":\s*{number}\b', reply.text), reply

    # Delete the pool.
    reply = suite.post("deleteIdPool", pool_name=POOL)
    assert reply.status in ALLOWED_STATUS_CODES, reply
    assert suite.session.get(pool.format(POOL)).status in NO_CONTENT_STATUS_CODES
