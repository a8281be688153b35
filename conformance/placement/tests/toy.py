"""A small in-process server: providers with a generation, and nothing else."""

from __future__ import annotations

import json
from typing import Any, Dict, Optional
from uuid import uuid4

from differential.request import Request
from differential.target import Reply


class Toy:
    """Answers a few requests as Placement would.

    ``forgets`` names a provider that it loses at its third generation, ``renames`` one that it shows with another UUID.
    """

    def __init__(self, forgets: Optional[str] = None, renames: Optional[str] = None) -> None:
        self._forgets, self._renames = forgets, renames
        self._generations: Dict[str, int] = {}
        self.resets = 0

    def reset(self, keep_rows: bool) -> None:
        self._generations, self.resets = {}, self.resets + 1

    def send(self, request: Request) -> Reply:
        uuid = request.path.split("/")[2] if request.path.count("/") > 1 else ""
        if request.method == "POST":
            made = request.body.get("uuid") or str(uuid4())
            self._generations[made] = 0
            return _reply(200, {"uuid": str(uuid4()) if made == self._renames else made})
        if self._generations.get(uuid) is None:
            return _reply(404, {"errors": [{"detail": "no such provider"}]})
        if request.method == "GET":
            return _reply(200, {"uuid": uuid, "generation": self._generations[uuid]})
        if request.body.get("resource_provider_generation") != self._generations[uuid]:
            return _reply(409, {"errors": [{"detail": "conflict"}]})
        self._generations[uuid] += 1
        if uuid == self._forgets and self._generations[uuid] == 3:
            del self._generations[uuid]
        return _reply(200, {})


def _reply(status: int, body: Any) -> Reply:
    return Reply(status, {"content-type": "application/json"}, json.dumps(body).encode())
