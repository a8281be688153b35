"""Adapters over HTTP: the contract, its limits, and the example."""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

import pytest

from allod.authority import (
    Adapter,
    Ask,
    AuthorityServer,
    Fact,
    Grant,
    HttpInventory,
    Known,
    Limits,
    Listed,
    NotNow,
    Page,
    Refused,
)
from allod.authority.__main__ import main

CLIENT = Path(__file__).resolve().parents[1]
ASK = {"pool": "p", "key": "k", "owner": "o", "want": {}}


class Memory(Adapter):
    """Numbers in memory. The key of an ask selects a fault."""

    def __init__(self) -> None:
        self.held: Dict[str, int] = {}
        self.asks: List[Ask] = []
        self.known: List[Known] = []
        self.running = self.most = 0
        self.go = threading.Event()
        self.go.set()

    def grant(self, ask: Ask) -> Grant:
        self.asks.append(ask)
        self.running += 1
        self.most = max(self.most, self.running)
        self.go.wait(20)
        self.running -= 1
        if ask.key == "crash":
            raise RuntimeError("postgresql://user:password@host\nis wrong")
        if ask.key == "busy":
            raise NotNow("the inventory restarts", after=7)
        if ask.key == "wrong":
            return Grant(1.5)  # type: ignore[arg-type]
        if ask.value is not None and ask.value in self.held.values():
            raise Refused("taken", f"{ask.value} is in use\x00" + "x" * 500)
        wanted = ask.value if isinstance(ask.value, int) else len(self.held) + 1
        return Grant(self.held.setdefault(ask.ref, wanted), handle="h", version="1")

    def find(self, known: Known) -> Optional[Grant]:
        self.known.append(known)
        return Grant(self.held[known.ref]) if known.ref in self.held else None

    def release(self, known: Known) -> None:
        self.known.append(known)
        self.held.pop(known.ref, None)

    def list(self, after: Optional[str]) -> Page:
        refs = sorted(ref for ref in self.held if ref > (after or ""))
        return Page([Listed(ref, self.held[ref]) for ref in refs[:2]], refs[1] if len(refs) > 2 else None)

    def look_up(self, name: str) -> Optional[Fact]:
        return Fact({"name": name}, "3") if name != "unknown" else None


class Small(Adapter):
    find_by = "none"
    idempotent = False

    def grant(self, ask: Ask) -> Grant:
        return Grant("10.0.0.1")


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture
def url(memory: Memory) -> Iterator[str]:
    with AuthorityServer(memory) as server:
        yield server.url


def call(
    url: str, method: str, path: str, body: Any = None, headers: Optional[Mapping[str, str]] = None
) -> Tuple[int, Any, Mapping[str, str]]:
    connection = http.client.HTTPConnection(url[len("http://") :], timeout=20)
    try:
        raw = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method, path, raw, dict(headers or {}))
        response = connection.getresponse()
        answer = response.read()
        return response.status, json.loads(answer) if answer else None, dict(response.headers)
    finally:
        connection.close()


def ref() -> str:
    return str(uuid.uuid4())


def test_grant_find_release_and_repeats(url: str, memory: Memory) -> None:
    one = f"/grants/{ref()}"
    granted = {"value": 17, "handle": "h", "version": "1"}
    asked = {**ASK, "want": {"value": 17}, "params": {"site": "a"}}
    assert call(url, "PUT", one, asked)[:2] == (200, granted)
    assert memory.asks[0] == Ask(one[8:], "p", "k", "o", 17, None, {"site": "a"})
    assert call(url, "PUT", one, ASK)[:2] == (200, granted)
    assert call(url, "GET", one)[:2] == (200, {"value": 17, "handle": None, "version": None})
    assert [call(url, "DELETE", one)[0] for _ in range(2)] == [204, 204]
    assert call(url, "GET", one)[0] == 404


def test_value_and_handle_of_the_query_reach_the_adapter(url: str, memory: Memory) -> None:
    one = ref()
    call(url, "GET", f"/grants/{one}?value=42&handle=a%2Fb")
    call(url, "DELETE", f"/grants/{one}?value=10.0.0.0%2F24")
    assert memory.known == [Known(one, 42, "a/b"), Known(one, "10.0.0.0/24", None)]


def test_list_in_pages(url: str, memory: Memory) -> None:
    memory.held = {ref(): number for number in range(5)}
    found: List[Tuple[str, int]] = []
    path = "/grants"
    while True:
        page = call(url, "GET", path)[1]
        found += [(grant["ref"], grant["value"]) for grant in page["grants"]]
        if page["next"] is None:
            break
        path = f"/grants?after={page['next']}"
    assert dict(found) == memory.held and len(found) == 5


def test_look_up_with_a_name_of_any_characters(url: str) -> None:
    assert call(url, "GET", "/lookup/a%2Fb%20%C3%BC")[:2] == (200, {"value": {"name": "a/b ü"}, "version": "3"})
    assert call(url, "GET", "/lookup/unknown")[0] == 404


