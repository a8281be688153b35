"""Our server: ``allod serve`` with an empty data directory."""

from __future__ import annotations

import http.client
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

from .profiles import DEFAULT, Profile

START_SECONDS = 30.0
STOP_SECONDS = 30


class Allod:
    """``allod serve`` on a free port. A reset starts a new process with a new directory."""

    def __init__(self, binary: str, profile: Profile = Profile(DEFAULT)) -> None:
        self._binary, self._profile = binary, profile
        self._start()

    @property
    def port(self) -> int:
        return self._port

    def reset(self, keep_rows: bool = False) -> None:
        self.stop()
        self._start()

    def stop(self) -> None:
        # If the server does not stop on SIGTERM, the tests must fail.
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        finally:
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            self._folder.cleanup()

    def _start(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="allod-")
        folder = Path(self._folder.name)
        settings = folder / "allod.toml"
        settings.write_text(self._profile.allod_toml(), encoding="utf-8")
        serve = ["serve", "--listen", "127.0.0.1:0", "--data", str(folder / "data")]
        command = [self._binary, *serve, "--auth", "noauth2", "--config", str(settings), "--log", "warn"]
        self._process = subprocess.Popen(
            command, env={}, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder
        )
        assert self._process.stderr is not None
        self._port = self._wait_for_port(self._process.stderr)
        self._wait_until_ready()

    def _wait_for_port(self, said: IO[bytes]) -> int:
        """The server prints its address once it listens."""
        before = b""
        for line in said:
            if line.startswith(b"listening on http"):
                # Keep reading, or the server would block when the pipe is full.
                threading.Thread(target=_read_on, args=(said,), daemon=True).start()
                return int(line.rsplit(b":", 1)[1])
            before += line
        self._process.wait()
        self._folder.cleanup()
        raise RuntimeError(f"allod did not start: {before.decode()}")


    def _wait_until_ready(self) -> None:
        """Waits until the journal has been replayed: before that, requests get 503."""
        give_up = time.monotonic() + START_SECONDS
        while self._process.poll() is None and time.monotonic() < give_up:
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
            try:
                connection.request("GET", "/readyz")
                if connection.getresponse().status == 200:
                    return
            finally:
                connection.close()
            time.sleep(0.005)
        self.stop()
        raise RuntimeError(f"allod was not ready after {START_SECONDS} s")


def _read_on(pipe: IO[bytes]) -> None:
    with pipe:
        pipe.read()
