"""Starts the programs of an inventory for the tests, waits until they answer, and stops them by their process ID."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Callable, Dict, Mapping, Optional, Sequence

FOLDERS = "/usr/sbin:/sbin"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{FOLDERS}")
    if found is None:
        raise RuntimeError(f"{name} is not installed; cargo xtask test installs it")
    return found


def wait_until(is_done: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    """Polls. An ``OSError`` means not yet."""
    give_up = time.monotonic() + seconds
    while True:
        try:
            if is_done():
                return
        except OSError:
            pass
        if time.monotonic() > give_up:
            raise RuntimeError(f"{what} after {seconds} s")
        time.sleep(0.02)


class Running:
    """One process. Its output goes to a file, which is part of the error if it does not start."""

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        is_ready: Callable[[], bool],
        *,
        env: Optional[Mapping[str, str]] = None,
        account: Optional[str] = None,
        cwd: Optional[Path] = None,
        seconds: float = 30.0,
    ) -> None:
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **(env or {})},
                cwd=cwd,
                user=account,
            )

        def ready() -> bool:
            if self._process.poll() is not None:
                raise RuntimeError(f"{command[0]} ended: {log.read_text(errors='replace')[-3000:]}")
            return is_ready()

        try:
            wait_until(ready, f"{command[0]} does not answer", seconds)
        except BaseException:
            self.stop(signal.SIGKILL)
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._process.poll() is None:
            self._process.send_signal(how)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(20)


def run(command: Sequence[str], env: Optional[Dict[str, str]] = None, account: Optional[str] = None) -> str:
    ran = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
        user=account,
        check=False,
    )
    if ran.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{ran.stdout[-2000:]}{ran.stderr[-3000:]}")
    return ran.stdout
