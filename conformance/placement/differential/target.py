"""Sends requests to a server."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any, Dict, Optional, Protocol
from urllib.parse import urlencode

from servers import Server

from .request import Request

DEFAULT_HEADERS = {"x-auth-token": "admin", "accept": "application/json"}


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Dict[str, str]
    """Names in lower case."""
    body: bytes

    def json(self) -> Any:
        """The body as a JSON value, or None if it is not JSON."""
        if not self.headers.get("content-type", "").startswith("application/json"):
            return None
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def error(self) -> Dict[str, Any]:
        """The first error; empty if there is none."""
        value = self.json()
        errors = value.get("errors") if isinstance(value, dict) else None
        first = errors[0] if isinstance(errors, list) and errors else None
        return first if isinstance(first, dict) else {}


class Target(Protocol):
    """Something that answers requests and can be reset."""

    def send(self, request: Request) -> Reply: ...

    def reset(self, keep_rows: bool) -> None: ...


class Http:
    """A server, used over one persistent connection."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._connection: Optional[http.client.HTTPConnection] = None

    def reset(self, keep_rows: bool) -> None:
        self._close()
        self._server.reset(keep_rows)

    def stop(self) -> None:
        self._close()
        self._server.stop()

    def send(self, request: Request) -> Reply:
        try:
            return self._send(request)
        except (http.client.HTTPException, ConnectionError):
            # The server may have closed the persistent connection; try a new one.
            self._close()
            return self._send(request)

    def _send(self, request: Request) -> Reply:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=120)
        body = request.sent_body()
        path = request.path + (f"?{urlencode(request.query)}" if request.query else "")
        sent = None if body is None else body.encode()
        self._connection.request(request.method, path, sent, headers_of(request))
        reply = self._connection.getresponse()
        read = reply.read()
        headers = {name.lower(): value for name, value in reply.getheaders()}
        # The address of the server is not part of the comparison.
        own = f"127.0.0.1:{self._server.port}"
        return Reply(reply.status, {name: text.replace(own, "HOST") for name, text in headers.items()}, read)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def headers_of(request: Request) -> Dict[str, str]:
    """All headers of a request."""
    headers = dict(DEFAULT_HEADERS)
    if request.version is not None:
        headers["openstack-api-version"] = f"placement {request.version}"
    if request.sent_body() is not None:
        headers["content-type"] = "application/json"
    headers.update(request.headers)
    return {name: value for name, value in headers.items() if value}
