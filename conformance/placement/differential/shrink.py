"""Shrinks a case: removes what is not needed to show a difference.

It does not depend on servers; a function decides whether a case still shows the difference.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Callable, Iterator, List

from .request import Request

NEWEST = "1.39"
Shows = Callable[[List[Request]], bool]


class Shrinker:
    """Shrinks one case with at most ``tries`` attempts."""

    def __init__(self, shows: Shows, tries: int = 400) -> None:
        self._shows, self._left = shows, tries

    def shrink(self, steps: List[Request]) -> List[Request]:
        """The last step shows the difference and is kept."""
        without_reads = [step for step in steps[:-1] if not step.reads] + steps[-1:]
        if len(without_reads) < len(steps) and self._still(without_reads):
            steps = without_reads
        before: List[Request] = []
        while steps != before:
            # Removing a part of a step often makes an earlier step unnecessary.
            before = steps
            steps = self._simplify(self._drop(steps))
        return steps

    def _still(self, steps: List[Request]) -> bool:
        if self._left <= 0:
            return False
        self._left -= 1
        return self._shows(steps)

    def _drop(self, steps: List[Request]) -> List[Request]:
        """Removes sequences of steps, long ones first."""
        size = max(1, len(steps) // 2)
        while True:
            at, dropped = len(steps) - 1 - size, False
            while at > -size:
                begin = max(at, 0)
                shorter = steps[:begin] + steps[at + size :]
                if self._still(shorter):
                    steps, dropped = shorter, True
                at -= size
            if size == 1 and not dropped:
                return steps
            size = size if dropped and size == 1 else max(1, size // 2)

    def _simplify(self, steps: List[Request]) -> List[Request]:
        """Removes parts of requests, from the last one backwards."""
        for at in reversed(range(len(steps))):
            again = True
            while again:
                again = False
                for smaller in _smaller(steps[at]):
                    shorter = [*steps[:at], smaller, *steps[at + 1 :]]
                    if self._still(shorter):
                        steps, again = shorter, True
                        break
        return steps


def _smaller(request: Request) -> Iterator[Request]:
    """The request in the newest version, without one parameter, or without one part of its body."""
    if request.version != NEWEST:
        yield replace(request, version=NEWEST)
    for at in range(len(request.query)):
        yield replace(request, query=request.query[:at] + request.query[at + 1 :])
    for body in _smaller_values(request.body):
        yield replace(request, body=body)


def _smaller_values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict) and "$" not in value:
        keys: List[Any] = list(value)
    elif isinstance(value, list):
        keys = list(range(len(value)))
    else:
        return
    for key in keys:
        shorter = copy.copy(value)
        del shorter[key]
        yield shorter
    for key in keys:
        for inner in _smaller_values(value[key]):
            changed = copy.copy(value)
            changed[key] = inner
            yield changed
