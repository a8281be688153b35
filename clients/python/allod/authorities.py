"""Authorities: the requests about inventories that grant the values of pools, their claims and look-ups.

``AuthorityCalls`` and ``AsyncAuthorityCalls`` are the methods of the two clients.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import (
    Any,
    AsyncIterator,
    Callable,
    Dict,
    Iterable,
    Iterator,
    Mapping,
    Optional,
    TypeVar,
)

from . import answers, api
from .answers import Authority, Claim, LookUp
from .api import Call, Page, Query
from .http1 import Request, Response
from .transaction import Version, members
from .values import ValueLike, write_value

T = TypeVar("T")


class AuthoritySpec(Dict[str, Any]):
    """The definition of an authority as JSON."""

    def __init__(
        self,
        kind: str,
        url: str,
        *,
        pool: Optional[str] = None,
        find: Optional[str] = None,
        take: Optional[str] = None,
        release: Optional[str] = None,
        list: Optional[str] = None,
        lookup: Optional[str] = None,
        secret: Optional[str] = None,
        ca: Optional[str] = None,
        parallel: Optional[int] = None,
        timeout: Optional[float] = None,
        queue_max: Optional[int] = None,
        alarm_after: Optional[float] = None,
        poll: Optional[float] = None,
        reconcile: Optional[float] = None,
    ) -> None:
        """``kind`` is ``http``, ``allod`` or ``sql``. ``pool`` is for ``allod``, the statements are for ``sql``."""
        super().__init__(
            members(
                kind=kind,
                url=url,
                pool=pool,
                find=find,
                take=take,
                release=release,
                list=list,
                lookup=lookup,
                secret=secret,
                ca=ca,
                parallel=parallel,
                timeout=timeout,
                queue_max=queue_max,
                alarm_after=alarm_after,
                poll=poll,
                reconcile=reconcile,
            )
        )


def put_authority(
    name: str, spec: Mapping[str, Any], *, version: Version, absent: bool
) -> Call[Authority]:
    def read(response: Response) -> Authority:
        new = response.status == 201
        return api.read_json(lambda json: answers.authority(json, new))(response)

    target = api.path("authorities", name)
    return Call(api.send("PUT", target, dict(spec), api.guard(version, absent)), read)


def authority(name: str) -> Call[Authority]:
    request = Request("GET", api.path("authorities", name))
    return Call(request, api.read_json(answers.authority))


def authorities(query: Query) -> Call[Page[Authority]]:
    target = api.with_query(api.path("authorities"), query)
    return Call(Request("GET", target), api.read_page("authorities", answers.authority))


def delete_authority(name: str, *, version: Version) -> Call[None]:
    request = Request("DELETE", api.path("authorities", name), api.guard(version))
    return Call(request, lambda _: None, gone=lambda: None)


def authority_claims(name: str, query: Query) -> Call[Page[Claim]]:
    target = api.with_query(api.path("authorities", name, "claims"), query)
    return Call(Request("GET", target), api.read_page("claims", answers.claim))


def resolve(
    name: str,
    reference: str,
    *,
    granted: Optional[ValueLike],
    gone: bool,
    ask_again: bool,
) -> Call[Optional[Claim]]:
    value = None if granted is None else write_value(granted)
    body = members(granted=value, gone=gone or None, ask_again=ask_again or None)
    target = api.path("authorities", name, "claims", reference, "resolve")
    # If the response to the first attempt was lost, the second one may find nothing to end.
    ended: Optional[Callable[[], Optional[Claim]]] = (lambda: None) if gone else None
    return Call(api.send("POST", target, body, {}), api.claim_or_none, gone=ended)


LOOK_UP_WAIT = 10.0
"""How long the server waits for an authority if a look-up does not say how long."""


def put_lookup(
    name: str, key: str, *, policy: Optional[str], version: Version, absent: bool, wait: Optional[float]
) -> Call[LookUp]:
    headers = {**api.guard(version, absent), **api.prefer(wait)}
    request = api.send("PUT", api.path("lookups", name, key), members(policy=policy), headers)
    return Call(request, api.read_json(answers.lookup), wait=LOOK_UP_WAIT if wait is None else wait)


def lookup(name: str, key: str) -> Call[LookUp]:
    return Call(Request("GET", api.path("lookups", name, key)), api.read_json(answers.lookup))


def lookups(name: str, query: Query) -> Call[Page[LookUp]]:
    target = api.with_query(api.path("lookups", name), query)
    return Call(Request("GET", target), api.read_page("lookups", answers.lookup))


def delete_lookup(name: str, key: str, *, version: Version) -> Call[None]:
    request = Request("DELETE", api.path("lookups", name, key), api.guard(version))
    return Call(request, lambda _: None, gone=lambda: None)


def refresh_lookup(name: str, key: str, *, wait: Optional[float]) -> Call[LookUp]:
    request = api.send("POST", api.path("lookups", name, key, "refresh"), {}, api.prefer(wait))
    return Call(request, api.read_json(answers.lookup), wait=LOOK_UP_WAIT if wait is None else wait)


def accept_lookup(name: str, key: str, *, version: Version) -> Call[LookUp]:
    target = api.path("lookups", name, key, "accept")
    return Call(api.send("POST", target, {}, api.guard(version)), api.read_json(answers.lookup))


def hint(name: str, keys: Optional[Iterable[str]]) -> Call[None]:
    body = members(keys=None if keys is None else list(keys))
    return Call(api.send("POST", api.path("authorities", name, "hints"), body, {}), lambda _: None)


class AuthorityCalls:
    """The methods of ``Client`` about authorities."""

    @abstractmethod
    def _run(self, call: Call[T]) -> T: ...

    @abstractmethod
    def _pages(self, page: Callable[[Optional[str]], Call[Page[T]]]) -> Iterator[T]: ...

    def put_authority(
        self,
        name: str,
        spec: Mapping[str, Any],
        *,
        version: Version = None,
        absent: bool = False,
    ) -> Authority:
        """Creates an authority or changes its definition; see ``AuthoritySpec``."""
        return self._run(put_authority(name, spec, version=version, absent=absent))

    def authority(self, name: str) -> Authority:
        """An authority and its state."""
        return self._run(authority(name))

    def authorities(
        self, prefix: Optional[str] = None, *, page_size: Optional[int] = None
    ) -> Iterator[Authority]:
        """All authorities whose name starts with ``prefix``, read page by page."""
        query: Query = {"prefix": prefix, "limit": page_size}
        return self._pages(lambda after: authorities({**query, "after": after}))

    def delete_authority(self, name: str, *, version: Version = None) -> None:
        """Removes an authority that no pool and no claim needs. Succeeds if it does not exist."""
        self._run(delete_authority(name, version=version))

    def authority_claims(
        self,
        name: str,
        *,
        state: Optional[str] = None,
        key_prefix: Optional[str] = None,
        page_size: Optional[int] = None,
    ) -> Iterator[Claim]:
        """The claims of an authority in a state; by default all that are not ``held``."""
        query: Query = {"state": state, "key_prefix": key_prefix, "limit": page_size}
        return self._pages(lambda after: authority_claims(name, {**query, "after": after}))

    def resolve(
        self,
        name: str,
        reference: str,
        *,
        granted: Optional[ValueLike] = None,
        gone: bool = False,
        ask_again: bool = False,
    ) -> Optional[Claim]:
        """Says what the authority has done about a claim that is stuck or in conflict. ``None``: the claim has ended."""
        return self._run(
            resolve(name, reference, granted=granted, gone=gone, ask_again=ask_again)
        )

    def put_lookup(
        self,
        name: str,
        key: str,
        *,
        policy: Optional[str] = None,
        version: Version = None,
        absent: bool = False,
        wait: Optional[float] = None,
    ) -> LookUp:
        """Looks up a name at an authority and keeps its value. Idempotent: the same call returns the same value.

        ``policy`` says what happens when the authority changes the value: ``pin`` keeps it (default), ``follow`` takes
        the new one, ``ask`` keeps it until ``accept_lookup``. Without an answer in ``wait`` seconds (default: 10) the
        state is ``wanted``.
        """
        return self._run(
            put_lookup(name, key, policy=policy, version=version, absent=absent, wait=wait)
        )

    def lookup(self, name: str, key: str) -> LookUp:
        """A look-up. The authority is not asked."""
        return self._run(lookup(name, key))

    def lookups(
        self,
        name: str,
        prefix: Optional[str] = None,
        *,
        state: Optional[str] = None,
        page_size: Optional[int] = None,
    ) -> Iterator[LookUp]:
        """The look-ups of an authority by name, read page by page."""
        query: Query = {"prefix": prefix, "state": state, "limit": page_size}
        return self._pages(lambda after: lookups(name, {**query, "after": after}))

    def delete_lookup(self, name: str, key: str, *, version: Version = None) -> None:
        """Removes a look-up. Succeeds if it does not exist."""
        self._run(delete_lookup(name, key, version=version))

    def refresh_lookup(self, name: str, key: str, *, wait: Optional[float] = None) -> LookUp:
        """Asks the authority again, and waits for its answer (default: 10 seconds)."""
        return self._run(refresh_lookup(name, key, wait=wait))

    def accept_lookup(self, name: str, key: str, *, version: Version = None) -> LookUp:
        """Takes the value that the authority has now."""
        return self._run(accept_lookup(name, key, version=version))

    def hint(self, name: str, keys: Optional[Iterable[str]] = None) -> None:
        """Says that values may have changed at the authority: these, or any."""
        self._run(hint(name, keys))


class AsyncAuthorityCalls:
    """The methods of ``AsyncClient`` about authorities."""

    @abstractmethod
    async def _run(self, call: Call[T]) -> T: ...

    @abstractmethod
    def _pages(self, page: Callable[[Optional[str]], Call[Page[T]]]) -> AsyncIterator[T]: ...

    async def put_authority(
        self,
        name: str,
        spec: Mapping[str, Any],
        *,
        version: Version = None,
        absent: bool = False,
    ) -> Authority:
        """Creates an authority or changes its definition; see ``AuthoritySpec``."""
        return await self._run(put_authority(name, spec, version=version, absent=absent))

    async def authority(self, name: str) -> Authority:
        """An authority and its state."""
        return await self._run(authority(name))

    def authorities(
        self, prefix: Optional[str] = None, *, page_size: Optional[int] = None
    ) -> AsyncIterator[Authority]:
        """All authorities whose name starts with ``prefix``, read page by page."""
        query: Query = {"prefix": prefix, "limit": page_size}
        return self._pages(lambda after: authorities({**query, "after": after}))

    async def delete_authority(self, name: str, *, version: Version = None) -> None:
        """Removes an authority that no pool and no claim needs. Succeeds if it does not exist."""
        await self._run(delete_authority(name, version=version))

    def authority_claims(
        self,
        name: str,
        *,
        state: Optional[str] = None,
        key_prefix: Optional[str] = None,
        page_size: Optional[int] = None,
    ) -> AsyncIterator[Claim]:
        """The claims of an authority in a state; by default all that are not ``held``."""
        query: Query = {"state": state, "key_prefix": key_prefix, "limit": page_size}
        return self._pages(lambda after: authority_claims(name, {**query, "after": after}))

    async def resolve(
        self,
        name: str,
        reference: str,
        *,
        granted: Optional[ValueLike] = None,
        gone: bool = False,
        ask_again: bool = False,
    ) -> Optional[Claim]:
        """Says what the authority has done about a claim that is stuck or in conflict. ``None``: the claim has ended."""
        return await self._run(
            resolve(name, reference, granted=granted, gone=gone, ask_again=ask_again)
        )

    async def put_lookup(
        self,
        name: str,
        key: str,
        *,
        policy: Optional[str] = None,
        version: Version = None,
        absent: bool = False,
        wait: Optional[float] = None,
    ) -> LookUp:
        """Looks up a name at an authority and keeps its value. Idempotent: the same call returns the same value.

        ``policy`` says what happens when the authority changes the value: ``pin`` keeps it (default), ``follow`` takes
        the new one, ``ask`` keeps it until ``accept_lookup``. Without an answer in ``wait`` seconds (default: 10) the
        state is ``wanted``.
        """
        return await self._run(
            put_lookup(name, key, policy=policy, version=version, absent=absent, wait=wait)
        )

    async def lookup(self, name: str, key: str) -> LookUp:
        """A look-up. The authority is not asked."""
        return await self._run(lookup(name, key))

    def lookups(
        self,
        name: str,
        prefix: Optional[str] = None,
        *,
        state: Optional[str] = None,
        page_size: Optional[int] = None,
    ) -> AsyncIterator[LookUp]:
        """The look-ups of an authority by name, read page by page."""
        query: Query = {"prefix": prefix, "state": state, "limit": page_size}
        return self._pages(lambda after: lookups(name, {**query, "after": after}))

    async def delete_lookup(self, name: str, key: str, *, version: Version = None) -> None:
        """Removes a look-up. Succeeds if it does not exist."""
        await self._run(delete_lookup(name, key, version=version))

    async def refresh_lookup(self, name: str, key: str, *, wait: Optional[float] = None) -> LookUp:
        """Asks the authority again, and waits for its answer (default: 10 seconds)."""
        return await self._run(refresh_lookup(name, key, wait=wait))

    async def accept_lookup(self, name: str, key: str, *, version: Version = None) -> LookUp:
        """Takes the value that the authority has now."""
        return await self._run(accept_lookup(name, key, version=version))

    async def hint(self, name: str, keys: Optional[Iterable[str]] = None) -> None:
        """Says that values may have changed at the authority: these, or any."""
        await self._run(hint(name, keys))
