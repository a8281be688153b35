"""Falsifies the answers of a server, to test that this is detected."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Callable, Dict

from .request import Request
from .target import Reply, Target


class Wrong:
    """A target whose answers are changed by one of :data:`FAULTS`."""

    def __init__(self, target: Target, fault: str) -> None:
        self._target, self._fault = target, FAULTS[fault]

    def send(self, request: Request) -> Reply:
        reply = self._target.send(request)
        value = reply.json()
        if not isinstance(value, dict):
            return reply
        self._fault(request, value)
        return replace(reply, body=json.dumps(value).encode())

    def reset(self, keep_rows: bool) -> None:
        self._target.reset(keep_rows)


def _loses_a_candidate(request: Request, value: Any) -> None:
    if len(value.get("allocation_requests", [])) > 2:
        value["allocation_requests"].pop()


def _counts_generations_wrong(request: Request, value: Any) -> None:
    if request.route == "/resource_providers/{uuid}" and value.get("generation", 0) > 4:
        value["generation"] += 1


def _forgets_a_trait(request: Request, value: Any) -> None:
    if request.route == "/resource_providers/{uuid}/traits" and len(value.get("traits", [])) > 2:
        value["traits"].pop()


def _says_another_code(request: Request, value: Any) -> None:
    for error in value.get("errors", []):
        if error.get("code") == "placement.concurrent_update":
            error["code"] = "placement.undefined_code"


FAULTS: Dict[str, Callable[[Request, Any], None]] = {
    "candidate": _loses_a_candidate,
    "generation": _counts_generations_wrong,
    "trait": _forgets_a_trait,
    "code": _says_another_code,
}
