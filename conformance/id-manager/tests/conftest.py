"""A server for each test that asks for one, and both dialects of it."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, Type

import pytest
from controller.dialect import Dialect, Draft02, Rfc8040
from controller.server import Server
from controller.session import Session


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path)
    yield running
    running.stop()


@pytest.fixture(params=[Draft02, Rfc8040])
def ids(request: pytest.FixtureRequest, server: Server) -> Iterator[Dialect]:
    dialect: Type[Dialect] = request.param
    session = Session(server.port)
    yield dialect(session)
    session.close()
