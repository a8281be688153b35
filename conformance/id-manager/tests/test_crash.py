"""The server is killed and restarted: acknowledged allocations stay, and no ID is lost or allocated twice."""

from __future__ import annotations

import time
from typing import Type

from controller.account import Account
from controller.dialect import Dialect
from controller.server import Server
from controller.session import Session


def test_allocations_survive_a_kill(server: Server, dialect: Type[Dialect]) -> None:
    ids = dialect(Session(server.port))
    ids.create("p", 0, 100)
    given = {f"k{number}": ids.allocate("p", f"k{number}") for number in range(5)}
    given_range = ids.allocate_range("p", "range", 8)
    released = ids.release("p", "k0")
    before = ids.session.get(ids.data()).text
    server.kill()

    server.start()
    ids = dialect(Session(server.port))
    # This includes the release times.
    assert ids.session.get(ids.data()).text == before
    del given["k0"]
    assert {key: ids.allocate("p", key) for key in given} == given
    assert ids.allocate_range("p", "range", 8) == given_range
    assert ids.allocate("p", "next") == 13
    account = Account(ids.read(), "p")
    account.check(0, 100)
    assert account.released == released


def test_enhanced_pool_survives_a_kill(server: Server, dialect: Type[Dialect]) -> None:
    ids = dialect(Session(server.port))
    ids.create("empty", 1, 20, enhanced_id_allocation=True)
    ids.create("p", 1, 2, enhanced_id_allocation=True)
    ids.allocate("p", "short", expiration_time_sec=1)
    ids.allocate("p", "long", expiration_time_sec=1000)
    before = ids.session.get(ids.data()).text
    server.kill()

    time.sleep(1.1)
    server.start()
    ids = dialect(Session(server.port))
    assert ids.session.get(ids.data()).text == before
    # It expired while the server was down.
    assert ids.allocate("p", "new") == 1
    # The pool is still enhanced, although its tree does not show it.
    assert ids.allocate("empty", "k", id_value=15) == 15
