"""What holds of these tests as a whole, and of the tool beside them that has no tests of its own kind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("folder", ["id-manager", "restconf"])
def test_mypy_has_nothing_to_say(tmp_path: Path, folder: str) -> None:
    here = Path(__file__).resolve().parents[2] / folder
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)]
    ran = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
