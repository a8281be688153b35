"""The example for Inmanta: the guide shows the code that is tested here."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Iterator

import pytest
from server import Server, Wire

from allod import Client, Retry, Transaction, Unreachable

PACKAGE = Path(__file__).resolve().parents[1]
EXAMPLE = PACKAGE / "examples/inmanta_allocation.py"


@pytest.fixture
def example(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    yield from load(server.url, monkeypatch)


def load(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("ALLOD_SERVER", url)
    spec = importlib.util.spec_from_file_location("example", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    module.inventory.close()


@pytest.fixture
def vnis(server: Server) -> Iterator[str]:
    with Client(server.url) as client:
        client.put_pool("vnis", "id32", ["50000-70000"])
        yield "vnis"


def test_guide_shows_the_example(repository: Path) -> None:
    guide = (repository / "docs/guides/inmanta.md").read_text(encoding="utf-8")
    shown = guide.split("```python\n")[1].split("```")[0]
    assert shown == EXAMPLE.read_text(encoding="utf-8")
    code = [line for line in shown.splitlines() if line.strip() and '"""' not in line]
    assert len(code) <= 20, "about twenty lines"


def compile_and_crash(url: str, faulty: bool) -> int:
    """A compiler that crashes after the allocation and before it stores the value."""
    program = f"""
import os, sys
sys.path[:0] = [{str(PACKAGE)!r}, {str(EXAMPLE.parent)!r}]
from allod import Client, Retry
import inmanta_allocation as example
if {faulty!r}:
    example.inventory = Client(retry=Retry(total=0.0))
example.allocate("vnis", "instance-1", "vni")
os._exit(9)
"""
    env = {**os.environ, "ALLOD_SERVER": url}
    ran = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, timeout=60)
    return ran.returncode


def test_crash_after_allocation_leaks_nothing(
    example: Any, vnis: str, server: Server, wire: Wire
) -> None:
    assert compile_and_crash(server.url, faulty=False) == 9
    held = list(example.inventory.claims(owner_prefix="instance-1"))
    assert [claim.key for claim in held] == ["instance-1/vni"]
    assert example.allocate(vnis, "instance-1", "vni") == held[0].value
    example.deallocate(vnis, "instance-1", "vni")
    # The same, but the response was lost and there was no retry.
    wire.faults = ["lose"]
    assert compile_and_crash(wire.url, faulty=True) == 1
    held = list(example.inventory.claims(owner_prefix="instance-1"))
    assert len(held) == 1
    assert example.allocate(vnis, "instance-1", "vni") == held[0].value
    assert len(list(example.inventory.claims(owner_prefix="instance-1"))) == 1


def test_instances_get_different_values_and_retries_the_same(example: Any, vnis: str) -> None:
    instances = [f"many-{number % 50}" for number in range(200)]
    with ThreadPoolExecutor(16) as threads:
        values = list(threads.map(lambda instance: example.allocate(vnis, instance, "vni"), instances))
    assert len(set(values)) == 50
    assert values[:50] == values[50:100]


def test_release_is_retried_until_it_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(tmp_path / "data", "--log", "error")
    for example in load(server.url, monkeypatch):
        example.inventory.put_pool("vnis", "id32", ["50000-70000"])
        example.allocate("vnis", "i", "vni")
        server.kill()
        released = threading.Thread(target=example.deallocate, args=("vnis", "i", "vni"))
        released.start()
        time.sleep(0.3)
        assert released.is_alive(), "it should wait for the server"
        server.start()
        released.join(30)
        assert not released.is_alive()
        assert not example.is_allocated("vnis", "i", "vni")
        example.deallocate("vnis", "i", "vni")
    server.stop()


def test_unreachable_server_is_not_reported_as_free(example: Any) -> None:
    example.inventory.close()
    example.inventory = Client("http://127.0.0.1:9", retry=Retry(total=0.2))
    with pytest.raises(Unreachable):
        example.is_allocated("vnis", "i", "vni")


def test_claims_of_removed_instances_are_found(example: Any, vnis: str) -> None:
    example.allocate(vnis, "gone-1", "vni")
    example.allocate(vnis, "here-1", "vni")
    owners = {claim.owner for claim in example.inventory.claims()} - {"gone-1"}
    assert example.left_behind(owners) == [(vnis, "gone-1/vni")]


def test_attributes_in_one_transaction_are_atomic_and_idempotent(example: Any, vnis: str) -> None:
    both = Transaction().claim(vnis, "two/north", owner="two").claim(vnis, "two/south", owner="two")
    first = example.inventory.transact(both)
    again = example.inventory.transact(both)
    values = [[result.claim.value for result in done.results] for done in (first, again)]
    assert values[0] == values[1] and len(set(values[0])) == 2
