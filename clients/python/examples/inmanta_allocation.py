"""An external inventory for Inmanta LSM: claim while compiling, look and release in a handler."""

from allod import Client, NotHeld

inventory = Client()  # ALLOD_SERVER and ALLOD_TOKEN say where and who


def allocate(pool: str, instance: str, attribute: str) -> int:
    """For the allocator. The key is known beforehand, so a second call finds what the first one got."""
    claim = inventory.claim(pool, f"{instance}/{attribute}", owner=instance)
    assert isinstance(claim.value, int)
    return claim.value


def is_allocated(pool: str, instance: str, attribute: str) -> bool:
    """For read_resource. Only an answer is an answer: a server that is away raises, and is not taken for 'free'."""
    try:
        inventory.get(pool, f"{instance}/{attribute}")
        return True
    except NotHeld:
        return False


def deallocate(pool: str, instance: str, attribute: str) -> None:
    """For delete_resource. Done twice is done, so the agent may repeat it until it succeeds."""
    inventory.release(pool, f"{instance}/{attribute}")


def left_behind(instances: "set[str]") -> "list[tuple[str, str]]":
    """Pool and key of what is held by instances that no longer exist."""
    return [(claim.pool, claim.key) for claim in inventory.claims() if claim.owner not in instances]
