"""Many concurrent clients on the same keys. Afterwards every ID is in one place, and the tree matches the clients."""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from typing import Dict, List, Set

import pytest
from controller.account import Account
from controller.dialect import Dialect, Draft02, Refused, Rfc8040
from controller.server import Server
from controller.session import Session

THREADS = 64
STEPS = 40
KEYS = 48
LOW, HIGH = 100, 1099

#: Expected errors when other clients use the same keys.
EXPECTED = ("Ids exhausted for pool", "does not exist in id pool", "doesn't exist in the pool")


class Client(threading.Thread):
    def __init__(self, server: Server, number: int, pool: str, enhanced: bool) -> None:
        super().__init__()
        self._dice = random.Random(number)
        self._ids: Dialect = (Draft02 if number % 2 else Rfc8040)(Session(server.port))
        self._pool, self._enhanced = pool, enhanced
        self.failed: List[str] = []
        #: All IDs that were returned for each key.
        self.seen: Dict[str, Set[int]] = defaultdict(set)

    def run(self) -> None:
        for _ in range(STEPS):
            try:
                self._step()
            except Refused as refused:
                if not any(words in str(refused) for words in EXPECTED):
                    self.failed.append(str(refused))
            except Exception as error:  # noqa: BLE001, the test reports any error
                self.failed.append(repr(error))
                return

    def _step(self) -> None:
        key, dice = f"key-{self._dice.randrange(KEYS)}", self._dice.random()
        if dice < 0.45:
            more = {}
            if self._enhanced and dice < 0.2:
                more = {"id_value": self._dice.randrange(LOW, HIGH + 1), "expiration_time_sec": 1}
            self.seen[key].add(self._ids.allocate(self._pool, key, **more))
        elif dice < 0.7:
            got = self._ids.allocate_range(self._pool, key, self._dice.randrange(2, 9))
            assert got == sorted(set(got)), "a range with an id in it twice"
            self.seen[key].update(got)
        else:
            self._ids.release(self._pool, key)


@pytest.mark.parametrize("enhanced", [False, True], ids=["plain", "enhanced"])
def test_64_threads_on_shared_keys(server: Server, enhanced: bool) -> None:
    ids = Draft02(Session(server.port))
    ids.create("shared", LOW, HIGH, enhanced_id_allocation=enhanced)
    clients = [Client(server, number, "shared", enhanced) for number in range(THREADS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert [said for client in clients for said in client.failed] == []
    account = Account(ids.read(), "shared")
    account.check(LOW, HIGH)
    seen: Dict[str, Set[int]] = defaultdict(set)
    for client in clients:
        for key, values in client.seen.items():
            seen[key] |= values
    for key, held in account.held.items():
        assert set(held) <= seen[key], f"{key} holds an ID that no client received"
    if enhanced:
        drain(ids)


def drain(ids: Dialect) -> None:
    """Allocates all remaining IDs, one per key."""
    with pytest.raises(Refused, match="Ids exhausted for pool : shared"):
        for number in range(HIGH - LOW + 2):
            ids.allocate("shared", f"last-{number}")
    held = [one for values in Account(ids.read(), "shared").held.values() for one in values]
    assert sorted(held) == list(range(LOW, HIGH + 1))


def test_as_many_clients_as_ids(server: Server) -> None:
    """Each of 1,000 keys gets a different ID, and the next key gets none."""
    Draft02(Session(server.port)).create("p", 0, 999)
    got: List[List[int]] = [[] for _ in range(THREADS)]

    def allocate(number: int) -> None:
        ids = Rfc8040(Session(server.port))
        for key in range(number, 1000, THREADS):
            got[number].append(ids.allocate("p", f"key-{key}"))

    threads = [threading.Thread(target=allocate, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one for part in got for one in part) == list(range(1000))
    with pytest.raises(Refused, match="Ids exhausted for pool : p"):
        Draft02(Session(server.port)).allocate("p", "one more")
