"""The blocking client, with a pool of connections.

``api`` has the requests and responses, ``retry`` the retry policy. This module has the sockets and the pauses.
"""

from __future__ import annotations

import os
import select
import socket
import ssl
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Type,
    TypeVar,
    Union,
)

from . import api
from .answers import Change, Claim, Done, Pool, Status, Who
from .api import Call, Page, Query, position_of
from .authorities import AuthorityCalls
from .endpoint import Endpoint
from .errors import Unreachable
from .events import WatchState
from .http1 import Request, Response, ResponseReader
from .retry import Attempt, Lost, NotSent, Outcome, Retry, exchange
from .transaction import Transaction, Version, claim_body
from .values import Moment, ValueLike, write_moment

T = TypeVar("T")

IDLE_MAX = 16
"""The number of idle connections that are kept open."""


class Client(AuthorityCalls):
    """A connection to one server. Thread-safe."""

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        token: Optional[str] = None,
        token_file: Union[None, str, Path] = None,
        ca_file: Union[None, str, Path] = None,
        timeout: float = 10.0,
        retry: Retry = Retry(),
    ) -> None:
        self._endpoint = Endpoint.of(url, token, token_file, ca_file)
        self._timeout, self._retry = timeout, retry
        self._lock = threading.Lock()
        self._idle: List[socket.socket] = []
        self._pid = os.getpid()
        self._position: Optional[int] = None

    @property
    def position(self) -> Optional[int]:
        """The highest journal position in the responses to this client."""
        return self._position

    # Pools

    def put_pool(
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
        return self._run(
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

    def pool(
        self, name: str, *, min_position: Optional[int] = None, linearizable: bool = False
    ) -> Pool:
        """A pool with its usage."""
        return self._run(api.pool(name, min_position=min_position, linearizable=linearizable))

    def pools(
        self, prefix: Optional[str] = None, *, page_size: Optional[int] = None
    ) -> Iterator[Pool]:
        """All pools whose name starts with ``prefix``, read page by page."""
        return self._pages(lambda after: api.pools(prefix, page_size, after))

    def delete_pool(self, name: str, *, version: Version = None) -> None:
        """Removes a pool without claims. Succeeds if the pool does not exist."""
        self._run(api.delete_pool(name, version=version))

    # Claims

    def claim(
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
        return self._run(
            api.claim(pool, key, body, version=version, absent=absent, wait=wait)
        )

    def get(
        self,
        pool: str,
        key: str,
        *,
        min_position: Optional[int] = None,
        linearizable: bool = False,
    ) -> Claim:
        """The claim under a key; raises ``NotHeld`` if there is none."""
        return self._run(api.get(pool, key, min_position=min_position, linearizable=linearizable))

    def release(
        self, pool: str, key: str, *, version: Version = None, wait: Optional[float] = None
    ) -> Optional[Claim]:
        """Releases the claim under a key. Succeeds if there is none, except with ``version``: then it raises ``NotHeld``.

        Returns the claim if the authority of its pool has not confirmed the release yet, after ``wait`` seconds.
        """
        return self._run(api.release(pool, key, version=version, wait=wait))

    def renew(
        self, pool: str, key: str, *, ttl: Optional[float] = None, version: Version = None
    ) -> Claim:
        """Restarts the lease."""
        return self._run(api.renew(pool, key, ttl=ttl, version=version))

    def confirm(self, pool: str, key: str, *, version: Version = None) -> Claim:
        """Makes a leased claim permanent."""
        return self._run(api.confirm(pool, key, version=version))

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
    ) -> Iterator[Claim]:
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

    def who(
        self,
        pool: str,
        value: ValueLike,
        *,
        at: Optional[Moment] = None,
        min_position: Optional[int] = None,
        linearizable: bool = False,
    ) -> Who:
        """The holder of a value, now or at a time or position."""
        return self._run(
            api.who(pool, value, at=at, min_position=min_position, linearizable=linearizable)
        )

    def transact(
        self,
        transaction: Transaction,
        *,
        dry_run: bool = False,
        idempotency_key: Optional[str] = None,
    ) -> Done:
        """Runs a transaction atomically. Pass your own idempotency key to run it once even if the caller crashes."""
        return self._run(
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
    ) -> Iterator[Change]:
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
    ) -> Watch:
        """Changes after a position (default: from now on), without end, gaps or duplicates.

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
        if after is None:
            state.begin(self._run(api.position()))
        return Watch(self, state, silence)

    # The server

    def status(self) -> Status:
        return self._run(api.status())

    def limits(self) -> Mapping[str, int]:
        return self._run(api.limits())

    def close(self) -> None:
        """Closes idle connections. Later calls open new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    # Internals

    def _run(self, call: Call[T]) -> T:
        steps = exchange(call, self._retry, self._timeout)
        outcome: Optional[Outcome] = None
        try:
            while True:
                step = steps.send(outcome)
                if isinstance(step, Attempt):
                    outcome = self._attempt(step)
                else:
                    outcome = None
                    time.sleep(step.seconds)
        except StopIteration as stop:
            done: T = stop.value
            return done

    def _pages(self, page: Callable[[Optional[str]], Call[Page[T]]]) -> Iterator[T]:
        after: Optional[str] = None
        while True:
            got = self._run(page(after))
            yield from got.items
            after = got.next
            if after is None:
                return

    def _attempt(self, attempt: Attempt) -> Outcome:
        sent = self._endpoint.encode(attempt.request)
        deadline = time.monotonic() + attempt.timeout
        connection, used = self._take(), True
        if connection is None:
            used = False
            try:
                connection = self._connect(attempt.timeout)
            except ssl.SSLCertVerificationError as error:
                raise Unreachable(f"the certificate of the server is not trusted: {error}", maybe_done=False) from error
            except OSError as error:
                return NotSent(error)
        reader, body, keep = ResponseReader(), bytearray(), False
        try:
            connection.settimeout(attempt.timeout)
            connection.sendall(sent)
            while not reader.done:
                _read(connection, reader, deadline - time.monotonic())
                body += reader.take()
            keep = reader.reusable
        except OSError as error:
            return Lost(error, stale=used and reader.response is None)
        finally:
            if keep:
                self._keep(connection)
            else:
                connection.close()
        assert reader.response is not None
        response = Response(reader.response.status, reader.response.headers, bytes(body))
        self._note(position_of(response))
        return response

    def _connect(self, timeout: float) -> socket.socket:
        at = self._endpoint
        connection = socket.create_connection((at.host, at.port), timeout=timeout)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if at.tls is None:
                return connection
            return at.tls.wrap_socket(connection, server_hostname=at.host)
        except BaseException:
            connection.close()
            raise

    def _take(self) -> Optional[socket.socket]:
        """An idle connection without unread bytes that the server has not closed."""
        while True:
            with self._lock:
                if self._pid != os.getpid():
                    # After a fork the parent shares these connections, and would receive our responses.
                    self._idle, self._pid = [], os.getpid()
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if not _is_readable(connection):
                return connection
            connection.close()

    def _keep(self, connection: socket.socket) -> None:
        with self._lock:
            if len(self._idle) < IDLE_MAX and self._pid == os.getpid():
                self._idle.append(connection)
                return
        connection.close()

    def _note(self, position: Optional[int]) -> None:
        if position is not None:
            with self._lock:
                self._position = max(self._position or 0, position)

    @contextmanager
    def _stream(self, request: Request, silence: float) -> Iterator[Stream]:
        sent = self._endpoint.encode(request)
        connection = self._connect(self._timeout)
        try:
            connection.sendall(sent)
            yield Stream(connection, silence)
        finally:
            connection.close()


class Stream:
    """A response whose body is read as it arrives."""

    def __init__(self, connection: socket.socket, silence: float) -> None:
        self._connection, self._silence = connection, silence
        self._reader = ResponseReader()
        while self._reader.response is None:
            _read(connection, self._reader, silence)
        self.response = self._reader.response

    def pieces(self) -> Iterator[bytes]:
        while True:
            piece = self._reader.take()
            if piece:
                yield piece
            elif self._reader.done:
                return
            else:
                _read(self._connection, self._reader, self._silence)

    def whole(self) -> Response:
        body = b"".join(self.pieces())
        return Response(self.response.status, self.response.headers, body)


class Watch(Iterator[Change]):
    """An endless iterator of changes. Close it, or use it in a ``with``, to close its connection."""

    def __init__(self, client: Client, state: WatchState, silence: float) -> None:
        self._client, self._state, self._silence = client, state, silence
        self._changes = self._run()

    @property
    def position(self) -> Optional[int]:
        """Everything up to this position has been returned. Resume here after a restart."""
        return self._state.position

    def __next__(self) -> Change:
        return next(self._changes)

    def close(self) -> None:
        self._changes.close()

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _run(self) -> Generator[Change, None, None]:
        client, state = self._client, self._state
        while True:
            try:
                with client._stream(state.request(), self._silence) as stream:
                    if stream.response.status != 200:
                        pause = state.refused(stream.whole())
                    else:
                        for piece in stream.pieces():
                            for position, change in state.feed(piece):
                                if state.advance(position) and change is not None:
                                    yield change
                        pause = state.ended()
            except OSError as error:
                pause = state.ended(error)
            time.sleep(pause)


def _read(connection: socket.socket, reader: ResponseReader, timeout: float) -> None:
    """Waits for bytes and passes them to the reader."""
    if timeout <= 0:
        raise socket.timeout("the response took too long")
    connection.settimeout(timeout)
    data = connection.recv(65536)
    if data:
        reader.feed(data)
        return
    reader.end()
    if not reader.done:
        raise ConnectionResetError("the connection ended before the response was complete")


def _is_readable(connection: socket.socket) -> bool:
    try:
        readable, _, _ = select.select([connection], [], [], 0)
    except ValueError:
        # The file descriptor is too large for select. Treat the connection as unusable.
        return True
    return bool(readable)
