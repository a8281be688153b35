"""An inventory of your own in SQLite, as an authority of allod: python -m allod.authority adapter:Sites"""

import sqlite3
from typing import Optional

from allod.authority import Adapter, Ask, Fact, Grant, Known, Listed, Page, Refused

SITE = "create table if not exists site (number integer primary key, ref text unique, key text, owner text)"
FACT = "create table if not exists fact (name text primary key, value text)"


class Sites(Adapter):
    """Allocates site numbers. The reference is in a unique column, so a repeated grant finds its row."""

    def __init__(self, file: str = "sites.db", last: str = "999") -> None:
        self._sites = range(1, int(last) + 1)
        # Calls never run at the same time (`parallel` is 1), so threads can share the connection.
        self._db = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        for table in (SITE, FACT):
            self._db.execute(table)

    def grant(self, ask: Ask) -> Grant:
        if ask.length is not None or ask.value not in (None, *self._sites):
            raise Refused("differs", f"sites are numbers from 1 to {self._sites[-1]}")
        made = self.find(Known(ask.ref))
        if made is not None:
            return made
        taken = {number for (number,) in self._db.execute("select number from site")}
        wanted = self._sites if ask.value is None else [ask.value]
        number = next((number for number in wanted if number not in taken), None)
        if number is None:
            raise Refused("exhausted" if ask.value is None else "taken", f"no free site for {ask.key!r}")
        self._db.execute("insert into site values (?, ?, ?, ?)", [number, ask.ref, ask.key, ask.owner])
        return Grant(number)

    def find(self, known: Known) -> Optional[Grant]:
        row = self._db.execute("select number from site where ref = ?", [known.ref]).fetchone()
        return None if row is None else Grant(row[0])

    def release(self, known: Known) -> None:
        self._db.execute("delete from site where ref = ?", [known.ref])

    def list(self, after: Optional[str]) -> Page:
        select = "select ref, number from site where number > ? order by number limit 500"
        rows = self._db.execute(select, [int(after or 0)]).fetchall()
        return Page([Listed(*row) for row in rows], str(rows[-1][1]) if len(rows) == 500 else None)

    def look_up(self, name: str) -> Optional[Fact]:
        row = self._db.execute("select value from fact where name = ?", [name]).fetchone()
        return None if row is None else Fact(row[0])
