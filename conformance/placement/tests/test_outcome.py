"""Comparison of results with the list of expected failures."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.outcome import Outcome, read_expected

EXPECTED = {"basic-http: bad length": "it cannot be sent"}


def test_an_expected_failure_is_neither_passed_nor_failed() -> None:
    outcome = Outcome(EXPECTED, passed=["traits: list"], failed={"basic-http: bad length": "refused"})
    assert outcome.summary() == "1 passed, 0 failed, 1 expected to fail"
    assert outcome.good()


def test_an_expected_failure_that_passes_is_a_failure() -> None:
    outcome = Outcome(EXPECTED, passed=["traits: list", "basic-http: bad length"])
    assert outcome.summary() == "1 passed, 1 failed"
    assert not outcome.good() and "remove it from the list" in outcome.wrong()["basic-http: bad length"]


def test_an_unexpected_failure_is_a_failure() -> None:
    outcome = Outcome(EXPECTED, passed=["traits: list"], failed={"traits: show": "404"})
    assert outcome.summary() == "1 passed, 1 failed" and not outcome.good()


def test_an_empty_run_is_a_failure() -> None:
    assert not Outcome({}).good()


def test_every_expected_failure_has_a_reason() -> None:
    kept = Path(__file__).resolve().parents[1] / "suite/expected-failures.txt"
    assert list(read_expected(kept.read_text(encoding="utf-8"))) == ["basic-http: bad content length not int"]
    with pytest.raises(ValueError, match="no reason is given for b: two"):
        read_expected("a: one\n    because\n    of it\nb: two\n")
    assert read_expected("a: one\n    because\n    of it\n") == {"a: one": "because of it"}
