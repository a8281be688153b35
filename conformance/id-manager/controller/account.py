"""Accounts for every ID of a pool, from the tree that a client reads."""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, List, Set


class Account:
    """The pool and its children from the whole tree. Numbers may be in the form of either dialect."""

    def __init__(self, tree: Dict[str, Any], pool: str) -> None:
        pools = {entry["pool-name"]: entry for entry in tree["id-pool"]}
        self._parent = pools[pool]
        self._children = [entry for entry in pools.values() if entry.get("parent-pool-name") == pool]

    @property
    def held(self) -> Dict[str, List[int]]:
        """IDs by key."""
        return {entry["id-key"]: entry["id-value"] for entry in self._parent.get("id-entries", [])}

    @property
    def released(self) -> List[int]:
        """Released and not allocated again."""
        entries = [self._parent, *self._children]
        for entry in entries:
            holder = entry["released-ids-holder"]
            assert holder["available-id-count"] == len(holder.get("delayed-id-entries", [])), holder
        return [
            one["id"] for entry in entries for one in entry["released-ids-holder"].get("delayed-id-entries", [])
        ]

    @property
    def available(self) -> List[int]:
        """Never allocated: the rest of the pool, and the rest of each child's block."""
        ids: List[int] = []
        for entry in [self._parent, *self._children]:
            holder = entry.get("available-ids-holder", {})
            if holder:
                ids += range(int(holder["cursor"]) + 1, int(holder["end"]) + 1)
        return ids

    def check(self, low: int, high: int) -> None:
        """Checks that each ID is in exactly one place, and none is missing.

        A cursor skips an ID that was allocated by number, whether it is still held or was released. Such an ID may be ahead
        of a cursor, so its other place counts.
        """
        held = [one for ids in self.held.values() for one in ids]
        released = self.released
        elsewhere = set(held) | set(released)
        places = held + released + [one for one in self.available if one not in elsewhere]
        twice = [one for one, count in Counter(places).items() if count > 1]
        assert not twice, f"in two places: {sorted(twice)[:20]}"
        missing: Set[int] = set(range(low, high + 1)) - set(places)
        assert not missing, f"lost: {sorted(missing)[:20]}"
        assert set(places) <= set(range(low, high + 1)), "an id that the pool does not have"
