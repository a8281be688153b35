"""Pools in a real Nautobot: the addresses of a prefix, the VLAN IDs of a group, the prefixes of a prefix."""

from __future__ import annotations

import os
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Dict, List, Optional

from inventory import Address, Inventory, ask
from nautobot import Nautobot
from nautobot_server import TOKEN, NautobotServer

from allod.authority import Adapter, Wanted

_server: Optional[NautobotServer] = None


def server() -> NautobotServer:
    """All kinds of pools share one server."""
    global _server
    if _server is None:
        _server = NautobotServer(Path(os.environ["ALLOD_TEST_NAUTOBOT_PYTHON"]))
    return _server


def stop_server() -> None:
    global _server
    if _server is not None:
        _server.stop()
        _server = None


class NautobotInventory(Inventory):
    collection: str
    kind: str
    containers = "prefixes"
    large: Dict[str, Any]
    """The fields of the object that is the pool."""
    few: Dict[str, Any]

    def __init__(self) -> None:
        self.upstream = ("127.0.0.1", server().port)
        types = ["ipam.ipaddress", "ipam.prefix", "ipam.vlan"]
        if not self.call("GET", "extras/tags/?name=allod")["count"]:
            self.call("POST", "extras/tags/", {"name": "allod", "content_types": types})
        made = [self.call("POST", f"ipam/{self.containers}/", body) for body in (self.large, self.few)]
        self.container: str = made[0]["id"]
        paths = [f"{self.containers}/{one['id']}/{self.kind}" for one in made]
        self._pools = f"pool={paths[0]},small={paths[1]}"
        self._token_file = server().folder / "token"
        self._token_file.write_text(TOKEN, encoding="utf-8")
        self._others: Dict[Wanted, str] = {}

    def adapter(self, upstream: Optional[Address] = None) -> Adapter:
        return Nautobot(self.url(upstream), str(self._token_file), self._pools)

    def fields_of(self, value: Wanted) -> Dict[str, Any]:
        """The fields of an object with this value."""
        raise NotImplementedError

    def occupy(self, value: Wanted) -> None:
        body = {"status": "Active", **self.fields_of(value)}
        self._others[value] = self.call("POST", f"ipam/{self.collection}/", body)["id"]

    def vacate(self, value: Wanted) -> None:
        self.call("DELETE", f"ipam/{self.collection}/{self._others.pop(value)}/")

    def count(self) -> int:
        return len(self.in_use())

    def in_use(self) -> List[Dict[str, Any]]:
        found = self.call("GET", f"ipam/{self.collection}/?limit=1000")["results"]
        return [one for one in found if one.get("type") != "container" and self.is_counted(one)]

    def is_counted(self, made: Dict[str, Any]) -> bool:
        return True

    def add_fact(self, name: str) -> Any:
        if not self.call("GET", f"ipam/ip-addresses/?dns_name={name}")["count"]:
            parent = self.call("POST", "ipam/prefixes/", {"prefix": "203.0.113.0/24", "status": "Active"})["id"]
            body = {"address": "203.0.113.9/24", "status": "Active", "dns_name": name, "parent": parent}
            self.call("POST", "ipam/ip-addresses/", body)
        return "203.0.113.9"

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return ask(self.url(None), method, f"/api/{path}", body, {"Authorization": f"Token {TOKEN}"})


class NautobotAddresses(NautobotInventory):
    collection, kind = "ip-addresses", "available-ips"
    large = {"prefix": "10.1.0.0/25", "status": "Active"}
    few = {"prefix": "10.1.9.0/30", "status": "Active", "type": "pool"}
    other, outside = "10.1.0.99", "10.1.0.200"

    def fields_of(self, value: Wanted) -> Dict[str, Any]:
        # With another mask it is the same address.
        return {"address": f"{value}/25", "parent": self.container}

    def is_in_pool(self, value: Wanted) -> bool:
        return ip_address(value) in ip_network("10.1.0.0/25")

    def is_counted(self, made: Dict[str, Any]) -> bool:
        return str(made["host"]).startswith("10.1.")


class NautobotVlans(NautobotInventory):
    collection, kind, containers = "vlans", "available-vlans", "vlan-groups"
    large = {"name": "pool", "range": "100-199"}
    few = {"name": "small", "range": "1-4"}
    other, outside = 177, 200

    def fields_of(self, value: Wanted) -> Dict[str, Any]:
        return {"vid": value, "name": "other", "vlan_group": self.container}

    def is_in_pool(self, value: Wanted) -> bool:
        return value in range(100, 200)


class NautobotPrefixes(NautobotInventory):
    """An adapter cannot promise a certain prefix, because Nautobot accepts prefixes that overlap."""

    collection, kind = "prefixes", "available-prefixes"
    want = {"length": 30}
    grants_wanted = False
    large = {"prefix": "10.2.0.0/22", "status": "Active", "type": "container"}
    few = {"prefix": "10.2.8.0/28", "status": "Active", "type": "container"}
    other, outside = "10.2.3.252/30", "10.3.0.0/30"

    def fields_of(self, value: Wanted) -> Dict[str, Any]:
        return {"prefix": value}

    def is_in_pool(self, value: Wanted) -> bool:
        return ip_network(value).subnet_of(ip_network("10.2.0.0/22"))  # type: ignore[arg-type]

    def is_counted(self, made: Dict[str, Any]) -> bool:
        return str(made["prefix"]).startswith("10.2.") and str(made["prefix"]).endswith("/30")
