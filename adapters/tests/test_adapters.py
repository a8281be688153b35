"""The adapters as files: their size, their types, and the commands of their documents."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from allod.authority.__main__ import load, settings

HERE = Path(__file__).resolve().parents[1]
NAMES = ["etcd", "kea", "nautobot", "neutron"]
LINES_MAX = 100


def test_mypy_passes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)]
    ran = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("name", NAMES)
def test_adapter_is_one_short_file(name: str) -> None:
    (file,) = (HERE / name).glob("*.py")
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= LINES_MAX and max(len(line) for line in lines) <= 120


@pytest.mark.parametrize("name", NAMES)
def test_commands_of_the_document_create_the_adapter(name: str) -> None:
    text = (HERE / name / "README.md").read_text(encoding="utf-8").replace("\\\n", " ")
    commands = re.findall(r"^.*python -m allod\.authority (.*)$", text, re.MULTILINE)
    assert commands
    for command in commands:
        words = shlex.split(command)
        pairs = [pair for option, pair in zip(words, words[1:]) if option == "--set"]
        adapter = load(words[0], settings(pairs))
        assert adapter.abilities()["find"] == "ref"


def test_example_of_an_adapter_of_your_own_works() -> None:
    text = (HERE / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(shown.splitlines()) <= 50
    example = HERE.parent / "clients/python/examples/adapter.py"
    assert example.read_text(encoding="utf-8") == shown
