"""OpenStack Neutron as an authority of allod: addresses of subnets, held by ports."""

from typing import Any, Dict, List, Optional
from urllib.parse import urlencode

from allod.authority import Adapter, Ask, Fact, Grant, HttpInventory, Known, Listed, NotNow, Page, Refused

MARK, PAGE, ATTEMPTS = "allod:", 500, 20
FIELDS = [("fields", name) for name in ("id", "description", "fixed_ips", "revision_number")]


class Neutron(Adapter):
    """The MAC address of a port follows from the reference. Neutron refuses a second port with it in the same network.

    The description of the port contains the whole reference. ``pools`` is like ``lan=SUBNET,dmz=SUBNET``.
    """

    def __init__(
        self, url: str, pools: str, token_file: Optional[str] = None, project: str = "", parallel: str = "1"
    ) -> None:
        auth = {"token_header": "X-Auth-Token", "token_prefix": ""}
        self._neutron = HttpInventory(url, token_file=token_file, timeout=30.0, **auth)
        self._pools = dict(pool.split("=", 1) for pool in pools.split(","))
        self._project, self.parallel = {"project_id": project} if project else {}, int(parallel)

    def grant(self, ask: Ask) -> Grant:
        subnet = self._pools.get(ask.pool)
        if subnet is None or ask.length is not None or isinstance(ask.value, int):
            raise Refused("differs", f"pool {ask.pool!r} has no value like {ask.value or ask.length} in Neutron")
        made = self.find(Known(ask.ref))
        if made is not None:
            return made
        network = self._neutron.call("GET", f"/v2.0/subnets/{subnet}").expect(200).body["subnet"]["network_id"]
        port = {"network_id": network, "mac_address": _mac(ask.ref), "description": MARK + ask.ref, **self._project}
        address = {"subnet_id": subnet, **({} if ask.value is None else {"ip_address": ask.value})}
        body = {"port": {**port, "name": f"{ask.pool}/{ask.key}"[:200], "fixed_ips": [address]}}
        reply = self._neutron.call("POST", "/v2.0/ports", body)
        if reply.status == 201:
            return _grant(reply.body["port"])
        # Another attempt for the reference may have been faster.
        made = self.find(Known(ask.ref))
        if made is not None:
            return made
        error = reply.get("NeutronError", {})
        reason, message = error.get("type"), str(error.get("message"))
        if reason == "IpAddressGenerationFailure":
            raise Refused("exhausted", message)
        if reason == "MacAddressInUse" or (reason == "IpAddressAlreadyAllocated" and ask.value is not None):
            raise Refused("taken", message)
        if reply.status == 400 and ask.value is not None:
            raise Refused("differs", message)
        reply.expect(409)
        raise NotNow(message, after=5)  # for example the quota, or another caller got the address

    def find(self, known: Known) -> Optional[Grant]:
        return next(map(_grant, self._ports(known.ref)), None)

    def release(self, known: Known) -> None:
        for _ in range(ATTEMPTS):
            ports = self._ports(known.ref)
            if not ports:
                return
            # Not if the port has just been changed: it may have another description now.
            unchanged = {"If-Match": f"revision_number={ports[0]['revision_number']}"}
            path = f"/v2.0/ports/{ports[0]['id']}"
            self._neutron.call("DELETE", path, headers=unchanged).expect(204, 404, 412)
        raise RuntimeError(f"the port of {known.ref} changes all the time")

    def list(self, after: Optional[str]) -> Page:
        where = [("fixed_ips", f"subnet_id={subnet}") for subnet in self._pools.values()]
        paging = [("sort_key", "id"), ("sort_dir", "asc"), ("limit", PAGE), *([("marker", after)] if after else [])]
        ports = self._select("ports", [*where, *paging, *FIELDS])
        ours = [port for port in ports if port["description"].startswith(MARK)]
        grants = [Listed(port["description"][len(MARK) :], **vars(_grant(port))) for port in ours]
        return Page(grants, ports[-1]["id"] if ports else None)

    def look_up(self, name: str) -> Optional[Fact]:
        """The address range of the subnet with this name, if there is exactly one."""
        found = self._select("subnets", [("name", name)])
        return Fact(found[0]["cidr"], str(found[0]["revision_number"])) if len(found) == 1 else None

    def _ports(self, ref: str) -> List[Dict[str, Any]]:
        ports = self._select("ports", [("mac_address", _mac(ref)), *FIELDS])
        return [port for port in ports if port["description"] == MARK + ref]

    def _select(self, collection: str, asked: Any) -> List[Dict[str, Any]]:
        reply = self._neutron.call("GET", f"/v2.0/{collection}?{urlencode(asked)}")
        found: List[Dict[str, Any]] = reply.expect(200).body[collection]
        return found


def _grant(port: Dict[str, Any]) -> Grant:
    return Grant(port["fixed_ips"][0]["ip_address"], port["id"], str(port["revision_number"]))


def _mac(ref: str) -> str:
    """46 bits of the reference, as a local address of one device."""
    octets = bytearray.fromhex(ref[:8] + ref[9:13])
    octets[0] = octets[0] & 0xFC | 0x02
    return octets.hex(":")
