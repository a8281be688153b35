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
    Iterator,
    Mapping,
    Optional,
    TypeVar,
)

from . import answers, api
from .answers import Authority, Claim
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
