"""The servers that the tests here talk to: ours, and the real Placement. Each starts empty on a port of its own.

What is asked of them is in ``suite`` and ``differential``.
"""

from __future__ import annotations

import signal
import sys
from typing import Protocol


# Paths that the real one answers besides those of the interface.
RESET, RESET_AND_KEEP_ROWS = "/-/reset", "/-/reset-and-keep-rows"


class Server(Protocol):
    """A running server, alone with whoever started it."""

    @property
    def port(self) -> int:
        """Where it listens on the loopback address; another one after each reset, perhaps."""

    def reset(self, keep_rows: bool = False) -> None:
        """Makes it empty again. Whether it may keep rows that nobody sees is of interest to the real one only."""

    def stop(self) -> None:
        """Ends it, and removes what it kept."""


def end_on_sigterm() -> None:
    """Lets whoever is told to end stop its servers first."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
