"""Nautobot as an authority of allod: addresses and prefixes of a prefix, VLAN IDs of a VLAN group."""

from typing import Any, Dict, List, Optional
from urllib.parse import urlencode

from allod.authority import Adapter, Ask, Fact, Grant, HttpInventory, Known, Listed, Page, Refused

# For each kind of pool the collection of the objects that it grants, and for each collection the field with the value.
KINDS = {"available-ips": "ip-addresses", "available-prefixes": "prefixes", "available-vlans": "vlans"}
FIELDS = {"ip-addresses": "host", "prefixes": "prefix", "vlans": "vid"}
NEXT, START = {"ip-addresses": "prefixes", "prefixes": "vlans"}, "1970-01-01T00:00:00Z -"
PAGE, ATTEMPTS = 200, 20


class Nautobot(Adapter):
    """The reference is the ID of the object, so Nautobot refuses a second object for the same reference.

    ``pools`` is like ``lan=prefixes/UUID/available-ips,vlans=vlan-groups/UUID/available-vlans``.
    """

    parallel = 4

    def __init__(self, url: str, token_file: str, pools: str, tag: str = "allod", status: str = "Active") -> None:
        self._nautobot = HttpInventory(url, token_file=token_file, token_prefix="Token ", timeout=30.0)
        self._pools = dict(pool.split("=", 1) for pool in pools.split(","))
        self._tag, self._status = tag, status

    def grant(self, ask: Ask) -> Grant:
        path = self._pools.get(ask.pool, "//")
        _, parent, kind = path.split("/")
        collection = KINDS.get(kind, "")
        field = FIELDS.get(collection)
        # Nautobot accepts prefixes that overlap. So a prefix is granted by its length only.
        accepted = {"host": str, "vid": int}.get(str(field), type(None))
        is_served = ask.value is None or isinstance(ask.value, accepted)
        if not field or not is_served or (ask.length is None) == (field == "prefix"):
            raise Refused("differs", f"pool {ask.pool!r} has no value like {ask.value or ask.length} in Nautobot")
        body: Dict[str, Any] = {"id": ask.ref, "status": self._status, "tags": [self._tag], "name": f"allod {ask.ref}"}
        body.update(description=f"{ask.pool}/{ask.key}"[:200], prefix_length=ask.length)
        name, container = ("address", "parent") if field == "host" else ("vid", "vlan_group")
        certain = {} if ask.value is None else {name: ask.value, container: parent}
        path = collection if certain else path
        for _ in range(ATTEMPTS):
            reply = self._nautobot.call("POST", f"/api/ipam/{path}/", {**body, **certain})
            if reply.status == 201:
                return _grant(collection, reply.get("results", reply.body))
            # Another attempt for the reference may have been faster. Nautobot reports that as 400 or as 500.
            made = self.find(Known(ask.ref, handle=f"/{collection}/"))
            if made is not None:
                return made
            if reply.status == 204:
                raise Refused("exhausted", f"pool {ask.pool!r} has no free value in Nautobot")
            if reply.status == 400 and {"vid", "address", "parent", "namespace"} & set(reply.body):
                raise Refused("differs", f"{ask.value} is not in pool {ask.pool!r} of Nautobot")
            if certain and self._select(collection, certain):
                raise Refused("taken", f"{ask.value} is in use in Nautobot")
            # Another caller got the value that Nautobot had chosen. Any other reason is an error.
            if reply.status != 500 and not any(words in str(reply.body) for words in ("already exists", "unique set")):
                break
        raise RuntimeError(f"Nautobot answered {reply.status}: {str(reply.body):.300}")

    def find(self, known: Known) -> Optional[Grant]:
        for collection in _collections(known):
            reply = self._nautobot.call("GET", f"/api/ipam/{collection}/{known.ref}/").expect(200, 404)
            if reply.status == 200:
                return _grant(collection, reply.body)
        return None

    def release(self, known: Known) -> None:
        for collection in _collections(known):
            self._nautobot.call("DELETE", f"/api/ipam/{collection}/{known.ref}/").expect(204, 404)

    def list(self, after: Optional[str]) -> Page:
        """One collection after the other, by time of creation: a deletion does not move the objects of later pages."""
        collection, since, last = (after or f"ip-addresses {START}").split(" ")
        asked = {"tags": self._tag, "sort": "created", "created__gte": since, "limit": PAGE, "exclude_m2m": "true"}
        found = self._select(collection, asked)
        grants = [Listed(one["id"], **vars(_grant(collection, one))) for one in found if one["id"] != last]
        if len(found) == PAGE:
            return Page(grants, f"{collection} {found[-1]['created']} {found[-1]['id']}")
        return Page(grants, f"{NEXT[collection]} {START}" if collection in NEXT else None)

    def look_up(self, name: str) -> Optional[Fact]:
        """The address with this DNS name, if there is exactly one."""
        found = self._select("ip-addresses", {"dns_name": name})
        return Fact(found[0]["host"], found[0]["last_updated"]) if len(found) == 1 else None

    def _select(self, collection: str, asked: Dict[str, Any]) -> List[Dict[str, Any]]:
        reply = self._nautobot.call("GET", f"/api/ipam/{collection}/?{urlencode(asked)}")
        found: List[Dict[str, Any]] = reply.expect(200).body["results"]
        return found


def _collections(known: Known) -> List[str]:
    """The one of the handle. If that is not known: all."""
    return [name for name in FIELDS if known.handle is None or f"/{name}/" in known.handle]


def _grant(collection: str, made: Dict[str, Any]) -> Grant:
    return Grant(made[FIELDS[collection]], made["url"], made["last_updated"])
