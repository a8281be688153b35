"""What can go wrong, as exceptions.

``Unreachable``: no answer could be had. ``Problem``: the server answered that it will not; its subclasses are the classes
of refusal, found by the problem's ``code``. ``BadAnswer``: what answered does not speak like allod.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Dict, Mapping, Optional, Tuple, Type

from .values import Value, read_time, read_value


class AllodError(Exception):
    """Everything that this package raises."""


class BadAnswer(AllodError):
    """The answer is none that an allod server gives."""


class Unreachable(AllodError):
    """No answer within the time that retrying may take; the last failure is the cause."""

    def __init__(self, detail: str, maybe_done: bool) -> None:
        super().__init__(detail)
        self.maybe_done = maybe_done
        """Whether the request may have been carried out: it was sent, and the answer was lost."""


class Problem(AllodError):
    """The server answered that it did not do it, and why (RFC 9457)."""

    def __init__(
        self, status: int, members: Mapping[str, Any], request_id: Optional[str] = None
    ) -> None:
        self.status = status
        self.members = members
        """Every member of the problem, as JSON."""
        self.code: str = str(members.get("code", f"http_{status}"))
        """What programs look at. Never changes."""
        self.title: str = str(members.get("title", ""))
        self.detail: str = str(members.get("detail", f"the server answered {status}"))
        self.advice: Optional[str] = members.get("advice")
        """``reread``, ``wait_until``, ``wait_for_release`` or ``change``; ``None`` when it is no refusal."""
        self.op: Optional[int] = members.get("op")
        """Of a transaction: which operation met it, from 0."""
        self.request_id = request_id
        self.after_lost = False
        """An earlier attempt of this call got no answer, so this may be about what that attempt did."""
        super().__init__(f"{self.detail} ({self.code})")

    @property
    def wait_until(self) -> Optional[datetime]:
        """When it may work, if that is known."""
        return self._time("wait_until")

    @property
    def pool(self) -> Optional[str]:
        return self.members.get("pool")

    @property
    def key(self) -> Optional[str]:
        return self.members.get("key")

    @property
    def value(self) -> Optional[Value]:
        value = self.members.get("value")
        return None if value is None else read_value(value)

    def _time(self, name: str) -> Optional[datetime]:
        time = self.members.get(name)
        return None if time is None else read_time(time)


class Invalid(Problem):
    """The request cannot be read, contradicts itself, or is too long. The same again will never work."""


class Unauthenticated(Problem):
    """The server does not know the token, or there was none."""


class Forbidden(Problem):
    """The token does not allow this."""


class LimitExceeded(Problem):
    """A limit of the server is exceeded."""

    @property
    def limit(self) -> Optional[str]:
        return self.members.get("limit")


class IdempotencyDiffers(Problem):
    """The idempotency key was used before, for another transaction."""


class PoolUnknown(Problem):
    """There is no such pool."""


class NotHeld(Problem):
    """Nothing is held under this key."""


class VersionDiffers(Problem):
    """The claim, the pool or the consumer is at another version than the call expects."""

    @property
    def actual(self) -> Optional[int]:
        """At which one it is; ``None``: it is not there."""
        return self.members.get("actual")


class KindDiffers(Problem):
    """The pool is of another kind."""


class PoolInUse(Problem):
    """The pool still has claims."""


class HeldOutside(Problem):
    """Held values would be outside the pool."""


class ParamsDiffer(Problem):
    """The key holds something already, and this is not the same request again."""

    @property
    def fields(self) -> Tuple[str, ...]:
        """In what it differs."""
        return tuple(self.members.get("fields", ()))


class NoLease(Problem):
    """The claim has no lease of a known length; say for how long."""


class ValueUnavailable(Problem):
    """The value that was named cannot be had."""


class Taken(ValueUnavailable):
    """Somebody holds the value."""

    @property
    def holder_key(self) -> Optional[str]:
        return self._by("key")

    @property
    def holder_owner(self) -> Optional[str]:
        return self._by("owner")

    def _by(self, name: str) -> Optional[str]:
        by: Mapping[str, Any] = self.members.get("by") or {}
        return by.get(name)


class Quarantined(ValueUnavailable):
    """The value was released, and is kept for its former owner until ``wait_until``."""


class SyncDiffers(Problem):
    """The pools hold different values under this key already."""


class Exhausted(Problem):
    """The pool has nothing to give."""

    @property
    def reports(self) -> Tuple[Mapping[str, Any], ...]:
        """For each pool, where its values are."""
        return tuple(self.members.get("exhausted", ()))


class CapacityExceeded(Problem):
    """The provider has too little left, none at all, or does not give out this amount."""

    @property
    def provider(self) -> Optional[str]:
        return self.members.get("provider")

    @property
    def resource_class(self) -> Optional[str]:
        return self.members.get("class")


class CheckFailed(Problem):
    """A check of the transaction does not hold."""


class PositionTrimmed(Problem):
    """The server no longer has what happened that long ago."""

    @property
    def oldest_position(self) -> Optional[int]:
        return self.members.get("oldest_position")


class PositionUnknown(Problem):
    """The journal has not come that far."""


class Unavailable(Problem):
    """The server could not answer for as long as retrying may take."""


class ServerBug(Problem):
    """The request met a bug in the server; its log has more under ``request_id``."""


BY_CODE: Dict[str, Type[Problem]] = {
    "invalid": Invalid,
    "malformed": Invalid,
    "media_type_unsupported": Invalid,
    "route_unknown": Invalid,
    "method_unknown": Invalid,
    "uri_too_long": Invalid,
    "body_too_long": Invalid,
    "too_large": Invalid,
    "limit_exceeded": LimitExceeded,
    "idempotency_differs": IdempotencyDiffers,
    "pool_unknown": PoolUnknown,
    "pool_generation_differs": VersionDiffers,
    "pool_kind_differs": KindDiffers,
    "pool_in_use": PoolInUse,
    "held_outside": HeldOutside,
    "claim_unknown": NotHeld,
    "claim_version_differs": VersionDiffers,
    "consumer_generation_differs": VersionDiffers,
    "consumer_unknown": NotHeld,
    "capacity_exceeded": CapacityExceeded,
    "portion_violated": CapacityExceeded,
    "not_in_stock": CapacityExceeded,
    "params_differ": ParamsDiffer,
    "no_lease": NoLease,
    "value_outside": ValueUnavailable,
    "value_excluded": ValueUnavailable,
    "value_draining": ValueUnavailable,
    "taken": Taken,
    "value_quarantined": Quarantined,
    "sync_differs": SyncDiffers,
    "exhausted": Exhausted,
    "sync_exhausted": Exhausted,
    "check_failed": CheckFailed,
    "position_trimmed": PositionTrimmed,
    "position_unknown": PositionUnknown,
    "internal": ServerBug,
}

BY_STATUS: Dict[int, Type[Problem]] = {
    400: Invalid,
    401: Unauthenticated,
    403: Forbidden,
    408: Unavailable,
    500: ServerBug,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def problem(status: int, members: Mapping[str, Any], request_id: Optional[str]) -> Problem:
    """The exception for an answer: by its code, else by its status."""
    by_status = BY_STATUS.get(status, Problem)
    code = members.get("code")
    kind = BY_CODE.get(code, by_status) if isinstance(code, str) else by_status
    return kind(status, members, request_id)
