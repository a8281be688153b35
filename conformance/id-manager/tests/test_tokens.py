"""Basic authentication, which is all that clients of OpenDaylight know: any user, and a token as the password."""

from __future__ import annotations

import subprocess
from pathlib import Path

from controller.dialect import Draft02, Rfc8040
from controller.server import Server, binary
from controller.session import Session


def token(folder: Path, name: str, role: str) -> str:
    """A new token in the file of tokens."""
    command = [binary(), "token", "new", "--name", name, "--role", role, "--file", str(folder / "tokens.toml")]
    made = subprocess.run(command, env={}, capture_output=True, text=True, check=True)
    return made.stdout.strip()


def test_a_token_is_the_password(tmp_path: Path) -> None:
    writer = token(tmp_path, "controller", "admin")
    reader = token(tmp_path, "monitor", "reader")
    server = Server(tmp_path, more=["--auth", "tokens", "--tokens", str(tmp_path / "tokens.toml")])
    path = "/restconf/config/id-manager:id-pools"

    nobody = Session(server.port).get(path)
    assert nobody.status == 401 and nobody.headers["www-authenticate"].startswith("Basic"), nobody
    assert nobody.json()["errors"]["error"][0]["error-tag"] == "access-denied"
    assert Session(server.port, ("admin", "admin")).get(path).status == 401

    for dialect in (Draft02, Rfc8040):
        ids = dialect(Session(server.port, ("admin", writer)))
        ids.create("p", 0, 100)
        assert ids.allocate("p", dialect.__name__) in (0, 1)

    looking = Session(server.port, ("admin", reader))
    assert looking.get(path).status == 200
    refused = looking.post("/restconf/operations/id-manager:allocateId", {"input": {"pool-name": "p", "id-key": "k"}})
    assert refused.status == 403, refused
    assert refused.json()["errors"]["error"][0]["error-tag"] == "access-denied"
    server.stop()
