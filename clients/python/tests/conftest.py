"""Fixtures: a server for each file, a new client of each kind for each test."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, Iterator

import pytest
from blocking import Blocking
from server import Server, Wire

from allod import Client, Retry

KINDS = {"sync": Client, "async": Blocking}
_names = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("server") / "data", "--log", "warn")
    yield running
    running.stop()


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> Any:
    """The class of either client."""
    return KINDS[request.param]


@pytest.fixture
def client(kind: Any, server: Server) -> Iterator[Any]:
    one = kind(server.url, retry=Retry(total=20.0))
    yield one
    one.close()


@pytest.fixture
def pool(client: Any) -> str:
    """The name of a new pool of IDs from 1 to 100."""
    name = f"pool {next(_names)}/ü"
    client.put_pool(name, "id32", ["1-100"])
    return name


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    between = Wire(server.port)
    yield between
    between.close()


@pytest.fixture
def repository() -> Path:
    return Path(__file__).resolve().parents[3]
