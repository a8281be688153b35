"""Checks replies that yanglint cannot check, because they are in no datastore: errors, and the status of a patch."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from typing import Any, Dict, List

_NAMESPACE = "{urn:ietf:params:xml:ns:yang:ietf-restconf}"

_TYPES = ("transport", "rpc", "protocol", "application")

_TAGS = (
    "in-use invalid-value too-big missing-attribute bad-attribute unknown-attribute bad-element missing-element "
    "unknown-element unknown-namespace access-denied lock-denied resource-denied rollback-failed data-exists "
    "data-missing operation-not-supported operation-failed partial-operation malformed-message"
).split()

_MEMBERS = ("error-type", "error-tag", "error-app-tag", "error-path", "error-message", "error-info")


def check_errors(body: str, is_json: bool) -> str:
    """What is wrong with the errors of a reply."""
    errors = _from_json(body) if is_json else _from_xml(body)
    if not errors:
        return "there is no error in it"
    for error in errors:
        unknown = [name for name in error if name not in _MEMBERS]
        if unknown:
            return f"{unknown[0]} is no part of an error"
        if error.get("error-type") not in _TYPES:
            return f"error-type is {error.get('error-type')!r}"
        if error.get("error-tag") not in _TAGS:
            return f"error-tag is {error.get('error-tag')!r}"
        if not error.get("error-message"):
            return "there is no error-message"
    return ""


def _from_json(body: str) -> List[Dict[str, Any]]:
    top: Dict[str, Any] = json.loads(body)
    ((member, errors),) = top.items()
    if member == "ietf-yang-patch:yang-patch-status":
        errors = errors.get("errors") or _of_edits(errors)
    elif member not in ("errors", "ietf-restconf:errors"):
        raise ValueError(f"{member} is not the top of an error reply")
    found: List[Dict[str, Any]] = errors["error"]
    return found


def _of_edits(status: Dict[str, Any]) -> Dict[str, Any]:
    edits = status["edit-status"]["edit"]
    return {"error": [one for edit in edits for one in edit.get("errors", {}).get("error", [])]}


def _from_xml(body: str) -> List[Dict[str, Any]]:
    top = ElementTree.fromstring(body)
    if top.tag == _NAMESPACE + "errors":
        return [{one.tag.removeprefix(_NAMESPACE): one.text or "".join(one.itertext()) for one in error} for error in top]
    local = [(one, one.tag.rpartition("}")[2]) for one in top.iter()]
    if not local or local[0][1] != "yang-patch-status":
        raise ValueError(f"{top.tag} is not the top of an error reply")
    errors = [one for one, name in local if name == "error"]
    return [{part.tag.rpartition("}")[2]: part.text for part in error} for error in errors]
