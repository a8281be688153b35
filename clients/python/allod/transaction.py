"""Operations that happen all together or not at all, put together one by one."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Union

from .values import ValueLike, write_value

Version = Optional[int]
"""The version (of a claim) or generation (of a pool) that must be there; ``None``: any, or none."""

Expect = Union[None, int, str]
"""What must be there beforehand: a version, ``"any"``, ``"absent"`` or ``"present"``; ``None``: as usual."""


def members(**given: Any) -> Dict[str, Any]:
    """The members that were given."""
    return {name: value for name, value in given.items() if value is not None}


def claim_body(
    *,
    value: Optional[ValueLike] = None,
    fallback: bool = False,
    count: Optional[int] = None,
    contiguous: bool = False,
    prefix_len: Optional[int] = None,
    parity: Optional[str] = None,
    strategy: Optional[str] = None,
    ttl: Optional[float] = None,
    owner: Optional[str] = None,
    labels: Optional[Mapping[str, str]] = None,
) -> Dict[str, Any]:
    """What a claim asks for."""
    return members(
        value=None if value is None else write_value(value),
        fallback=fallback or None,
        count=count,
        contiguous=contiguous or None,
        prefix_len=prefix_len,
        parity=parity,
        strategy=strategy,
        ttl=ttl,
        owner=owner,
        labels=dict(labels) if labels else None,
    )


class Transaction:
    """Each method adds an operation and returns the transaction, so that they can be written as one chain."""

    def __init__(self) -> None:
        self.ops: List[Dict[str, Any]] = []

    def claim(
        self,
        pool: Union[str, Iterable[str]],
        key: str,
        *,
        expect: Expect = None,
        value: Optional[ValueLike] = None,
        fallback: bool = False,
        count: Optional[int] = None,
        contiguous: bool = False,
        prefix_len: Optional[int] = None,
        parity: Optional[str] = None,
        strategy: Optional[str] = None,
        ttl: Optional[float] = None,
        owner: Optional[str] = None,
        labels: Optional[Mapping[str, str]] = None,
    ) -> Transaction:
        """Several pools must all give the same value."""
        place: Dict[str, Any]
        place = {"pool": pool} if isinstance(pool, str) else {"pools": list(pool)}
        asked = claim_body(
            value=value,
            fallback=fallback,
            count=count,
            contiguous=contiguous,
            prefix_len=prefix_len,
            parity=parity,
            strategy=strategy,
            ttl=ttl,
            owner=owner,
            labels=labels,
        )
        return self._add("claim", {**place, **members(key=key, expect=expect), **asked})

    def release(self, pool: str, key: str, *, expect: Expect = None) -> Transaction:
        return self._add("release", members(pool=pool, key=key, expect=expect))

    def renew(
        self, pool: str, key: str, *, ttl: Optional[float] = None, expect: Expect = None
    ) -> Transaction:
        return self._add("renew", members(pool=pool, key=key, expect=expect, ttl=ttl))

    def confirm(self, pool: str, key: str, *, expect: Expect = None) -> Transaction:
        return self._add("confirm", members(pool=pool, key=key, expect=expect))

    def allocate(
        self,
        consumer: str,
        allocations: Mapping[str, Mapping[str, int]],
        *,
        project: str,
        user: str,
        type: Optional[str] = None,
        expect: Expect = None,
        ttl: Optional[float] = None,
        reclaim: Optional[str] = None,
    ) -> Transaction:
        """The consumer holds exactly this from now on: so much of each resource class of each provider. A number in
        ``expect`` is its generation."""
        held = {provider: dict(amounts) for provider, amounts in allocations.items()}
        said = members(expect=expect, type=type, ttl=ttl, reclaim=reclaim)
        who = {"consumer": consumer, "project": project, "user": user}
        return self._add("allocate", {**who, "allocations": held, **said})

    def deallocate(self, consumer: str, *, expect: Expect = None) -> Transaction:
        """The consumer gives up all that it holds."""
        return self._add("deallocate", members(consumer=consumer, expect=expect))

    def extend(
        self,
        consumer: str,
        *,
        ttl: Optional[float] = None,
        reclaim: Optional[str] = None,
        expect: Expect = None,
    ) -> Transaction:
        """What the consumer holds lasts so long from now; without ``ttl`` for ever."""
        said = members(consumer=consumer, expect=expect, ttl=ttl, reclaim=reclaim)
        return self._add("extend", said)

    def check_claim(
        self,
        pool: str,
        key: str,
        *,
        expect: Expect = None,
        owner: Optional[str] = None,
        value: Optional[ValueLike] = None,
    ) -> Transaction:
        """The claim is there, or as ``expect`` says."""
        named = None if value is None else write_value(value)
        said = members(pool=pool, key=key, expect=expect, owner=owner, value=named)
        return self._add("check", {"claim": said})

    def check_free(self, pool: str, value: ValueLike) -> Transaction:
        """Nobody holds the value, and a claim that names it would get it."""
        return self._add("check", {"free": {"pool": pool, "value": write_value(value)}})

    def check_pool(self, pool: str, *, expect: Expect = None) -> Transaction:
        """The pool is there, or as ``expect`` says; a number is its generation."""
        return self._add("check", {"pool": members(pool=pool, expect=expect)})

    def check_provider(self, provider: str, *, expect: Expect = None) -> Transaction:
        """The provider is there, or as ``expect`` says; a number is its generation."""
        return self._add("check", {"provider": members(provider=provider, expect=expect)})

    def check_consumer(self, consumer: str, *, expect: Expect = None) -> Transaction:
        """The consumer holds something, or is as ``expect`` says; a number is its generation."""
        return self._add("check", {"consumer": members(consumer=consumer, expect=expect)})

    def _add(self, name: str, body: Dict[str, Any]) -> Transaction:
        self.ops.append({name: body})
        return self
