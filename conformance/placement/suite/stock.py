"""Fills a server over HTTP with what upstream's fixtures would write to a database.

The names and arguments of the methods are those of ``placement.tests.functional.db.test_base``, which they replace.
"""

from __future__ import annotations

import http.client
import json
import uuid
from dataclasses import dataclass
from typing import Any, Dict, Optional, Sequence, Tuple

HEADERS = {"x-auth-token": "admin", "x-roles": "admin,member,reader,service", "accept": "application/json"}


@dataclass(frozen=True)
class Provider:
    uuid: str
    name: str
    stock: Stock

    def set_aggregates(self, aggregates: Sequence[str]) -> None:
        self.stock.set_aggregates(self.uuid, aggregates)


@dataclass(frozen=True)
class Holder:
    """A user or a project. Servers create them on first use."""

    context: Any = None
    external_id: str = ""

    def create(self) -> None:
        pass


@dataclass(frozen=True)
class Consumer:
    uuid: str
    user: Holder
    project: Holder


class Stock:
    """A server to be filled, over one connection."""

    def __init__(self, port: int, uuids: Any) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._uuids = uuids

    def close(self) -> None:
        self._connection.close()

    def create_provider(
        self, _context: Any, name: str, *aggregates: str, parent: Optional[str] = None, uuid: Optional[str] = None
    ) -> Provider:
        body = {"name": name, "uuid": uuid or getattr(self._uuids, name)}
        if parent is not None:
            body["parent_provider_uuid"] = parent
        self._ask("POST", "/resource_providers", body)
        if aggregates:
            self.set_aggregates(body["uuid"], aggregates)
        return Provider(body["uuid"], name, self)

    def set_aggregates(self, provider: str, aggregates: Sequence[str]) -> None:
        # This version does not change the generation, as the function that it replaces.
        self._ask("PUT", f"/resource_providers/{provider}/aggregates", list(aggregates), version="1.1")

    def add_inventory(self, provider: Provider, resource_class: str, total: int, **more: Any) -> None:
        self.create_class(resource_class)
        record = {"resource_class": resource_class, "total": total, "max_unit": total, **more}
        self._ask("POST", f"/resource_providers/{provider.uuid}/inventories", record)

    def create_class(self, name: str) -> None:
        if name.startswith("CUSTOM_"):
            self._ask("PUT", f"/resource_classes/{name}")

    def set_traits(self, provider: Provider, *traits: str) -> None:
        for trait in traits:
            if trait.startswith("CUSTOM_"):
                self._ask("PUT", f"/traits/{trait}")
        path = f"/resource_providers/{provider.uuid}"
        generation = self._ask("GET", path)["generation"]
        body = {"traits": list(traits), "resource_provider_generation": generation}
        self._ask("PUT", f"{path}/traits", body)

    def ensure_consumer(
        self, _context: Any, user: Holder, project: Holder, consumer_id: Optional[str] = None
    ) -> Consumer:
        return Consumer(consumer_id or str(uuid.uuid4()), user, project)

    def set_allocation(
        self, _context: Any, provider: Provider, consumer: Consumer, used: Dict[str, int]
    ) -> None:
        body = {
            "allocations": {provider.uuid: {"resources": used}},
            "project_id": consumer.project.external_id,
            "user_id": consumer.user.external_id,
            "consumer_generation": None,
        }
        # The last version without consumer types; the tests expect consumers without a type.
        self._ask("PUT", f"/allocations/{consumer.uuid}", body, version="1.37")

    def create_user_and_project(self, _context: Any, prefix: str = "fake") -> Tuple[Holder, Holder]:
        return Holder(external_id=f"{prefix}-user"), Holder(external_id=f"{prefix}-project")

    def _ask(self, method: str, path: str, body: Any = None, version: str = "1.39") -> Any:
        headers = {**HEADERS, "openstack-api-version": f"placement {version}"}
        sent = None
        if body is not None:
            sent, headers["content-type"] = json.dumps(body), "application/json"
        self._connection.request(method, path, sent, headers)
        reply = self._connection.getresponse()
        text = reply.read()
        if reply.status >= 300:
            raise RuntimeError(f"{method} {path} {sent or ''}: {reply.status} {text.decode()}")
        return json.loads(text) if text else None
