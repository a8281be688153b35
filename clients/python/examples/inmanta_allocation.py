"""An external allocator for Inmanta LSM, in twenty lines: claim while compiling, release in a handler."""

from allod import Client, NotHeld

inventory = Client()  # ALLOD_SERVER, ALLOD_TOKEN


def key(instance_id: str, attribute: str) -> str:
    return f"{instance_id}/{attribute}"


def allocate(pool: str, instance_id: str, attribute: str) -> int:
    """Called by the allocator, as often as the compiler likes: the same instance gets the same value."""
    claim = inventory.claim(pool, key(instance_id, attribute), owner=instance_id)
    assert isinstance(claim.value, int)
    return claim.value


def is_allocated(pool: str, instance_id: str, attribute: str) -> bool:
    """For `read_resource`: False means `ResourcePurged`."""
    try:
        inventory.get(pool, key(instance_id, attribute))
        return True
    except NotHeld:
        return False


def deallocate(pool: str, instance_id: str, attribute: str) -> None:
    """For `delete_resource`: done also when it was done before, so the agent may retry until it succeeds."""
    inventory.release(pool, key(instance_id, attribute))


def forgotten(instances: "set[str]") -> "list[tuple[str, str]]":
    """What is held by instances that no longer exist: pool and key, to look at or to release."""
    return [(claim.pool, claim.key) for claim in inventory.claims() if claim.owner not in instances]
