"""The interface of an adapter: what allod asks, and what an adapter returns or raises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Sequence, Union

Wanted = Union[int, str]
"""An ID as a number; an address or a prefix as text."""

REFUSAL_CODES = ("taken", "exhausted", "differs")
FINDS = ("ref", "value", "none")


@dataclass(frozen=True)
class Ask:
    """A request for one value. If ``value`` and ``length`` are ``None``, any value will do."""

    ref: str
    """A UUID. All attempts of one claim have the same; no other claim ever has it."""
    pool: str
    key: str
    owner: str
    value: Optional[Wanted] = None
    length: Optional[int] = None
    """The length of the prefix."""
    params: Dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Known:
    """What allod knows about a grant. ``value`` and ``handle`` are ``None`` if the outcome of the grant is unknown."""

    ref: str
    value: Optional[Wanted] = None
    handle: Optional[str] = None


@dataclass(frozen=True)
class Grant:
    value: Wanted
    handle: Optional[str] = None
    """The inventory's own name of the object."""
    version: Optional[str] = None
    """Changes when the object changes in the inventory."""


@dataclass(frozen=True)
class Listed:
    ref: str
    value: Wanted
    handle: Optional[str] = None
    version: Optional[str] = None


@dataclass(frozen=True)
class Page:
    grants: Sequence[Listed]
    next: Optional[str] = None
    """The ``after`` of the next page; ``None`` on the last page."""


@dataclass(frozen=True)
class Fact:
    value: Any
    """Any JSON."""
    version: Optional[str] = None


class Refused(Exception):
    """A definite no: the inventory has granted nothing for this reference, and will not.

    ``code`` is ``taken`` (the wanted value), ``exhausted``, or ``differs`` (a request that this inventory cannot serve).
    """

    def __init__(self, code: str, message: str) -> None:
        if code not in REFUSAL_CODES:
            raise ValueError(f"{code!r} is not one of {', '.join(REFUSAL_CODES)}")
        super().__init__(message)
        self.code = code


class NotNow(Exception):
    """Nothing was done; allod retries after ``after`` seconds."""

    def __init__(self, message: str, after: int = 1) -> None:
        super().__init__(message)
        self.after = after


class Adapter:
    """The base class of adapters.

    Any exception other than ``Refused`` and ``NotNow`` means that the outcome is unknown. Then allod looks the grant up or
    retries it, so a method does not need to handle the errors of its inventory.
    """

    find_by = "ref"
    """``ref``, ``value``, or ``none`` if the inventory cannot store the reference."""
    idempotent = True
    """A repeated ``grant`` with the same reference returns the same grant."""
    parallel = 1
    """How many calls may run at the same time."""

    def grant(self, ask: Ask) -> Grant:
        raise NotImplementedError

    def find(self, known: Known) -> Optional[Grant]:
        """``None`` only if the inventory certainly has no such grant."""
        raise NotImplementedError

    def release(self, known: Known) -> None:
        """Returns if the grant is gone, also if it never existed."""
        raise NotImplementedError

    def list(self, after: Optional[str]) -> Page:
        """Every grant of allod, in pages."""
        raise NotImplementedError

    def look_up(self, name: str) -> Optional[Fact]:
        """A fact that the inventory knows, such as the address of a device."""
        raise NotImplementedError

    def abilities(self) -> Dict[str, Any]:
        if self.find_by not in FINDS:
            raise ValueError(f"find_by is {self.find_by!r}; it must be one of {', '.join(FINDS)}")
        if self.parallel < 1:
            raise ValueError(f"parallel is {self.parallel}; it must be at least 1")
        return {
            "find": self.find_by,
            "list": type(self).list is not Adapter.list,
            "lookup": type(self).look_up is not Adapter.look_up,
            "idempotent": self.idempotent,
            "parallel": self.parallel,
        }
