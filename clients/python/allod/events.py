"""A parser of server-sent events, and the state of a watch: the position reached and the back-off. No sockets here."""

from __future__ import annotations

import json
from typing import Dict, Iterable, List, Optional, Tuple, Union

from . import answers, api
from .answers import Change
from .errors import BadAnswer, Problem, Unreachable
from .http1 import Request, Response
from .retry import RETRIED, Backoff, Retry, Surroundings, retry_after


class EventReader:
    """Parses the bytes of a stream into messages, each with a name, an id and data."""

    def __init__(self) -> None:
        self._raw = b""
        self._fields: Dict[str, str] = {}

    def feed(self, data: bytes) -> List[Dict[str, str]]:
        # Only complete lines are parsed: the \r and the \n of a line may arrive in different pieces.
        *lines, self._raw = (self._raw + data).split(b"\n")
        messages = []
        for raw in lines:
            line = raw.rstrip(b"\r").decode("utf-8", "replace")
            if not line:
                if "data" in self._fields:
                    messages.append(self._fields)
                self._fields = {}
                continue
            name, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if name == "data" and "data" in self._fields:
                value = self._fields["data"] + "\n" + value
            if name:
                self._fields[name] = value
        return messages


class WatchState:
    """The position of a watch, and how it resumes when its stream ends."""

    def __init__(
        self,
        position: Optional[int],
        *,
        pool: Union[None, str, Iterable[str]],
        owner_prefix: Optional[str] = None,
        provider: Union[None, str, Iterable[str]] = None,
        consumer: Union[None, str, Iterable[str]] = None,
        kind: Union[None, str, Iterable[str]],
        patience: Optional[float],
        retry: Retry,
        around: Surroundings = Surroundings(),
    ) -> None:
        self.position = position
        """Everything up to this position has been seen. ``None``: the start is not known yet."""
        several = {"pool": pool, "provider": provider, "consumer": consumer, "kind": kind}
        self._query: Dict[str, Union[None, str, List[str]]] = {
            name: given if given is None or isinstance(given, str) else list(given)
            for name, given in several.items()
        }
        self._query["owner_prefix"] = owner_prefix
        total = float("inf") if patience is None else patience
        self._retry = Retry(total=total, first=retry.first, most=retry.most)
        self._around = around
        self._backoff = Backoff(self._retry, around)
        self._reader = EventReader()

    def request(self) -> Request:
        self._reader = EventReader()
        return api.watch(self._query, self.position or 0)

    def feed(self, data: bytes) -> List[Tuple[int, Optional[Change]]]:
        """The positions in this piece of the stream, each with its change, or ``None`` for a heartbeat."""
        reached: List[Tuple[int, Optional[Change]]] = []
        for message in self._reader.feed(data):
            # Any message restarts the back-off.
            self._backoff = Backoff(self._retry, self._around)
            name = message.get("event", "message")
            if name == "message":
                change = _change(message["data"])
                reached.append((change.position, change))
            elif name == "heartbeat" and message.get("id", "").isdigit():
                reached.append((int(message["id"]), None))
        return reached

    def advance(self, position: int) -> bool:
        """Whether this position is new. The caller returns only new positions, so that no change is returned twice."""
        new = self.position is None or position > self.position
        if new:
            self.position = position
        return new

    def begin(self, position: Optional[int]) -> None:
        """Sets the start position, so that nothing is lost if the first stream ends before its first event."""
        if self.position is None:
            self.position = position or 0

    def refused(self, response: Response) -> float:
        """The pause after an error response. Raises errors for which a retry does not help."""
        problem: Problem = api.problem_of(response, lost=False)
        if response.status not in RETRIED:
            raise problem
        pause = self._backoff.next(retry_after(response, self._around.today()))
        if pause is None:
            raise problem
        return pause

    def ended(self, error: Optional[BaseException] = None) -> float:
        """The pause after a stream that ended or could not be opened."""
        pause = self._backoff.next()
        if pause is None:
            raise Unreachable(f"the watch cannot resume: {error}", maybe_done=False) from error
        return pause


def _change(data: str) -> Change:
    try:
        parsed: object = json.loads(data)
    except ValueError as error:
        raise BadAnswer(f"an event is not JSON: {data!r:.200}") from error
    return answers.reading(answers.change)(parsed)
