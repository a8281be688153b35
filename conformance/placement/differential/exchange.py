"""One request, the replies of both servers, and one difference between them."""

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
    """Whether the real server keeps hidden rows; see ``rows``."""

    def same_refusal(self) -> bool:
        """Whether both refused it with the same status and differ only in the text."""
        return self.left.status == self.right.status >= 400 and self.difference.aspect == "detail"
