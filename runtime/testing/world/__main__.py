"""Run worlds: `python -m runtime.testing.world --seed 4711`, or `--seeds 1000` of them.

A seed means a world of each kind: `messages` between ranks, `runs` of launcher and front-ends,
`labs` of peers, supernodes and users, `links` of threads that wait for an answer, and `programs`.
"""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runtime.testing.world.kinds import KINDS, PlayedWorld, WorldKind
from runtime.testing.world.tape import NoTape, Tape, diagram


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; return 1 if a world has failed."""
    options = _parser().parse_args(arguments)
    commit = commit_here()
    if options.commit and not commit.startswith(options.commit):
        print(f"this is commit {commit}; seeds of {options.commit} are other worlds here")
        return 2
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # what production logs in thousands of worlds
    try:
        return int(sum(_run(options, KINDS[kind], commit) for kind in options.kind or KINDS) > 0)
    finally:
        logging.disable(before)


def _run(options: argparse.Namespace, kind: WorldKind[Any], commit: str) -> int:
    """Run worlds of one kind; return how many have failed."""
    begun, failed = time.monotonic(), 0
    is_read = options.tape or options.twice or options.seeds == 1
    for seed in range(options.seed, options.seed + options.seeds):
        scenario = kind.draw(seed)
        played = kind.play(scenario, tape=Tape(is_kept=options.tape) if is_read else NoTape())
        if options.twice and kind.play(scenario).tape.hash != played.tape.hash:
            print(f"seed {seed} of {commit}: the same seed gives another trace")
            failed += 1
        if played.failures:
            failed += 1
            print(line_of(played, commit))
            if options.shrink:
                smallest = kind.shrink(scenario, lambda one: bool(kind.play(one).failures))
                played = kind.play(smallest, tape=Tape(is_kept=True))
                print(f"  smallest: {played.scenario}\n  {played.failures[0]}")
        if options.tape:
            print(played.scenario, "\n", diagram(played.tape.entries), sep="")
        if options.seeds == 1 and not played.failures:
            print(f"seed {seed} of {commit}: right, trace {played.tape.hash}")
    if options.seeds > 1:
        seconds, name = time.monotonic() - begun, kind.name
        print(f"{options.seeds} {name} of {commit} in {seconds:.0f} s, {failed} failed")
    return failed


def line_of(played: PlayedWorld, commit: str) -> str:
    """Return the one line that stands for a failure."""
    seed, words = played.scenario.seed, " | ".join(played.failures).replace("\n", "; ")
    return f"seed {seed} of {commit}: {words}"


def commit_here() -> str:
    """Return the commit of this code, with a plus where files were changed since."""
    here = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "-C", str(here), "describe", "--always", "--abbrev=12", "--dirty=+"],
            capture_output=True, text=True, check=True, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return "a package without history"
    return found.stdout.strip()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m runtime.testing.world", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the seed, or the first of them")
    parser.add_argument("--seeds", type=int, default=1, help="how many worlds")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only worlds of this kind")
    parser.add_argument("--shrink", action="store_true", help="find a smaller world that fails")
    parser.add_argument("--tape", action="store_true", help="print what happens as a diagram")
    parser.add_argument("--twice", action="store_true", help="compare the traces of two runs")
    parser.add_argument("--commit", help="refuse to run where the code is another one")
    return parser


if __name__ == "__main__":
    sys.exit(main())
