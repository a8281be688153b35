"""The command line for upstream's tests. The last line has the counts; the exit code is 0 if all is well."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from servers import Server, end_on_sigterm, profiles
from servers.allod import Allod
from servers.real import Real

from . import files
from .outcome import read_expected
from .run import run


def main() -> int:
    options = _arguments()
    end_on_sigterm()
    chosen = files.read([*options.only, *(files.fast() if options.fast else [])])
    missed = files.all_routes() - files.routes(chosen) if options.fast else set()
    if missed:
        raise SystemExit(f"the fast part does not cover {sorted(missed)}")
    chosen = [file for file in chosen if options.profile in (None, file.profile)]
    expected = read_expected(Path(__file__).with_name("expected-failures.txt").read_text(encoding="utf-8"))

    def start(profile: profiles.Profile) -> Server:
        return Real(profile) if options.server == "real" else Allod(options.server, profile)

    outcome = run(chosen, start, expected)
    for name in outcome.expected_failures():
        print(f"expected to fail: {name}: {expected[name]}")
    for name, said in outcome.wrong().items():
        print(f"\nfailed: {name}\n{said.strip()}")
    print(outcome.summary())
    return 0 if outcome.good() else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cargo xtask conformance placement", description=__doc__)
    parser.add_argument("--server", required=True, help="the allod binary, or 'real' for the real Placement")
    parser.add_argument("--only", nargs="+", default=[], metavar="FILE", help="test files of upstream, such as traits")
    parser.add_argument("--profile", choices=profiles.NAMES, help="only files that need this configuration")
    parser.add_argument("--fast", action="store_true", help="only the part that cargo xtask test runs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
