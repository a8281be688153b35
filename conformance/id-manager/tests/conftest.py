"""Fixtures: a server for each test, and both dialects."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, List, Type

import pytest
from controller.dialect import Dialect, Draft02, Rfc8040
from controller.server import Server
from controller.session import Session


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """Stopped after the test. A mark has additional command line arguments."""
    mark = request.node.get_closest_marker("serve")
    more: List[str] = [argument.format(tmp_path) for argument in mark.args] if mark else []
    running = Server(tmp_path, more)
    yield running
    running.stop()


@pytest.fixture(params=[Draft02, Rfc8040])
def dialect(request: pytest.FixtureRequest) -> Type[Dialect]:
    chosen: Type[Dialect] = request.param
    return chosen


@pytest.fixture
def ids(dialect: Type[Dialect], server: Server) -> Dialect:
    return dialect(Session(server.port))
