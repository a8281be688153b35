"""Finds the schema node and the keys of a path, in both dialects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List

from .exchange import decode
from .schema import Node, Schema


@dataclass
class Step:
    node: Node
    keys: List[str] = field(default_factory=list)


def steps(schema: Schema, segments: List[str], draft: bool) -> List[Step]:
    """``segments`` starts after ``data``, ``config`` or ``operational``."""
    found: List[Step] = []
    left = list(segments)
    while left:
        segment = left.pop(0)
        name, _, keys = segment.partition("=")
        node = found[-1].node.child(decode(name)) if found else schema.top(decode(name))
        if node is None:
            raise LookupError(f"there is no node {name} in /{'/'.join(segments)}")
        step = Step(node)
        if keys:
            step.keys = [decode(key) for key in keys.split(",")]
        elif draft and node.kind == "list":
            count = len(node.keys)
            step.keys, left = [decode(key) for key in left[:count]], left[count:]
        elif draft and node.kind == "leaf-list" and left:
            step.keys = [decode(left.pop(0))]
        found.append(step)
    return found
