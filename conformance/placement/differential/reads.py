"""Random read requests other than for candidates, and a sweep over everything that can be read."""

from __future__ import annotations

from random import Random
from typing import Iterator, List, Tuple

from . import vocabulary as v
from .request import Request
from .vocabulary import chance, minor_version, some
from .world import World

OF_PROVIDER = ["", "/inventories", "/usages", "/aggregates", "/allocations", "/traits"]


def read(rng: Random, world: World) -> Request:
    """One resource, in any version."""
    uuid, consumer = world.provider(rng), world.consumer(rng)
    path = rng.choice(
        [
            *(f"/resource_providers/{uuid}{part}" for part in OF_PROVIDER),
            f"/resource_providers/{uuid}/inventories/{rng.choice(v.CLASSES)}",
            f"/allocations/{consumer}",
            f"/traits/{rng.choice(v.TRAITS)}",
            f"/resource_classes/{rng.choice(v.CLASSES)}",
            "/resource_classes",
        ]
    )
    return Request("GET", path, f"1.{minor_version(rng)}")


def traits(rng: Random, _world: World) -> Request:
    query: List[Tuple[str, str]] = []
    if chance(rng, 2):
        names = ",".join(some(rng, [*v.TRAITS, "CUSTOM_UNKNOWN"], 3))
        query.append(("name", rng.choice([f"in:{names}", "startswith:CUSTOM_", "startswith:HW_CPU_X86_AVX"])))
    if not query or chance(rng, 2):
        query.append(("associated", rng.choice(["true", "false", "True"])))
    return Request("GET", "/traits", f"1.{minor_version(rng, 6)}", tuple(query))


def usages(rng: Random, _world: World) -> Request:
    minor = minor_version(rng, 9)
    query = [("project_id", rng.choice(v.PROJECTS))]
    if chance(rng, 2):
        query.append(("user_id", rng.choice(v.USERS)))
    if minor >= 38 and chance(rng, 2):
        query.append(("consumer_type", rng.choice([*v.TYPES, "all", "unknown", "NEVER_SEEN"])))
    return Request("GET", "/usages", f"1.{minor}", tuple(query))


def providers(rng: Random, world: World) -> Request:
    """The list of providers with filters, some of which are too new for the version."""
    minor = minor_version(rng)
    since = {"name": 0, "uuid": 0, "member_of": 3, "resources": 4, "in_tree": 14, "required": 18}
    allowed = [name for name, first in since.items() if minor >= first or chance(rng, 30)]
    query: List[Tuple[str, str]] = []
    for name in some(rng, allowed, 2):
        for _ in range(2 if name in ("member_of", "required") and chance(rng, 5) else 1):
            query.append((name, _value(rng, world, name, minor)))
    return Request("GET", "/resource_providers", f"1.{minor}", tuple(query))


def _value(rng: Random, world: World, name: str, minor: int) -> str:
    uuid = world.provider(rng)
    if name == "name":
        return f"host-{uuid[7]}"
    if name == "member_of":
        return member_of(rng, minor)
    if name == "resources":
        return resources(rng, v.CLASSES)
    if name == "required":
        return required(rng, minor, v.TRAITS)
    return uuid


def resources(rng: Random, names: List[str]) -> str:
    return ",".join(f"{name}:{rng.choice([1, 1, 2, 2, 3, 5, 9])}" for name in some(rng, names, 2))


def required(rng: Random, minor: int, traits: List[str]) -> str:
    names = some(rng, traits, 2)
    if (minor >= 39 or chance(rng, 40)) and chance(rng, 4):
        return "in:" + ",".join(names)
    forbidding = minor >= 22 or chance(rng, 40)
    return ",".join(f"!{name}" if forbidding and chance(rng, 4) else name for name in names)


def member_of(rng: Random, minor: int) -> str:
    names = some(rng, v.AGGREGATES, 2)
    value = f"in:{','.join(names)}" if len(names) > 1 or chance(rng, 4) else names[0]
    forbidding = minor >= 32 or chance(rng, 40)
    return f"!{value}" if forbidding and chance(rng, 3) else value


def sweep(rng: Random) -> Iterator[Request]:
    """Reads everything once, so that no difference stays hidden."""
    newest = f"1.{v.NEWEST}"
    yield Request("GET", "/resource_providers", newest)
    for uuid in v.PROVIDERS:
        for part in OF_PROVIDER:
            yield Request("GET", f"/resource_providers/{uuid}{part}", newest)
    for consumer in v.CONSUMERS:
        yield Request("GET", f"/allocations/{consumer}", newest)
    for project in v.PROJECTS:
        for minor in (NEWEST_UNTYPED, v.NEWEST):
            yield Request("GET", "/usages", f"1.{minor}", (("project_id", project),))
    yield Request("GET", "/traits", newest, (("name", "startswith:CUSTOM_"),))
    yield Request("GET", "/resource_classes", newest)
    yield Request("GET", "/resource_providers", f"1.{minor_version(rng)}")


NEWEST_UNTYPED = 37
