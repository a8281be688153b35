"""An additional check for schemathesis: whether the OpenAPI document is as strict as the server.

Its own two checks for that treat a refusal as a rejected request, and require that unknown headers are refused.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List
from urllib.parse import parse_qsl, urlsplit

import schemathesis
from jsonschema import Draft202012Validator
from schemathesis import GenerationMode

# Conditions that a schema cannot express: whether a text is a value of the pool's kind, whether a cursor belongs to this
# list, which members contradict each other, which member a kind of authority has, that 7.0 is not an ID, that no server ran before 1970. The if-match line is
# caused by schemathesis, which removes the quotes of an ETag.
BEYOND_SCHEMAS = [
    r"is not an? (id|IPv)",
    r"^after is '",
    r"exclude each other$",
    r"^(ops\[\d+\]: )?claim: pool or pools is missing$",
    r"^value needs pool",
    r"^value is '.*'; expected an id such as 7,",
    r"^(at|since|until) is '[01].*'; expected a time such as",
    r"invalid type: floating point",
    r"^if-match is \d+;",
    r"reclaim needs ttl",
    r"^two groups have ",
    r"^same_subtree names '",
    r"a name is repeated",
    r"^(url|pool|find|take|release|list|lookup)(:| is missing)",
    r"^expected one of granted ",
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
            # These codes depend on the data, not on the form of the request.
            known = problem["code"] in ("invalid", "position_unknown", "class_unknown", "trait_unknown")
            assert known or explained, (
                f"valid by the document, but refused by the server: {problem['detail']}"
            )
        return
    wrong = {
        location.value
        for location, component in meta.components.items()
        if component.mode is GenerationMode.NEGATIVE
    }
    # An invalid value may become valid when it is encoded: null in a query is an empty text.
    documented = case.operation.definition.raw.get("parameters", [])
    if not is_wrong(documented, urlsplit(response.request.url).query):
        wrong.discard("query")
    if wrong & {"query", "body"}:
        assert response.status_code >= 400, (
            f"invalid by the document, but accepted by the server: {sorted(wrong)}"
        )


def is_wrong(parameters: List[Dict[str, Any]], query: str) -> bool:
    """Whether a query, as sent, is invalid by the document."""
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
