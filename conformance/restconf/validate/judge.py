"""Checks one reply."""

from __future__ import annotations

import json
import re
from typing import Any, List, Optional

from . import around, faults, yanglint
from .exchange import Exchange, decode
from .path import steps
from .schema import Node, Schema

#: First path segments below the API root that contain data.
_DATA = ("data", "config", "operational")

#: Statements of data nodes.
_NODES = ("container", "list", "leaf", "leaf-list")

#: Resources without a data schema; the tests that request them check them.
_BESIDE = ("yang-library-version", "modules", "streams", "yang")


def judge(schema: Schema, exchange: Exchange) -> Optional[str]:
    """Empty if the reply is valid; ``None`` if there is no schema for it."""
    try:
        return _judge(schema, exchange)
    except (ValueError, LookupError, KeyError, TypeError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"


def _judge(schema: Schema, exchange: Exchange) -> Optional[str]:
    segments = exchange.segments
    if exchange.content_type.startswith("text/event-stream"):
        return _events(schema, exchange)
    if exchange.status >= 400:
        return faults.check_errors(exchange.body, exchange.format == "json")
    if segments[0] not in ("restconf", "rests") or len(segments) < 2 or segments[1] in _BESIDE:
        return None
    if "yang-patch-status" in exchange.body[:200]:
        return None
    if segments[1] == "operations":
        if exchange.method != "POST":
            return None
        # Actions are below data too, by their full path.
        return _action(schema, exchange, segments[2:]) if len(segments) > 3 else _output(schema, exchange)
    if segments[1] not in _DATA:
        raise LookupError(f"{segments[1]} is not supported by this tool")
    return _data(schema, exchange, segments[2:])


def _data(schema: Schema, exchange: Exchange, segments: List[str]) -> Optional[str]:
    if exchange.method == "POST" and schema.top(decode(segments[-1])) is None:
        return _action(schema, exchange, segments)
    if exchange.method == "POST":
        return _output(schema, exchange)
    way = steps(schema, segments, exchange.segments[1] != "data")
    if not way:
        return _datastore(schema, exchange)
    # A part of the tree may lack mandatory nodes of the whole, and state is not configuration.
    whole = len(way) == 1 and _is_config(way[0].node) and not exchange.partial
    kind = "config" if whole else "get"
    if exchange.format == "xml":
        text = around.xml_tree(way, exchange.body)
    else:
        text = around.json_tree(way, json.loads(exchange.body), exchange.draft)
    return yanglint.check_data(schema.files, kind, exchange.format, text)


def _datastore(schema: Schema, exchange: Exchange) -> str:
    """The reply to a read of everything: all trees in one member or element named data."""
    if exchange.format == "xml":
        inner = re.sub(r"^\s*(<\?xml[^>]*\?>)?\s*<data[^>]*>|</data>\s*$|^\s*<data[^>]*/>\s*$", "", exchange.body)
        return yanglint.check_data(schema.files, "get", "xml", inner) if inner.strip() else ""
    ((_, trees),) = json.loads(exchange.body).items()
    whole = {}
    for name, tree in trees.items():
        node = schema.top(name)
        if node is None:
            raise LookupError(f"there is no node {name}")
        whole[f"{node.module}:{node.name}"] = around.as_rfc(node, tree) if exchange.draft else tree
    kind = "get" if exchange.partial else "data"
    return yanglint.check_data(schema.files, kind, "json", json.dumps(whole))


def _output(schema: Schema, exchange: Exchange) -> str:
    """The output of an operation, as a NETCONF reply."""
    last = decode(exchange.segments[-1])
    operation = schema.top(last)
    if operation is None or operation.kind != "rpc":
        raise LookupError(f"there is no operation {last}")
    if exchange.format == "xml":
        return yanglint.check_data(schema.files, "reply", "xml", _output_in_xml(operation, exchange.body))
    ((member, value),) = json.loads(exchange.body).items()
    wanted = "output" if exchange.draft else f"{operation.module}:output"
    if member != wanted:
        raise ValueError(f"the output is in {member}, and must be in {wanted}")
    output = _child(operation, "output")
    value = around.as_rfc(output, value) if exchange.draft else value
    text = json.dumps({f"{operation.module}:{operation.name}": value})
    return yanglint.check_data(schema.files, "reply", "json", text)


def _action(schema: Schema, exchange: Exchange, segments: List[str]) -> str:
    """The output of an action, inside its parent node."""
    way = steps(schema, segments, False)
    action = way[-1].node
    if action.kind != "action":
        raise LookupError(f"{action.name} is not an action")
    if exchange.format == "xml":
        text = around.xml_tree(way, _output_in_xml(action, exchange.body))
        return yanglint.check_data(schema.files, "reply", "xml", text)
    ((member, value),) = json.loads(exchange.body).items()
    if member != f"{action.module}:output":
        raise ValueError(f"the output is in {member}, and must be in {action.module}:output")
    text = around.json_tree(way, {f"{action.module}:{action.name}": value}, False)
    return yanglint.check_data(schema.files, "reply", "json", text)


def _output_in_xml(operation: Node, body: str) -> str:
    """The contents of the output, in an element named after the operation."""
    opened = re.search(r"<output[^>]*>", body)
    if opened is None or operation.namespace not in opened.group():
        raise ValueError("the reply has no output of this module")
    inner = body[opened.end() : body.rindex("</output>")]
    return f'<{operation.name} xmlns="{operation.namespace}">{inner}</{operation.name}>'


def _is_config(node: Node) -> bool:
    return node.config and all(_is_config(child) for child in node.children() if child.kind in _NODES)


def _child(operation: Node, keyword: str) -> Node:
    return next(child for child in operation.children() if child.kind == keyword)


def _events(schema: Schema, exchange: Exchange) -> str:
    """Checks each notification of a stream. The last one may be incomplete, because streams do not end."""
    for event in exchange.body.replace("\r\n", "\n").split("\n\n")[:-1]:
        lines = [line[5:].removeprefix(" ") for line in event.split("\n") if line.startswith("data:")]
        text = "\n".join(lines)
        if not text:
            continue
        wrong = _notification_xml(schema, text) if text.startswith("<") else _notification(schema, json.loads(text))
        if wrong:
            return wrong
    return ""


def _notification(schema: Schema, message: Any) -> str:
    inner = dict(message["ietf-restconf:notification"])
    when = inner.pop("eventTime")
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", when):
        raise ValueError(f"eventTime is {when}")
    return yanglint.check_data(schema.files, "notif", "json", json.dumps(inner))


def _notification_xml(schema: Schema, text: str) -> str:
    inner = re.sub(r"^.*?</eventTime>|</notification>\s*$", "", text, flags=re.DOTALL)
    return yanglint.check_data(schema.files, "notif", "xml", inner)
