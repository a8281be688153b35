"""Exceptions.

``Unreachable``: there was no response. ``Problem``: the server refused; the subclass is chosen by the ``code`` of the
response. ``BadAnswer``: the response is not that of an allod server.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Dict, Mapping, Optional, Tuple, Type

from .values import Value, read_time, read_value


class AllodError(Exception):
    """Base class of all exceptions of this package."""


class BadAnswer(AllodError):
    """The response is not that of an allod server."""


class Unreachable(AllodError):
    """No response within the time for retries. The last failure is the cause."""

    def __init__(self, detail: str, maybe_done: bool) -> None:
        super().__init__(detail)
        self.maybe_done = maybe_done
        """Whether the request may have been executed: it was sent, and the response was lost."""


class NotGranted(AllodError):
    """The authority of the pool has not granted a value to the claim."""

    def __init__(self, pool: str, key: str, state: str, reason: Optional[str]) -> None:
        because = f": {reason}" if reason else ""
        super().__init__(f"the claim {key!r} in pool {pool!r} has no value, its state is {state}{because}")
        self.pool, self.key, self.state, self.reason = pool, key, state, reason


class Problem(AllodError):
    """The server refused, with a problem document (RFC 9457)."""

    def __init__(
        self, status: int, members: Mapping[str, Any], request_id: Optional[str] = None
    ) -> None:
        self.status = status
        self.members = members
        """Every member of the problem, as JSON."""
        self.code: str = str(members.get("code", f"http_{status}"))
        """Stable, for programs."""
        self.title: str = str(members.get("title", ""))
        self.detail: str = str(members.get("detail", f"the server answered {status}"))
        self.advice: Optional[str] = members.get("advice")
        """``reread``, ``wait_until``, ``wait_for_release`` or ``change``; ``None`` if it is not a refusal."""
        self.op: Optional[int] = members.get("op")
        """In a transaction: the number of the refused operation, from 0."""
        self.request_id = request_id
        self.after_lost = False
        """The response of an earlier attempt was lost, so this error may be caused by that attempt."""
        super().__init__(f"{self.detail} ({self.code})")

    @property
    def wait_until(self) -> Optional[datetime]:
        """When a retry may succeed, if known."""
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
    """The request is malformed, contradictory or too long. A retry does not help."""


class Unauthenticated(Problem):
    """The token is unknown or missing."""


class Forbidden(Problem):
    """The token does not allow this."""


class LimitExceeded(Problem):
    """The request exceeds a limit of the server."""

    @property
    def limit(self) -> Optional[str]:
        return self.members.get("limit")


class IdempotencyDiffers(Problem):
    """The idempotency key was used before, for another transaction."""


class PoolUnknown(Problem):
    """The pool does not exist."""


class NotHeld(Problem):
    """Nothing is held under this key."""


class VersionDiffers(Problem):
    """The claim, pool or consumer has another version than expected."""

    @property
    def actual(self) -> Optional[int]:
        """The actual version; ``None``: it does not exist."""
        return self.members.get("actual")


class KindDiffers(Problem):
    """The pool has another kind."""


class AuthorityUnknown(Problem):
    """The authority does not exist."""


class AuthorityInUse(Problem):
    """Pools or claims still need the authority."""


class ReferenceUnknown(Problem):
    """No claim has this reference."""


class NothingToResolve(Problem):
    """The claim is neither stuck nor in conflict."""


class Releasing(Problem):
    """The claim under this key is still being released at its authority."""


class LookUpUnknown(Problem):
    """The look-up does not exist."""


class NothingToAccept(Problem):
    """The authority has no other value than the one of the look-up."""


class Stuck(Problem):
    """It is not known whether the authority has granted a value; an operator must resolve it."""


class PoolInUse(Problem):
    """The pool still has claims."""


class HeldOutside(Problem):
    """Held values would be outside the pool."""


class ParamsDiffer(Problem):
    """The key already has a claim with different parameters."""

    @property
    def fields(self) -> Tuple[str, ...]:
        """The parameters that differ."""
        return tuple(self.members.get("fields", ()))


class NoLease(Problem):
    """The claim has no lease to renew; pass ``ttl``."""


class ValueUnavailable(Problem):
    """The requested value is not available."""


class Taken(ValueUnavailable):
    """The requested value is in use."""

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
    """The value was released and is reserved for its former owner until ``wait_until``."""


class SyncDiffers(Problem):
    """The pools already have different values under this key."""


class Exhausted(Problem):
    """The pool has no available value."""

    @property
    def reports(self) -> Tuple[Mapping[str, Any], ...]:
        """For each pool, how its values are used."""
        return tuple(self.members.get("exhausted", ()))


class CapacityExceeded(Problem):
    """The provider does not have this capacity, or does not allow this amount."""

    @property
    def provider(self) -> Optional[str]:
        return self.members.get("provider")

    @property
    def resource_class(self) -> Optional[str]:
        return self.members.get("class")


class CheckFailed(Problem):
    """A check of the transaction failed."""


class PositionTrimmed(Problem):
    """The journal no longer has this position."""

    @property
    def oldest_position(self) -> Optional[int]:
        return self.members.get("oldest_position")


class PositionUnknown(Problem):
    """The journal does not have this position yet."""


class Unavailable(Problem):
    """The server was unavailable for the whole time for retries."""


class ServerBug(Problem):
    """An internal error; the log of the server has details under ``request_id``."""


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
    "authority_unknown": AuthorityUnknown,
    "authority_generation_differs": VersionDiffers,
    "authority_in_use": AuthorityInUse,
    "authority_busy": Unavailable,
    "claim_releasing": Releasing,
    "claim_stuck": Stuck,
    "lookup_unknown": LookUpUnknown,
    "lookup_version_differs": VersionDiffers,
    "nothing_to_accept": NothingToAccept,
    "reference_unknown": ReferenceUnknown,
    "nothing_to_resolve": NothingToResolve,
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
    "idempotency_full": Unavailable,
    "search_too_long": LimitExceeded,
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
    429: Unavailable,
    500: ServerBug,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def problem(status: int, members: Mapping[str, Any], request_id: Optional[str]) -> Problem:
    """The exception for a response: by its code, or else by its status."""
    by_status = BY_STATUS.get(status, Problem)
    code = members.get("code")
    kind = BY_CODE.get(code, by_status) if isinstance(code, str) else by_status
    return kind(status, members, request_id)
