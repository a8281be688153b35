"""An HTTP session with an address, headers and an optional password."""

from __future__ import annotations

import base64
import http.client
import json
from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Dict[str, str]
    text: str

    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def message(self) -> str:
        """The message of the first error."""
        (errors,) = self.json().values()
        return str(errors["error"][0]["error-message"])


class Session:
    """Not thread-safe: it is one connection."""

    def __init__(self, port: int, basic: Optional[Tuple[str, str]] = None) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
        self._headers = {"Content-Type": "application/json"}
        if basic is not None:
            pair = base64.b64encode(":".join(basic).encode()).decode()
            self._headers["Authorization"] = f"Basic {pair}"

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, None, **headers)

    def post(self, path: str, body: Any, **headers: str) -> Reply:
        return self.ask("POST", path, body, **headers)

    def put(self, path: str, body: Any, **headers: str) -> Reply:
        return self.ask("PUT", path, body, **headers)

    def delete(self, path: str, **headers: str) -> Reply:
        return self.ask("DELETE", path, None, **headers)

    def ask(self, method: str, path: str, body: Any, **headers: str) -> Reply:
        content = body if body is None or isinstance(body, str) else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request(method, path, content, {**self._headers, **named})
        reply = self._connection.getresponse()
        text = reply.read().decode()
        return Reply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, text)

    def __del__(self) -> None:
        self._connection.close()
