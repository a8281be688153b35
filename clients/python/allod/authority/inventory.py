"""A small HTTP client for adapters of inventories that speak JSON over HTTP."""

from __future__ import annotations

import http.client
import json
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Optional
from urllib.parse import urlsplit

ANSWER_BYTES_MAX = 16 << 20


@dataclass(frozen=True)
class Reply:
    status: int
    body: Any
    """The parsed JSON; ``None`` if there is none; text if it is not JSON."""

    def get(self, name: str, default: Any = None) -> Any:
        return self.body.get(name, default) if isinstance(self.body, dict) else default

    def expect(self, *statuses: int) -> Reply:
        """Raises if the status is another one: the outcome is unknown."""
        if self.status not in statuses:
            raise RuntimeError(f"the inventory answered {self.status}: {str(self.body):.300}")
        return self


class HttpInventory:
    """Every call has its own connection, so threads can share it. Redirects and proxies are not followed.

    The token is read from its file for each call, so that a new one needs no restart.
    """

    def __init__(
        self,
        url: str,
        *,
        token_file: Optional[str] = None,
        token_header: str = "Authorization",
        token_prefix: str = "Bearer ",
        ca_file: Optional[str] = None,
        timeout: float = 10.0,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise ValueError(f"{url!r} must be http://HOST:PORT or https://HOST:PORT, without a user")
        self._host, self._base, self._timeout = parts.hostname, parts.path.rstrip("/"), timeout
        self._tls = ssl.create_default_context(cafile=ca_file) if parts.scheme == "https" else None
        self._port = parts.port or (443 if self._tls else 80)
        self._token_file = None if token_file is None else Path(token_file)
        self._token_header, self._token_prefix = token_header, token_prefix

    def call(
        self, method: str, path: str, body: Any = None, headers: Optional[Mapping[str, str]] = None
    ) -> Reply:
        sent = {"Accept": "application/json", **(headers or {})}
        raw = None if body is None else json.dumps(body).encode()
        if raw is not None:
            sent["Content-Type"] = "application/json"
        if self._token_file is not None:
            token = self._token_file.read_text(encoding="utf-8").strip()
            sent[self._token_header] = self._token_prefix + token
        connection = self._connect()
        try:
            connection.request(method, self._base + path, raw, sent)
            response = connection.getresponse()
            answer = response.read(ANSWER_BYTES_MAX + 1)
            if len(answer) > ANSWER_BYTES_MAX:
                raise RuntimeError(f"the answer is longer than {ANSWER_BYTES_MAX} bytes")
            return Reply(response.status, _parse(answer))
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._tls)


def _parse(answer: bytes) -> Any:
    if not answer:
        return None
    try:
        return json.loads(answer)
    except ValueError:
        return answer.decode("utf-8", "replace")
