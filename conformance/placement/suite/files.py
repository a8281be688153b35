"""Upstream's files of tests: where they are, which profile each wants, and which of them are the fast part."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Sequence

import yaml
from placement.tests import functional
from servers import profiles

FOLDER = Path(functional.__file__).parent / "gabbits"


@dataclass(frozen=True)
class TestFile:
    name: str
    content: Dict[str, Any]

    @property
    def profile(self) -> str:
        return profiles.named_by(self.content.get("fixtures", []))


def read(only: Sequence[str] = ()) -> List[TestFile]:
    """All files, or those that are named, in the order of their names."""
    paths = {path.stem: path for path in FOLDER.glob("*.yaml")}
    wanted = {name[: -len(".yaml")] if name.endswith(".yaml") else name for name in only}
    unknown = wanted - set(paths)
    if unknown:
        raise SystemExit(f"upstream has no such files: {', '.join(sorted(unknown))}")
    return [
        TestFile(name, yaml.safe_load(paths[name].read_text(encoding="utf-8")))
        for name in sorted(wanted or paths)
    ]


def fast() -> List[str]:
    """The names in ``fast.txt``."""
    lines = Path(__file__).with_name("fast.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
