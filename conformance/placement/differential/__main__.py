"""The command line. Each difference is printed as the smallest case found: a script that ``--replay`` can run again."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Iterator, List, Set, Tuple

from servers import end_on_sigterm
from servers.allod import Allod
from servers.real import Real

from . import generate, script
from .accepted import Register
from .explain import explain
from .request import Request
from .run import Finding, Pair
from .shrink import Shrinker
from .target import Http, Target
from .wrong import FAULTS, Wrong

FULL_RUN_STEPS = 5000


def main() -> int:
    options = _arguments()
    end_on_sigterm()
    real = Http(Real())
    try:
        other = Http(Real() if options.server == "real" else Allod(options.server))
        try:
            right: Target = Wrong(other, options.wrong) if options.wrong else other
            return _run(options, Pair(real, right))
        finally:
            other.stop()
    finally:
        real.stop()


def _run(options: argparse.Namespace, pair: Pair) -> int:
    began, steps = time.monotonic(), 0
    known: Set[str] = set()
    for name, episode in _episodes(options):
        steps += len(episode)
        for finding in pair.run(episode, known):
            _report(name, _smallest(pair, finding, options.shrink_seconds))
    counts = ", ".join(f"{name} {count}" for name, count in sorted(pair.register.counts.items()))
    print(f"accepted: {counts or 'none'}")
    if steps >= FULL_RUN_STEPS:
        for idle in pair.register.idle():
            print(f"not used in this run: {idle}")
    seconds = time.monotonic() - began
    print(f"{steps} steps, {pair.requests} requests in {seconds:.0f} s, {len(known)} differences")
    return 1 if known else 0


def _episodes(options: argparse.Namespace) -> Iterator[Tuple[str, List[Request]]]:
    """Episodes, each with the option that produces it."""
    if options.replay:
        yield options.replay, script.read(Path(options.replay).read_text(encoding="utf-8"))
        return
    for seed in range(*options.seeds) if options.seeds else [options.seed]:
        for episode in generate.episodes(seed, options.steps):
            yield f"--seed {seed}", episode


def _smallest(pair: Pair, finding: Finding, seconds: float) -> Finding:
    """The smallest version of a finding, with generations filled in."""
    # The shrinker's attempts do not count as part of the run.
    trial = Pair(pair.left, pair.right, Register())

    def show(steps: List[Request]) -> List[Finding]:
        return [found for found in trial.run(steps, set()) if found.kind == finding.kind]

    give_up = time.monotonic() + seconds
    small = Shrinker(lambda steps: time.monotonic() < give_up and bool(show(steps))).shrink(finding.symbolic)
    shown = show(small)
    if not shown:
        return finding
    # If the literal generations show the difference as well, the requests that read them are not needed.
    concrete = [step for step in shown[0].steps[:-1] if not step.reads] + shown[0].steps[-1:]
    return (show(concrete) or shown)[0]


def _report(name: str, finding: Finding) -> None:
    print(f"\n# {finding.kind}\n# found with {name}")
    for difference in finding.differences:
        print(f"# {difference.aspect}")
        if difference.aspect == "body":
            print("".join(f"#   {line}\n" for line in explain(difference.left, difference.right)), end="")
        else:
            print(f"#   real: {difference.left}\n#   this: {difference.right}")
    print(script.write(finding.steps), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cargo xtask differential placement", description=__doc__)
    parser.add_argument("--server", required=True, help="the allod binary, or 'real' for a second real Placement")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random requests")
    parser.add_argument("--seeds", type=_range, metavar="A..B", help="all seeds from A up to, but not including, B")
    parser.add_argument("--steps", type=int, default=1000, help="number of requests for each seed")
    parser.add_argument("--replay", metavar="FILE", help="run a printed case instead of random requests")
    parser.add_argument("--shrink-seconds", type=float, default=60.0, help="time limit for shrinking one difference")
    parser.add_argument("--wrong", choices=sorted(FAULTS), help="falsify the answers of the other server, to test this tool")
    return parser.parse_args()


def _range(text: str) -> Tuple[int, int]:
    first, last = text.split("..")
    return int(first), int(last)


if __name__ == "__main__":
    sys.exit(main())
