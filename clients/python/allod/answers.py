"""Responses of the server as dataclasses.

Unknown members, which a newer server may add, are ignored. A member that is missing or has the wrong type raises
``BadAnswer``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Callable, Mapping, Optional, Tuple, TypeVar, Union

from .errors import BadAnswer, NotGranted
from .values import Value, read_time, read_value

T = TypeVar("T")
Json = Mapping[str, Any]


@dataclass(frozen=True)
class Claim:
    """Values of a pool, held under a key."""

    pool: str
    key: str
    owner: str
    value_or_none: Optional[Value]
    """The value, or the first of several; ``None`` if the authority of the pool has granted none that the claim has."""
    values: Optional[Tuple[Value, ...]]
    """All values; ``None`` if there are too many to list, see ``ranges``."""
    ranges: Tuple[str, ...]
    """If there are several values: all of them, with runs as ``first-last``."""
    version: int
    """Changes with every change of the claim. Pass it to ``release`` so that a newer claim is not released."""
    state: str
    """``held`` or ``quarantined``; in a pool with an authority also ``wanted``, ``refused``, ``stuck``, ``conflict`` or
    ``releasing``."""
    created: datetime
    expires: Optional[datetime]
    """When the lease ends; ``None``: never."""
    expired: bool
    until: Optional[datetime]
    """The end of the quarantine."""
    labels: Mapping[str, str]
    new: bool = False
    """Whether this call created it."""
    authority: Optional[str] = None
    """The authority of the pool. This and the following members are ``None`` in other pools."""
    reference: Optional[str] = None
    """The name of the claim at the authority. It is never used for another claim."""
    handle: Optional[str] = None
    """The authority's own name for the grant."""
    code: Optional[str] = None
    """Why the authority has refused: ``taken``, ``exhausted`` or ``differs``."""
    reason: Optional[str] = None
    attempts: Optional[int] = None
    next_attempt: Optional[datetime] = None
    since: Optional[datetime] = None

    @property
    def value(self) -> Value:
        """The value, or the first of several; raises ``NotGranted`` if the authority of the pool has granted none."""
        if self.value_or_none is None:
            raise NotGranted(self.pool, self.key, self.state, self.reason)
        return self.value_or_none

    @property
    def held(self) -> bool:
        """Whether the claim has a value and keeps it."""
        return self.state == "held"


@dataclass(frozen=True)
class SeenValue:
    """A value that an authority has now."""

    value: Any
    """Any JSON; ``None``: the authority does not know the name any more."""
    value_version: Optional[str]
    at: datetime


@dataclass(frozen=True)
class LookUp:
    """A value that an authority knows under a name."""

    authority: str
    key: str
    state: str
    """``wanted``, ``resolved``, ``drifted`` or ``unknown``."""
    policy: str
    """``pin``, ``follow`` or ``ask``."""
    value: Any
    """Any JSON; ``None``: there is none."""
    version: int
    """Changes with every change of the look-up."""
    value_version: Optional[str]
    """The authority's version of the value."""
    resolved: Optional[datetime]
    seen: Optional[SeenValue]
    """With drift: what the authority has now."""
    reason: Optional[str]
    attempts: int
    next_attempt: Optional[datetime]


@dataclass(frozen=True)
class Usage:
    """Usage of a pool, in values; members with ``claims`` in the name count claims."""

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
    """The number of definitions so far. ``put_pool`` and ``delete_pool`` can require it."""
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
    """Not in the response to ``put_pool``."""
    new: bool = False
    """Whether this call created it."""
    authority: Optional[str] = None
    """The authority that grants its values."""


@dataclass(frozen=True)
class Authority:
    """An inventory that grants the values of pools."""

    name: str
    generation: int
    """The number of definitions so far. ``put_authority`` and ``delete_authority`` can require it."""
    kind: str
    url: str
    state: str
    """``ok``, ``failing`` or ``busy``."""
    pools: int
    wanted: int
    held: int
    refused: int
    stuck: int
    conflicts: int
    releasing: int
    lookups: int
    drifted: int
    """Look-ups for which the authority has another value."""
    oldest_seconds: Optional[float]
    """The age of the oldest claim or release that waits for it."""
    last_error: Optional[str]
    oldest: Optional[Claim]
    """The claim or release that has waited for the longest time."""
    members: Json = field(repr=False)
    """All members as JSON."""
    new: bool = False
    """Whether this call created it."""


@dataclass(frozen=True)
class Who:
    """The state of one value."""

    pool: str
    value: Value
    state: str
    """``free``, ``held``, ``quarantined``, ``manual``, ``draining``, ``excluded`` or ``outside``."""
    claim: Optional[Claim]
    """The claim that holds the value, or that held it before its quarantine."""
    at_position: Optional[int]
    """If ``at`` was given: the last position at that time."""
    at_time: Optional[datetime]
    """If ``at`` was given: that time, or the time of that position."""


