"""The HTTP/1.1 response parser."""

from __future__ import annotations

from typing import Optional, Tuple

import pytest

from allod import BadAnswer
from allod.http1 import Request, ResponseReader

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    b"3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\ntrailer: t\r\n\r\n"
)
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN
NO_BODY = b"HTTP/1.1 204 No Content\r\n\r\n"
UNTIL_END = b"HTTP/1.1 200 OK\r\n\r\nhello"
CLOSING = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello"


def read(raw: bytes, step: int, end: bool = False) -> Tuple[ResponseReader, bytes]:
    reader, body = ResponseReader(), b""
    for at in range(0, len(raw), step):
        reader.feed(raw[at : at + step])
        body += reader.take()
    if end:
        reader.end()
    return reader, body


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    "raw, status, body, reusable",
    [
        (PLAIN, 200, b"hello", True),
        (CHUNKED, 200, b"hello", True),
        (INTERIM, 200, b"hello", True),
        (NO_BODY, 204, b"", True),
        (CLOSING, 200, b"hello", False),
    ],
)
def test_response_is_parsed_in_pieces_of_any_size(
    raw: bytes, status: int, body: bytes, reusable: bool, step: int
) -> None:
    reader, got = read(raw, step)
    assert reader.response is not None and reader.response.status == status
    assert (got, reader.done, reader.reusable) == (body, True, reusable)
    for end in range(len(raw)):
        assert not read(raw[:end], step, end=True)[0].done


def test_body_without_length_ends_with_the_connection() -> None:
    reader, body = read(UNTIL_END, 3)
    assert not reader.done
    reader.end()
    assert (body, reader.done, reader.reusable) == (b"hello", True, False)


def test_bytes_after_a_response_make_the_connection_unusable() -> None:
    assert not read(PLAIN + b"HTTP/1.1 200", 1000)[0].reusable


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 999 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: five\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
        b"x" * 70000,
    ],
)
def test_malformed_response_raises_bad_answer(raw: bytes) -> None:
    with pytest.raises(BadAnswer):
        read(raw, 1000)


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "\x00", "grün"])
def test_header_injection_is_refused(value: str) -> None:
    with pytest.raises(ValueError):
        Request("GET", "/", {"if-match": value}).encode("h")


def test_request_has_host_and_content_length() -> None:
    body: Optional[bytes] = b"{}"
    raw = Request("PUT", "/v1/pools/p", {"a": "b"}, body).encode("h:1")
    assert raw == b"PUT /v1/pools/p HTTP/1.1\r\nhost: h:1\r\na: b\r\ncontent-length: 2\r\n\r\n{}"
