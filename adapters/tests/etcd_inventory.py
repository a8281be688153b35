"""A real etcd on free ports of the loopback interface."""

from __future__ import annotations

import json
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Any, Dict, Optional

from etcd import Etcd
from inventory import Address, Inventory, ask
from processes import Running, free_port, program

from allod.authority import Adapter, Wanted

VALUES = "/allod/value/"


class EtcdInventory(Inventory):
    other, outside = 130, 300
    lease_seconds = 0

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="etcd-")
        folder = Path(self._folder.name)
        port = free_port()
        self.upstream = ("127.0.0.1", port)
        url = f"http://127.0.0.1:{port}"
        clients = ["--listen-client-urls", url, "--advertise-client-urls", url]
        # No other member connects: etcd creates this socket in its folder.
        peer = "unix://peer:1"
        peers = ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]
        command = [program("etcd"), "--data-dir", str(folder / "data"), *clients, *peers]
        self._process = Running(command, folder / "etcd.log", self._is_ready, cwd=folder)

    def _is_ready(self) -> bool:
        return bool(ask(self.url(None), "GET", "/health")["health"] == "true")

    def adapter(self, upstream: Optional[Address] = None) -> Adapter:
        return Etcd(self.url(upstream), "pool=100-199,small=1-4", lease_seconds=str(self.lease_seconds))

    def occupy(self, value: Wanted) -> None:
        self.put(f"{VALUES}pool/{value:020}", "reserved")

    def vacate(self, value: Wanted) -> None:
        self.call("kv/deleterange", {"key": code(f"{VALUES}pool/{value:020}")})

    def count(self) -> int:
        found = self.call("kv/range", {"key": code(VALUES), "range_end": code("/allod/value0"), "count_only": True})
        return int(found.get("count", 0))

    def is_in_pool(self, value: Wanted) -> bool:
        return value in range(100, 200)

    def add_fact(self, name: str) -> Any:
        self.put(f"/allod/fact/{name}", json.dumps({"site": "a"}))
        return {"site": "a"}

    def put(self, key: str, value: str) -> None:
        self.call("kv/put", {"key": code(key), "value": code(value)})

    def call(self, name: str, body: Dict[str, Any]) -> Any:
        return ask(self.url(None), "POST", f"/v3/{name}", body)

    def stop(self) -> None:
        self._process.stop()
        self._folder.cleanup()


class EtcdWithLeases(EtcdInventory):
    lease_seconds = 600


def code(text: str) -> str:
    return b64encode(text.encode()).decode()
