"""Serves an adapter over HTTP. The contract is in the section *Adapters* of the README."""

from __future__ import annotations

import hmac
import io
import ipaddress
import json
import logging
import os
import signal
import socket
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Tuple, Union
from urllib.parse import unquote

from . import wire
from .adapter import Adapter, Known, NotNow, Refused

LOG = logging.getLogger("allod.authority")
SECRET_VARIABLE = "ALLOD_ADAPTER_SECRET"


@dataclass(frozen=True)
class Limits:
    body_bytes: int = 65536
    connections: int = 64
    request_seconds: float = 10.0
    """The time to read one request, and to write one response."""
    idle_seconds: float = 90.0
    """The time that a connection may stay open between requests."""
    wait_seconds: float = 2.0
    """The time that a request waits while ``parallel`` others run. Then the response is 503."""


class AuthorityServer(ThreadingHTTPServer):
    """Listens at once. ``serve_forever`` answers; as a context manager it answers in a thread of its own."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        adapter: Adapter,
        listen: str = "127.0.0.1:0",
        *,
        secret_file: Union[None, str, Path] = None,
        limits: Limits = Limits(),
    ) -> None:
        self.adapter, self.limits, self.abilities = adapter, limits, adapter.abilities()
        self._secret_file = None if secret_file is None else Path(secret_file)
        host, port = _listen(listen)
        if self.secret() is None and not ipaddress.ip_address(host).is_loopback:
            raise ValueError(
                f"{listen} is not a loopback address: a secret is required; give a secret file or set {SECRET_VARIABLE}"
            )
        self.slots = threading.BoundedSemaphore(adapter.parallel)
        self._connections = threading.BoundedSemaphore(limits.connections)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://[{host!s}]:{port}" if ":" in str(host) else f"http://{host!s}:{port}"

    def secret(self) -> Optional[str]:
        """Read for each request, so that a new secret in the file needs no restart."""
        if self._secret_file is None:
            return os.environ.get(SECRET_VARIABLE) or None
        secret = self._secret_file.read_text(encoding="utf-8").strip()
        if not secret:
            raise ValueError(f"{self._secret_file} is empty; it must contain the secret")
        return secret

    def finish(self, seconds: float = 10.0) -> None:
        """Stops listening and waits for running calls of the adapter."""
        self.shutdown()
        self.server_close()
        give_up = time.monotonic() + seconds
        for _ in range(self.adapter.parallel):
            self.slots.acquire(timeout=max(0.0, give_up - time.monotonic()))

    def __enter__(self) -> AuthorityServer:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._connections.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._connections.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        LOG.debug("a connection failed", exc_info=True)


def serve(adapter: Adapter, listen: str = "127.0.0.1:8800", *, secret_file: Union[None, str, Path] = None) -> None:
    """Serves until SIGTERM or SIGINT; then running calls finish."""
    server = AuthorityServer(adapter, listen, secret_file=secret_file)
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    LOG.info("serving %s on %s", type(adapter).__name__, server.url)
    with server:
        stop.wait()


@dataclass(frozen=True)
class _Answer:
    status: int
    body: Optional[Dict[str, Any]] = None
    retry_after: Optional[int] = None

    @staticmethod
    def problem(status: int, message: str, retry_after: Optional[int] = None) -> _Answer:
        return _Answer(status, {"message": wire.message(message)}, retry_after)


class _Deadline(io.RawIOBase):
    """Reads from a socket until a point in time, however slowly the bytes arrive."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._until = connection, 0.0

    def set(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request did not arrive in time")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "allod-authority", ""
    wbufsize = -1
    server: AuthorityServer

    def setup(self) -> None:
        super().setup()
        self._deadline = _Deadline(self.connection)
        self._deadline.set(self.server.limits.idle_seconds)
        self.rfile = io.BufferedReader(self._deadline)

    def handle_one_request(self) -> None:
        limits = self.server.limits
        self._deadline.set(limits.idle_seconds)
        try:
            # The time for the request begins with its first byte.
            if not self.rfile.peek(1):  # type: ignore[attr-defined]
                self.close_connection = True
                return
            self._deadline.set(limits.request_seconds)
        except OSError:
            self.close_connection = True
            return
        super().handle_one_request()

    def do_GET(self) -> None:
        self._handle()

    do_PUT = do_DELETE = do_GET

    def _handle(self) -> None:
        answer = self._answer()
        raw = b"" if answer.body is None else json.dumps(answer.body).encode()
        self.connection.settimeout(self.server.limits.request_seconds)
        self.send_response(answer.status)
        if answer.status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
        if answer.retry_after is not None:
            self.send_header("Retry-After", str(answer.retry_after))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(raw)

    def _answer(self) -> _Answer:
        try:
            body = self._body()
            if isinstance(body, _Answer):
                self.close_connection = True
                return body
            refusal = self._forbidden()
            if refusal is not None:
                return refusal
            return self._dispatch(body)
        except wire.BadRequest as error:
            return _Answer.problem(400, str(error))
        except Refused as error:
            return _Answer(409, {"code": error.code, "message": wire.message(str(error))})
        except NotNow as error:
            return _Answer.problem(503, str(error), error.after)
        except Exception as error:
            return self._failed(error)

    def _failed(self, error: Exception) -> _Answer:
        # The text of the exception may contain credentials of the inventory; it is in the log only.
        LOG.error("%s %s failed", self.command, self.path, exc_info=error)
        return _Answer.problem(500, f"{type(error).__name__}; the log of the adapter has the details")

    def _body(self) -> Union[bytes, _Answer]:
        if "Transfer-Encoding" in self.headers:
            return _Answer.problem(411, "a body needs a Content-Length")
        text = self.headers.get("Content-Length", "0")
        if not (text.isascii() and text.isdigit()):
            return _Answer.problem(400, f"Content-Length is {text!r:.20}")
        if len(text) > 9 or int(text) > self.server.limits.body_bytes:
            return _Answer.problem(413, f"the body is longer than {self.server.limits.body_bytes} bytes")
        try:
            body = self.rfile.read(int(text))
        except OSError:
            return _Answer.problem(408, "the request did not arrive in time")
        if len(body) < int(text):
            return _Answer.problem(400, "the body is incomplete")
        return body

    def _forbidden(self) -> Optional[_Answer]:
        if "Origin" in self.headers:
            return _Answer.problem(403, "requests of web pages are refused")
        secret = self.server.secret()
        if secret is not None:
            given = self.headers.get("Authorization", "").encode("latin-1", "replace")
            if not hmac.compare_digest(given, f"Bearer {secret}".encode()):
                return _Answer.problem(401, "the secret is missing or wrong")
        elif not _is_local(self.headers.get("Host", "")):
            # A name that a web page made point to this machine.
            return _Answer.problem(403, "without a secret, Host must be localhost or an IP address")
        return None

    def _dispatch(self, body: bytes) -> _Answer:
        path, _, text = self.path.partition("?")
        asked, adapter = wire.query(text), self.server.adapter
        if (self.command, path) == ("GET", "/"):
            return _Answer(200, self.server.abilities)
        if (self.command, path) == ("GET", "/grants"):
            return self._optional("list", lambda: _Answer(200, wire.page(adapter.list(asked.get("after")))))
        if self.command == "GET" and path.startswith("/lookup/"):
            name = _segment(path[len("/lookup/") :])
            return self._optional("lookup", lambda: self._look_up(name))
        if not path.startswith("/grants/"):
            raise wire.BadRequest(f"{self.command} {path:.100} is not part of the contract")
        ref = wire.reference(_segment(path[len("/grants/") :]))
        if self.command == "PUT":
            ask = wire.ask(ref, body)
            return self._in_turn(lambda: _Answer(200, wire.grant(adapter.grant(ask))))
        known = wire.known(ref, asked)
        if self.command == "GET":
            return self._in_turn(lambda: self._find(known))
        return self._in_turn(lambda: self._release(known))

    def _find(self, known: Known) -> _Answer:
        found = self.server.adapter.find(known)
        return _Answer.problem(404, "no such grant") if found is None else _Answer(200, wire.grant(found))

    def _release(self, known: Known) -> _Answer:
        self.server.adapter.release(known)
        return _Answer(204)

    def _look_up(self, name: str) -> _Answer:
        fact = self.server.adapter.look_up(name)
        return _Answer.problem(404, "unknown name") if fact is None else _Answer(200, wire.fact(fact))

    def _optional(self, ability: str, call: Callable[[], _Answer]) -> _Answer:
        try:
            if self.server.abilities[ability]:
                return self._in_turn(call)
        except NotImplementedError:
            pass
        return _Answer.problem(501, f"this adapter has no {ability}")

    def _in_turn(self, call: Callable[[], _Answer]) -> _Answer:
        if not self.server.slots.acquire(timeout=self.server.limits.wait_seconds):
            raise NotNow(f"{self.server.adapter.parallel} other calls are running")
        try:
            return call()
        finally:
            self.server.slots.release()

    def send_error(self, code: int, message: Optional[str] = None, explain: Optional[str] = None) -> None:
        # The base class answers 501 to unknown methods. Here 501 means a missing ability, so it is 400.
        self.close_connection = True
        answer = json.dumps({"message": wire.message(message or "bad request")}).encode()
        self.send_response(400 if code == 501 else code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        LOG.debug(format, *args)


def _segment(raw: str) -> str:
    if not raw or "/" in raw:
        raise wire.BadRequest("the path has an empty or a further part")
    try:
        return unquote(raw, errors="strict")
    except UnicodeDecodeError:
        raise wire.BadRequest("the path is not UTF-8") from None


def _listen(text: str) -> Tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        ipaddress.ip_address(host)
        return host, int(port)
    except ValueError:
        raise ValueError(f"{text!r} is not ADDRESS:PORT; an example is 127.0.0.1:8800") from None


def _is_local(host: str) -> bool:
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    if name.lower() == "localhost":
        return True
    try:
        ipaddress.ip_address(name)
        return True
    except ValueError:
        return False
