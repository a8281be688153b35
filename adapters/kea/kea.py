"""Kea DHCPv4 as an authority of allod: addresses, granted as leases without an end."""

import json
import socket
from ipaddress import IPv4Address, IPv4Network, summarize_address_range
from itertools import chain
from typing import Any, Dict, Iterator, List, Optional

from allod.authority import Adapter, Ask, Grant, HttpInventory, Known, Listed, Page, Refused

DONE, FAILED, NONE, ENDLESS, PAGE = 0, 1, 3, 0xFFFFFFFF, 500


class Kea(Adapter):
    """The client ID of a lease is the reference. ``at`` is a control socket, or the URL of a control agent.

    Two leases can have one client ID. So calls run one at a time, and no second adapter may serve the same Kea.
    """

    def __init__(self, at: str, pools: str, timeout: str = "10") -> None:
        self._at, self._timeout = at, float(timeout)
        self._http = HttpInventory(at, timeout=self._timeout) if at.startswith("http") else None
        self._pools = {name: int(subnet) for name, subnet in (pool.split("=", 1) for pool in pools.split(","))}

    def grant(self, ask: Ask) -> Grant:
        made = self.find(Known(ask.ref))
        if made is not None:
            return made
        subnet = self._subnet(ask.pool)
        try:
            wanted = None if ask.value is None else IPv4Address(ask.value)
            is_served = ask.length is None and (wanted is None or wanted in IPv4Network(subnet["subnet"]))
        except (ValueError, KeyError):
            is_served = False
        if not subnet or not is_served:
            raise Refused("differs", f"{ask.value or ask.length} is not an address of pool {ask.pool!r} in Kea")
        owner = {"client-id": _client(ask.ref), "hw-address": _client(ask.ref), "valid-lft": ENDLESS}
        context = {"allod": {"ref": ask.ref, "key": ask.key, "owner": ask.owner}}
        others = (*self._leases("all", {"subnets": [subnet["id"]]}), *subnet.get("reservations", []))
        used = {other.get("ip-address") for other in others}
        candidates = map(str, _addresses(subnet) if wanted is None else [wanted])
        for address in (one for one in candidates if one not in used):
            lease = {"ip-address": address, "subnet-id": subnet["id"], "user-context": context, **owner}
            if self._call("lease4-add", lease, DONE, FAILED)["result"] == DONE:
                return self.find(Known(ask.ref)) or Grant(address)
            self._call("lease4-get", {"ip-address": address}, DONE)  # raises unless another client was faster
        code, which = ("exhausted", "every address") if wanted is None else ("taken", str(wanted))
        raise Refused(code, f"{which} of pool {ask.pool!r} is in use or reserved in Kea")

    def find(self, known: Known) -> Optional[Grant]:
        return next(map(_grant, self._leases("by-client-id", {"client-id": _client(known.ref)})), None)

    def release(self, known: Known) -> None:
        for lease in self._leases("by-client-id", {"client-id": _client(known.ref)}):
            # By client ID and not by address, so that a lease that has just got another owner stays.
            owner = {"identifier-type": "client-id", "identifier": lease["client-id"]}
            self._call("lease4-del", {**owner, "subnet-id": lease["subnet-id"]}, DONE, NONE)

    def list(self, after: Optional[str]) -> Page:
        leases = self._leases("page", {"from": after or "start", "limit": PAGE})
        ours = [lease for lease in leases if "allod" in lease.get("user-context", {})]
        grants = [Listed(lease["user-context"]["allod"]["ref"], **vars(_grant(lease))) for lease in ours]
        return Page(grants, leases[-1]["ip-address"] if len(leases) == PAGE else None)

    def _subnet(self, pool: str) -> Dict[str, Any]:
        dhcp = self._call("config-get", {}, DONE)["arguments"]["Dhcp4"]
        subnets = (one for place in (dhcp, *dhcp.get("shared-networks", [])) for one in place.get("subnet4", []))
        return next((one for one in subnets if one["id"] == self._pools.get(pool)), {})

    def _leases(self, which: str, arguments: Dict[str, Any]) -> List[Dict[str, Any]]:
        return list(self._call(f"lease4-get-{which}", arguments, DONE, NONE)["arguments"]["leases"])

    def _call(self, command: str, arguments: Dict[str, Any], *expected: int) -> Dict[str, Any]:
        asked = {"command": command, "service": ["dhcp4"], "arguments": arguments}
        if self._http is not None:
            answer = self._http.call("POST", "/", asked).expect(200).body[0]
        else:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(self._timeout)
                connection.connect(self._at)
                connection.sendall(json.dumps(asked).encode())
                answer = json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))
        if answer["result"] not in expected:
            raise RuntimeError(f"Kea answered {answer['result']} to {command}: {answer.get('text')}")
        return dict(answer)


def _addresses(subnet: Dict[str, Any]) -> Iterator[IPv4Address]:
    for pool in subnet["pools"]:
        first, _, last = pool["pool"].partition("-")
        networks = summarize_address_range(IPv4Address(first), IPv4Address(last)) if last else [IPv4Network(first)]
        yield from chain.from_iterable(networks)


def _client(ref: str) -> str:
    return bytes.fromhex(ref.replace("-", "")).hex(":")


def _grant(lease: Dict[str, Any]) -> Grant:
    return Grant(lease["ip-address"], lease["client-id"], str(lease["cltt"]))
