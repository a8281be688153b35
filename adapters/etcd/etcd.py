"""etcd as an authority of allod: numbers, granted and released by transactions that compare revisions."""

import json
from base64 import b64decode, b64encode
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from allod.authority import Adapter, Ask, Fact, Grant, HttpInventory, Known, Listed, Page, Refused

PAGE, MARK, DIGITS = 500, "allod:", 20
# ``ref`` is empty if the value is not ours, for example a number that an operator reserved.
Entry = NamedTuple("Entry", [("key", str), ("value", str), ("revision", str), ("lease", str), ("ref", str)])


class Etcd(Adapter):
    """``PREFIX/value/POOL/NUMBER`` is a value. ``PREFIX/ref/REF`` has the key of the value with this reference."""

    parallel = 8

    def __init__(self, url: str, pools: str, prefix: str = "/allod", lease_seconds: str = "0", ca: str = "") -> None:
        self._etcd, self._prefix, self._seconds = HttpInventory(url, ca_file=ca or None), prefix, int(lease_seconds)
        ranges = ((name, ends.split("-")) for name, ends in (pool.split("=", 1) for pool in pools.split(",")))
        self._pools = {name: range(int(ends[0]), int(ends[-1]) + 1) for name, ends in ranges}

    def grant(self, ask: Ask) -> Grant:
        numbers, index = self._pools.get(ask.pool, range(0)), f"{self._prefix}/ref/{ask.ref}"
        if not numbers or ask.length is not None or (ask.value is not None and ask.value not in numbers):
            raise Refused("differs", f"pool {ask.pool!r} has the numbers {numbers.start} to {numbers.stop - 1}")
        while True:  # until no other caller was faster
            old, made = self._find(ask.ref)
            if made is not None:
                return made
            number = self._free(ask.pool, numbers) if ask.value is None else int(ask.value)
            if number is None:
                raise Refused("exhausted", f"no number of pool {ask.pool!r} is free in etcd")
            value, text = f"{self._prefix}/value/{ask.pool}/{number:0{DIGITS}}", json.dumps([ask.key, ask.owner])
            lease = self._call("lease/grant", {"TTL": self._seconds})["ID"] if self._seconds else "0"
            keys = [(value, "0", f"{MARK}{ask.ref} {text}"), (index, old.revision if old else "0", value)]
            if (revision := self._commit(keys, lease)) is not None:
                return Grant(number, value, revision)
            if ask.value is not None and any(entry.ref != ask.ref for entry in self._range(value)):
                raise Refused("taken", f"{number} is in use in etcd")

    def find(self, known: Known) -> Optional[Grant]:
        return self._find(known.ref)[1]

    def release(self, known: Known) -> None:
        old, made = self._find(known.ref)
        while old is not None:
            self._commit([(old.key, old.revision, ""), *([(str(made.handle), str(made.version), "")] if made else [])])
            old, made = self._find(known.ref)

    def list(self, after: Optional[str]) -> Page:
        found = self._range(f"{after}\0" if after else f"{self._prefix}/value/", f"{self._prefix}/value0", PAGE)
        ours = [entry for entry in found if entry.ref]
        grants = [Listed(entry.ref, int(entry.key[-DIGITS:]), entry.key, entry.revision) for entry in ours]
        return Page(grants, found[-1].key if len(found) == PAGE else None)

    def look_up(self, name: str) -> Optional[Fact]:
        found = self._range(f"{self._prefix}/fact/{name}")
        return Fact(json.loads(found[0].value), found[0].revision) if found else None

    def _find(self, ref: str) -> Tuple[Optional[Entry], Optional[Grant]]:
        """The index entry, and the value if it still has the reference. Its lease is renewed."""
        index = self._range(f"{self._prefix}/ref/{ref}")
        for entry in self._range(index[0].value) if index else []:
            if entry.lease != "0":
                self._call("lease/keepalive", {"ID": entry.lease})
            return index[0], Grant(int(entry.key[-DIGITS:]), entry.key, entry.revision) if entry.ref == ref else None
        return (index[0] if index else None), None

    def _free(self, pool: str, numbers: range) -> Optional[int]:
        for part in (numbers[at : at + PAGE] for at in range(0, len(numbers), PAGE)):
            start, end = (f"{self._prefix}/value/{pool}/{number:0{DIGITS}}" for number in (part.start, part.stop))
            used = {int(entry.key[-DIGITS:]) for entry in self._range(start, end)}
            if len(used) < len(part):
                return next(number for number in part if number not in used)
        return None

    def _range(self, start: str, end: str = "", limit: int = 0) -> List[Entry]:
        found, asked = [], {"key": _code(start), "range_end": _code(end), "limit": limit}
        for kv in self._call("kv/range", asked).get("kvs", []):
            key, value = (b64decode(kv.get(name, "")).decode() for name in ("key", "value"))
            ref = value.split(" ")[0][len(MARK) :] if value.startswith(MARK) else ""
            found.append(Entry(key, value, kv["mod_revision"], kv.get("lease", "0"), ref))
        return found

    def _commit(self, keys: List[Tuple[str, str, str]], lease: str = "0") -> Optional[str]:
        """If all keys have these revisions (0: absent), writes each, or deletes it if its new text is empty."""
        compare = [{"target": "MOD", "key": _code(key), "mod_revision": revision} for key, revision, _ in keys]
        puts = [{"requestPut": {"key": _code(k), "value": _code(new), "lease": lease}} for k, _, new in keys if new]
        deletes = [{"requestDeleteRange": {"key": _code(key)}} for key, _, new in keys if not new]
        done = self._call("kv/txn", {"compare": compare, "success": puts + deletes})
        return str(done["header"]["revision"]) if done.get("succeeded") else None

    def _call(self, name: str, body: Dict[str, Any]) -> Any:
        return self._etcd.call("POST", f"/v3/{name}", body).expect(200).body


def _code(text: str) -> str:
    return b64encode(text.encode()).decode()
