"""Adds the parent nodes to a reply, because yanglint checks whole trees only."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Optional
from xml.sax.saxutils import escape

from .path import Step
from .schema import Node

#: The element around several entries, because an XML document has one root.
_WRAPPER = re.compile(r'^\s*<data xmlns="urn:ietf:params:xml:ns:yang:ietf-restconf">(.*)</data>\s*$', re.DOTALL)

_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")


def json_tree(steps: List[Step], body: Any, draft: bool) -> str:
    """The whole tree from the top down to ``body``, the reply with its one member."""
    last = steps[-1]
    ((member, value),) = body.items()
    value = as_rfc(last.node, value) if draft else value
    if draft != (":" not in member):
        raise ValueError(f"the member {member} is in the other dialect")
    inner: Dict[str, Any] = {_qualified(last.node): value}
    for step in reversed(steps[:-1]):
        keyed = dict(zip(step.node.keys, (_key(step, at) for at in range(len(step.keys)))))
        content = {**keyed, **inner}
        inner = {_qualified(step.node): [content] if step.node.kind == "list" else content}
    return json.dumps(inner)


def xml_tree(steps: List[Step], body: str) -> str:
    inner = _DECLARATION.sub("", body)
    if steps[-1].node.kind in ("list", "leaf-list"):
        inner = _WRAPPER.sub(r"\1", inner)
    asked = steps[-1].node.name
    for step in reversed(steps[:-1]):
        node = step.node
        pairs = [(name, key) for name, key in zip(node.keys, step.keys) if name != asked]
        keyed = "".join(f"<{name}>{escape(key)}</{name}>" for name, key in pairs)
        inner = f'<{node.name} xmlns="{node.namespace}">{keyed}{inner}</{node.name}>'
        asked = ""
    return inner


def as_rfc(node: Optional[Node], value: Any) -> Any:
    """Converts the JSON of the draft, in which long numbers are numbers, to RFC 7951."""
    if isinstance(value, list):
        return [as_rfc(node, one) for one in value]
    if isinstance(value, dict):
        return {name: as_rfc(node.child(name) if node else None, one) for name, one in value.items()}
    if node is not None and node.long_number:
        if not isinstance(value, int):
            raise ValueError(f"{node.name} is {value!r}, and must be a number in the draft's form")
        return str(value)
    return value


def _qualified(node: Node) -> str:
    return f"{node.module}:{node.name}"


def _key(step: Step, at: int) -> Any:
    """A key as a JSON value, by the type of its leaf."""
    text, leaf = step.keys[at], step.node.child(step.node.keys[at])
    kind = leaf.statement.search_one("type").arg if leaf else "string"
    small = re.fullmatch(r"u?int(8|16|32)", kind) is not None
    return int(text) if small else text
