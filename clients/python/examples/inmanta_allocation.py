"""An external inventory for Inmanta LSM: claim during compilation, read and release in a handler."""

from allod import Client, NotHeld

inventory = Client()  # reads ALLOD_SERVER and ALLOD_TOKEN


def allocate(pool: str, instance: str, attribute: str) -> int:
    """For the allocator. The key is derived from the instance, so a repeated call returns the same value."""
    claim = inventory.claim(pool, f"{instance}/{attribute}", owner=instance)
    assert isinstance(claim.value, int)
    return claim.value


def is_allocated(pool: str, instance: str, attribute: str) -> bool:
    """For read_resource. Raises if the server cannot be reached; it never reports 'free' then."""
    try:
        inventory.get(pool, f"{instance}/{attribute}")
        return True
    except NotHeld:
        return False


def deallocate(pool: str, instance: str, attribute: str) -> None:
    """For delete_resource. Idempotent: the agent can repeat it until it succeeds."""
    inventory.release(pool, f"{instance}/{attribute}")


def left_behind(instances: "set[str]") -> "list[tuple[str, str]]":
    """Pool and key of claims whose instance is not in `instances`."""
    return [(claim.pool, claim.key) for claim in inventory.claims() if claim.owner not in instances]
