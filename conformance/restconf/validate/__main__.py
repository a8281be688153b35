"""``python -m validate MODULES REPLIES WRONG``: each argument is a folder.

Every module must pass pyang and yanglint, every reply must be valid by the modules, and every invalid sample must be
reported as invalid. The last line is like ``412 passed, 2 failed``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Optional

from . import schema, yanglint
from .exchange import Exchange
from .judge import judge
from .schema import Schema


class Tally:
    def __init__(self) -> None:
        self.passed = self.failed = 0

    def count(self, name: str, wrong: Optional[str]) -> None:
        if wrong:
            self.failed += 1
            print(f"failed: {name}\n{wrong}")
        else:
            self.passed += 1


def main(modules: Path, replies: Path, wrong: Path) -> int:
    tally = Tally()
    files = sorted(modules.glob("*.yang"))
    tally.count("modules", "" if files else f"there is no module in {modules}")
    for module in files:
        tally.count(f"pyang {module.name}", schema.check_module(module))
        tally.count(f"yanglint {module.name}", yanglint.check_module(module))
    for module in sorted(wrong.glob("*.yang")):
        for tool, check in (("pyang", schema.check_module), ("yanglint", yanglint.check_module)):
            tally.count(f"{tool} {module.name}", "" if check(module) else "it was not found wrong")
    if tally.failed == 0:
        judge_replies(tally, Schema(files), replies, wrong)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


def judge_replies(tally: Tally, known: Schema, replies: Path, wrong: Path) -> None:
    beside = 0
    exchanges = [Exchange.read(file) for file in sorted(replies.glob("*.reply"))]
    tally.count("replies", "" if exchanges else f"the tests left no reply in {replies}")
    for exchange in exchanges:
        said = judge(known, exchange)
        if said is None:
            beside += 1
        else:
            name = f"{exchange.name}: {exchange.method} {exchange.target}"
            tally.count(name, said and f"{said}\n{exchange.body[:2000]}")
    print(f"{len(exchanges)} replies, {beside} of them of no schema")
    for file in sorted(wrong.glob("*.reply")):
        said = judge(known, Exchange.read(file))
        tally.count(f"the wrong reply {file.stem}", "" if said else "it was not found wrong")


if __name__ == "__main__":
    sys.exit(main(*(Path(argument).resolve() for argument in sys.argv[1:4])))
