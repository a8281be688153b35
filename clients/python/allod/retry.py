"""The retry policy: when to retry, for how long, and what a response means after a lost one. No sockets, no clock.

``exchange`` is one call from its first to its last attempt, as a generator: it yields actions (``Attempt``, ``Pause``),
receives their outcome, and returns the result of the call. A client, or a test, is a loop around it.
"""

from __future__ import annotations

import email.utils
import random
import time
from dataclasses import dataclass
from typing import Callable, Generator, Optional, TypeVar, Union

from .api import Call, problem_of
from .errors import Problem, Unreachable
from .http1 import Request, Response

T = TypeVar("T")

RETRIED = (408, 429, 502, 503, 504)
"""Statuses after which the same request may succeed."""

NOT_DONE = ("request_too_slow", "queue_full")
"""Codes that guarantee that the request was not executed. After any other retried response this is unknown."""


@dataclass(frozen=True)
class Retry:
    """How long a client retries. Each pause is random, up to a bound that doubles."""

    total: float = 30.0
    """Seconds from the start of a call to the end of its last attempt. 0: only one attempt."""
    first: float = 0.05
    """The bound of the first pause, in seconds."""
    most: float = 5.0
    """The largest bound of a pause."""

    def pause(self, attempts: int, chance: float) -> float:
        """The pause after ``attempts`` attempts; ``chance`` is a random number from 0 to 1."""
        bound = min(self.most, self.first * 2.0 ** min(attempts - 1, 30))
        # Never 0: a server that refuses at once would be called in a tight loop.
        return bound * (0.25 + 0.75 * chance)


@dataclass(frozen=True)
class Attempt:
    """Send the request, and wait at most ``timeout`` seconds for the response."""

    request: Request
    timeout: float


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class NotSent:
    """The server was not reached: the request was not executed."""

    error: BaseException


@dataclass(frozen=True)
class Lost:
    """The request was sent, at least in part, without a response: it may have been executed."""

    error: BaseException
    stale: bool = False
    """The connection was idle before, and the server had probably closed it."""


Step = Union[Attempt, Pause]
Outcome = Union[Response, NotSent, Lost]


@dataclass(frozen=True)
class Surroundings:
    """The clock and the random generator."""

    now: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    today: Callable[[], float] = time.time


class Backoff:
    """Counts the attempts of one call."""

    def __init__(self, retry: Retry, around: Surroundings) -> None:
        self.retry, self.around = retry, around
        self.attempts = 0
        self.deadline = around.now() + retry.total

    def left(self) -> float:
        return self.deadline - self.around.now()

    def next(self, at_least: float = 0.0) -> Optional[float]:
        """The pause before the next attempt; ``None``: give up."""
        self.attempts += 1
        pause = max(at_least, self.retry.pause(self.attempts, self.around.chance()))
        return pause if pause < self.left() else None


def exchange(
    call: Call[T], retry: Retry, timeout: float, around: Surroundings = Surroundings()
) -> Generator[Step, Optional[Outcome], T]:
    backoff = Backoff(retry, around)
    backoff.deadline += call.wait
    lost = False
    while True:
        # The first attempt has the full timeout, also if the total is shorter.
        limit = timeout if backoff.attempts == 0 else min(timeout, max(backoff.left(), 0.001))
        limit += call.wait
        outcome = yield Attempt(call.request, limit)
        at_least, at_once = 0.0, False
        if isinstance(outcome, Response):
            if outcome.status not in RETRIED:
                return call.read(outcome, lost)
            lost = lost or problem_of(outcome, lost).code not in NOT_DONE
            at_least = retry_after(outcome, around.today())
        elif isinstance(outcome, Lost):
            # A closed idle connection says nothing about the server: retry at once on a new one.
            at_once = outcome.stale and backoff.attempts == 0
            lost = True
        pause = backoff.next(at_least)
        if pause is None:
            raise _give_up(outcome, lost)
        yield Pause(0.0 if at_once else pause)


def _give_up(outcome: Optional[Outcome], lost: bool) -> Exception:
    if isinstance(outcome, Response):
        problem: Problem = problem_of(outcome, lost)
        return problem
    cause = outcome.error if outcome is not None else None
    error = Unreachable(f"no response from the server: {cause}", maybe_done=lost)
    error.__cause__ = cause
    return error


def retry_after(response: Response, today: float) -> float:
    """The seconds in the ``Retry-After`` header; 0 without it."""
    text = response.headers.get("retry-after", "")
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - today)
    except (TypeError, ValueError, IndexError):
        return 0.0
