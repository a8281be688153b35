"""Generates episodes: sequences of requests to an empty server, determined by a seed."""

from __future__ import annotations

import copy
from random import Random
from typing import Callable, Iterator, List, Tuple

from . import candidates, faults, reads, writes
from .request import Request
from .vocabulary import AGGREGATES, CLASSES, CUSTOM_CLASSES, CUSTOM_TRAITS, chance
from .world import World

Maker = Callable[[Random, World], Request]

BUILDING: List[Tuple[float, Maker]] = [
    (10, writes.create_provider),
    (10, writes.put_inventories),
    (3, writes.post_inventory),
    (5, writes.put_traits),
    (5, writes.put_aggregates),
]
LIVING: List[Tuple[float, Maker]] = [
    (0.2, writes.write_nothing),
    (0.1, writes.write_for_no_uuid),
    (2, writes.create_provider),
    (3, writes.update_provider),
    (2, writes.delete_provider),
    (4, writes.put_inventories),
    (3, writes.post_inventory),
    (3, writes.put_inventory),
    (2, writes.delete_inventory),
    (4, writes.put_traits),
    (1, writes.delete_traits),
    (3, writes.put_aggregates),
    (2, writes.custom_trait),
    (2, writes.custom_class),
    (14, writes.put_allocations),
    (8, writes.post_allocations),
    (2, writes.delete_allocations),
    (3, writes.reshape),
    (6, reads.read),
    (1, reads.traits),
    (2, reads.usages),
    (6, reads.providers),
    (20, candidates.query),
]

BUILDING_STEPS = 10
# The number of mixed requests, and of candidate queries after them.
SHAPES = [(70, 20), (70, 20), (25, 90)]
ONE_FAULT_IN = 8


def episodes(seed: int, steps: int) -> Iterator[List[Request]]:
    """Episodes with this many steps in total; the last one may exceed it."""
    number = 0
    while steps > 0:
        made = episode(f"{seed}/{number}")
        yield made
        steps -= len(made)
        number += 1


def episode(seed: str) -> List[Request]:
    rng = Random(seed)
    world = World(
        classes=rng.sample(CLASSES, rng.randint(2, len(CLASSES))),
        groupings=rng.sample(AGGREGATES, rng.randint(1, len(AGGREGATES))),
    )
    made = [Request("PUT", f"/traits/{name}", "1.39") for name in CUSTOM_TRAITS if not chance(rng, 20)]
    made += [Request("PUT", f"/resource_classes/{name}", "1.39") for name in CUSTOM_CLASSES if not chance(rng, 20)]
    made += [writes.create_provider(rng, world) for _ in range(rng.randint(3, 9))]
    made += _furnished(rng, world)
    made += _mixed(rng, world, BUILDING, BUILDING_STEPS)
    living, queries = rng.choice(SHAPES)
    made += _mixed(rng, world, LIVING, living)
    made += [candidates.query(rng, world) for _ in range(queries)]
    made += reads.sweep(rng)
    return made


def _furnished(rng: Random, world: World) -> Iterator[Request]:
    """Inventories, traits and aggregates for most providers, so that queries find something."""
    for uuid in sorted(world.parents):
        if not chance(rng, 6):
            yield writes.put_inventories_of(rng, world, uuid)
        if chance(rng, 2):
            yield writes.put_traits_of(rng, world, uuid)
        if chance(rng, 3):
            yield writes.put_aggregates_of(rng, world, uuid)


def _mixed(rng: Random, world: World, mix: List[Tuple[float, Maker]], steps: int) -> Iterator[Request]:
    weights, makers = [weight for weight, _ in mix], [maker for _, maker in mix]
    for maker in rng.choices(makers, weights, k=steps):
        if chance(rng, ONE_FAULT_IN):
            # A refused request changes nothing, so the model must not change either.
            yield faults.spoil(rng, maker(rng, copy.deepcopy(world)))
        else:
            yield maker(rng, world)
