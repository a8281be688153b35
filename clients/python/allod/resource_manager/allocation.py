"""Creates, reads and releases entries of a pool's list of allocations, over RESTCONF.

Each change is one request, and so one transaction. Requests are idempotent: they state the desired result.
"""

from __future__ import annotations

import json
import random
import threading
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple
from urllib.parse import quote

from ..api import Call
from ..client import Client
from ..errors import BadAnswer, Problem, problem
from ..http1 import Request, Response
from ..retry import Retry

POOLS = "/restconf/data/resource-allocator:resource-pools"
ACTIONS = "/restconf/data/resource-allocator:rm-action"
JSON = "application/yang-data+json"
ATTEMPTS_MAX = 20
"""The number of attempts if other clients change the pool meanwhile."""
PAUSE = Retry(first=0.01, most=1.0)
"""The pauses between these attempts."""


@dataclass(frozen=True)
class PoolKind:
    module: str
    node: str
    label: str
    """The name of the kind in the error for an unknown pool."""


ID_POOL = PoolKind("id-allocator", "id-pool", "ID")
IP_POOL = PoolKind("ipaddress-allocator", "ip-address-pool", "IP")


@dataclass(frozen=True)
class AllocationPath:
    """The pool and the name of an allocation."""

    kind: PoolKind
    pool: str
    name: str

    @property
    def pool_path(self) -> str:
        return f"{POOLS}/{self.kind.module}:{self.kind.node}={quote(self.pool, safe='')}"

    @property
    def step(self) -> str:
        return f"/allocation={quote(self.name, safe='')}"

    @property
    def path(self) -> str:
        return self.pool_path + self.step

    def no_pool(self) -> LookupError:
        return LookupError(f"{self.kind.label} pool {self.pool} does not exist")

    def no_allocation(self) -> LookupError:
        return LookupError(f"allocation {self.name} does not exist in pool {self.pool}")


@dataclass(frozen=True)
class Requester:
    """The service and the user of a request, and how the service is notified."""

    service: str
    user: str
    redeploy: str


@dataclass(frozen=True)
class Entry:
    """An allocation as the server returns it."""

    leaves: Mapping[str, Any]
    tag: str
    """The entity tag."""

    @property
    def services(self) -> List[str]:
        return [str(service) for service in self.leaves.get("allocating-service", ())]


class _Missing(Exception):
    """The pool or the allocation does not exist."""


class _Changed(Exception):
    """The allocation changed since it was read."""


@dataclass(frozen=True)
class _RestconfCall(Call[Tuple[object, str]]):
    """A request with the errors of RESTCONF."""

    def read(self, response: Response, lost: bool) -> Tuple[object, str]:
        if response.status < 300:
            return self.answer(response)
        refused = _problem(response)
        refused.after_lost = lost
        if response.status == 412:
            raise _Changed from refused
        if response.status == 404 or refused.code == "data-missing":
            raise _Missing from refused
        raise refused


_shared: Optional[Client] = None
_lock = threading.Lock()


def client_of(root: object) -> Client:
    """``root`` if it is a client, or else a shared client for the server of the environment."""
    global _shared
    if isinstance(root, Client):
        return root
    with _lock:
        if _shared is None:
            _shared = Client()
        return _shared


def send_request(
    client: Client, location: AllocationPath, requester: Requester, request: Mapping[str, object]
) -> None:
    """Writes the request: adds the service to the existing ones, and replaces the parameters."""
    entry: Dict[str, object] = {"id": location.name, "username": requester.user}
    entry["allocating-service"] = [requester.service]
    entry["redeploy-type"] = requester.redeploy
    module = location.kind.module
    edits = [
        _edit("merge", location.step, {f"{module}:allocation": [entry]}),
        _edit("replace", f"{location.step}/request", {f"{module}:request": dict(request)}),
    ]
    for number, edit in enumerate(edits, 1):
        edit["edit-id"] = str(number)
    patch = {"ietf-yang-patch:yang-patch": {"patch-id": "request", "edit": edits}}
    _write(client, location, "PATCH", location.pool_path, patch, "application/yang-patch+json")


def call_action(
    client: Client,
    location: AllocationPath,
    requester: Requester,
    action: str,
    wanted: Mapping[str, object],
) -> Mapping[str, Any]:
    """The same with an action that either succeeds or changes nothing. Returns its output, which may be an error."""
    request: Dict[str, object] = {"pool": location.pool, "allocid": location.name}
    request["user"] = requester.user
    request["owner"] = requester.service
    request["redeploy-type"] = requester.redeploy
    request.update(wanted)
    parsed = _write(client, location, "POST", f"{ACTIONS}/{action}", {"resource-allocator:input": request})
    output = parsed.get("resource-allocator:output") if isinstance(parsed, dict) else None
    if not isinstance(output, dict):
        raise BadAnswer(f"the response has no output: {parsed!r:.200}")
    return output