def test_abilities_follow_from_the_methods() -> None:
    with AuthorityServer(Memory()) as server:
        abilities = {"find": "ref", "list": True, "lookup": True, "idempotent": True, "parallel": 1}
        assert call(server.url, "GET", "/")[:2] == (200, abilities)
    with AuthorityServer(Small()) as server:
        abilities = {"find": "none", "list": False, "lookup": False, "idempotent": False, "parallel": 1}
        assert call(server.url, "GET", "/")[:2] == (200, abilities)
        assert call(server.url, "PUT", f"/grants/{ref()}", ASK)[1]["value"] == "10.0.0.1"
        assert [call(server.url, "GET", path)[0] for path in ("/grants", "/lookup/a")] == [501, 501]
        # A missing required method says nothing about the grant.
        assert [call(server.url, method, f"/grants/{ref()}")[0] for method in ("GET", "DELETE")] == [500, 500]


def test_exceptions_become_statuses(url: str, memory: Memory) -> None:
    memory.held[ref()] = 5
    status, body, _ = call(url, "PUT", f"/grants/{ref()}", {**ASK, "want": {"value": 5}})
    assert (status, body["code"]) == (409, "taken")
    assert body["message"].startswith("5 is in use xx") and len(body["message"]) == 300
    status, body, headers = call(url, "PUT", f"/grants/{ref()}", {**ASK, "key": "busy"})
    assert (status, headers["Retry-After"]) == (503, "7")
    status, body, _ = call(url, "PUT", f"/grants/{ref()}", {**ASK, "key": "crash"})
    assert status == 500 and "RuntimeError" in body["message"] and "password" not in body["message"]
    assert call(url, "PUT", f"/grants/{ref()}", {**ASK, "key": "wrong"})[0] == 500
    with pytest.raises(ValueError):
        Refused("unknown", "")


@pytest.mark.parametrize(
    "method, path, body",
    [
        ("GET", "/unknown", None),
        ("GET", "/grants/", None),
        ("GET", "/grants/17", None),
        ("GET", f"/grants/{ref()}/x", None),
        ("GET", f"/grants/{ref().replace('-', '')}", None),
        ("GET", "/lookup/", None),
        ("GET", "/lookup/%ff", None),
        ("GET", "/grants?after=%ff", None),
        ("PUT", "/", ASK),
        ("PUT", "/grants", ASK),
        ("POST", "/grants", ASK),
        ("PUT", f"/grants/{ref()}", b"{"),
        ("PUT", f"/grants/{ref()}", b"[" * 60000),
        ("PUT", f"/grants/{ref()}", []),
        ("PUT", f"/grants/{ref()}", {"pool": "p"}),
        ("PUT", f"/grants/{ref()}", {**ASK, "owner": 1}),
        ("PUT", f"/grants/{ref()}", {**ASK, "params": []}),
        ("PUT", f"/grants/{ref()}", {**ASK, "want": {"value": True}}),
        ("PUT", f"/grants/{ref()}", {**ASK, "want": {"length": 129}}),
        ("PUT", f"/grants/{ref()}", {**ASK, "want": {"length": "24"}}),
        ("PUT", f"/grants/{ref()}", {**ASK, "want": {"value": 1, "length": 2}}),
        ("PUT", f"/grants/{ref()}", {**ASK, "want": {"other": 1}}),
    ],
)
def test_requests_outside_of_the_contract_get_400(
    url: str, memory: Memory, method: str, path: str, body: Any
) -> None:
    assert call(url, method, path, body)[0] == 400
    assert memory.asks == []


def test_web_pages_are_refused(url: str) -> None:
    assert call(url, "GET", "/", headers={"Origin": "http://127.0.0.1"})[0] == 403
    assert call(url, "GET", "/", headers={"Host": "attacker.example"})[0] == 403
    assert call(url, "GET", "/", headers={"Host": "localhost:80"})[0] == 200


