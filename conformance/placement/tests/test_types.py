"""Static type check of all tools."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_mypy_finds_no_errors(tmp_path: Path) -> None:
    here = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)]
    ran = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
