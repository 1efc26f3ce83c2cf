"""Tests that failed and then passed or failed alone: what is known of both runs, by name.

    python -m tools.retried build/results/test-slow.xml build/results/again/test-slow.xml

Each is a fault, of the test or of what it tests, until somebody has explained it. So `.ci/run`
prints what this says whether it passes or not; what decides is the exit code of the tests alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

MARK = "retried: "
"""What each line begins with, by which `.ci/run` finds them among all that pytest says."""

LAST_LINES = 12
"""How many lines of the report of a failure are printed: the last ones have the reason."""


@dataclass(frozen=True)
class Case:
    """One run of a test: how many seconds it took, and the report of its failure, "" for none."""

    seconds: float
    failure: str


def cases(file: Path) -> dict[str, Case]:
    """Return the tests of a file of results by name; nothing where there is no such file."""
    found: dict[str, Case] = {}
    for case in ET.parse(file).getroot().iter("testcase") if file.exists() else ():
        name = f"{case.get('classname', '').replace('.', '/')}::{case.get('name', '')}"
        reports = [one for kind in ("failure", "error") for one in case.iter(kind)]
        text = "\n".join(one.text or one.get("message") or "" for one in reports)
        seconds, before = float(case.get("time", 0)), found.get(name, Case(0.0, ""))
        text = "\n".join(filter(None, (before.failure, text)))  # twice there: its end has failed
        found[name] = Case(before.seconds + seconds, text)
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


def main() -> int:
    """Print what is known of the tests in both files."""
    first, again = map(Path, sys.argv[1:])
    for line in history(cases(first), cases(again)):
        print(f"{MARK}{line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
