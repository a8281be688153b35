"""The address of the server and the credentials of the client. No sockets here."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional, Union
from urllib.parse import urlsplit

from .http1 import Request

DEFAULT_URL = "http://127.0.0.1:8778"


@dataclass(frozen=True)
class Endpoint:
    host: str
    port: int
    base: str
    """The path before ``/v1``, for a server behind a proxy."""
    tls: Optional[ssl.SSLContext]
    token: Optional[str]
    token_file: Optional[Path]

    @staticmethod
    def of(
        url: Optional[str],
        token: Optional[str],
        token_file: Union[None, str, Path],
        ca_file: Union[None, str, Path],
    ) -> Endpoint:
        """Missing arguments come from ``ALLOD_SERVER``, ``ALLOD_TOKEN``, ``ALLOD_TOKEN_FILE`` and ``ALLOD_CA``."""
        address = url or os.environ.get("ALLOD_SERVER") or DEFAULT_URL
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise ValueError(f"{address!r} is not the URL of a server; an example is {DEFAULT_URL}")
        if token is None and token_file is None:
            token = os.environ.get("ALLOD_TOKEN") or None
            token_file = os.environ.get("ALLOD_TOKEN_FILE") or None
        ca_file = ca_file or os.environ.get("ALLOD_CA") or None
        tls = None
        if parts.scheme == "https":
            tls = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
        return Endpoint(
            host=parts.hostname,
            port=parts.port or (443 if tls else 80),
            base=parts.path.rstrip("/"),
            tls=tls,
            token=token,
            token_file=None if token_file is None else Path(token_file),
        )

    def encode(self, request: Request) -> bytes:
        headers = dict(request.headers)
        token = self.token
        if token is None and self.token_file is not None:
            # Read for each request, so that a new token in the file needs no restart.
            token = self.token_file.read_text(encoding="utf-8").strip()
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        placed = replace(request, target=self.base + request.target, headers=headers)
        return placed.encode(f"{host}:{self.port}")
