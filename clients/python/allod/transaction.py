"""A builder for transactions."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Union

from .values import ValueLike, write_value

Version = Optional[int]
"""The required version of a claim or generation of a pool; ``None``: no condition."""

Expect = Union[None, int, str]
"""The required state: a version, ``"any"``, ``"absent"`` or ``"present"``; ``None``: the default of the operation."""


def members(**given: Any) -> Dict[str, Any]:
    """The members that are not ``None``."""
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
    """The parameters of a claim as JSON."""
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
    """Each method adds an operation and returns the transaction, for chaining."""

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
        """With several pools, the claim gets the same value in all of them."""
        pools: Dict[str, Any]
        pools = {"pool": pool} if isinstance(pool, str) else {"pools": list(pool)}
        params = claim_body(
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
        return self._add("claim", {**pools, **members(key=key, expect=expect), **params})

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
        """Replaces the allocations of a consumer: amounts by provider and resource class. A number in ``expect`` is the
        generation of the consumer."""
        held = {provider: dict(amounts) for provider, amounts in allocations.items()}
        body = members(expect=expect, type=type, ttl=ttl, reclaim=reclaim)
        who = {"consumer": consumer, "project": project, "user": user}
        return self._add("allocate", {**who, "allocations": held, **body})

    def deallocate(self, consumer: str, *, expect: Expect = None) -> Transaction:
        """Releases all allocations of the consumer."""
        return self._add("deallocate", members(consumer=consumer, expect=expect))

    def extend(
        self,
        consumer: str,
        *,
        ttl: Optional[float] = None,
        reclaim: Optional[str] = None,
        expect: Expect = None,
    ) -> Transaction:
        """Sets a new lease, starting now; without ``ttl`` the allocations become permanent."""
        body = members(consumer=consumer, expect=expect, ttl=ttl, reclaim=reclaim)
        return self._add("extend", body)

    def check_claim(
        self,
        pool: str,
        key: str,
        *,
        expect: Expect = None,
        owner: Optional[str] = None,
        value: Optional[ValueLike] = None,
    ) -> Transaction:
        """Requires that the claim exists, or is as ``expect`` says."""
        named = None if value is None else write_value(value)
        body = members(pool=pool, key=key, expect=expect, owner=owner, value=named)
        return self._add("check", {"claim": body})

    def check_free(self, pool: str, value: ValueLike) -> Transaction:
        """Requires that the value is free and that a claim by value would get it."""
        return self._add("check", {"free": {"pool": pool, "value": write_value(value)}})

    def check_pool(self, pool: str, *, expect: Expect = None) -> Transaction:
        """Requires that the pool exists, or is as ``expect`` says; a number is its generation."""
        return self._add("check", {"pool": members(pool=pool, expect=expect)})

    def check_provider(self, provider: str, *, expect: Expect = None) -> Transaction:
        """Requires that the provider exists, or is as ``expect`` says; a number is its generation."""
        return self._add("check", {"provider": members(provider=provider, expect=expect)})

    def check_consumer(self, consumer: str, *, expect: Expect = None) -> Transaction:
        """Requires that the consumer holds something, or is as ``expect`` says; a number is its generation."""
        return self._add("check", {"consumer": members(consumer=consumer, expect=expect)})

    def _add(self, name: str, body: Dict[str, Any]) -> Transaction:
        self.ops.append({name: body})
        return self
