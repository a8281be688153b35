"""HTTP Basic authentication, as OpenDaylight's clients use it: any user, and a token as the password."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Dict

import pytest
from controller.dialect import Draft02, Rfc8040
from controller.server import Server, binary
from controller.session import Session


def token(folder: Path, name: str, role: str) -> str:
    """Adds a token to the token file."""
    command = [binary(), "token", "new", "--name", name, "--role", role, "--file", str(folder / "tokens.toml")]
    made = subprocess.run(command, env={}, capture_output=True, text=True, check=True)
    return made.stdout.strip()


@pytest.fixture
def tokens(tmp_path: Path) -> Dict[str, str]:
    """Tokens by role, created before the server starts."""
    return {role: token(tmp_path, f"the {role}", role) for role in ("admin", "reader")}


@pytest.mark.serve("--auth", "tokens", "--tokens", "{}/tokens.toml")
def test_token_is_the_password(tokens: Dict[str, str], server: Server) -> None:
    path = "/restconf/config/id-manager:id-pools"

    anonymous = Session(server.port).get(path)
    assert anonymous.status == 401 and anonymous.headers["www-authenticate"].startswith("Basic"), anonymous
    assert anonymous.json()["errors"]["error"][0]["error-tag"] == "access-denied"
    assert Session(server.port, ("admin", "admin")).get(path).status == 401

    for dialect in (Draft02, Rfc8040):
        ids = dialect(Session(server.port, ("admin", tokens["admin"])))
        ids.create("p", 0, 100)
        assert ids.allocate("p", dialect.__name__) in (0, 1)

    looking = Session(server.port, ("admin", tokens["reader"]))
    assert looking.get(path).status == 200
    refused = looking.post("/restconf/operations/id-manager:allocateId", {"input": {"pool-name": "p", "id-key": "k"}})
    assert refused.status == 403, refused
    assert refused.json()["errors"]["error"][0]["error-tag"] == "access-denied"
