"""Sends an episode to both servers, request by request, and reports differences."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Set, Tuple

from . import limited, rows, script
from .accepted import Register
from .compare import Difference, compare
from .exchange import Exchange
from .request import CONSUMER, PROVIDER, Request
from .target import Reply, Target


_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# The project and user of consumers that were created without them.
_INCOMPLETE = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True)
class Finding:
    """A difference that is not accepted, with the requests that led to it."""

    kind: str
    steps: List[Request]
    """As sent, with generations filled in; the replies to the last one differ."""
    symbolic: List[Request]
    """As generated, with placeholders."""
    differences: List[Difference]


@dataclass
class Pair:
    """The reference on the left and the server under test on the right."""

    left: Target
    right: Target
    register: Register = field(default_factory=Register)
    requests: int = 0
    _named: Set[str] = field(default_factory=set)
    """All UUIDs in the requests of an episode."""
    _keep_rows: bool = False

    def run(self, steps: List[Request], known: Set[str]) -> List[Finding]:
        """Runs an episode on empty servers and returns its differences, as long as both are in the same state.

        Skips kinds that are already known.
        """
        self._keep_rows = rows.meant(steps)
        self._named = {_INCOMPLETE, *_UUID.findall(script.write(steps))}
        self.left.reset(self._keep_rows)
        self.right.reset(self._keep_rows)
        found: List[Finding] = []
        sent: List[Request] = []
        for index, step in enumerate(steps):
            for request, left, right, differences in self._exchange(step):
                sent.append(request)
                wanted = [one for one in differences if not self._accepted(request, left, right, one)]
                if wanted:
                    kind = wanted[0].kind(request)
                    if kind not in known:
                        known.add(kind)
                        found.append(Finding(kind, list(sent), [*steps[:index], step], wanted))
                if differences and _state_differs(request, left, right):
                    return found
        return found

    def _exchange(self, step: Request) -> List[Tuple[Request, Reply, Reply, List[Difference]]]:
        """Sends the request, after the reads that its placeholders need."""
        done: List[Tuple[Request, Reply, Reply, List[Difference]]] = []
        known: Dict[Tuple[str, str], Any] = {}
        for kind, uuid in step.places():
            ask = _question(kind, uuid)
            left, right = self._send(ask)
            done.append((ask, left, right, compare(left, right)))
            known[kind, uuid] = _generation(kind, left)
        request = step.resolved(lambda kind, uuid: known[kind, uuid])
        left, right = self._send(request)
        if limited.applies(request, left, right):
            whole = self._steady(self.left.send(request.without("limit")))
            differences = limited.compare(whole, left, right, int(request.parameter("limit") or 0))
        else:
            differences = compare(left, right)
        done.append((request, left, right, differences))
        return done

    def _send(self, request: Request) -> Tuple[Reply, Reply]:
        self.requests += 1
        return self._steady(self.left.send(request)), self._steady(self.right.send(request))

    def _steady(self, reply: Reply) -> Reply:
        """The reply without UUIDs that a server generated."""

        def name(found: "re.Match[str]") -> str:
            return found.group() if found.group() in self._named else "NEW"

        headers = {key: _UUID.sub(name, value) for key, value in reply.headers.items()}
        body = reply.body.decode(errors="surrogateescape")
        return replace(reply, headers=headers, body=_UUID.sub(name, body).encode(errors="surrogateescape"))

    def _accepted(self, request: Request, left: Reply, right: Reply, difference: Difference) -> bool:
        return self.register.accepts(Exchange(request, left, right, difference, self._keep_rows))


def _question(kind: str, uuid: str) -> Request:
    path = {PROVIDER: "/resource_providers/", CONSUMER: "/allocations/"}[kind]
    return Request("GET", path + uuid, "1.39")


def _generation(kind: str, reply: Reply) -> Any:
    answer = reply.json()
    if kind == CONSUMER:
        return answer.get("consumer_generation")
    return answer.get("generation", 0)


def _state_differs(request: Request, left: Reply, right: Reply) -> bool:
    """Whether the two servers may be in different states after this request."""
    return not request.reads and (left.status < 400 or right.status < 400)
