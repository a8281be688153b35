"""The real Placement as a WSGI application for gunicorn, with routes that reset it.

Optionally it deletes consumers without allocations after each request; see ``differential.rows``.

It replaces upstream's entry point, ``placement.wsgi.api``, and like that one is initialised on import.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable

import sqlalchemy
from placement import db_api, wsgi
from placement.db.sqlalchemy import models

from . import RESET, RESET_AND_KEEP_ROWS

_placement = wsgi.init_application()
_keep_rows = True


def application(environ: Any, start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answers one request."""
    global _keep_rows
    path = environ["PATH_INFO"]
    if path in (RESET, RESET_AND_KEEP_ROWS):
        _keep_rows = path == RESET_AND_KEEP_ROWS
        _empty()
        start_response("204 No Content", [])
        return []
    answer: Iterable[bytes] = _placement(environ, start_response)
    if not _keep_rows and environ["REQUEST_METHOD"] != "GET":
        _forget_unseen_consumers()
    return answer


def _empty() -> None:
    """Deletes all rows except those of the standard traits and classes."""
    with db_api.get_placement_engine().begin() as connection:
        for table in reversed(models.BASE.metadata.sorted_tables):
            rows = sqlalchemy.delete(table)
            if table.name in ("traits", "resource_classes"):
                rows = rows.where(table.c.name.startswith("CUSTOM\\_", escape="\\"))
            connection.execute(rows)


def _forget_unseen_consumers() -> None:
    consumers, allocations = models.Consumer.__table__, models.Allocation.__table__
    holding = sqlalchemy.select(allocations.c.consumer_id)
    with db_api.get_placement_engine().begin() as connection:
        connection.execute(sqlalchemy.delete(consumers).where(consumers.c.uuid.not_in(holding)))