def result(client: Client, location: AllocationPath) -> Mapping[str, Any]:
    """The result, empty while there is none. Raises ``LookupError`` if the result is an error."""
    entry = _entry(client, location)
    if entry is None:
        raise location.no_allocation() if _pool_exists(client, location) else location.no_pool()
    response = entry.leaves.get("response", {})
    if not isinstance(response, dict):
        raise BadAnswer(f"the response is not an object: {response!r:.200}")
    if "error" in response:
        raise LookupError(str(response["error"]))
    return response


def release(client: Client, location: AllocationPath, service: str) -> None:
    """Removes the service, and with the last one the allocation."""
    for _ in range(ATTEMPTS_MAX):
        entry = _entry(client, location)
        if entry is None or (service not in entry.services and entry.services):
            return
        path = location.path
        if entry.services not in ([], [service]):
            path += f"/allocating-service={quote(service, safe='')}"
        try:
            _send(client, "DELETE", path, guard=entry.tag)
            return
        except _Missing:
            return
        except _Changed:
            # Read it again, and decide by the services that remain.
            continue
    raise Problem(412, {"detail": f"{location.path} keeps changing, try again later"})


def _write(
    client: Client, location: AllocationPath, method: str, path: str, body: object, media: str = JSON
) -> object:
    """The body of the response. Raises ``LookupError`` if the pool does not exist."""
    try:
        return _send(client, method, path, body, media)[0]
    except (_Missing, Problem) as refused:
        if not _pool_exists(client, location):
            raise location.no_pool() from refused
        raise


def _edit(operation: str, target: str, value: Mapping[str, object]) -> Dict[str, object]:
    return {"operation": operation, "target": target, "value": value}


def _entry(client: Client, location: AllocationPath) -> Optional[Entry]:
    try:
        parsed, tag = _send(client, "GET", location.path)
    except _Missing:
        return None
    name = f"{location.kind.module}:allocation"
    entries = parsed.get(name) if isinstance(parsed, dict) else None
    if not isinstance(entries, list) or len(entries) != 1 or not isinstance(entries[0], dict):
        raise BadAnswer(f"the response is not an allocation: {parsed!r:.200}")
    return Entry(entries[0], tag)


def _pool_exists(client: Client, location: AllocationPath) -> bool:
    """Whether the pool exists."""
    try:
        _send(client, "GET", f"{location.pool_path}/name")
    except _Missing:
        return False
    return True


def _send(
    client: Client,
    method: str,
    target: str,
    body: object = None,
    media: str = JSON,
    guard: str = "",
) -> Tuple[object, str]:
    """The body of the response, and the entity tag."""
    headers = {"accept": JSON}
    text: Optional[bytes] = None
    if body is not None:
        headers["content-type"] = media
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    if guard:
        headers["if-match"] = guard
    call = _RestconfCall(Request(method, target, headers, text), _body_and_tag)
    for attempt in range(1, ATTEMPTS_MAX):
        try:
            return client._run(call)
        except Problem as refused:
            if refused.code != "in-use":
                raise
        time.sleep(PAUSE.pause(attempt, random.random()))
    return client._run(call)


def _body_and_tag(response: Response) -> Tuple[object, str]:
    tag = response.headers.get("etag", "")
    if not response.body:
        return None, tag
    try:
        return json.loads(response.body), tag
    except ValueError as error:
        raise BadAnswer(f"the response is not JSON: {response.body!r:.200}") from error


def _problem(response: Response) -> Problem:
    """The first error of the response. A patch may have it inside an edit."""
    try:
        parsed: object = json.loads(response.body)
    except ValueError:
        parsed = None
    members: Dict[str, object] = {}
    for error in _errors(parsed):
        members = {"code": str(error.get("error-tag", f"http_{response.status}"))}
        if "error-message" in error:
            members["detail"] = str(error["error-message"])
        break
    return problem(response.status, members, response.headers.get("x-request-id"))


def _errors(parsed: object) -> List[Dict[str, object]]:
    """All errors at any depth of the response."""
    found: List[Dict[str, object]] = []
    if isinstance(parsed, dict):
        if "error-tag" in parsed:
            return [parsed]
        for part in parsed.values():
            found += _errors(part)
    elif isinstance(parsed, list):
        for part in parsed:
            found += _errors(part)
    return found