def test_secret_is_required_and_can_change(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("first\n")
    with AuthorityServer(memory, secret_file=file) as server:

        def status(secret: str) -> int:
            return call(server.url, "GET", "/", headers={"Authorization": secret})[0]

        assert [status(text) for text in ("Bearer first", "Bearer firs", "Basic first", "")] == [200, 401, 401, 401]
        file.write_text("second")
        assert (status("Bearer first"), status("Bearer second")) == (401, 200)
        file.write_text("")
        assert status("Bearer ") == 500


def test_secret_of_the_environment(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="a secret is required"):
        AuthorityServer(memory, "0.0.0.0:0")
    monkeypatch.setenv("ALLOD_ADAPTER_SECRET", "s")
    with AuthorityServer(memory, "0.0.0.0:0") as server:
        assert call(server.url, "GET", "/")[0] == 401
        assert call(server.url, "GET", "/", headers={"Authorization": "Bearer s"})[0] == 200


@pytest.mark.parametrize("parallel", [1, 3])
def test_no_more_calls_than_parallel(memory: Memory, parallel: int) -> None:
    memory.parallel = parallel
    memory.go.clear()
    statuses: List[Tuple[int, Optional[str]]] = []
    with AuthorityServer(memory, limits=Limits(wait_seconds=0.3)) as server:

        def grant() -> None:
            status, _, headers = call(server.url, "PUT", f"/grants/{ref()}", ASK)
            statuses.append((status, headers.get("Retry-After")))

        threads = [threading.Thread(target=grant) for _ in range(6)]
        for thread in threads:
            thread.start()
        while len(statuses) < 6 - parallel:
            time.sleep(0.01)
        memory.go.set()
        for thread in threads:
            thread.join(20)
    assert sorted(statuses, key=str) == [(200, None)] * parallel + [(503, "1")] * (6 - parallel)
    assert memory.most == parallel


def test_large_and_slow_requests_are_refused(memory: Memory) -> None:
    with AuthorityServer(memory, limits=Limits(body_bytes=100, request_seconds=0.3, idle_seconds=0.6)) as server:
        path = f"/grants/{ref()}"
        assert call(server.url, "PUT", path, b" " * 101)[0] == 413
        port = int(server.url.rsplit(":", 1)[1])
        for start, status in ((b"", b""), (b"GET / HT", b""), (b"PUT / HTTP/1.1\r\ncontent-length: 9\r\n\r\n1", b"408")):
            with socket.create_connection(("127.0.0.1", port)) as slow:
                began = time.monotonic()
                slow.sendall(start)
                assert status in slow.recv(1000)
                assert time.monotonic() - began < 5
        with socket.create_connection(("127.0.0.1", port)) as chunked:
            chunked.sendall(b"PUT / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n")
            assert b" 411 " in chunked.recv(1000)


def test_number_of_connections_is_limited(memory: Memory) -> None:
    with AuthorityServer(memory, limits=Limits(connections=2)) as server:
        port = int(server.url.rsplit(":", 1)[1])
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(2)]
        time.sleep(0.2)
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            call(server.url, "GET", "/")
        for connection in held:
            connection.close()
        time.sleep(0.2)
        assert call(server.url, "GET", "/")[0] == 200


def test_connection_is_kept_open(url: str) -> None:
    connection = http.client.HTTPConnection(url[len("http://") :], timeout=20)
    for method, path, status in (("GET", "/", 200), ("DELETE", f"/grants/{ref()}", 204), ("GET", "/grants", 200)):
        connection.request(method, path)
        response = connection.getresponse()
        response.read()
        assert response.status == status and not response.will_close
    connection.close()


def load_example() -> Any:
    spec = importlib.util.spec_from_file_location("adapter", CLIENT / "examples/adapter.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Sites


def test_example_keeps_its_grants_in_sqlite(tmp_path: Path) -> None:
    file = str(tmp_path / "sites.db")
    sites = load_example()(file, last="3")
    with AuthorityServer(sites) as server:
        refs = [ref() for _ in range(4)]
        put = [call(server.url, "PUT", f"/grants/{one}", ASK) for one in (refs[0], refs[0], *refs[1:])]
        assert [answer[1].get("value") or answer[1]["code"] for answer in put] == [1, 1, 2, 3, "exhausted"]
        taken = call(server.url, "PUT", f"/grants/{ref()}", {**ASK, "want": {"value": 2}})
        outside = call(server.url, "PUT", f"/grants/{ref()}", {**ASK, "want": {"value": 9}})
        assert (taken[1]["code"], outside[1]["code"]) == ("taken", "differs")
        assert [call(server.url, "DELETE", f"/grants/{refs[1]}")[0] for _ in range(2)] == [204, 204]
        assert [one["value"] for one in call(server.url, "GET", "/grants")[1]["grants"]] == [1, 3]
        assert call(server.url, "GET", f"/grants/{refs[1]}")[0] == 404
    again = load_example()(file)
    assert again.find(Known(refs[2])) == Grant(3)
    for one in (sites, again):
        one._db.close()


def test_command_line_serves_until_sigterm(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "allod.authority", "adapter:Sites", "--listen", f"127.0.0.1:{port}"]
    path = os.pathsep.join([str(CLIENT), str(CLIENT / "examples")])
    process = subprocess.Popen(
        [*command, "--set", f"file={tmp_path / 'sites.db'}"],
        env={"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert f"serving Sites on http://127.0.0.1:{port}" in process.stderr.readline()
    assert call(f"http://127.0.0.1:{port}", "PUT", f"/grants/{ref()}", ASK)[1]["value"] == 1
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    process.stderr.close()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["nothing"], "is not MODULE:CLASS"),
        (["no_such_module:A"], "No module named"),
        (["json:dumps"], "is not a subclass"),
        (["json:dumps", "--set", "a"], "is not NAME=VALUE"),
    ],
)
def test_command_line_explains_errors(
    arguments: List[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    assert message in capsys.readouterr().err


def test_inventory_client_sends_the_token_and_reads_json(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("t\n")
    with AuthorityServer(memory, secret_file=file) as server:
        inventory = HttpInventory(server.url, token_file=str(file))
        assert inventory.call("GET", "/").expect(200).get("find") == "ref"
        assert inventory.call("DELETE", f"/grants/{ref()}").body is None
        with pytest.raises(RuntimeError, match="answered 400"):
            inventory.call("GET", "/unknown").expect(200)
    with pytest.raises(ValueError):
        HttpInventory("http://user:password@127.0.0.1")
