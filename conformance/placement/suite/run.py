"""Runs test files, each against a new server with the profile that it needs."""

from __future__ import annotations

import unittest
from typing import Any, Callable, List, Mapping, Tuple

from gabbi import handlers, suitemaker
from servers import Server, profiles

from . import fixtures
from .files import FOLDER, TestFile
from .outcome import Outcome

Start = Callable[[profiles.Profile], Server]


class _Record(unittest.TestResult):
    """Records the result of each test of a file under its name."""

    def __init__(self, file: str, outcome: Outcome) -> None:
        super().__init__()
        self._file, self._outcome = file, outcome

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._outcome.passed.append(self._name(test))

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self._outcome.failed[self._name(test)] = self.failures[-1][1]

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self._outcome.failed[self._name(test)] = self.errors[-1][1]

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        # Upstream skips nothing; gabbi skips tests if the setup of a file failed.
        self._outcome.failed.setdefault(self._name(test), f"skipped: {reason}")

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:
        self.addSuccess(test)

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self._outcome.failed[self._name(test)] = "it passes, but upstream expects it to fail"

    def _name(self, test: unittest.TestCase) -> str:
        return f"{self._file}: {getattr(test, 'test_data', {}).get('name', test.id())}"


def run(files: List[TestFile], start: Start, expected: Mapping[str, str]) -> Outcome:
    outcome = Outcome(expected)
    rules = fixtures.policy_rules()
    for file in files:
        before = _counts(outcome)
        server = start(profiles.Profile(file.profile, rules if file.profile == "open" else ()))
        try:
            _run_file(file, server.port, outcome)
        finally:
            server.stop()
        passed, failed = (now - then for now, then in zip(_counts(outcome), before))
        print(f"{file.name}: {passed} of {passed + failed}", flush=True)
    return outcome


def _run_file(file: TestFile, port: int, outcome: Outcome) -> None:
    stock = fixtures.stock_for(port)
    try:
        suite = suitemaker.test_suite_from_dict(
            loader=unittest.TestLoader(),
            test_base_name=file.name,
            suite_dict=file.content,
            test_directory=str(FOLDER),
            host="127.0.0.1",
            port=port,
            fixture_module=fixtures.module_for(stock),
            intercept=None,
            handlers=[handler() for handler in handlers.RESPONSE_HANDLERS],
        )
        suite.run(_Record(file.name, outcome))
    finally:
        stock.close()


def _counts(outcome: Outcome) -> Tuple[int, int]:
    return len(outcome.passed), len(outcome.failed)
