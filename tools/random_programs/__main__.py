"""Runs random programs until one goes wrong, and shows the small part of it that does.

python -m tools.random_programs --seed 17 --ranks 4              on plain MPI
python -m tools.random_programs --seed 17 --count 20 --grid 1+2
python -m tools.random_programs --seed 17 --grid "1|2|3" --shrink 40
python -m tools.random_programs --count 1000 --grid 1+2 --together      in one start: ten a second
"""

from __future__ import annotations

import argparse
import sys
import time

from tools.on_grids import identifiers
from tools.random_programs.generator import generate
from tools.random_programs.program import Program
from tools.random_programs.shrink import shrink
from tools.random_programs.trial import PLAIN, together, trial


def main() -> int:
    """Do what the command line says; return the exit code."""
    options = _options()
    size = len(identifiers(options.grid)) if options.grid else options.ranks
    where = options.grid or PLAIN
    if options.together:
        return _all_in_one_start(options, where, size)
    for seed in range(options.seed, options.seed + options.count):
        program = generate(seed, size, length=options.length)
        begin = time.monotonic()
        faults = trial(program, where, seconds=options.seconds)
        took = time.monotonic() - begin
        print(f"seed {seed}: {len(program.events)} events on {where}, {took:.1f} s", flush=True)
        if faults:
            print("\n".join(faults))
            if options.shrink:
                _show_small(program, where, options.seconds, options.shrink)
            return 1
    return 0


def _all_in_one_start(options: argparse.Namespace, where: str, size: int) -> int:
    seeds = range(options.seed, options.seed + options.count)
    begin = time.monotonic()
    code, said = together(seeds, options.length, where, size, seconds=options.seconds)
    lines = said.splitlines()
    names = {f"seed {seed}" for seed in seeds}
    last = [one for one in lines if one in names][-1:] if code else []
    print("\n".join([*last, *(one for one in lines if one not in names)]))
    print(f"{where}: exit code {code} after {time.monotonic() - begin:.0f} s", flush=True)
    return code


def _show_small(program: Program, where: str, seconds: float, tries: int) -> None:
    small = shrink(program, lambda part: bool(trial(part, where, seconds=seconds)), tries=tries)
    print("\n--- what is enough ---")
    for number, event in enumerate(small.events):
        for rank, steps in sorted(event.steps.items()):
            for step in steps:
                message = small.messages.get(step.get("message", ""), "")
                print(f"{number:3} rank {rank}: {step} {message}")
    print("\n".join(trial(small, where, seconds=seconds)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="random_programs", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1, help="how many seeds from there on")
    parser.add_argument("--ranks", type=int, default=4, help="of plain MPI")
    parser.add_argument("--grid", help="run on a grid such as 1+1, 2x2 or 1|2|3")
    parser.add_argument("--length", type=int, default=60, help="how long the programs are")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long one may take")
    parser.add_argument("--together", action="store_true", help="all in one start")
    parser.add_argument("--shrink", type=int, default=0, help="how often to try to shrink")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
