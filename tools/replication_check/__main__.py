"""Explore small runs of the replication protocol and print how many states each has.

python -m tools.replication_check                  all sizes
python -m tools.replication_check --size "there and back" --crashes 2
python -m tools.replication_check --mutations      protocols that are wrong in one point
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time

from tools.replication_check.mutations import MUTATIONS
from tools.replication_check.properties import NAMES, AllProperties
from tools.replication_check.sizes import SIZES
from tools.replication_check.space import explore


def main(arguments: list[str] | None = None) -> int:
    """Explore; return 1 if a property does not hold somewhere."""
    parser = argparse.ArgumentParser(prog="replication_check", description=__doc__)
    parser.add_argument("--size", action="append", choices=list(SIZES))
    parser.add_argument("--crashes", type=int, help="how many processes may die")
    parser.add_argument("--most", type=int, default=10**7, help="states at most")
    parser.add_argument("--mutations", action="store_true", help="wrong protocols instead")
    chosen = parser.parse_args(arguments)
    for name, rule in NAMES.items():
        print(f"{name}: {rule}")
    if chosen.mutations:
        return _try_mutations()
    failed = False
    for name in chosen.size or SIZES:
        size = SIZES[name]
        if chosen.crashes is not None:
            size = dataclasses.replace(size, crashes=chosen.crashes)
        began = time.monotonic()
        found = explore(size, AllProperties, most=chosen.most)
        verdict = found.problem or ("all hold" if found.is_complete else "not all visited")
        print(
            f"{name}, {size.crashes} crashes: {found.states} states, {found.steps} steps, "
            f"{found.ends} ends, {found.process_states} states of processes, "
            f"{time.monotonic() - began:.1f} s: {verdict}",
            *found.trace,
            sep="\n    ",
        )
        failed = failed or bool(found.problem)
    return int(failed)


def _try_mutations() -> int:
    missed = 0
    for name, mutation in MUTATIONS.items():
        with mutation.planted():
            found = explore(SIZES[mutation.size], AllProperties)
        missed += not found.problem
        print(f"{name}: {found.problem or 'not noticed'}", *found.trace, sep="\n    ")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
