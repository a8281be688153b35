"""The OpenAPI document as the contract: it is valid, and the server conforms to it.

``cargo xtask fuzz-api`` runs this file with more examples and another seed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from server import Server

EXAMPLES = os.environ.get("ALLOD_FUZZ_EXAMPLES", "12")
SEED = os.environ.get("ALLOD_FUZZ_SEED", "20260101")

# An endless stream has no complete reply; the watch has its own tests.
WITHOUT = ["watch"]

# 503 and 504 are documented responses. 500 is always a bug.
SETTINGS = """
[checks]
positive_data_acceptance.enabled = false
negative_data_rejection.enabled = false
not_a_server_error.expected-statuses = ["2xx", "4xx", "503", "504"]

[parameters]
# A read of a future position would wait in vain.
"header.Allod-Min-Position" = "1"
# An authority that does not exist would be waited for in vain.
"header.Prefer" = "wait=0"
"""


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    # Random authorities must not make the server connect to others.
    data = tmp_path_factory.mktemp("contract") / "data"
    running = Server(data, "--log", "error", "--authority-targets", "127.0.0.1")
    yield running
    running.stop()


def document(server: Server) -> Dict[str, Any]:
    with urllib.request.urlopen(f"{server.url}/v1/openapi.json") as reply:
        document_json: Dict[str, Any] = json.load(reply)
        return document_json


def test_openapi_document_is_valid(strict: Server) -> None:
    document_json = document(strict)
    assert document_json["openapi"].startswith("3.1.")
    errors = [error.message for error in OpenAPIV31SpecValidator(document_json).iter_errors()]
    assert errors == []


def test_every_member_of_a_schema_has_a_type(strict: Server) -> None:
    """Without a type, a member would accept any value."""

    def members(schema: Any, place: str) -> Iterator[str]:
        if isinstance(schema, dict):
            for name, member in schema.get("properties", {}).items():
                if not {"$ref", "type", "oneOf", "allOf", "enum"} & set(member):
                    yield f"{place}.{name}"
            for name, part in schema.items():
                yield from members(part, f"{place}.{name}")
        elif isinstance(schema, list):
            for part in schema:
                yield from members(part, place)

    assert list(members(document(strict)["components"], "")) == []


def test_server_conforms_to_the_openapi_document(strict: Server, tmp_path: Path) -> None:
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(SETTINGS, encoding="utf-8")
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(settings), "run"]
    command += [f"{strict.url}/v1/openapi.json", "--no-color", "--seed", SEED]
    command += ["--max-examples", EXAMPLES, "--workers", "1", "--generation-database", "none"]
    command += ["--request-timeout", "20", "--continue-on-failure"]
    for name in WITHOUT:
        command += ["--exclude-operation-id", name]
    here = str(Path(__file__).parent)
    env = {**os.environ, "SCHEMATHESIS_HOOKS": "contract_checks", "PYTHONPATH": here}
    ran = subprocess.run(
        command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    print(ran.stdout[-4000:])
    assert ran.returncode == 0, f"seed {SEED}\n{ran.stdout}"
    assert "Selected: " in ran.stdout


class Balance(HTMLParser):
    """Checks that every element is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: List[str] = []
        self.seen = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen += 1
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_docs_page_is_well_formed(strict: Server) -> None:
    with urllib.request.urlopen(f"{strict.url}/v1/docs") as reply:
        page = Balance()
        page.feed(reply.read().decode())
    assert page.open == [] and page.seen > 500
