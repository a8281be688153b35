"""The servers under test: ours and the real Placement. Each starts empty on a port of its own.
"""

from __future__ import annotations

import signal
import sys
from typing import Protocol


# Additional paths of the real server.
RESET, RESET_AND_KEEP_ROWS = "/-/reset", "/-/reset-and-keep-rows"


class Server(Protocol):
    """A running server for a single user."""

    @property
    def port(self) -> int:
        """The port on the loopback address; may change with each reset."""

    def reset(self, keep_rows: bool = False) -> None:
        """Empties the server. ``keep_rows`` only concerns hidden rows of the real server."""

    def stop(self) -> None:
        """Stops the server and removes its data."""


def end_on_sigterm() -> None:
    """Makes SIGTERM exit normally, so that servers are stopped first."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
