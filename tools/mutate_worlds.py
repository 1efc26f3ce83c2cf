"""Plant faults in a package, and see which of them the simulated worlds notice, and nobody else.

    python -m tools.mutate_worlds --path runtime/peers/booking --kind labs --sample 40

Each mutant is tried in a process of its own, which plays seeds until one fails or the time is over.
A line that no world runs is told apart: no auditor could notice it. So are those of
`tests/worlds/harmless_mutants.toml`, each with the reason why it makes nothing worse.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Any

from tools.mutants import Mutant, find_mutants

ROOT = Path(__file__).parent.parent
HARMLESS = ROOT / "tests" / "worlds" / "harmless_mutants.toml"
LOOKED_AT = 12
"""Worlds that are played to see which lines run in them."""


class WorldVerdict(StrEnum):
    """What the worlds said of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    NOT_RUN = "not run"
    HARMLESS = "harmless"


@dataclass(frozen=True, slots=True)
class WorldsTried:
    """A mutant, what the worlds said of it, and in how many seconds."""

    mutant: Mutant
    verdict: WorldVerdict
    seconds: float


class _Planted(importlib.abc.MetaPathFinder):
    """Loads one module from a source that has a fault."""

    def __init__(self, file: Path, source: bytes) -> None:
        self._file, self._source = file, source

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        found = importlib.machinery.PathFinder.find_spec(name, path, target)
        if found is None or found.origin != str(self._file):
            return None
        code = compile(self._source, str(self._file), "exec")

        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, _: str) -> Any:
                return code

        found.loader = Loader(name, str(self._file))
        return found


def play_until_one_fails(kinds: Sequence[str], seeds: int, seconds: float) -> bool:
    """Return whether a world of one of the kinds (of any, by default) fails, in so many seconds."""
    import logging

    from runtime.testing.world.kinds import KINDS
    from runtime.testing.world.tape import NoTape

    logging.disable()
    deadline = time.monotonic() + seconds
    for seed in range(seeds):
        for kind in kinds or KINDS:
            if KINDS[kind].play(KINDS[kind].draw(seed), tape=NoTape()).failures:
                return True
        if time.monotonic() > deadline:
            break
    return False


def lines_run(kinds: Sequence[str], folder: Path) -> dict[str, set[int]]:
    """Return which lines of which files run in a few worlds; where they are loaded, too."""
    found: dict[str, set[int]] = defaultdict(set)
    prefix = str(folder)

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        file = frame.f_code.co_filename
        if not file.startswith(prefix):
            return None
        if event == "line":
            found[file].add(frame.f_lineno)
        return trace

    sys.settrace(trace)
    threading.settrace(trace)  # a program in a world has a thread
    try:
        play_until_one_fails(kinds, LOOKED_AT, 600.0)
    finally:
        sys.settrace(None)
        threading.settrace(None)
    return found


