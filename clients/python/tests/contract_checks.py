"""What schemathesis is to look at beside its own checks: whether the document is as strict as the server.

Its own two checks for that know neither that a refusal is an answer nor that unknown headers are to be passed over.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List
from urllib.parse import parse_qsl, urlsplit

import schemathesis
from jsonschema import Draft202012Validator
from schemathesis import GenerationMode

# What a schema cannot say: whether a text is a value of the pool's kind, whether a cursor is one of this list, which
# members contradict each other, that 7.0 is no way to write an id, that no server ran before 1970. The last one is
# schemathesis's doing: it takes the quotes off an ETag.
BEYOND_SCHEMAS = [
    r"is not an? (id|IPv)",
    r"^after is '",
    r"exclude each other$",
    r"^(ops\[\d+\]: )?claim: pool or pools is missing$",
    r"^value is in the query without pool;",
    r"^value is '.*'; an id such as 7,",
    r"^(at|since|until) is '[01].*'; a time such as",
    r"invalid type: floating point",
    r"^if-match is \d+;",
    r"reclaim says what happens when ttl is over",
    r"^two groups have ",
    r"^same_subtree names '",
    r"the same name is there twice",
]


@schemathesis.check
def as_strict_as_documented(ctx: Any, response: Any, case: Any) -> None:
    meta = case.meta
    if meta is None:
        return
    if meta.generation.mode is GenerationMode.POSITIVE:
        if response.status_code == 400:
            problem = json.loads(response.content)
            explained = any(re.search(reason, problem["detail"]) for reason in BEYOND_SCHEMAS)
            # All are about what there is, not about how the request is written.
            known = problem["code"] in ("invalid", "position_unknown", "class_unknown", "trait_unknown")
            assert known or explained, (
                f"the document allows it, the server does not: {problem['detail']}"
            )
        return
    wrong = {
        location.value
        for location, component in meta.components.items()
        if component.mode is GenerationMode.NEGATIVE
    }
    # What was made wrong is not always so any more once it is written down: null in a query is an empty text.
    documented = case.operation.definition.raw.get("parameters", [])
    if not is_wrong(documented, urlsplit(response.request.url).query):
        wrong.discard("query")
    if wrong & {"query", "body"}:
        assert response.status_code >= 400, (
            f"the document does not allow it, the server does: {sorted(wrong)}"
        )


def is_wrong(parameters: List[Dict[str, Any]], query: str) -> bool:
    """Whether a query, as it was sent, is none that the document allows."""
    known = {one["name"]: one["schema"] for one in parameters if one["in"] == "query"}
    seen = set()
    for name, text in parse_qsl(query, keep_blank_values=True):
        schema = known.get(name, False)
        several = isinstance(schema, dict) and schema.get("type") == "array"
        readings: List[Any] = [[text]] if several else [text]
        if text.isascii() and text.isdigit():
            readings.append(int(text))
        if text in ("true", "false"):
            readings.append(text == "true")
        valid = Draft202012Validator(schema).is_valid
        if (name in seen and not several) or not any(valid(reading) for reading in readings):
            return True
        seen.add(name)
    return False
