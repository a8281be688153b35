"""One request, what both servers answered, and one thing in which the answers differ."""

from __future__ import annotations

from dataclasses import dataclass

from .compare import Difference
from .request import Request
from .target import Reply


@dataclass(frozen=True)
class Exchange:
    request: Request
    left: Reply
    right: Reply
    difference: Difference
    keep_rows: bool = False
    """Whether the real one keeps rows that nobody sees; see ``rows``."""

    def same_refusal(self) -> bool:
        """Whether both refused it alike, but for the words."""
        return self.left.status == self.right.status >= 400 and self.difference.aspect == "detail"
