"""The package as a whole: types, the two clients, the table of codes."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

from allod import AsyncClient, Client
from allod.errors import BY_CODE, BY_STATUS


def test_mypy_passes(tmp_path: Path) -> None:
    here = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)]
    ran = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_both_clients_have_the_same_methods() -> None:
    def calls(client: type) -> "dict[str, list[str]]":
        members = inspect.getmembers(client, inspect.isfunction)
        return {
            name: [str(parameter) for parameter in inspect.signature(call).parameters.values()]
            for name, call in members
            if not name.startswith("_")
        }

    assert calls(Client) == calls(AsyncClient)
    assert "claim" in calls(Client)


def test_every_code_of_the_server_has_an_exception_class(repository: Path) -> None:
    core = (repository / "crates/core/src/refusal.rs").read_text(encoding="utf-8")
    named = re.findall(r'^ +=> "(\w+)",', core, re.MULTILINE)
    assert len(named) > 20
    for code in named:
        assert code in BY_CODE, code
    # Other codes are found by the calls that create a problem with status and code; temporary ones may map by status.
    for path in [*repository.glob("crates/edge/src/**/*.rs"), *repository.glob("crates/face-native/src/**/*.rs")]:
        text = path.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
        for status, code in re.findall(r'StatusCode::([A-Z_]+),\s*"([a-z_]+)"', text):
            number = getattr(__import__("http").HTTPStatus, status.replace("PAYLOAD", "REQUEST_ENTITY"), None)
            known = code in BY_CODE or (number is not None and int(number) in BY_STATUS)
            assert known or status == "URI_TOO_LONG", f"{code} in {path.name} has no class"
