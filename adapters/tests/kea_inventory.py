"""A real Kea DHCPv4 server, reached by its control socket or by a control agent. It answers no DHCP client."""

from __future__ import annotations

import ipaddress
import json
import socket
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional

from inventory import Address, Inventory, ask
from kea import Kea
from processes import Running, free_port, program

from allod.authority import Adapter, Wanted

HOOK = "libdhcp_lease_cmds.so"
RESERVED = "192.0.2.11"


class KeaInventory(Inventory):
    """Two ranges, with an address that is reserved for a host."""

    other, outside = "192.0.2.40", "198.51.100.1"
    has_lookups = False

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="kea-")
        self._in = Path(self._folder.name)
        self._socket = str(self._in / "control")
        self.upstream = self._socket
        hooks = sorted(Path("/usr/lib").glob(f"*/kea/hooks/{HOOK}"))
        if not hooks:
            raise RuntimeError(f"{HOOK} is not installed; cargo xtask test installs it")
        hosts = [{"hw-address": "02:00:00:00:00:01", "ip-address": RESERVED}]
        ranges = [{"pool": "192.0.2.10 - 192.0.2.49"}, {"pool": "192.0.2.64/29"}]
        config = {
            "interfaces-config": {"interfaces": []},
            "control-socket": {"socket-type": "unix", "socket-name": self._socket},
            "lease-database": {"type": "memfile", "persist": True, "name": str(self._in / "leases.csv")},
            "hooks-libraries": [{"library": str(hooks[0])}],
            "subnet4": [{"id": 7, "subnet": "192.0.2.0/24", "pools": ranges, "reservations": hosts}],
            # Subnets of a shared network are elsewhere in the configuration.
            "shared-networks": [
                {"name": "shared", "subnet4": [{"id": 8, "subnet": "203.0.113.0/24", "pools": [{"pool": "203.0.113.4/30"}]}]}
            ],
        }
        self._running: List[Running] = []
        self._config = config
        self._start_kea()

    def _start_kea(self) -> None:
        self._start("kea-dhcp4", "Dhcp4", self._config, lambda: self.call("status-get", {})["result"] == 0)

    def restart(self) -> None:
        self._running.pop().stop()
        self._start_kea()

    def _start(self, name: str, section: str, config: Dict[str, Any], is_ready: Any) -> None:
        file = self._in / f"{name}.json"
        loggers = [{"name": name, "severity": "WARN", "output_options": [{"output": "stdout"}]}]
        file.write_text(json.dumps({section: {**config, "loggers": loggers}}), encoding="utf-8")
        env = {"KEA_PIDFILE_DIR": str(self._in), "KEA_LOCKFILE_DIR": str(self._in)}
        command = [program(name), "-c", str(file)]
        self._running.append(Running(command, self._in / f"{name}.log", is_ready, env=env, cwd=self._in))

    def adapter(self, upstream: Optional[Address] = None) -> Adapter:
        return Kea(self.url(upstream), "pool=7,small=8")

    def occupy(self, value: Wanted) -> None:
        lease = {"ip-address": value, "hw-address": "02:00:00:00:00:02", "subnet-id": 7}
        assert self.call("lease4-add", lease)["result"] == 0

    def vacate(self, value: Wanted) -> None:
        assert self.call("lease4-del", {"ip-address": value})["result"] == 0

    def count(self) -> int:
        return len(self.call("lease4-get-all", {"subnets": [7, 8]})["arguments"]["leases"])

    def is_in_pool(self, value: Wanted) -> bool:
        return ipaddress.IPv4Address(value) in ipaddress.IPv4Network("192.0.2.0/24") and value != RESERVED

    def call(self, command: str, arguments: Dict[str, Any]) -> Any:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(20)
            connection.connect(self._socket)
            connection.sendall(json.dumps({"command": command, "arguments": arguments}).encode())
            return json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))

    def stop(self) -> None:
        for running in reversed(self._running):
            running.stop()
        self._folder.cleanup()


class KeaOverHttp(KeaInventory):
    def __init__(self) -> None:
        super().__init__()
        self.upstream = ("127.0.0.1", free_port())
        agent = {
            "http-host": self.upstream[0],
            "http-port": self.upstream[1],
            "control-sockets": {"dhcp4": {"socket-type": "unix", "socket-name": self._socket}},
        }
        status = {"command": "status-get", "service": ["dhcp4"]}
        self._start(
            "kea-ctrl-agent",
            "Control-agent",
            agent,
            lambda: ask(self.url(None), "POST", "/", status)[0]["result"] == 0,
        )
