"""The servers for the tests: allod and the real Placement. Each starts empty on its own port.

The requests are in ``suite`` and ``differential``.
"""

from __future__ import annotations

import signal
import sys
from typing import Protocol


# Additional paths of the real Placement.
RESET, RESET_AND_KEEP_ROWS = "/-/reset", "/-/reset-and-keep-rows"


class Server(Protocol):
    """A running server with one user."""

    @property
    def port(self) -> int:
        """Its port on loopback; may change with each reset."""

    def reset(self, keep_rows: bool = False) -> None:
        """Empties it. ``keep_rows`` concerns only the invisible rows of the real Placement."""

    def stop(self) -> None:
        """Stops it and removes its data."""


def end_on_sigterm() -> None:
    """Turns SIGTERM into an exit, so that servers are stopped first."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
