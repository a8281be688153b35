"""One request of a test with its reply, from the files that the tests write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import List
from urllib.parse import unquote, urlsplit


@dataclass(frozen=True)
class Exchange:
    name: str
    method: str
    target: str
    status: int
    content_type: str
    body: str

    @staticmethod
    def read(file: Path) -> "Exchange":
        head, _, body = file.read_text(encoding="utf-8").partition("\n\n")
        asked, _, answered = head.partition("\n")
        method, _, target = asked.strip().partition(" ")
        status, _, content_type = answered.strip().partition(" ")
        return Exchange(file.stem, method, target.strip(), int(status), content_type.strip(), body)

    @property
    def segments(self) -> List[str]:
        """The segments of the path, percent-encoded."""
        return [part for part in urlsplit(self.target).path.split("/") if part]

    @property
    def partial(self) -> bool:
        """Whether the request selects only a part."""
        query = urlsplit(self.target).query
        return any(part.split("=")[0] in ("depth", "fields", "content") for part in query.split("&"))

    @property
    def draft(self) -> bool:
        """Whether the reply is in the form of the draft before RFC 8040."""
        if "yang-data" in self.content_type or self.segments[0] == "rests":
            return False
        return self.segments[1:2] != ["data"]

    @property
    def format(self) -> str:
        return "xml" if "xml" in self.content_type else "json"


def decode(text: str) -> str:
    return unquote(text, errors="strict")
