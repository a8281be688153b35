"""Upstream's test files: where they are, the profile that each needs, and which ones are the fast part."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Sequence, Set, Tuple

import yaml
from placement import handler
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
    """All files, or the named ones, sorted by name."""
    paths = {path.stem: path for path in FOLDER.glob("*.yaml")}
    wanted = {name[: -len(".yaml")] if name.endswith(".yaml") else name for name in only}
    unknown = wanted - set(paths)
    if unknown:
        raise SystemExit(f"upstream has no such files: {', '.join(sorted(unknown))}")
    return [
        TestFile(name, yaml.safe_load(paths[name].read_text(encoding="utf-8")))
        for name in sorted(wanted or paths)
    ]


def routes(files: Sequence[TestFile]) -> Set[Tuple[str, str]]:
    """The methods and routes of upstream that the tests in these files use."""
    mapper = handler.make_map(handler.ROUTE_DECLARATIONS)
    used = set()
    for test in (test for file in files for test in file.content["tests"]):
        for method in ("GET", "PUT", "POST", "DELETE"):
            path = re.sub(r"\$\w+\[[^]]*\]", "x", str(test.get(method, ""))).split("?")[0]
            match = mapper.routematch(path, {"REQUEST_METHOD": method}) if path else None
            if match:
                used.add((method, match[1].routepath))
    return used


def all_routes() -> Set[Tuple[str, str]]:
    return {(method, route) for route, targets in handler.ROUTE_DECLARATIONS.items() if route for method in targets}


def fast() -> List[str]:
    """The names in ``fast.txt``."""
    lines = Path(__file__).with_name("fast.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
