"""Tests that failed and then passed or failed alone: what is known of both runs, by name.

    python -m tools.retried build/results/test-slow.xml build/results/again/test-slow.xml FOLDER

Each is a fault, of the test or of what it tests, until somebody has explained it. So `.ci/run`
prints what this says whether it passes or not; what decides is the exit code of the tests alone.
The whole reports go into FOLDER, a file for each test, beside the folders of earlier runs.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

MARK = "retried: "
"""What each line begins with, by which `.ci/run` finds them among all that pytest says."""

LAST_LINES = 12
"""How many lines of the report of a failure are printed: the last ones have the reason."""

LONGEST_REPORT = 200_000
"""How many characters of a report are kept, half of them its beginning: some print megabytes."""

MOST_RUNS = 20
"""Of how many runs the reports are kept, those of the last ones."""

_UNSAFE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class Case:
    """One run of a test: how many seconds it took, and the report of its failure, "" for none.

    What it printed is there only where it failed.
    """

    seconds: float
    failure: str
    output: str = ""


def cases(file: Path) -> dict[str, Case]:
    """Return the tests of a file of results by name; nothing where there is no such file."""
    found: dict[str, Case] = {}
    for case in ET.parse(file).getroot().iter("testcase") if file.exists() else ():
        name = f"{case.get('classname', '').replace('.', '/')}::{case.get('name', '')}"
        reports = [one for kind in ("failure", "error") for one in case.iter(kind)]
        text = "\n".join(one.text or one.get("message") or "" for one in reports)
        seconds, before = float(case.get("time", 0)), found.get(name, Case(0.0, ""))
        text = "\n".join(filter(None, (before.failure, text)))  # twice there: its end has failed
        printed = [
            one.text or "" for kind in ("system-out", "system-err") for one in case.iter(kind)
        ]
        found[name] = Case(before.seconds + seconds, text, "\n".join([before.output, *printed]))
    return found


def history(first: Mapping[str, Case], again: Mapping[str, Case]) -> Iterator[str]:
    """Yield lines about each test that ran again: how it failed, and what became of it alone."""
    for name, alone in again.items():
        before = first.get(name, Case(0.0, "no report of the first run"))
        then = "FAILED again" if alone.failure else "passed"
        took = f"failed after {before.seconds:.1f} s, alone it {then} in {alone.seconds:.1f} s"
        yield f"{name} {took}"
        for line in before.failure.splitlines()[-LAST_LINES:]:
            yield f"    {line}"


def keep(first: Mapping[str, Case], again: Mapping[str, Case], folder: Path) -> None:
    """Write both reports of each test that ran again into a file of `folder`, one of a few runs."""
    for number, (name, alone) in enumerate(again.items()):
        folder.mkdir(parents=True, exist_ok=True)
        before = first.get(name, Case(0.0, ""))
        parts = before.failure, before.output, alone.failure or "passed", alone.output
        text = "first:\n{}\n\n{}\n\nalone:\n{}\n\n{}".format(*map(_shortened, parts))
        file = f"{number}-{_UNSAFE.sub('-', name.rsplit('::')[-1])[:100]}.txt"
        (folder / file).write_text(f"{name}\n\n{text}\n")
    for past in sorted(folder.parent.glob("*/"))[:-MOST_RUNS]:
        shutil.rmtree(past)


def _shortened(text: str, most: int = LONGEST_REPORT) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}\n... {len(text) - most} characters ...\n{text[-most // 2 :]}"


def main() -> int:
    """Print what is known of the tests in both files, and keep their reports."""
    first, again, folder = map(Path, sys.argv[1:])
    both = cases(first), cases(again)
    for line in history(*both):
        print(f"{MARK}{line}")
    keep(*both, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
