"""An entry of a pool's list of allocations, over RESTCONF: how it is asked for, read and given up.

Each change is one request, and so one transaction. All of it may be sent again: it says how things are to be afterwards.
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
"""So often something is tried anew when somebody else changes the pool in between."""
PAUSE = Retry(first=0.01, most=1.0)
"""How long to wait before that."""


@dataclass(frozen=True)
class PoolKind:
    module: str
    node: str
    called: str
    """As the error has it that says that there is no such pool."""


ID_POOL = PoolKind("id-allocator", "id-pool", "ID")
IP_POOL = PoolKind("ipaddress-allocator", "ip-address-pool", "IP")


@dataclass(frozen=True)
class About:
    """Which allocation of which pool."""

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
        return LookupError(f"{self.kind.called} pool {self.pool} does not exist")

    def no_allocation(self) -> LookupError:
        return LookupError(f"allocation {self.name} does not exist in pool {self.pool}")


@dataclass(frozen=True)
class How:
    """For which service, and how it is told of the answer."""

    service: str
    user: str
    redeploy: str


@dataclass(frozen=True)
class Entry:
    """What the server has of an allocation."""

    leaves: Mapping[str, Any]
    tag: str
    """Of this version of it."""

    @property
    def services(self) -> List[str]:
        return [str(service) for service in self.leaves.get("allocating-service", ())]


class _Missing(Exception):
    """What the request is about is not there."""


class _Changed(Exception):
    """It is not as it was when it was read."""


@dataclass(frozen=True)
class _TreeCall(Call[Tuple[object, str]]):
    """A request whose refusals are those of RESTCONF."""

    def read(self, response: Response, lost: bool) -> Tuple[object, str]:
        if response.status < 300:
            return self.answer(response)
        refused = _refused(response)
        refused.after_lost = lost
        if response.status == 412:
            raise _Changed from refused
        if response.status == 404 or refused.code == "data-missing":
            raise _Missing from refused
        raise refused


_shared: Optional[Client] = None
_lock = threading.Lock()


def client_of(root: object) -> Client:
    """The client that stands where NSO has the root of a transaction, else the one for the server of the environment."""
    global _shared
    if isinstance(root, Client):
        return root
    with _lock:
        if _shared is None:
            _shared = Client()
        return _shared


def ask(client: Client, about: About, how: How, request: Mapping[str, object]) -> None:
    """Writes the request: the service joins those that are there, what is asked for takes the place of what was."""
    entry: Dict[str, object] = {"id": about.name, "username": how.user}
    entry["allocating-service"] = [how.service]
    entry["redeploy-type"] = how.redeploy
    module = about.kind.module
    edits = [
        _edit("merge", about.step, {f"{module}:allocation": [entry]}),
        _edit("replace", f"{about.step}/request", {f"{module}:request": dict(request)}),
    ]
    for number, edit in enumerate(edits, 1):
        edit["edit-id"] = str(number)
    patch = {"ietf-yang-patch:yang-patch": {"patch-id": "request", "edit": edits}}
    _write(client, about, "PATCH", about.pool_path, patch, "application/yang-patch+json")


def ask_at_once(
    client: Client, about: About, how: How, action: str, wanted: Mapping[str, object]
) -> Mapping[str, Any]:
    """The same by a call that gets something or changes nothing. Returns what the call says, which may be why not."""
    request: Dict[str, object] = {"pool": about.pool, "allocid": about.name, "user": how.user}
    request["owner"] = how.service
    request["redeploy-type"] = how.redeploy
    request.update(wanted)
    said = _write(client, about, "POST", f"{ACTIONS}/{action}", {"resource-allocator:input": request})
    output = said.get("resource-allocator:output") if isinstance(said, dict) else None
    if not isinstance(output, dict):
        raise BadAnswer(f"the answer has no output: {said!r:.200}")
    return output


def answer(client: Client, about: About) -> Mapping[str, Any]:
    """The answer, which is empty while there is none; ``LookupError`` when the answer is that there is nothing."""
    entry = _entry(client, about)
    if entry is None:
        raise about.no_allocation() if _is_there(client, about) else about.no_pool()
    response = entry.leaves.get("response", {})
    if not isinstance(response, dict):
        raise BadAnswer(f"the response is not an object: {response!r:.200}")
    if "error" in response:
        raise LookupError(str(response["error"]))
    return response


def release(client: Client, about: About, service: str) -> None:
    """Takes the service away, and with the last one the allocation."""
    for _ in range(ATTEMPTS_MAX):
        entry = _entry(client, about)
        if entry is None or (service not in entry.services and entry.services):
            return
        path = about.path
        if entry.services not in ([], [service]):
            path += f"/allocating-service={quote(service, safe='')}"
        try:
            _send(client, "DELETE", path, guard=entry.tag)
            return
        except _Missing:
            return
        except _Changed:
            # Read it again, and see who is left.
            continue
    raise Problem(412, {"detail": f"{about.path} changes all the time"})


def _write(
    client: Client, about: About, method: str, path: str, body: object, media: str = JSON
) -> object:
    """What was said. That the pool is not there is a ``LookupError``."""
    try:
        return _send(client, method, path, body, media)[0]
    except (_Missing, Problem) as refused:
        if not _is_there(client, about):
            raise about.no_pool() from refused
        raise


def _edit(operation: str, target: str, value: Mapping[str, object]) -> Dict[str, object]:
    return {"operation": operation, "target": target, "value": value}


def _entry(client: Client, about: About) -> Optional[Entry]:
    try:
        said, tag = _send(client, "GET", about.path)
    except _Missing:
        return None
    name = f"{about.kind.module}:allocation"
    entries = said.get(name) if isinstance(said, dict) else None
    if not isinstance(entries, list) or len(entries) != 1 or not isinstance(entries[0], dict):
        raise BadAnswer(f"the answer is no allocation: {said!r:.200}")
    return Entry(entries[0], tag)


def _is_there(client: Client, about: About) -> bool:
    """Whether the pool is there; nothing else of it is read."""
    try:
        _send(client, "GET", f"{about.pool_path}/name")
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
    """What was said, and the tag of what it is about."""
    headers = {"accept": JSON}
    text: Optional[bytes] = None
    if body is not None:
        headers["content-type"] = media
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    if guard:
        headers["if-match"] = guard
    call = _TreeCall(Request(method, target, headers, text), _said)
    for attempt in range(1, ATTEMPTS_MAX):
        try:
            return client._run(call)
        except Problem as refused:
            if refused.code != "in-use":
                raise
        time.sleep(PAUSE.pause(attempt, random.random()))
    return client._run(call)


def _said(response: Response) -> Tuple[object, str]:
    tag = response.headers.get("etag", "")
    if not response.body:
        return None, tag
    try:
        return json.loads(response.body), tag
    except ValueError as error:
        raise BadAnswer(f"the answer is not JSON: {response.body!r:.200}") from error


def _refused(response: Response) -> Problem:
    """The first error of the answer; a patch may have it with the edit that it is about."""
    try:
        said: object = json.loads(response.body)
    except ValueError:
        said = None
    members: Dict[str, object] = {}
    for error in _errors(said):
        members = {"code": str(error.get("error-tag", f"http_{response.status}"))}
        if "error-message" in error:
            members["detail"] = str(error["error-message"])
        break
    return problem(response.status, members, response.headers.get("x-request-id"))


def _errors(said: object) -> List[Dict[str, object]]:
    """All errors that are anywhere in the answer."""
    found: List[Dict[str, object]] = []
    if isinstance(said, dict):
        if "error-tag" in said:
            return [said]
        for part in said.values():
            found += _errors(part)
    elif isinstance(said, list):
        for part in said:
            found += _errors(part)
    return found
