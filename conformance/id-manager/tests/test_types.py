"""Type checks of these tests and of conformance/restconf."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("folder", ["id-manager", "restconf"])
def test_mypy_passes(tmp_path: Path, folder: str) -> None:
    here = Path(__file__).resolve().parents[2] / folder
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)]
    ran = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
