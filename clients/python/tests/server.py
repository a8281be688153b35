"""A real ``allod serve`` for the tests, and a TCP proxy that injects faults between it and a client."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.request
from pathlib import Path
from typing import IO, List, Optional


def binary() -> str:
    """The server under test, named by ``cargo xtask test``."""
    named = os.environ.get("ALLOD_TEST_SERVER")
    if named is None:
        raise RuntimeError("ALLOD_TEST_SERVER is not set; run cargo xtask test --only python")
    return named


class Server:
    """A server process that can be restarted on the same folder and port."""

    def __init__(self, data: Path, *more: str, tls_ca: Optional[Path] = None) -> None:
        self._data, self._more = data, more
        self._tls = None if tls_ca is None else ssl.create_default_context(cafile=str(tls_ca))
        self._port = 0
        self._process: Optional[subprocess.Popen[bytes]] = None
        self.start()

    @property
    def url(self) -> str:
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    def start(self) -> None:
        listen = f"127.0.0.1:{self._port}"
        command = [binary(), "serve", "--listen", listen, "--data", str(self._data), *self._more]
        env = {"PATH": os.environ.get("PATH", "")}
        process = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self._data.parent
        )
        self._process = process
        assert process.stderr is not None
        output = b""
        for line in process.stderr:
            output += line
            if line.startswith(b"listening on http"):
                self._port = int(line.rsplit(b":", 1)[1])
                break
        else:
            raise RuntimeError(f"the server did not start: {output.decode()}")
        # Keep reading stderr, or the server would block on a full pipe.
        threading.Thread(target=_drain, args=(process.stderr,), daemon=True).start()
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        give_up = time.monotonic() + 20
        while True:
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=5, context=self._tls):
                    return
            except OSError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.01)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait(30)


def _drain(pipe: IO[bytes]) -> None:
    with pipe:
        pipe.read()


class Wire:
    """A TCP proxy in front of a server. Each connection gets the next fault of ``faults``, and none when they are used up.

    ``lose``: the request is forwarded, the reply is dropped. ``tear``: half of the reply is forwarded. ``refuse``: the
    connection is closed at once. ``hang``: the request is forwarded, and the connection stays open without a reply.
    ``drip``: the reply is sent byte by byte. ``cut 700``: a stream ends after 700 bytes.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self.faults: List[str] = []
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._held: List[socket.socket] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        for connection in self._held:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            fault = self.faults.pop(0) if self.faults else ""
            threading.Thread(target=self._carry, args=(client, fault), daemon=True).start()

    def _carry(self, client: socket.socket, fault: str) -> None:
        if fault == "refuse":
            client.close()
            return
        server = socket.create_connection(("127.0.0.1", self._to))
        try:
            while True:
                request = client.recv(65536)
                if not request:
                    return
                server.sendall(request)
                if fault.startswith("cut ") or (not fault and b" /v1/watch" in request):
                    self._stream(server, client, int(fault[4:] or 1 << 60))
                    return
                reply = server.recv(65536)
                if fault == "lose":
                    return
                if fault == "hang":
                    self._held.append(client.dup())
                    return
                if fault == "tear":
                    client.sendall(reply[: len(reply) // 2])
                    return
                if fault == "drip":
                    for byte in reply:
                        client.sendall(bytes([byte]))
                else:
                    client.sendall(reply)
        except OSError:
            pass
        finally:
            server.close()
            client.close()

    def _stream(self, server: socket.socket, client: socket.socket, left: int) -> None:
        while left > 0:
            piece = server.recv(min(left, 65536))
            if not piece:
                return
            client.sendall(piece)
            left -= len(piece)
