"""Random write requests that are valid for their version."""

from __future__ import annotations

from random import Random
from typing import Any, Dict, List

from . import vocabulary as v
from .request import Request, consumer_generation_of, generation_of
from .vocabulary import chance, minor_version, some
from .world import Resources, World


def create_provider(rng: Random, world: World) -> Request:
    minor = minor_version(rng)
    absent = [uuid for uuid in v.PROVIDERS if uuid not in world.parents]
    uuid = rng.choice(absent if absent and not chance(rng, 15) else v.PROVIDERS)
    body = {"name": name_of(rng, uuid), "uuid": uuid.replace("-", "") if chance(rng, 20) else uuid}
    if minor >= 14 and world.parents and chance(rng, 1.5):
        body["parent_provider_uuid"] = world.provider(rng)
    world.parents.setdefault(uuid, body.get("parent_provider_uuid"))
    return Request("POST", "/resource_providers", f"1.{minor}", body=body)


def update_provider(rng: Random, world: World) -> Request:
    minor, uuid = minor_version(rng), world.provider(rng)
    body: Dict[str, Any] = {"name": name_of(rng, uuid)}
    if minor >= 14 and chance(rng, 1.5):
        body["parent_provider_uuid"] = None if chance(rng, 4) else world.provider(rng)
    return Request("PUT", f"/resource_providers/{uuid}", f"1.{minor}", body=body)


def delete_provider(rng: Random, world: World) -> Request:
    uuid = world.provider(rng)
    if uuid not in world.parents.values():
        world.parents.pop(uuid, None)
        world.inventories.pop(uuid, None)
    return Request("DELETE", f"/resource_providers/{uuid}", f"1.{minor_version(rng)}")


def name_of(rng: Random, uuid: str) -> str:
    names = [f"host-{uuid[7]}", f"hôst {uuid[7]}"]
    return rng.choice([*names, "taken"]) if chance(rng, 6) else names[0]


