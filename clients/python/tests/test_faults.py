"""Calls over broken connections, and to a server that is killed: executed once, or reported as unknown."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any, List

import pytest
from server import Server, Wire

from allod import AsyncClient, Client, NotHeld, Retry, Transaction, Unreachable

FAULTS = ["lose", "tear", "refuse", "drip"]


@pytest.mark.parametrize("fault", FAULTS)
def test_broken_connection_is_retried(fault: str, kind: Any, wire: Wire, pool: str) -> None:
    client = kind(wire.url, retry=Retry(total=20.0, first=0.001))
    wire.faults = [fault]
    claim = client.claim(pool, "k", owner="o")
    assert claim.value == 1
    # If the response was lost, the claim already exists at the second attempt.
    assert claim.new is (fault in ("refuse", "drip"))
    client.close()
    wire.faults = [fault]
    client.release(pool, "k", version=claim.version)
    client.close()
    with pytest.raises(NotHeld):
        client.get(pool, "k")
    client.close()


def test_transaction_with_lost_response_runs_once(
    kind: Any, wire: Wire, pool: str
) -> None:
    client = kind(wire.url, retry=Retry(total=20.0, first=0.001))
    client.claim(pool, "old")
    client.close()
    wire.faults = ["lose", "tear", "lose"]
    # Without its idempotency key the second attempt would be refused: the claim is already released.
    move = Transaction().release(pool, "old", expect="present").claim(pool, "new", expect="absent")
    done = client.transact(move)
    assert wire.faults == [] and len(done.results) == 2
    assert client.get(pool, "new").value == 1
    client.close()


def test_missing_response_raises_unreachable_after_the_retry_time(
    kind: Any, wire: Wire, pool: str
) -> None:
    client = kind(wire.url, timeout=0.3, retry=Retry(total=0.5, first=0.001))
    wire.faults = ["hang"] * 9
    began = time.monotonic()
    with pytest.raises(Unreachable) as raised:
        client.claim(pool, "k")
    assert raised.value.maybe_done and time.monotonic() - began < 5
    client.close()


def test_connection_is_reused(kind: Any, wire: Wire) -> None:
    client = kind(wire.url)
    for _ in range(5):
        client.limits()
    assert wire.connections == 1
    client.close()


def test_claims_survive_server_kills(kind: Any, tmp_path: Path) -> None:
    server = Server(tmp_path / "data", "--log", "error")
    client = kind(server.url, retry=Retry(total=30.0))
    client.put_pool("p", "id32", ["1-100000"])
    got: List[Any] = []
    stop = threading.Event()

    def claim() -> None:
        number = 0
        while not stop.is_set():
            got.append(client.claim("p", f"k{number}"))
            number += 1

    worker = threading.Thread(target=claim)
    worker.start()
    try:
        for _ in range(3):
            before = len(got)
            while len(got) < before + 20:
                time.sleep(0.001)
                assert worker.is_alive()
            server.kill()
            time.sleep(0.05)
            server.start()
    finally:
        stop.set()
        worker.join(60)
    values = [claim.value for claim in got]
    assert len(set(values)) == len(values) >= 60
    # Exactly the acknowledged claims exist.
    held = {claim.key: claim.value for claim in client.claims("p", page_size=1000)}
    assert held == {claim.key: claim.value for claim in got}
    client.close()
    server.stop()


def test_concurrent_calls_survive_a_restart(tmp_path: Path) -> None:
    server = Server(tmp_path / "data", "--log", "error")

    async def run() -> List[Any]:
        async with AsyncClient(server.url, connections=8) as client:
            await client.put_pool("p", "id32", ["1-1000"])
            claims = [asyncio.ensure_future(client.claim("p", f"k{n}")) for n in range(300)]
            await claims[0]
            await asyncio.get_running_loop().run_in_executor(None, restart)
            return [claim.value for claim in await asyncio.gather(*claims)]

    def restart() -> None:
        server.kill()
        server.start()

    assert sorted(asyncio.run(run())) == list(range(1, 301))
    server.stop()


def test_response_of_a_cancelled_call_is_not_read_by_the_next(wire: Wire) -> None:
    async def run() -> None:
        async with AsyncClient(wire.url) as client:
            limits = await client.limits()
            await client.close()
            wire.faults = ["hang"]
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.pool("unknown"), 0.2)
            assert await client.limits() == limits

    asyncio.run(run())


def test_async_client_in_several_event_loops(server: Server) -> None:
    client = AsyncClient(server.url)

    async def run() -> None:
        async with client:
            await client.limits()

    asyncio.run(run())
    asyncio.run(run())


def test_connection_closed_by_the_server_is_replaced(tmp_path: Path) -> None:
    server = Server(tmp_path / "data", "--log", "error")
    with Client(server.url, retry=Retry(total=0.0)) as client:
        client.limits()
        server.kill()
        server.start()
        # Works without retries: the client notices the closed connection before it sends.
        client.limits()
    server.stop()
