"""A real ``allod serve`` that can be killed and restarted."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import IO, List

from .session import Session

START_SECONDS = 30
STOP_SECONDS = 30


def binary() -> str:
    """The server under test, named by ``cargo xtask test``."""
    named = os.environ.get("ALLOD_TEST_SERVER")
    if named is None:
        raise RuntimeError("ALLOD_TEST_SERVER is not set; run cargo xtask test --only python")
    return named


class Server:
    """A server process that can be restarted on the same folder and port."""

    def __init__(self, folder: Path, more: List[str]) -> None:
        self._folder, self._more = folder, more
        self.port = 0
        self.start()

    def start(self) -> None:
        command = [binary(), "serve", "--listen", f"127.0.0.1:{self.port}", "--data", "data", "--log", "warn"]
        command += self._more
        self._process = subprocess.Popen(
            command, env={}, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self._folder
        )
        assert self._process.stderr is not None
        self.port = self._wait_for_port(self._process.stderr)
        # The server listens before it has replayed its journal.
        until = time.monotonic() + START_SECONDS
        while Session(self.port).get("/readyz").status != 200:
            assert time.monotonic() < until, "it does not get ready"
            time.sleep(0.01)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(STOP_SECONDS)

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                assert self._process.wait(STOP_SECONDS) == 0
            finally:
                self._process.kill()
                self._process.wait()

    def _wait_for_port(self, said: IO[bytes]) -> int:
        before = b""
        for line in said:
            if line.startswith(b"listening on http"):
                # Keep reading, or the server would block on a full pipe.
                threading.Thread(target=_read_on, args=(said,), daemon=True).start()
                return int(line.rsplit(b":", 1)[1])
            before += line
        self._process.wait()
        raise RuntimeError(f"allod did not start: {before.decode()}")


def _read_on(pipe: IO[bytes]) -> None:
    with pipe:
        pipe.read()
