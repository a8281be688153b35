"""The real Placement as a WSGI application for gunicorn, with one more route that makes it empty again.

It takes the place of upstream's own entry point, ``placement.wsgi.api``, and like that one is made when it is imported.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable

import sqlalchemy
from placement import db_api, wsgi
from placement.db.sqlalchemy import models

RESET = "/-/reset"

_placement = wsgi.init_application()


def application(environ: Any, start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answers one request."""
    if environ["PATH_INFO"] != RESET:
        answer: Iterable[bytes] = _placement(environ, start_response)
        return answer
    _empty()
    start_response("204 No Content", [])
    return []


def _empty() -> None:
    """Deletes every row but those of the standard traits and classes, which it had from the start."""
    with db_api.get_placement_engine().begin() as connection:
        for table in reversed(models.BASE.metadata.sorted_tables):
            rows = sqlalchemy.delete(table)
            if table.name in ("traits", "resource_classes"):
                rows = rows.where(table.c.name.startswith("CUSTOM\\_", escape="\\"))
            connection.execute(rows)
