"""The client for asyncio, with the same methods as ``Client``.

``api`` has the requests and responses, ``retry`` the retry policy. This module has the streams and the pauses.
"""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from types import TracebackType
from typing import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Iterable,
    List,
    Mapping,
    Optional,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from . import api
from .answers import Change, Claim, Done, Pool, Status, Who
from .api import Call, Page, Query, position_of
from .client import IDLE_MAX
from .authorities import AsyncAuthorityCalls
from .endpoint import Endpoint
from .errors import Unreachable
from .events import WatchState
from .http1 import Response, ResponseReader
from .retry import Attempt, Lost, NotSent, Outcome, Retry, exchange
from .transaction import Transaction, Version, claim_body
from .values import Moment, ValueLike, write_moment

T = TypeVar("T")

Connection = Tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AsyncClient(AsyncAuthorityCalls):
    """A connection to one server from one event loop, with at most ``connections`` sockets."""

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        token: Optional[str] = None,
        token_file: Union[None, str, Path] = None,
        ca_file: Union[None, str, Path] = None,
        timeout: float = 10.0,
        retry: Retry = Retry(),
        connections: int = 64,
    ) -> None:
        self._endpoint = Endpoint.of(url, token, token_file, ca_file)
        self._timeout, self._retry = timeout, retry
        self._connections = connections
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._room: Optional[asyncio.Semaphore] = None
        self._idle: List[Connection] = []
        self._position: Optional[int] = None

    @property
    def position(self) -> Optional[int]:
        """The highest journal position in the responses to this client."""
        return self._position

    # Pools

    async def put_pool(
        self,
        name: str,
        kind: str,
        ranges: Iterable[ValueLike] = (),
        *,
        exclude: Iterable[ValueLike] = (),
        manual: Iterable[ValueLike] = (),
        draining: Iterable[ValueLike] = (),
        strategy: Optional[str] = None,
        keep_edges: Optional[bool] = None,
        quarantine: Optional[float] = None,
        lease: Optional[float] = None,
        reap: bool = False,
        authority: Optional[str] = None,
        labels: Optional[Mapping[str, str]] = None,
        keep_held: bool = False,
        version: Version = None,
        absent: bool = False,
    ) -> Pool:
        """Creates a pool or changes its definition. A pool with an authority needs no ranges."""
        return await self._run(
            api.put_pool(
                name,
                kind,
                ranges,
                exclude=exclude,
                manual=manual,
                draining=draining,
                strategy=strategy,
                keep_edges=keep_edges,
                quarantine=quarantine,
                lease=lease,
                reap=reap,
                authority=authority,
                labels=labels,
                keep_held=keep_held,
                version=version,
                absent=absent,
            )
        )

    async def pool(
        self, name: str, *, min_position: Optional[int] = None, linearizable: bool = False
    ) -> Pool:
        """A pool with its usage."""
        return await self._run(api.pool(name, min_position=min_position, linearizable=linearizable))

    def pools(
        self, prefix: Optional[str] = None, *, page_size: Optional[int] = None
    ) -> AsyncIterator[Pool]:
        """All pools whose name starts with ``prefix``, read page by page."""
        return self._pages(lambda after: api.pools(prefix, page_size, after))

    async def delete_pool(self, name: str, *, version: Version = None) -> None:
        """Removes a pool without claims. Succeeds if the pool does not exist."""
        await self._run(api.delete_pool(name, version=version))

    # Claims

    async def claim(
        self,
        pool: str,
        key: str,
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
        version: Version = None,
        absent: bool = False,
        wait: Optional[float] = None,
    ) -> Claim:
        """Claims values under a key chosen by the caller. Idempotent: the same call returns the same claim.

        In a pool with an authority the claim may be returned without a value, see ``Claim.state``. ``wait``: how many
        seconds to wait for the authority; if it refuses in that time, the refusal is raised.
        """
        body = claim_body(
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
        return await self._run(
            api.claim(pool, key, body, version=version, absent=absent, wait=wait)
        )

    async def get(
        self,
        pool: str,
        key: str,
        *,
        min_position: Optional[int] = None,
        linearizable: bool = False,
    ) -> Claim:
        """The claim under a key; raises ``NotHeld`` if there is none."""
        return await self._run(api.get(pool, key, min_position=min_position, linearizable=linearizable))

    async def release(
        self, pool: str, key: str, *, version: Version = None, wait: Optional[float] = None
    ) -> Optional[Claim]:
        """Releases the claim under a key. Succeeds if there is none, except with ``version``: then it raises ``NotHeld``.

        Returns the claim if the authority of its pool has not confirmed the release yet, after ``wait`` seconds.
        """
        return await self._run(api.release(pool, key, version=version, wait=wait))

    async def renew(
        self, pool: str, key: str, *, ttl: Optional[float] = None, version: Version = None
    ) -> Claim:
        """Restarts the lease."""
        return await self._run(api.renew(pool, key, ttl=ttl, version=version))

    async def confirm(self, pool: str, key: str, *, version: Version = None) -> Claim:
        """Makes a leased claim permanent."""
        return await self._run(api.confirm(pool, key, version=version))

    def claims(
        self,
        pool: Optional[str] = None,
        *,
        owner_prefix: Optional[str] = None,
        key_prefix: Optional[str] = None,
        expired: Optional[bool] = None,
        state: Optional[str] = None,
        overlaps: Optional[str] = None,
        draining: Optional[bool] = None,
        page_size: Optional[int] = None,
    ) -> AsyncIterator[Claim]:
        """Claims of one pool ordered by value, or of all pools ordered by owner, read page by page.

        ``overlaps`` and ``draining`` are for one pool only.
        """
        query: Query = {
            "owner_prefix": owner_prefix,
            "key_prefix": key_prefix,
            "expired": expired,
            "state": state,
            "overlaps": overlaps,
            "draining": draining,
            "limit": page_size,
        }
        return self._pages(lambda after: api.claims(pool, {**query, "after": after}))

    async def who(
        self,
        pool: str,
        value: ValueLike,
        *,
        at: Optional[Moment] = None,
        min_position: Optional[int] = None,
        linearizable: bool = False,
    ) -> Who:
        """The holder of a value, now or at a time or position."""
        return await self._run(
            api.who(pool, value, at=at, min_position=min_position, linearizable=linearizable)
        )

    async def transact(
        self,
        transaction: Transaction,
        *,
        dry_run: bool = False,
        idempotency_key: Optional[str] = None,
    ) -> Done:
        """Runs a transaction atomically. Pass your own idempotency key to run it once even if the caller crashes."""
        return await self._run(
            api.transact(transaction, dry_run=dry_run, idempotency_key=idempotency_key)
        )

    # History and watch

    def history(
        self,
        *,
        pool: Optional[str] = None,
        value: Optional[ValueLike] = None,
        key: Optional[str] = None,
        owner: Optional[str] = None,
        provider: Optional[str] = None,
        consumer: Optional[str] = None,
        since: Optional[Moment] = None,
        until: Optional[Moment] = None,
        order: Optional[str] = None,
        page_size: Optional[int] = None,
    ) -> AsyncIterator[Change]:
        """Past changes, newest first unless ``order`` is ``oldest_first``, read page by page."""
        query: Query = {
            "pool": pool,
            "value": None if value is None else str(value),
            "key": key,
            "owner": owner,
            "provider": provider,
            "consumer": consumer,
            "since": None if since is None else write_moment(since),
            "until": None if until is None else write_moment(until),
            "order": order,
            "limit": page_size,
        }
        return self._pages(lambda after: api.history({**query, "after": after}))

    def watch(
        self,
        *,
        after: Optional[int] = None,
        pool: Union[None, str, Iterable[str]] = None,
        owner_prefix: Optional[str] = None,
        provider: Union[None, str, Iterable[str]] = None,
        consumer: Union[None, str, Iterable[str]] = None,
        kind: Union[None, str, Iterable[str]] = None,
        patience: Optional[float] = 300.0,
        silence: float = 60.0,
    ) -> AsyncWatch:
        """Changes after a position (default: from now on), without end, gaps or duplicates.

        "Now" is when the watch is entered with ``async with``, or else when the first change is requested.

        A stream that ends, or sends nothing for ``silence`` seconds, is resumed. Raises ``Unreachable`` if that fails for
        ``patience`` seconds (``None``: never), and ``PositionTrimmed`` if the journal no longer has the next changes.
        """
        state = WatchState(
            after,
            pool=pool,
            owner_prefix=owner_prefix,
            provider=provider,
            consumer=consumer,
            kind=kind,
            patience=patience,
            retry=self._retry,
        )
        return AsyncWatch(self, state, silence)

    # The server

    async def status(self) -> Status:
        return await self._run(api.status())

    async def limits(self) -> Mapping[str, int]:
        return await self._run(api.limits())

    async def close(self) -> None:
        """Closes idle connections. Later calls open new ones."""
        idle, self._idle = self._idle, []
        for _, writer in idle:
            writer.close()
        for _, writer in idle:
            await _closed(writer)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    # Internals

    async def _run(self, call: Call[T]) -> T:
        steps = exchange(call, self._retry, self._timeout)
        outcome: Optional[Outcome] = None
        try:
            while True:
                step = steps.send(outcome)
                if isinstance(step, Attempt):
                    async with self._limit():
                        outcome = await self._attempt(step)
                else:
                    outcome = None
                    await asyncio.sleep(step.seconds)
        except StopIteration as stop:
            done: T = stop.value
            return done

    async def _pages(self, page: Callable[[Optional[str]], Call[Page[T]]]) -> AsyncIterator[T]:
        after: Optional[str] = None
        while True:
            got = await self._run(page(after))
            for item in got.items:
                yield item
            after = got.next
            if after is None:
                return

    def _limit(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if self._loop is not loop or self._room is None:
            # The first event loop, or another one than before: objects of the old loop cannot be used.
            self._loop, self._idle = loop, []
            self._room = asyncio.Semaphore(self._connections)
        return self._room

    async def _attempt(self, attempt: Attempt) -> Outcome:
        sent = self._endpoint.encode(attempt.request)
        deadline = asyncio.get_running_loop().time() + attempt.timeout
        connection, used = self._take(), True
        if connection is None:
            used = False
            try:
                connection = await asyncio.wait_for(self._connect(), attempt.timeout)
            except ssl.SSLCertVerificationError as error:
                raise Unreachable(f"the certificate of the server is not trusted: {error}", maybe_done=False) from error
            except (OSError, asyncio.TimeoutError) as error:
                return NotSent(error)
        stream, writer = connection
        reader, body, keep = ResponseReader(), bytearray(), False

        async def talk() -> None:
            writer.write(sent)
            await writer.drain()
            while not reader.done:
                await _read(stream, reader)
                body.extend(reader.take())

        try:
            await asyncio.wait_for(talk(), deadline - asyncio.get_running_loop().time())
            keep = reader.reusable and len(self._idle) < IDLE_MAX
        except (OSError, asyncio.TimeoutError) as error:
            return Lost(error, stale=used and reader.response is None)
        finally:
            if keep:
                self._idle.append(connection)
            else:
                writer.close()
        assert reader.response is not None
        response = Response(reader.response.status, reader.response.headers, bytes(body))
        position = position_of(response)
        if position is not None:
            self._position = max(self._position or 0, position)
        return response

    async def _connect(self) -> Connection:
        at = self._endpoint
        return await asyncio.open_connection(
            at.host, at.port, ssl=at.tls, server_hostname=at.host if at.tls else None
        )

    def _take(self) -> Optional[Connection]:
        """An idle connection that the server has not closed."""
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof() and reader.exception() is None and not writer.is_closing():
                return reader, writer
            writer.close()
        return None


class AsyncWatch(AsyncIterator[Change]):
    """An endless iterator of changes. Close it, or use it in an ``async with``, to close its connection."""

    def __init__(self, client: AsyncClient, state: WatchState, silence: float) -> None:
        self._client, self._state, self._silence = client, state, silence
        self._changes = self._run()

    @property
    def position(self) -> Optional[int]:
        """Everything up to this position has been returned. Resume here after a restart."""
        return self._state.position

    async def __anext__(self) -> Change:
        return await self._changes.__anext__()

    async def close(self) -> None:
        await self._changes.aclose()

    async def __aenter__(self) -> AsyncWatch:
        await self._begin()
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def _begin(self) -> None:
        if self._state.position is None:
            self._state.begin(await self._client._run(api.position()))

    async def _run(self) -> AsyncGenerator[Change, None]:
        client, state = self._client, self._state
        await self._begin()
        while True:
            writer: Optional[asyncio.StreamWriter] = None
            try:
                connected = await asyncio.wait_for(client._connect(), client._timeout)
                stream, writer = connected
                connected[1].write(client._endpoint.encode(state.request()))
                reader = ResponseReader()
                while reader.response is None:
                    await asyncio.wait_for(_read(stream, reader), self._silence)
                if reader.response.status != 200:
                    while not reader.done:
                        await asyncio.wait_for(_read(stream, reader), self._silence)
                    head = reader.response
                    pause = state.refused(Response(head.status, head.headers, reader.take()))
                else:
                    while True:
                        for position, change in state.feed(reader.take()):
                            if state.advance(position) and change is not None:
                                yield change
                        if reader.done:
                            break
                        await asyncio.wait_for(_read(stream, reader), self._silence)
                    pause = state.ended()
            except (OSError, asyncio.TimeoutError) as error:
                pause = state.ended(error)
            finally:
                if writer is not None:
                    writer.close()
            await asyncio.sleep(pause)


async def _read(stream: asyncio.StreamReader, reader: ResponseReader) -> None:
    """Waits for bytes and passes them to the reader."""
    data = await stream.read(65536)
    if data:
        reader.feed(data)
        return
    reader.end()
    if not reader.done:
        raise ConnectionResetError("the connection ended before the response was complete")


async def _closed(writer: asyncio.StreamWriter) -> None:
    try:
        await writer.wait_closed()
    except OSError:
        # Already closed.
        pass
