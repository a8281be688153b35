"""The real Placement, run by gunicorn with SQLite in a temporary directory. Both must be installed in this Python."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import RESET, RESET_AND_KEEP_ROWS
from .profiles import DEFAULT, Profile

START_SECONDS = 60.0


class Real:
    """One process with one thread, so that requests are processed one at a time. A reset deletes the rows."""

    def __init__(self, profile: Profile = Profile(DEFAULT)) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="placement-")
        folder = Path(self._folder.name)
        (folder / "placement.conf").write_text(profile.placement_conf(str(folder)), encoding="utf-8")
        (folder / "policy.yaml").write_text(profile.policy_yaml(), encoding="utf-8")
        # We open the socket, so that no other process can take the port in between.
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self._port: int = listener.getsockname()[1]
            served = ["--bind", f"fd://{listener.fileno()}", "servers.real_app:application"]
            kept = ["--worker-class", "gthread", "--threads", "1", "--keep-alive", "600"]
            said = ["--log-level", "warning", "--error-logfile", str(folder / "gunicorn.log")]
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gunicorn", "--no-control-socket", *kept, *said, *served],
                env={
                    **os.environ,
                    "OS_PLACEMENT_CONFIG_DIR": str(folder),
                    # Some messages list a set; this makes their order reproducible.
                    "PYTHONHASHSEED": "0",
                },
                cwd=Path(__file__).resolve().parents[1],
                stdin=subprocess.DEVNULL,
                pass_fds=[listener.fileno()],
            )
        self._wait_until_ready()

    @property
    def port(self) -> int:
        return self._port

    def reset(self, keep_rows: bool = False) -> None:
        if self._ask(RESET_AND_KEEP_ROWS if keep_rows else RESET) != 204:
            raise RuntimeError(f"cannot reset the real Placement: {self._log()}")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(30)
        self._folder.cleanup()

    def _wait_until_ready(self) -> None:
        give_up = time.monotonic() + START_SECONDS
        while self._process.poll() is None and time.monotonic() < give_up:
            try:
                if self._ask("/") == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise RuntimeError(f"the real Placement did not start: {self._log()}")

    def _ask(self, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()

    def _log(self) -> str:
        logs = sorted(Path(self._folder.name).glob("*.log"))
        return "\n".join(log.read_text(encoding="utf-8", errors="replace")[-2000:] for log in logs)