def record(rng: Random) -> Dict[str, Any]:
    """One inventory, often with unusual values."""
    total = rng.choice([1, 4, 7, 8, 10, 16, 100])
    made: Dict[str, Any] = {"total": total}
    choices: Dict[str, List[Any]] = {
        "reserved": [0, 0, 1, total // 2, total if chance(rng, 6) else 0],
        "min_unit": [1, 2, 3],
        "max_unit": [1, 2, 5, total, 2**31 - 1],
        "step_size": [1, 2, 3],
        "allocation_ratio": [0 if chance(rng, 6) else 1, 0.5, 1.0, 1.1, 1.6, 2.5, 16.0],
    }
    for field, values in choices.items():
        if chance(rng, 5):
            made[field] = rng.choice(values)
    return made


def put_inventories(rng: Random, world: World) -> Request:
    return put_inventories_of(rng, world, world.provider(rng))


def put_inventories_of(rng: Random, world: World, uuid: str) -> Request:
    names = world.classes if not chance(rng, 10) else v.CLASSES
    records = {name: record(rng) for name in some(rng, names, 3, least=0 if chance(rng, 8) else 1)}
    world.inventories[uuid] = dict(records)
    body = {"resource_provider_generation": provider_generation(rng, uuid), "inventories": records}
    return Request("PUT", f"/resource_providers/{uuid}/inventories", f"1.{minor_version(rng)}", body=body)


def post_inventory(rng: Random, world: World) -> Request:
    uuid, name = world.provider(rng), rng.choice(world.classes)
    one = record(rng)
    world.inventories.setdefault(uuid, {}).setdefault(name, one)
    body = {**one, "resource_class": name}
    if chance(rng, 5):
        body["resource_provider_generation"] = rng.randint(0, 9)
    return Request("POST", f"/resource_providers/{uuid}/inventories", f"1.{minor_version(rng)}", body=body)


def put_inventory(rng: Random, world: World) -> Request:
    uuid = world.provider(rng)
    names = sorted(world.inventories.get(uuid, {}))
    name = rng.choice(names if names and not chance(rng, 8) else world.classes)
    body = {**record(rng), "resource_provider_generation": provider_generation(rng, uuid)}
    path = f"/resource_providers/{uuid}/inventories/{name}"
    return Request("PUT", path, f"1.{minor_version(rng)}", body=body)


def delete_inventory(rng: Random, world: World) -> Request:
    uuid = world.provider(rng)
    if chance(rng, 5):
        return Request("DELETE", f"/resource_providers/{uuid}/inventories", f"1.{minor_version(rng)}")
    names = sorted(world.inventories.get(uuid, {}))
    name = rng.choice(names if names and not chance(rng, 8) else world.classes)
    return Request("DELETE", f"/resource_providers/{uuid}/inventories/{name}", f"1.{minor_version(rng)}")


def put_traits(rng: Random, world: World) -> Request:
    return put_traits_of(rng, world, world.provider(rng))


def put_traits_of(rng: Random, world: World, uuid: str) -> Request:
    traits = some(rng, [trait for trait in v.TRAITS if trait != v.SHARES], 3, least=0)
    if chance(rng, 4):
        traits.append(v.SHARES)
    if chance(rng, 25):
        traits.append(rng.choice(["CUSTOM_UNKNOWN", *traits, "HW_NO_SUCH_TRAIT"]))
    world.traits[uuid] = traits
    body = {"traits": traits, "resource_provider_generation": provider_generation(rng, uuid)}
    return Request("PUT", f"/resource_providers/{uuid}/traits", f"1.{minor_version(rng, 6)}", body=body)


def delete_traits(rng: Random, world: World) -> Request:
    return Request("DELETE", f"/resource_providers/{world.provider(rng)}/traits", f"1.{minor_version(rng)}")


def put_aggregates(rng: Random, world: World) -> Request:
    return put_aggregates_of(rng, world, world.provider(rng))


def put_aggregates_of(rng: Random, world: World, uuid: str) -> Request:
    minor = minor_version(rng, 1)
    aggregates = some(rng, world.groupings, 2, least=0 if chance(rng, 3) else 1)
    world.aggregates[uuid] = aggregates
    body: Any = aggregates
    if minor >= 19:
        body = {"aggregates": aggregates, "resource_provider_generation": provider_generation(rng, uuid)}
    return Request("PUT", f"/resource_providers/{uuid}/aggregates", f"1.{minor}", body=body)


def custom_trait(rng: Random, _world: World) -> Request:
    name = rng.choice([*v.CUSTOM_TRAITS, *v.CUSTOM_TRAITS, "HW_CPU_X86_AVX", "CUSTOM_lower", "CUSTOM_UNKNOWN"])
    method = "DELETE" if chance(rng, 4) else "PUT"
    return Request(method, f"/traits/{name}", f"1.{minor_version(rng, 6)}")


def custom_class(rng: Random, _world: World) -> Request:
    minor = minor_version(rng, 2)
    name = rng.choice([*v.CUSTOM_CLASSES, *v.CUSTOM_CLASSES, "VCPU", "CUSTOM_lower", "CUSTOM_UNKNOWN"])
    if chance(rng, 4):
        return Request("DELETE", f"/resource_classes/{name}", f"1.{minor}")
    if chance(rng, 4):
        return Request("POST", "/resource_classes", f"1.{minor}", body={"name": name})
    if minor < 7:
        renamed = rng.choice(v.CUSTOM_CLASSES)
        return Request("PUT", f"/resource_classes/{name}", f"1.{minor}", body={"name": renamed})
    return Request("PUT", f"/resource_classes/{name}", f"1.{minor}")


def put_allocations(rng: Random, world: World) -> Request:
    minor, consumer = minor_version(rng), world.consumer(rng)
    held = allocation(rng, world)
    if minor >= 28 and consumer in world.allocations and chance(rng, 8):
        held = {}
    world.allocations[consumer] = held
    body = allocation_body(rng, minor, consumer, held)
    return Request("PUT", f"/allocations/{consumer}", f"1.{minor}", body=body)


def write_nothing(rng: Random, world: World) -> Request:
    """Creates a hidden row; see ``rows``."""
    body = {**allocation_body(rng, v.NEWEST, v.UNKNOWN, {}), "consumer_generation": None}
    return Request("PUT", f"/allocations/{rng.choice(v.CONSUMERS)}", f"1.{v.NEWEST}", body=body)


def write_for_no_uuid(rng: Random, world: World) -> Request:
    """A consumer whose key is not a UUID."""
    body = {"-" * 36: {**allocation_body(rng, v.NEWEST, v.UNKNOWN, allocation(rng, world)), "consumer_generation": None}}
    return Request("POST", "/allocations", f"1.{v.NEWEST}", body=body)


def post_allocations(rng: Random, world: World) -> Request:
    """Several consumers at once; sometimes one takes over the allocations of another, as in a migration."""
    minor = minor_version(rng, 13)
    consumers = some(rng, v.CONSUMERS, 3)
    written = {consumer: allocation(rng, world) for consumer in consumers}
    holders = sorted(consumer for consumer, held in world.allocations.items() if held)
    if holders and chance(rng, 2):
        source = rng.choice(holders)
        target = rng.choice([consumer for consumer in v.CONSUMERS if consumer != source])
        written = {target: world.allocations[source], source: {} if chance(rng, 2) else allocation(rng, world)}
    world.allocations.update(written)
    body = {consumer: allocation_body(rng, minor, consumer, held) for consumer, held in written.items()}
    return Request("POST", "/allocations", f"1.{minor}", body=body)


def delete_allocations(rng: Random, world: World) -> Request:
    consumer = world.consumer(rng)
    world.allocations.pop(consumer, None)
    return Request("DELETE", f"/allocations/{consumer}", f"1.{minor_version(rng)}")


def reshape(rng: Random, world: World) -> Request:
    """Moves a class to another provider with its allocations; sometimes omits some of them."""
    minor = minor_version(rng, 30)
    stocked = world.stocked()
    source = rng.choice(stocked) if stocked else world.provider(rng)
    target = world.provider(rng)
    kept = dict(world.inventories.get(source, {}))
    moved = dict(world.inventories.get(target, {}))
    name = rng.choice(sorted(kept)) if kept else "VCPU"
    moved[name] = kept.pop(name, {"total": 4})
    inventories = {source: kept, target: moved}
    allocations = {}
    for consumer, held in sorted(world.allocations.items()):
        if not held.get(source, {}).get(name) or chance(rng, 10):
            continue
        after = {uuid: dict(resources) for uuid, resources in held.items()}
        after.setdefault(target, {})[name] = after[source].pop(name)
        after = {uuid: resources for uuid, resources in after.items() if resources}
        allocations[consumer] = after
    world.inventories.update(inventories)
    world.allocations.update(allocations)
    body = {
        "inventories": {
            uuid: {"resource_provider_generation": provider_generation(rng, uuid), "inventories": records}
            for uuid, records in inventories.items()
        },
        "allocations": {
            consumer: allocation_body(rng, minor, consumer, held) for consumer, held in allocations.items()
        },
    }
    return Request("POST", "/reshaper", f"1.{minor}", body=body)


def allocation(rng: Random, world: World) -> Dict[str, Resources]:
    """Allocations, mostly from providers with an inventory."""
    stocked = [uuid for uuid in world.stocked() if uuid in world.parents] or [world.provider(rng)]
    held = {}
    for uuid in some(rng, stocked, 2):
        names = sorted(world.inventories.get(uuid, {})) or ["VCPU"]
        if chance(rng, 20):
            names = v.CLASSES
        held[uuid] = {name: world.amount(rng, uuid, name) for name in some(rng, names, 2)}
    if chance(rng, 40):
        held[v.UNKNOWN] = {"VCPU": 1}
    return held


def allocation_body(rng: Random, minor: int, consumer: str, held: Dict[str, Resources]) -> Dict[str, Any]:
    """The allocations of a consumer in the form of a version."""
    if minor < 12:
        listed = [{"resource_provider": {"uuid": uuid}, "resources": held[uuid]} for uuid in held]
        body: Dict[str, Any] = {"allocations": listed}
    else:
        body = {"allocations": {uuid: {"resources": resources} for uuid, resources in held.items()}}
    if minor >= 8:
        body["project_id"], body["user_id"] = rng.choice(v.PROJECTS), rng.choice(v.USERS)
    if minor >= 28:
        stale = rng.choice([None, 0, 1, 2])
        body["consumer_generation"] = stale if chance(rng, 12) else consumer_generation_of(consumer)
    if minor >= 34 and held and chance(rng, 6):
        body["mappings"] = {"": sorted(held)}
    if minor >= 38:
        body["consumer_type"] = rng.choice(v.TYPES)
    return body


def provider_generation(rng: Random, uuid: str) -> Any:
    return rng.randint(0, 5) if chance(rng, 12) else generation_of(uuid)
