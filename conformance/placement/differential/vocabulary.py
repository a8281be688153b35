"""The names in random requests: few, so that requests affect each other."""

from __future__ import annotations

from random import Random
from typing import List, Sequence, TypeVar

T = TypeVar("T")

PROVIDERS = [f"0000000{n}-aaaa-4000-8000-000000000000" for n in range(1, 9)]
CONSUMERS = [f"0000000{n}-cccc-4000-8000-000000000000" for n in range(1, 7)]
AGGREGATES = [f"0000000{n}-dddd-4000-8000-000000000000" for n in range(1, 4)]
UNKNOWN = "ffffffff-ffff-4fff-8fff-ffffffffffff"

SHARES = "MISC_SHARES_VIA_AGGREGATE"
STANDARD_TRAITS = ["HW_CPU_X86_AVX", "HW_CPU_X86_SSE", "STORAGE_DISK_SSD", SHARES]
CUSTOM_TRAITS = ["CUSTOM_RED", "CUSTOM_BLUE", "CUSTOM_GREEN"]
TRAITS = [*STANDARD_TRAITS, *CUSTOM_TRAITS]

STANDARD_CLASSES = ["VCPU", "MEMORY_MB", "DISK_GB", "SRIOV_NET_VF"]
CUSTOM_CLASSES = ["CUSTOM_GOLD", "CUSTOM_IRON"]
CLASSES = [*STANDARD_CLASSES, *CUSTOM_CLASSES]

PROJECTS, USERS, TYPES = ["project-1", "project-2"], ["user-1", "user-2"], ["INSTANCE", "MIGRATION"]

NEWEST = 39


def chance(rng: Random, one_in: float) -> bool:
    return rng.random() * one_in < 1


def some(rng: Random, items: Sequence[T], most: int, least: int = 1) -> List[T]:
    """A random sample."""
    return rng.sample(list(items), min(len(items), rng.randint(least, most)))


def minor_version(rng: Random, least: int = 0) -> int:
    """The newest version in half of the cases, otherwise any."""
    return NEWEST if chance(rng, 2) else rng.randint(least, NEWEST)
