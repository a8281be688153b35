"""Two subnets in a real Neutron."""

from __future__ import annotations

import os
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Dict, List, Optional

from inventory import Address, Inventory, ask
from neutron import Neutron
from neutron_server import PROJECT, NeutronServer

from allod.authority import Adapter, Wanted


class NeutronInventory(Inventory):
    other, outside = "10.1.0.99", "10.1.0.200"

    def __init__(self) -> None:
        self._server = NeutronServer(Path(os.environ["ALLOD_TEST_NEUTRON_PYTHON"]))
        self.upstream = ("127.0.0.1", self._server.port)
        self.network: str = self.create("network", {"name": "tests"})["id"]
        ranges = {"pool": "10.1.0.0/25", "small": "10.1.9.0/29"}
        # Of the six addresses of the second one, four are in its allocation pool.
        pools = {"pool": ("10.1.0.1", "10.1.0.120"), "small": ("10.1.9.1", "10.1.9.4")}
        self._subnets: List[str] = []
        for name, cidr in ranges.items():
            start, end = pools[name]
            body = {"network_id": self.network, "ip_version": 4, "cidr": cidr, "gateway_ip": None, "name": name}
            made = self.create("subnet", {**body, "allocation_pools": [{"start": start, "end": end}]})
            self._subnets.append(made["id"])
        self._others: Dict[Wanted, str] = {}

    def adapter(self, upstream: Optional[Address] = None) -> Adapter:
        return Neutron(self.url(upstream), f"pool={self._subnets[0]},small={self._subnets[1]}", project=PROJECT)

    def occupy(self, value: Wanted) -> None:
        address = {"subnet_id": self._subnets[0], "ip_address": value}
        self._others[value] = self.create("port", {"network_id": self.network, "fixed_ips": [address]})["id"]

    def vacate(self, value: Wanted) -> None:
        self.call("DELETE", f"ports/{self._others.pop(value)}")

    def count(self) -> int:
        return len(self.ports())

    def ports(self) -> List[Dict[str, Any]]:
        found: List[Dict[str, Any]] = self.call("GET", f"ports?network_id={self.network}")["ports"]
        return found

    def is_in_pool(self, value: Wanted) -> bool:
        return ip_address(value) in ip_network("10.1.0.0/25")

    def add_fact(self, name: str) -> Any:
        if not self.call("GET", f"subnets?name={name}")["subnets"]:
            network = self.create("network", {"name": name})["id"]
            body = {"network_id": network, "ip_version": 4, "cidr": "203.0.113.0/24", "name": name}
            self.create("subnet", body)
        return "203.0.113.0/24"

    def create(self, kind: str, fields: Dict[str, Any]) -> Dict[str, Any]:
        made: Dict[str, Any] = self.call("POST", f"{kind}s", {kind: {"project_id": PROJECT, **fields}})[kind]
        return made

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return ask(self.url(None), method, f"/v2.0/{path}", body)

    def stop(self) -> None:
        self._server.stop()
