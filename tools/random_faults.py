"""Plays runs of `gcm-deploy` with a random fault each, and tells which did not end as they should.

python -m tools.random_faults --seed 7 --count 100                    of ranks and other processes
python -m tools.random_faults --seed 7 --count 100 --kind network     also: machine, slurm, lab
python -m tools.random_faults --seed 7 --first 31                     run 31 of that seed again

The tables of faults, and of the ends that each may have, are in `tests/faults/*_faults.py`. A run
is wrong if it hangs, has a wrong result, blames somebody else, loses what ranks wrote, or leaves
a process, a file, shared memory or a job. The exit code is 1 if one is.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

from tools.alone import alone, own_environment
from tools.on_grids import ROOT

KINDS = ("processes", "machine", "network", "slurm", "lab")
BENCH = ROOT / "tests/faults/random_faults.py"


@dataclass(frozen=True)
class Played:
    """One run: what it was, how it ended, and what was not right about it."""

    number: int
    case: str
    fault: str
    code: int
    cause: str
    seconds: float
    wrong: tuple[str, ...]

    @classmethod
    def parse(cls, line: str) -> Self | None:
        """Read what the bench says of a run; None for a line of somebody else."""
        try:
            told = json.loads(line)
            early = ", while it starts" if told["is_early"] else ""
            case = f"{told['program']} on {told['layout']} with failures={told['failures']}{early}"
            return cls(
                told["run"], case, told["fault"], told["code"], told["cause"], told["took"],
                tuple(told["found"]),
            )  # fmt: skip
        except (ValueError, TypeError, KeyError):
            return None

    def __str__(self) -> str:
        cause = f" ({self.cause})" if self.cause else ""
        end = f"exit code {self.code}{cause} after {self.seconds:g} s"
        head = f"run {self.number}: {self.fault}, {self.case}: {end}"
        return "\n    WRONG: ".join([head, *self.wrong])


def table(runs: Iterable[Played]) -> Iterator[str]:
    """Yield how often each fault was tried, with which exit codes, and how often it was wrong."""
    of_fault = defaultdict[str, list[Played]](list)
    for one in runs:
        of_fault[one.fault].append(one)
    for fault, same in sorted(of_fault.items()):
        codes = ", ".join(map(str, sorted({one.code for one in same})))
        wrong = sum(bool(one.wrong) for one in same)
        slowest = max(one.seconds for one in same)
        yield f"{fault:22} {len(same):4} runs, {wrong} wrong, {slowest:5g} s at most, codes {codes}"
    every = [one for same in of_fault.values() for one in same]
    yield f"{len(every)} runs, {sum(bool(one.wrong) for one in every)} wrong"


def play(kind: str, count: int, seed: int, first: int) -> Iterator[Played]:
    """Play so many runs, and yield each as it ends; raises if the bench itself fails."""
    words = (str(count), str(seed), str(first), kind)
    command, pipe = alone(sys.executable, BENCH, *words), subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, env=own_environment()
    ) as bench:
        assert bench.stderr is not None
        other = []
        for line in bench.stderr:
            if (one := Played.parse(line)) is not None:
                yield one
            else:
                other.append(line)
    if bench.returncode:
        raise SystemExit(f"{BENCH.name} has failed with {bench.returncode}:\n{''.join(other)}")


def main() -> int:
    """Do what the command line says; return the exit code."""
    options = _options()
    played = []
    for one in play(options.kind, options.count, options.seed, options.first):
        print(one, flush=True)
        played.append(one)
    print("\n".join(table(played)))
    return int(any(one.wrong for one in played))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.random_faults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, required=True, help="what decides all about the runs")
    parser.add_argument("--kind", choices=KINDS, default=KINDS[0], help="where, and what fails")
    parser.add_argument("--count", type=int, default=1, help="how many runs")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
