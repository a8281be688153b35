"""The generator's model of the servers. It does not see replies, so it assumes that each request succeeds.

A wrong assumption does no harm; it only makes later requests less likely to succeed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any, Dict, List, Optional

from .vocabulary import AGGREGATES, CLASSES, CONSUMERS, UNKNOWN, PROVIDERS, chance

Resources = Dict[str, int]


@dataclass
class World:
    classes: List[str] = field(default_factory=lambda: list(CLASSES))
    """The classes in use; if there are few, requests have more candidates."""
    groupings: List[str] = field(default_factory=lambda: list(AGGREGATES))
    """The aggregates in use; if there are few, more is shared."""
    parents: Dict[str, Optional[str]] = field(default_factory=dict)
    """The parent of each provider."""
    inventories: Dict[str, Dict[str, Dict[str, Any]]] = field(default_factory=dict)
    """Records by provider and class."""
    allocations: Dict[str, Dict[str, Resources]] = field(default_factory=dict)
    """Resources by consumer and provider."""
    traits: Dict[str, List[str]] = field(default_factory=dict)
    aggregates: Dict[str, List[str]] = field(default_factory=dict)

    def provider(self, rng: Random) -> str:
        """A provider, which mostly exists."""
        if not self.parents or chance(rng, 25):
            return rng.choice([*PROVIDERS, UNKNOWN])
        return rng.choice(sorted(self.parents))

    def consumer(self, rng: Random) -> str:
        if not self.allocations or chance(rng, 2):
            return rng.choice(CONSUMERS)
        return rng.choice(sorted(self.allocations))

    def stocked(self) -> List[str]:
        """Providers with inventory."""
        return sorted(uuid for uuid, records in self.inventories.items() if records)

    def amount(self, rng: Random, provider: str, name: str) -> int:
        """An amount of a class that mostly respects the units of the inventory."""
        record = self.inventories.get(provider, {}).get(name, {})
        step = record.get("step_size", 1)
        least = max(record.get("min_unit", 1), step)
        if chance(rng, 10):
            return rng.choice([1, 2, 3, 5, 9])
        return int(least + (-least) % step + step * rng.choice([0, 0, 0, 0, 1, 2]))

    def tree(self, provider: str) -> List[str]:
        """All providers in the same tree."""
        root = self._root(provider)
        return sorted(uuid for uuid in self.parents if self._root(uuid) == root)

    def _root(self, provider: str) -> str:
        seen = {provider}
        while True:
            parent = self.parents.get(provider)
            if parent is None or parent in seen:
                return provider
            seen.add(parent)
            provider = parent
