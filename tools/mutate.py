"""Run the unit tests against planted faults and list those that no test notices.

    python -m tools.mutate                                all of gcm/, 15 minutes at most
    python -m tools.mutate --path gcm/adl --sample 200    200 faults of one package

Each mutant is tried in a copy of the tree: first by the tests that run its line, then by the other
unit tests of its package. It is noticed if they fail, hang or run out of memory.
The faults are tried in a random order that the seed decides, so that a run cut short by its
budget is a fair sample.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import queue
import random
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutants import Mutant, find_mutants
from tools.workshop import BrokenTestsError, Verdict, Workshop


@dataclass(frozen=True, slots=True)
class Tried:
    """A mutant and what the tests said of it."""

    mutant: Mutant
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Options:
    """What to mutate, where the tests are, and how much of it to try."""

    root: Path
    paths: tuple[str, ...] = ("gcm",)
    tests: str = "tests/unit"
    sample: int | None = None
    seed: int = 1
    budget_seconds: float = 900.0
    jobs: int = os.cpu_count() or 1
    seconds: tuple[float, float] = (10.0, 2.0)
    """What a mutant gets: so many, and so many times what the tests take without it."""


def choose(options: Options) -> list[Mutant]:
    """Return the mutants to try, in the order the seed decides."""
    files = sorted(
        file
        for path in map(options.root.joinpath, options.paths)
        for file in ([path] if path.is_file() else path.rglob("*.py"))
    )
    mutants = [
        mutant
        for file in files
        for mutant in find_mutants(file.read_bytes(), file.relative_to(options.root).as_posix())
    ]
    random.Random(options.seed).shuffle(mutants)
    return mutants[: options.sample]


def run(options: Options) -> tuple[list[Tried], int]:
    """Try the mutants until they or the budget end; return the results and how many there were.

    Raises BrokenTestsError when the tests fail as they are.
    """
    deadline = time.monotonic() + options.budget_seconds
    mutants = choose(options)
    waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in mutants:
        waiting.put(mutant)
    tried: list[Tried] = []
    with contextlib.ExitStack() as at_end:
        folder = at_end.enter_context(tempfile.TemporaryDirectory(prefix="mutate-"))
        workshops = []
        for number in range(options.jobs):
            workshop = Workshop(options.root, Path(folder, str(number)), options.tests)
            workshops.append(at_end.enter_context(contextlib.closing(workshop)))
        seconds, tests_of_lines = workshops[0].measure(Path(options.paths[0]).parts[0])
        for workshop in workshops:
            workshop.patience = options.seconds[0] + options.seconds[1] * seconds
            workshop.tests_of_lines = tests_of_lines
        stop = threading.Event()

        def work(workshop: Workshop) -> None:
            while time.monotonic() < deadline and not stop.is_set():
                try:
                    mutant = waiting.get_nowait()
                except queue.Empty:
                    return
                tried.append(Tried(mutant, workshop.try_out(mutant)))

        threads = [threading.Thread(target=work, args=(workshop,)) for workshop in workshops]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            # After Ctrl-C: the copies may go only when nobody works in them any more.
            stop.set()
            for thread in threads:
                thread.join()
    return tried, len(mutants)


def report(tried: Sequence[Tried], total: int) -> str:
    """Return the score of each module and the list of survivors."""
    modules: dict[str, list[Verdict]] = defaultdict(list)
    for one in tried:
        modules[one.mutant.file].append(one.verdict)
    width = max([len("all"), *map(len, modules)])
    lines = [f"{'module':<{width}}  mutants  noticed"]
    for file, verdicts in [*sorted(modules.items()), ("all", [one.verdict for one in tried])]:
        lines.append(f"{file:<{width}}  {len(verdicts):7}  {_score(verdicts)}")
    survivors = [one.mutant for one in tried if one.verdict is Verdict.SURVIVED]
    survivors.sort(key=lambda mutant: (mutant.file, mutant.start, mutant.replacement))
    lines += ["", f"{len(tried)} of {total} mutants tried, {len(survivors)} survived:"]
    lines += [f"  {mutant}" for mutant in survivors]
    return "\n".join(lines)


def _score(verdicts: Sequence[Verdict]) -> str:
    noticed = sum(verdict is not Verdict.SURVIVED for verdict in verdicts)
    return f"{100 * noticed / len(verdicts):5.1f} %" if verdicts else "    -"


def parse(arguments: Sequence[str]) -> Options:
    """Return the options that the command line asks for."""
    default = Options(Path.cwd())
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--path", action="append", help="file or folder to mutate, default gcm")
    parser.add_argument("--tests", default=default.tests, help="folder that mirrors the package")
    parser.add_argument("--sample", type=int, help="try at most this many mutants")
    parser.add_argument("--seed", type=int, default=default.seed, help="decides the order")
    parser.add_argument("--budget-seconds", type=float, default=default.budget_seconds)
    parser.add_argument("--jobs", type=int, default=default.jobs, help="tries at the same time")
    parser.add_argument("--root", type=Path, default=default.root, help="the checkout")
    given = parser.parse_args(arguments)
    for path in [*(given.path or default.paths), given.tests]:
        if not (given.root / path).exists():
            parser.error(f"there is no {path} in {given.root}")
    return Options(
        root=given.root.resolve(),
        paths=tuple(given.path or default.paths),
        tests=given.tests,
        sample=given.sample,
        seed=given.seed,
        budget_seconds=given.budget_seconds,
        jobs=given.jobs,
    )


def main() -> int:
    """Run what the command line asks for; survivors are a report, not a failure."""
    try:
        print(report(*run(parse(sys.argv[1:]))))
    except BrokenTestsError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
