"""A proxy that loses answers of an inventory."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Optional

from inventory import Address


class LossyProxy:
    """Forwards connections. Of the connection with the number ``lost`` it forwards the request and drops the answer."""

    def __init__(self, upstream: Address, folder: Path) -> None:
        self._upstream = upstream
        self.lost: Optional[int] = None
        self.connections = 0
        if isinstance(upstream, str):
            path = str(folder / "proxy")
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(path)
            self._listener.listen(64)
            self.address: Address = path
        else:
            self._listener = socket.create_server(("127.0.0.1", 0))
            self.address = ("127.0.0.1", self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, number: Optional[int]) -> None:
        self.connections, self.lost = 0, number

    def close(self) -> None:
        # A blocked accept would keep the socket open.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            is_lost = self.connections == self.lost
            self.connections += 1
            threading.Thread(target=self._carry, args=(client, is_lost), daemon=True).start()

    def _carry(self, client: socket.socket, is_lost: bool) -> None:
        unix = isinstance(self._upstream, str)
        with client, socket.socket(socket.AF_UNIX if unix else socket.AF_INET) as server:
            server.connect(self._upstream)
            threading.Thread(target=_forward, args=(client, server), daemon=True).start()
            if is_lost:
                server.recv(1)  # the inventory has done it
            else:
                _forward(server, client)
            for one in (client, server):
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


def _forward(source: socket.socket, target: socket.socket) -> None:
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass
