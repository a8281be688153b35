"""The results of the tests, compared with the list of expected failures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Mapping


@dataclass
class Outcome:
    """Results by name, which is ``file: test``."""

    expected: Mapping[str, str]
    """Tests that are known to fail, with the reason."""
    passed: List[str] = field(default_factory=list)
    failed: Dict[str, str] = field(default_factory=dict)
    """With the output of the test."""

    def wrong(self) -> Dict[str, str]:
        """Unexpected failures, and expected failures that passed: that list may only shrink."""
        wrong = {name: said for name, said in self.failed.items() if name not in self.expected}
        for name in self.passed:
            if name in self.expected:
                wrong[name] = "it passes but is in the list of expected failures: remove it from the list"
        return wrong

    def expected_failures(self) -> List[str]:
        return [name for name in self.failed if name in self.expected]

    def summary(self) -> str:
        """The last line. An expected failure counts neither as passed nor as failed."""
        wrong, expected = self.wrong(), len(self.expected_failures())
        passed = len([name for name in self.passed if name not in wrong])
        known = f", {expected} expected to fail" if expected else ""
        return f"{passed} passed, {len(wrong)} failed{known}"

    def good(self) -> bool:
        return not self.wrong() and bool(self.passed)


def read_expected(text: str) -> Dict[str, str]:
    """Parses the list: ``file: test``, then indented lines with the reason."""
    expected: Dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line.startswith(" "):
            expected[name] = f"{expected[name]} {line.strip()}".strip()
        else:
            name = line.strip()
            expected[name] = ""
    without = [name for name, reason in expected.items() if not reason]
    if without:
        raise ValueError(f"no reason is given for {', '.join(without)}")
    return expected
