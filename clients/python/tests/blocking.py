"""``AsyncClient`` with the interface of ``Client``, so that both run the same tests."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Iterator

from allod import AsyncClient


_loop = asyncio.new_event_loop()
threading.Thread(target=_loop.run_forever, daemon=True).start()


class Blocking:
    def __init__(self, *args: Any, **more: Any) -> None:
        self._client = AsyncClient(*args, **more)

    def wait(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, _loop).result(60)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._client, name)
        if not callable(member):
            return member

        def call(*args: Any, **more: Any) -> Any:
            answer = member(*args, **more)
            if asyncio.iscoroutine(answer):
                return self.wait(answer)
            return Each(self, answer)

        return call


class Each:
    """An asynchronous iterator, one item at a time."""

    def __init__(self, blocking: Blocking, items: Any) -> None:
        self._blocking, self._items = blocking, items

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return self._blocking.wait(self._items.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def __enter__(self) -> Each:
        self._blocking.wait(self._items.__aenter__())
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        self._blocking.wait(self._items.close())

    @property
    def position(self) -> Any:
        return self._items.position