@dataclass(frozen=True)
class Claimed:
    new: bool
    claims: Tuple[Claim, ...]
    """One for each pool, in the order of the request."""

    @property
    def claim(self) -> Claim:
        return self.claims[0]


@dataclass(frozen=True)
class Released:
    existed: bool
    claim: Optional[Claim] = None
    """The claim, if the authority of its pool has not confirmed the release yet."""


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
    """The generation of each consumer; ``None``: it holds nothing."""


@dataclass(frozen=True)
class Extended:
    consumer: str
    generation: int
    expires: Optional[datetime]
    """``None``: no lease."""


OpResult = Union[Claimed, Released, Leased, Allocated, Extended, Checked]


@dataclass(frozen=True)
class Done:
    """What a transaction did, or with ``dry_run`` would do: one result per operation, in order."""

    results: Tuple[OpResult, ...]
    dry_run: bool


@dataclass(frozen=True)
class Event:
    """One event. Members that do not apply to its kind are ``None``."""

    kind: str
    """``pool_defined``, ``claim_granted``, ``allocations_set`` and others; docs/guides/watch.md lists all."""
    pool: Optional[str]
    """``None`` for events of providers and consumers."""
    key: Optional[str]
    owner: Optional[str]
    values: Optional[Tuple[Value, ...]]
    """``None`` if the values are unknown, or too many to list; ``members`` then has ``ranges``."""
    version: Optional[int]
    expires: Optional[datetime]
    cause: Optional[str]
    """The cause of a release: ``asked``, ``taken`` or ``reaped``."""
    quarantine_until: Optional[datetime]
    provider: Optional[str]
    consumer: Optional[str]
    members: Json = field(repr=False)
    """All members of the event as JSON."""


@dataclass(frozen=True)
class Change:
    """All events of one journal position."""

    position: int
    at: datetime
    events: Tuple[Event, ...]


@dataclass(frozen=True)
class Status:
    """The status of the server."""

    version: str
    ready: bool
    position: int
    members: Json = field(repr=False)
    """All members as JSON."""


def reading(read: Callable[[Json], T]) -> Callable[[object], T]:
    """Converts errors of a reader into ``BadAnswer``."""

    def checked(json: object) -> T:
        if not isinstance(json, Mapping):
            raise BadAnswer(f"the response is not a JSON object: {json!r:.200}")
        try:
            return read(json)
        except (KeyError, TypeError, ValueError) as error:
            raise BadAnswer(f"unexpected response ({error!r}): {json!r:.200}") from error

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
        value_or_none=_maybe(read_value, json["value"]),
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
        authority=json.get("authority"),
        reference=json.get("reference"),
        handle=json.get("handle"),
        code=json.get("code"),
        reason=json.get("reason"),
        attempts=_maybe(int, json.get("attempts")),
        next_attempt=_maybe(read_time, json.get("next_attempt")),
        since=_maybe(read_time, json.get("since")),
    )


def authority(json: Json, new: bool = False) -> Authority:
    counts = ["generation", "pools", "wanted", "held", "refused", "stuck", "conflicts", "releasing"]
    counts += ["lookups", "drifted"]
    return Authority(
        name=json["name"],
        kind=json["kind"],
        url=json["url"],
        state=json["state"],
        oldest_seconds=_maybe(float, json["oldest_seconds"]),
        last_error=json["last_error"],
        oldest=_maybe(claim, json.get("oldest")),
        members=json,
        new=new,
        **{name: int(json[name]) for name in counts},
    )


def lookup(json: Json) -> LookUp:
    return LookUp(
        authority=json["authority"],
        key=json["key"],
        state=json["state"],
        policy=json["policy"],
        value=json["value"],
        version=int(json["version"]),
        value_version=json.get("value_version"),
        resolved=_maybe(read_time, json["resolved"]),
        seen=_maybe(_seen, json.get("seen")),
        reason=json.get("reason"),
        attempts=int(json["attempts"]),
        next_attempt=_maybe(read_time, json["next_attempt"]),
    )


def _seen(json: Json) -> SeenValue:
    return SeenValue(json["value"], json.get("value_version"), read_time(json["at"]))


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
        authority=json.get("authority"),
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
        return Released(existed=said["existed"], claim=_maybe(claim, said.get("claim")))
    if name == "allocate":
        return Allocated({one["consumer"]: one["generation"] for one in said["consumers"]})
    if name == "extend":
        expires = _maybe(read_time, said["expires"])
        return Extended(said["consumer"], int(said["generation"]), expires)
    if name in ("renew", "confirm"):
        return Leased(claim=claim(said))
    if name == "check":
        return Checked()
    raise ValueError(f"unexpected operation '{name}'")


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