def in_a_process(does: Any, seconds: float) -> int:
    """Do something in a copy of this process; return its exit code, 9 if it hangs or dies."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        signal.alarm(int(seconds) + 1)
        code = 3
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            code = int(does())
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return 9 if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def try_out(mutant: Mutant, kinds: Sequence[str], seeds: int, seconds: float) -> WorldsTried:
    """Play worlds with a mutant in them. One that hangs, or cannot be loaded, is noticed."""
    file = ROOT / mutant.file
    source = mutant.apply(file.read_bytes())

    def play() -> bool:
        sys.meta_path.insert(0, _Planted(file, source))
        return play_until_one_fails(kinds, seeds, seconds)

    begun = time.monotonic()
    code = in_a_process(play, 2 * seconds + 30)
    verdict = WorldVerdict.KILLED if code else WorldVerdict.SURVIVED
    return WorldsTried(mutant, verdict, time.monotonic() - begun)


def main() -> int:
    """Run what the command line asks for; survivors are a report, not a failure."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutate_worlds", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--path", required=True, help="the file or folder to plant faults in")
    parser.add_argument("--kind", action="append", help="a kind of worlds; all of them by default")
    parser.add_argument("--sample", type=int, default=40, help="try at most this many mutants")
    parser.add_argument("--seed", type=int, default=1, help="decides which")
    parser.add_argument("--seeds", type=int, default=1000, help="the most worlds for each")
    parser.add_argument("--seconds", type=float, default=60.0, help="the most time for each")
    parser.add_argument("--jobs", type=int, default=1, help="tries at the same time")
    options = parser.parse_args()
    kinds = options.kind or []
    folder = ROOT / options.path
    files = [folder] if folder.is_file() else sorted(folder.rglob("*.py"))
    mutants = [
        mutant
        for file in files
        for mutant in find_mutants(file.read_bytes(), file.relative_to(ROOT).as_posix())
    ]
    random.Random(options.seed).shuffle(mutants)
    mutants = mutants[: options.sample]
    run, harmless = _lines_in_a_process(kinds, folder), harmless_mutants()
    tried = []
    with ThreadPoolExecutor(options.jobs) as threads:

        def look(mutant: Mutant) -> WorldsTried:
            source = (ROOT / mutant.file).read_text(encoding="utf-8")
            if known_as(mutant, source) in harmless:
                return WorldsTried(mutant, WorldVerdict.HARMLESS, 0.0)
            lines = run.get(str(ROOT / mutant.file), set())
            last = mutant.line + mutant.original.count("\n")
            if not lines & set(range(mutant.line, last + 1)):
                return WorldsTried(mutant, WorldVerdict.NOT_RUN, 0.0)
            return try_out(mutant, kinds, options.seeds, options.seconds)

        for one in threads.map(look, mutants):
            tried.append(one)
            if one.verdict in (WorldVerdict.SURVIVED, WorldVerdict.NOT_RUN):
                print(f"{one.verdict}  {one.mutant}", flush=True)
    print(report(tried))
    return 0


def known_as(mutant: Mutant, source: str) -> str:
    """Return how a mutant is known though its line moves: by what that line says.

    >>> known_as(Mutant("a.py", 2, 0, 1, "0", "1"), "first\\n    second = 0\\n")
    'a.py: second = 0: 0 -> 1'
    """
    line = source.splitlines()[mutant.line - 1].strip()
    return str(mutant).replace(f":{mutant.line}: ", f": {line}: ", 1)


def harmless_mutants(file: Path = HARMLESS) -> frozenset[str]:
    """Return the mutants that make nothing worse."""
    return frozenset(tomllib.loads(file.read_text(encoding="utf-8")).get("why", {}))


def report(tried: Sequence[WorldsTried]) -> str:
    """Return how many of the mutants of each file were noticed.

    >>> one = Mutant("a.py", 1, 0, 1, "a", "b")
    >>> print(report([WorldsTried(one, WorldVerdict.KILLED, 1.0)]))
    file  tried  killed  survived  not run  harmless
    a.py      1       1         0        0         0
    all       1       1         0        0         0
    """
    counts: dict[str, Counter[WorldVerdict]] = defaultdict(Counter)
    for one in tried:
        counts[one.mutant.file][one.verdict] += 1
        counts["all"][one.verdict] += 1
    width = max(map(len, counts))
    lines = [f"{'file':<{width}}  tried  killed  survived  not run  harmless"]
    for file in [*sorted(counts.keys() - {"all"}), "all"]:
        found = counts[file]
        killed, survived, not_run, harmless = (found[one] for one in WorldVerdict)
        total = found.total()
        row = f"{file:<{width}}  {total:5}  {killed:6}  {survived:8}  {not_run:7}  {harmless:8}"
        lines.append(row)
    return "\n".join(lines)


def _lines_in_a_process(kinds: Sequence[str], folder: Path) -> dict[str, set[int]]:
    """Return which lines run, found out in a process of its own, which loads the package anew."""
    with tempfile.NamedTemporaryFile("w+") as file:

        def look() -> int:
            found = {name: sorted(lines) for name, lines in lines_run(kinds, folder).items()}
            json.dump(found, file)
            file.flush()
            return 0

        if in_a_process(look, 600.0):
            raise SystemExit("the worlds fail without a mutant")
        file.seek(0)
        return {name: set(lines) for name, lines in json.load(file).items()}


if __name__ == "__main__":
    sys.exit(main())
