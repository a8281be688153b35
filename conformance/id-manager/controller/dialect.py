"""The two dialects of RESTCONF."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Dict, List
from urllib.parse import quote

from .session import Reply, Session


class Refused(Exception):
    def __init__(self, reply: Reply) -> None:
        super().__init__(f"{reply.status}: {reply.text}")
        self.reply = reply


class Dialect(ABC):
    """The id-manager in one of the two dialects. Each method returns the output."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    @abstractmethod
    def operations(self) -> str: ...

    @abstractmethod
    def data(self, *names: str) -> str:
        """The path for pairs of list and key, optionally followed by a container."""

    @abstractmethod
    def member(self, name: str) -> str:
        """The name of the top member of a reply."""

    def call(self, operation: str, **leaves: Any) -> Dict[str, Any]:
        body = {"input": {name.replace("_", "-"): value for name, value in leaves.items()}}
        reply = self.session.post(f"{self.operations}/id-manager:{operation}", body)
        if reply.status not in (200, 201, 204):
            raise Refused(reply)
        return dict(reply.json()[self.member("output")]) if reply.text else {}

    def create(self, pool: str, low: int, high: int, **more: Any) -> None:
        assert self.call("createIdPool", pool_name=pool, low=low, high=high, **more) == {}

    def delete(self, pool: str) -> None:
        assert self.call("deleteIdPool", pool_name=pool) == {}

    def allocate(self, pool: str, key: str, **more: Any) -> int:
        return int(self.call("allocateId", pool_name=pool, id_key=key, **more)["id-value"])

    def allocate_range(self, pool: str, key: str, size: int) -> List[int]:
        return list(self.call("allocateIdRange", pool_name=pool, id_key=key, size=size)["id-values"])

    def release(self, pool: str, key: str) -> List[int]:
        return list(self.call("releaseId", pool_name=pool, id_key=key)["id-values"])

    def read(self, *names: str) -> Any:
        """The data without its top member; for a list entry the entry itself."""
        reply = self.session.get(self.data(*names))
        if reply.status != 200:
            raise Refused(reply)
        ((member, value),) = reply.json().items()
        # Pairs of list and key; a remaining name is a container.
        asked = names[(len(names) - 1) // 2 * 2] if names else "id-pools"
        assert member == self.member(asked), reply.text
        return value[0] if isinstance(value, list) else value


class Draft02(Dialect):
    """OpenDaylight's dialect before RFC 8040."""

    @property
    def operations(self) -> str:
        return "/restconf/operations"

    def data(self, *names: str) -> str:
        return "/".join(["/restconf/config/id-manager:id-pools", *(quote(name, safe="") for name in names)])

    def member(self, name: str) -> str:
        return name


class Rfc8040(Dialect):
    """RFC 8040, under OpenDaylight's root."""

    @property
    def operations(self) -> str:
        return "/rests/operations"

    def data(self, *names: str) -> str:
        path = "/rests/data/id-manager:id-pools"
        for at in range(0, len(names), 2):
            key = names[at + 1 : at + 2]
            path += f"/{names[at]}" + "".join(f"={quote(one, safe='')}" for one in key)
        return path

    def member(self, name: str) -> str:
        return f"id-manager:{name}"
