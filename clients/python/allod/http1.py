"""HTTP/1.1 as bytes: encodes requests and parses responses. No sockets here.

Both clients use ``ResponseReader``, so that they cannot differ. It supports interim responses, and bodies with a length, in
chunks, or until the connection ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Mapping, Optional

from .errors import BadAnswer

HEAD_BYTES_MAX = 65536


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Optional[bytes] = None

    def encode(self, host: str) -> bytes:
        lines = [f"{self.method} {self.target} HTTP/1.1", f"host: {host}"]
        for name, value in self.headers.items():
            if not (value.isascii() and value.isprintable()):
                raise ValueError(f"{name} is {value!r}; headers must be printable ASCII")
            lines.append(f"{name}: {value}")
        if self.body is not None:
            lines.append(f"content-length: {len(self.body)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii") + (self.body or b"")


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    """Names are in lower case."""
    body: bytes = b""


class ResponseReader:
    """An incremental parser. When ``response`` is set, ``take`` returns the part of the body that has arrived."""

    def __init__(self) -> None:
        self.response: Optional[Response] = None
        self.done = False
        """The response is complete."""
        self._raw = bytearray()
        self._body = bytearray()
        self._left: Optional[int] = None
        """The rest of the body or of the current chunk, in bytes; ``None``: until the connection ends."""
        self._chunked = False
        self._trailer = False

    @property
    def reusable(self) -> bool:
        """Whether the connection can be used for another request."""
        response = self.response
        if response is None or not self.done or self._raw:
            return False
        until_the_end = self._left is None and not self._chunked
        return not until_the_end and response.headers.get("connection", "").lower() != "close"

    def take(self) -> bytes:
        body = bytes(self._body)
        self._body.clear()
        return body

    def feed(self, data: bytes) -> None:
        self._raw += data
        while self.response is None:
            if not self._head():
                return
        if self._chunked:
            self._chunks()
        elif self._left is None:
            self._body += self._raw
            self._raw.clear()
        else:
            self._plain()
            self.done = self._left == 0

    def end(self) -> None:
        """The connection has ended. This completes only a body without a length."""
        if self.response is not None and self._left is None and not self._chunked:
            self.done = True

    def _head(self) -> bool:
        end = self._raw.find(b"\r\n\r\n")
        if end < 0:
            if len(self._raw) > HEAD_BYTES_MAX:
                raise BadAnswer("the head of the response is too long")
            return False
        lines = bytes(self._raw[:end]).decode("latin-1").split("\r\n")
        del self._raw[: end + 4]
        status = _status(lines[0])
        if 100 <= status < 200:
            return True
        headers: Dict[str, str] = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon:
                raise BadAnswer(f"header line without a colon: {line!r:.100}")
            headers[name.strip().lower()] = value.strip()
        self.response = Response(status, headers)
        self._chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        if status in (204, 304):
            self._left = 0
        elif not self._chunked and "content-length" in headers:
            self._left = _number(headers["content-length"], 10)
        elif self._chunked:
            self._left = 0
        return True

    def _plain(self) -> None:
        piece = self._raw[: self._left]
        self._body += piece
        del self._raw[: len(piece)]
        self._left = (self._left or 0) - len(piece)

    def _chunks(self) -> None:
        while not self.done:
            if self._left:
                if not self._raw:
                    return
                self._plain()
                if self._left:
                    return
                self._left = 0
            line_end = self._raw.find(b"\r\n")
            if line_end < 0:
                if len(self._raw) > HEAD_BYTES_MAX:
                    raise BadAnswer("the size line of a chunk is too long")
                return
            line = bytes(self._raw[:line_end])
            del self._raw[: line_end + 2]
            if self._trailer:
                self.done = not line
            elif line:
                # An empty line ends the previous chunk.
                self._left = _number(line.split(b";")[0].decode("latin-1"), 16)
                self._trailer = self._left == 0


def _status(line: str) -> int:
    version, _, rest = line.partition(" ")
    if not version.startswith("HTTP/1."):
        raise BadAnswer(f"not HTTP/1.1: {line!r:.100}")
    status = _number(rest[:3], 10)
    if not 100 <= status <= 599:
        raise BadAnswer(f"{status} is not a valid status")
    return status


def _number(text: str, base: int) -> int:
    text = text.strip()
    digits = "0123456789abcdefABCDEF" if base == 16 else "0123456789"
    if not text or any(digit not in digits for digit in text):
        raise BadAnswer(f"{text!r:.40} is not a number")
    return int(text, base)
