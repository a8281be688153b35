"""yanglint on modules and on data."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import List, Sequence


def check_module(module: Path) -> str:
    """Errors and warnings; empty if the module is valid."""
    return _run(["yanglint", "-p", str(module.parent), str(module)])


def check_data(modules: Sequence[Path], kind: str, ending: str, text: str) -> str:
    """Errors in data of this type, one of yanglint's ``-t`` types."""
    with tempfile.NamedTemporaryFile("w", suffix=f".{ending}", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        folder = str(modules[0].parent)
        return _run(["yanglint", "-p", folder, "-t", kind, *map(str, modules), file.name])


def _run(command: List[str]) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    said = ran.stderr.strip()
    return said or (f"yanglint ended with {ran.returncode}" if ran.returncode else "")
