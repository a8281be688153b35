"""Server-sent events as bytes, and a watch as a state: what was seen, and where to go on. No sockets here."""

from __future__ import annotations

import json
from typing import Dict, Iterable, List, Optional, Tuple, Union

from . import answers, api
from .answers import Change
from .errors import BadAnswer, Problem, Unreachable
from .http1 import Request, Response
from .retry import RETRIED, Backoff, Retry, Surroundings, retry_after


class EventReader:
    """Takes in the bytes of a stream as they come, and gives its messages: each a name, an id and data."""

    def __init__(self) -> None:
        self._raw = b""
        self._fields: Dict[str, str] = {}

    def feed(self, data: bytes) -> List[Dict[str, str]]:
        # Only a whole line is looked at; the \r of a \r\n may come with one piece and the \n with the next.
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
    """Where a watch is, and how it goes on when its stream ends."""

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
        """Everything up to here has been seen. ``None``: it is not yet known where to begin."""
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
        """The positions reached in what has come, and what happened there: nothing, when it is a heartbeat."""
        reached: List[Tuple[int, Optional[Change]]] = []
        for message in self._reader.feed(data):
            # Any sign of life renews the patience.
            self._backoff = Backoff(self._retry, self._around)
            name = message.get("event", "message")
            if name == "message":
                change = _change(message["data"])
                reached.append((change.position, change))
            elif name == "heartbeat" and message.get("id", "").isdigit():
                reached.append((int(message["id"]), None))
        return reached

    def advance(self, position: int) -> bool:
        """Whether this position is new. The caller hands out what happened there, and nothing twice."""
        new = self.position is None or position > self.position
        if new:
            self.position = position
        return new

    def begin(self, position: Optional[int]) -> None:
        """Where the journal was when the watch began: an end of the first stream before its first event loses nothing."""
        if self.position is None:
            self.position = position or 0

    def refused(self, response: Response) -> float:
        """How long to pause after an answer that is no stream. Raises what will not pass by itself."""
        problem: Problem = api.problem_of(response, lost=False)
        if response.status not in RETRIED:
            raise problem
        pause = self._backoff.next(retry_after(response, self._around.today()))
        if pause is None:
            raise problem
        return pause

    def ended(self, error: Optional[BaseException] = None) -> float:
        """How long to pause after a stream that ended or could not be had."""
        pause = self._backoff.next()
        if pause is None:
            raise Unreachable(f"the watch cannot go on: {error}", maybe_done=False) from error
        return pause


def _change(data: str) -> Change:
    try:
        said: object = json.loads(data)
    except ValueError as error:
        raise BadAnswer(f"an event is not JSON: {data!r:.200}") from error
    return answers.reading(answers.change)(said)
