"""Random queries for candidates, over all parameters and versions."""

from __future__ import annotations

from random import Random
from typing import List, Tuple

from . import vocabulary as v
from .reads import member_of, required
from .request import Request
from .vocabulary import chance, some
from .world import World

Query = List[Tuple[str, str]]

GRANULAR, IN_TREE, NAMED, ROOT_REQUIRED, SAME_SUBTREE, ANY_TRAITS = 25, 31, 33, 35, 36, 39
FEATURES = [10, 12, 16, 17, 21, 22, 24, GRANULAR, 27, 29, IN_TREE, 32, NAMED, 34, ROOT_REQUIRED, SAME_SUBTREE]


def query(rng: Random, world: World) -> Request:
    # A query with parameters that are too new for its version is refused, which tests little.
    minor = v.NEWEST if chance(rng, 1.6) else rng.choice([*FEATURES, rng.randint(10, v.NEWEST)])
    asked: Query = []
    suffixes = _suffixes(rng, minor)
    if not suffixes or chance(rng, 2):
        suffixes.insert(0, "")
    stocked = [uuid for uuid in world.stocked() if uuid in world.parents]
    tree = world.tree(rng.choice(stocked)) if stocked else []
    resourceless = []
    for suffix in suffixes:
        without = bool(suffix) and minor >= SAME_SUBTREE and len(suffixes) > 1 and chance(rng, 6)
        if without:
            resourceless.append(suffix)
        # A group that fits one provider of one tree is likely to have candidates.
        near = [uuid for uuid in tree if world.inventories.get(uuid)]
        one = rng.choice(near or [world.provider(rng)])
        asked += _group(rng, world, minor, suffix, without, one)
    numbered = [suffix for suffix in suffixes if suffix]
    if len(numbered) > 1 and not chance(rng, 30):
        asked.append(("group_policy", rng.choice(["none", "none", "isolate"])))
    if minor >= SAME_SUBTREE and numbered and (resourceless or chance(rng, 3)):
        named = sorted({*resourceless, *some(rng, numbered, 2)})
        asked.append(("same_subtree", ",".join(named)))
    if minor >= ROOT_REQUIRED and chance(rng, 8):
        asked.append(("root_required", ",".join(some(rng, [*v.TRAITS, "!CUSTOM_RED", "!CUSTOM_BLUE"], 2))))
    if minor >= 16 and chance(rng, 8):
        asked.append(("limit", str(rng.choice([1, 2, 3, 1000]))))
    return Request("GET", "/allocation_candidates", f"1.{minor}", tuple(asked))


def _suffixes(rng: Random, minor: int) -> List[str]:
    if minor < GRANULAR or chance(rng, 2.5):
        return []
    names = ["1", "2", "3"] if minor < NAMED or chance(rng, 2) else ["_NET", "_disk-1", "7"]
    return names[: rng.choice([1, 2, 2, 3])]


def _group(rng: Random, world: World, minor: int, suffix: str, resourceless: bool, one: str) -> Query:
    """The parameters of one group, which this provider mostly satisfies."""
    asked: Query = []
    if not resourceless:
        names = sorted(world.inventories.get(one, {}))
        if not suffix and chance(rng, 2):
            names = sorted({name for records in world.inventories.values() for name in records})
        if not names or chance(rng, 20):
            names = v.CLASSES
        amounts = [f"{name}:{world.amount(rng, one, name)}" for name in some(rng, names, 2)]
        asked.append((f"resources{suffix}", ",".join(amounts)))
    if minor >= 17 and (resourceless or chance(rng, 4)):
        for _ in range(2 if minor >= ANY_TRAITS and chance(rng, 4) else 1):
            fits = world.traits.get(one) or v.TRAITS
            asked.append((f"required{suffix}", required(rng, minor, v.TRAITS if chance(rng, 2) else fits)))
    if minor >= 21 and chance(rng, 5):
        for _ in range(2 if minor >= 24 and chance(rng, 4) else 1):
            asked.append((f"member_of{suffix}", member_of(rng, minor)))
    if minor >= IN_TREE and chance(rng, 8):
        asked.append((f"in_tree{suffix}", one if chance(rng, 2) else world.provider(rng)))
    return asked
