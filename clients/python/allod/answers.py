"""What the server answers, as dataclasses.

Members that a newer server adds are passed over. A member that is missing or of the wrong type is a ``BadAnswer``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Callable, Mapping, Optional, Tuple, TypeVar, Union

from .errors import BadAnswer
from .values import Value, read_time, read_value

T = TypeVar("T")
Json = Mapping[str, Any]


@dataclass(frozen=True)
class Claim:
    """Values of a pool, held under a key."""

    pool: str
    key: str
    owner: str
    value: Value
    """Its value, or the first of several."""
    values: Optional[Tuple[Value, ...]]
    """All of them; ``None`` when there are very many, and ``ranges`` has them."""
    ranges: Tuple[str, ...]
    """When there are several: all of them, as ``first-last`` where they follow each other."""
    version: int
    """Changes with every change of the claim. Hand it to ``release`` so that nothing newer is released."""
    state: str
    created: datetime
    expires: Optional[datetime]
    """When it may be taken away; ``None``: never."""
    expired: bool
    until: Optional[datetime]
    """In quarantine: until when."""
    labels: Mapping[str, str]
    new: bool = False
    """Whether the call that this is the answer of made it."""


@dataclass(frozen=True)
class Usage:
    """How full a pool is: counts of values, but for those that say claims."""

    size: int
    claims: int
    held: int
    expired_claims: int
    quarantined: int
    excluded: int
    draining: int
    draining_held: int
    manual_free: int
    free: int
    outside_held: int


@dataclass(frozen=True)
class Pool:
    name: str
    generation: int
    """How many definitions it has had; what ``put_pool`` and ``delete_pool`` can be guarded by."""
    kind: str
    ranges: Tuple[str, ...]
    exclude: Tuple[str, ...]
    manual: Tuple[str, ...]
    draining: Tuple[str, ...]
    strategy: str
    keep_edges: bool
    quarantine: float
    lease: Optional[float]
    reap: bool
    labels: Mapping[str, str]
    usage: Optional[Usage]
    """How full it is; not in the answer to a definition."""
    new: bool = False
    """Whether the call that this is the answer of made it."""


@dataclass(frozen=True)
class Who:
    """What can be said of one value."""

    pool: str
    value: Value
    state: str
    """``free``, ``held``, ``quarantined``, ``manual``, ``draining``, ``excluded`` or ``outside``."""
    claim: Optional[Claim]
    """Who has it, or had it."""
    at_position: Optional[int]
    """When a moment was asked for: the last position that there was by then."""
    at_time: Optional[datetime]
    """When a moment was asked for: that time, or when that position was made."""


@dataclass(frozen=True)
class Claimed:
    new: bool
    claims: Tuple[Claim, ...]
    """One for each pool, in the order asked."""

    @property
    def claim(self) -> Claim:
        return self.claims[0]


@dataclass(frozen=True)
class Released:
    existed: bool


@dataclass(frozen=True)
class Leased:
    """A claim that was renewed or confirmed."""

    claim: Claim


@dataclass(frozen=True)
class Checked:
    pass


@dataclass(frozen=True)
class Allocated:
    generations: Mapping[str, Optional[int]]
    """For each consumer its generation; ``None``: it holds nothing any more."""


@dataclass(frozen=True)
class Extended:
    consumer: str
    generation: int
    expires: Optional[datetime]
    """``None``: held until given up."""


OpResult = Union[Claimed, Released, Leased, Allocated, Extended, Checked]


@dataclass(frozen=True)
class Done:
    """What a transaction did, or with ``dry_run`` would have done: a result for each operation, in order."""

    results: Tuple[OpResult, ...]
    dry_run: bool


@dataclass(frozen=True)
class Event:
    """One thing that happened. What does not apply to its kind is ``None``."""

    kind: str
    """``pool_defined``, ``claim_granted``, ``allocations_set`` and others; the guide to watching has them all."""
    pool: Optional[str]
    """``None`` where it is about providers and consumers, which belong to no pool."""
    key: Optional[str]
    owner: Optional[str]
    values: Optional[Tuple[Value, ...]]
    """Its values, where they are known and not too many; ``members`` then has ``ranges``."""
    version: Optional[int]
    expires: Optional[datetime]
    cause: Optional[str]
    """Of a release: ``asked``, ``taken`` or ``reaped``."""
    quarantine_until: Optional[datetime]
    provider: Optional[str]
    consumer: Optional[str]
    members: Json = field(repr=False)
    """The event as it came, with what has no field here."""


@dataclass(frozen=True)
class Change:
    """What happened at one position of the journal."""

    position: int
    at: datetime
    events: Tuple[Event, ...]


@dataclass(frozen=True)
class Status:
    """How the server is."""

    version: str
    ready: bool
    position: int
    members: Json = field(repr=False)
    """All that it says."""


def reading(read: Callable[[Json], T]) -> Callable[[object], T]:
    """Turns what goes wrong while an answer is read into ``BadAnswer``."""

    def checked(json: object) -> T:
        if not isinstance(json, Mapping):
            raise BadAnswer(f"the answer is no JSON object: {json!r:.200}")
        try:
            return read(json)
        except (KeyError, TypeError, ValueError) as error:
            raise BadAnswer(f"the answer is not as expected ({error!r}): {json!r:.200}") from error

    return checked


def _maybe(read: Callable[[Any], T], json: Any) -> Optional[T]:
    return None if json is None else read(json)


def _values(json: Any) -> Tuple[Value, ...]:
    return tuple(read_value(value) for value in json)


def claim(json: Json, new: bool = False) -> Claim:
    return Claim(
        pool=json["pool"],
        key=json["key"],
        owner=json["owner"],
        value=read_value(json["value"]),
        values=_maybe(_values, json.get("values")),
        ranges=tuple(json.get("ranges") or ()),
        version=int(json["version"]),
        state=json["state"],
        created=read_time(json["created"]),
        expires=_maybe(read_time, json["expires"]),
        expired=json["expired"],
        until=_maybe(read_time, json.get("until")),
        labels=dict(json["labels"]),
        new=new,
    )


def pool(json: Json, new: bool = False) -> Pool:
    return Pool(
        name=json["name"],
        generation=int(json["generation"]),
        kind=json["kind"],
        ranges=tuple(json["ranges"]),
        exclude=tuple(json["exclude"]),
        manual=tuple(json["manual"]),
        draining=tuple(json["draining"]),
        strategy=json["strategy"],
        keep_edges=json["keep_edges"],
        quarantine=float(json["quarantine"]),
        lease=_maybe(float, json["lease"]),
        reap=json["reap"],
        labels=dict(json["labels"]),
        usage=_maybe(usage, json.get("usage")),
        new=new,
    )


def usage(json: Json) -> Usage:
    return Usage(**{name: int(json[name]) for name in Usage.__dataclass_fields__})


def who(json: Json) -> Who:
    return Who(
        pool=json["pool"],
        value=read_value(json["value"]),
        state=json["state"],
        claim=_maybe(claim, json.get("claim")),
        at_position=_maybe(lambda at: int(at["position"]), json.get("at")),
        at_time=_maybe(lambda at: read_time(at["time"]), json.get("at")),
    )


def done(json: Json) -> Done:
    return Done(results=tuple(_op(result) for result in json["results"]), dry_run=json["dry_run"])


def _op(json: Json) -> OpResult:
    ((name, said),) = json.items()
    if name == "claim":
        claims = tuple(claim(one, new=said["created"]) for one in said["claims"])
        return Claimed(new=said["created"], claims=claims)
    if name in ("release", "deallocate"):
        return Released(existed=said["existed"])
    if name == "allocate":
        return Allocated({one["consumer"]: one["generation"] for one in said["consumers"]})
    if name == "extend":
        expires = _maybe(read_time, said["expires"])
        return Extended(said["consumer"], int(said["generation"]), expires)
    if name in ("renew", "confirm"):
        return Leased(claim=claim(said))
    if name == "check":
        return Checked()
    raise ValueError(f"an operation '{name}' was not asked for")


def change(json: Json) -> Change:
    return Change(
        position=int(json["position"]),
        at=read_time(json["at"]),
        events=tuple(event(one) for one in json["events"]),
    )


def event(json: Json) -> Event:
    return Event(
        kind=json["kind"],
        pool=json.get("pool"),
        key=json.get("key"),
        owner=json.get("owner"),
        values=_maybe(_values, json.get("values")),
        version=_maybe(int, json.get("version")),
        expires=_maybe(read_time, json.get("expires")),
        cause=json.get("cause"),
        quarantine_until=_maybe(read_time, json.get("quarantine_until")),
        provider=json.get("provider"),
        consumer=json.get("consumer"),
        members=json,
    )


def status(json: Json) -> Status:
    return Status(
        version=json["version"], ready=json["ready"], position=int(json["position"]), members=json
    )


def limits(json: Json) -> Mapping[str, int]:
    return {name: int(number) for name, number in json.items()}
