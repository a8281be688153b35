"""Upstream's fixtures, with the server under test in place of the database.

Upstream's fixture module is patched: its classes that fill a database stay as they are, but write through a
:class:`~suite.stock.Stock`.
"""

from __future__ import annotations

import os
import types
import uuid
from typing import Any

from oslo_utils.fixture import uuidsentinel
from placement import policies
from placement.tests.functional.fixtures import gabbits

from .stock import Holder, Stock

# Environment variables that the base fixture sets and the tests use.
UUIDS = (
    *("RP_UUID", "RP_NAME", "RP_UUID1", "RP_NAME1", "RP_UUID2", "RP_NAME2"),
    *("PROJECT_ID", "ADMIN_PROJECT_ID", "SERVICE_PROJECT_ID", "PROJECT_ID_ALT", "USER_ID", "USER_ID_ALT"),
    *("INSTANCE_UUID", "MIGRATION_UUID", "CONSUMER_UUID", "PARENT_PROVIDER_UUID", "ALT_PARENT_PROVIDER_UUID"),
)
CLASSES = {
    "CUSTOM_RES_CLASS": "CUSTOM_IRON_NFV",
    "CUSTOM_RES_CLASS1": "CUSTOM_IRON_NFV1",
    "CUSTOM_RES_CLASS2": "CUSTOM_IRON_NFV2",
}


def module_for(stock: Stock) -> Any:
    """Upstream's fixture module, patched to fill this server."""

    class ResourceClass:
        def __init__(self, context: Any, name: str) -> None:
            self._name = name

        def create(self) -> None:
            stock.create_class(self._name)

    gabbits.tb = stock
    gabbits.rc_obj = types.SimpleNamespace(ResourceClass=ResourceClass)
    gabbits.user_obj = types.SimpleNamespace(User=Holder)
    gabbits.project_obj = types.SimpleNamespace(Project=Holder)
    gabbits.APIFixture.start_fixture = _start
    gabbits.APIFixture.stop_fixture = _stop
    return gabbits


def stock_for(port: int) -> Stock:
    return Stock(port, uuidsentinel)


def policy_rules() -> "list[str]":
    """The names of all policy rules of upstream."""
    return [rule.name for rule in policies.list_rules()]


def _start(self: Any) -> None:
    """Replaces upstream's start of an in-process server."""
    self.context = None
    # Some fixtures change the configuration here; the server has been started with it.
    self.conf_fixture = types.SimpleNamespace(config=lambda *_args, **_kwargs: None)
    self.policy_fixture = types.SimpleNamespace(set_rules=lambda *_args, **_kwargs: None)
    for name in UUIDS:
        os.environ[name] = str(uuid.uuid4())
    os.environ.update(CLASSES)


def _stop(self: Any) -> None:
    """The runner stops the server."""
