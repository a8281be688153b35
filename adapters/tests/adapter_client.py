"""Sends requests of the contract to a served adapter, as allod does."""

from __future__ import annotations

import http.client
import json
import socket
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, TypeVar
from urllib.parse import quote

SECONDS = 60.0
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any

    @property
    def code(self) -> Tuple[int, Optional[str]]:
        return self.status, self.body.get("code") if isinstance(self.body, dict) else None

    @property
    def value(self) -> Any:
        assert self.status in (200, 201), self
        return self.body["value"]


class AdapterClient:
    def __init__(self, url: str, want: Dict[str, Any]) -> None:
        self._host, self._want = url.partition("//")[2], want

    def call(self, method: str, path: str, body: Any = None) -> Answer:
        """Retries while the adapter says that it has not done anything, as the contract allows."""
        give_up = time.monotonic() + SECONDS
        while True:
            answer = self._once(method, path, body)
            if answer.status != 503 or time.monotonic() > give_up:
                return answer

    def _once(self, method: str, path: str, body: Any) -> Answer:
        connection = http.client.HTTPConnection(self._host, timeout=SECONDS)
        try:
            connection.request(method, path, None if body is None else json.dumps(body).encode())
            response = connection.getresponse()
            raw = response.read()
            return Answer(response.status, json.loads(raw) if raw else None)
        finally:
            connection.close()

    def put(self, ref: str, pool: str, want: Optional[Dict[str, Any]] = None) -> Answer:
        return self.call("PUT", f"/grants/{ref}", self._body(ref, pool, want))

    def put_and_leave(self, ref: str, pool: str) -> None:
        """Sends the whole request, and closes the connection without reading the answer."""
        raw = json.dumps(self._body(ref, pool, None)).encode()
        head = f"PUT /grants/{ref} HTTP/1.1\r\nHost: {self._host}\r\nContent-Length: {len(raw)}\r\n\r\n"
        host, _, port = self._host.partition(":")
        with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
            connection.sendall(head.encode() + raw)

    def _body(self, ref: str, pool: str, want: Optional[Dict[str, Any]]) -> Dict[str, Any]:
        return {"pool": pool, "key": f"key {ref[:4]}/ü", "owner": "tests", "want": self._want if want is None else want}

    def get(self, ref: str) -> Answer:
        return self.call("GET", f"/grants/{ref}")

    def delete(self, ref: str) -> int:
        return self.call("DELETE", f"/grants/{ref}").status

    def pages(self) -> List[List[Dict[str, Any]]]:
        made: List[List[Dict[str, Any]]] = []
        after = ""
        while True:
            answer = self.call("GET", f"/grants{after}")
            assert answer.status == 200, answer
            made.append(answer.body["grants"])
            if answer.body["next"] is None:
                return made
            after = "?after=" + quote(answer.body["next"], safe="")

    def list(self) -> Dict[str, Any]:
        grants = [grant for page in self.pages() for grant in page]
        found = {grant["ref"]: grant["value"] for grant in grants}
        assert len(found) == len(grants), "a reference is listed twice"
        return found


def refs(number: int) -> List[str]:
    return [str(uuid.uuid4()) for _ in range(number)]


def at_once(call: Callable[[T], R], items: Sequence[T]) -> List[R]:
    with ThreadPoolExecutor(max(1, min(8, len(items)))) as threads:
        return list(threads.map(call, items))
