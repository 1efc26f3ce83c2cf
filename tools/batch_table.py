"""What works with which batch system, from the results of tests, as a table.

make test-all
python -m tools.batch_table build/results/*.xml

`real` means that a run of `gcm-deploy` has done it with the real daemons, and that what these
recorded was compared; `recorded` that text is compared with what the manual shows or what the
daemons have printed. A test says which cells it stands for (`shows` in setup.cfg). A cell one of
whose tests has failed or was skipped is not real. Of a test that is in several files the last one
counts.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from xml.etree import ElementTree as ET

CELLS = (
    "script", "submit", "queue reason", "nodes", "start", "output", "cancel", "walltime",
    "node lost", "rejected option", "launcher killed", "inside an allocation", "detached",
)  # fmt: skip
SYSTEMS = ("slurm", "grid-engine", "oar", "pbs", "lsf", "flux")
WORDS = ("recorded", "real")
"""The better one last."""

Words = Mapping[tuple[str, str], str]


def words(files: Sequence[str]) -> Words:
    """Return the word for each system and cell, from JUnit files."""
    tests: dict[tuple[str, ...], list[ET.Element]] = {}
    for file in files:
        found: dict[tuple[str, ...], list[ET.Element]] = {}
        for case in ET.parse(file).getroot().iter("testcase"):
            test = case.get("classname", ""), case.get("name", "")
            found.setdefault(test, []).append(case)  # one that has also failed in its end is twice
        tests |= found
    good: set[tuple[str, str]] = set()
    bad: set[tuple[str, str]] = set()
    for case in chain.from_iterable(tests.values()):
        is_good = all(case.find(word) is None for word in ("failure", "error", "skipped"))
        told = {(one.get("name", ""), one.get("value", "")) for one in case.iter("property")}
        (good if is_good else bad).update(told)
    cells: dict[tuple[str, str], str] = {}
    for word in WORDS:
        for name, value in good - bad:
            if name == word:
                system, _, cell = value.partition(": ")
                cells[system, cell] = word
    return cells


def table(told: Words) -> Sequence[Sequence[str]]:
    """Return the rows of the table, its head first."""
    head = ("", *(f"`{system}`" for system in SYSTEMS))
    return (head, *((cell, *(told.get((one, cell), "-") for one in SYSTEMS)) for cell in CELLS))


def main() -> int:
    """Print the table in Markdown, a system in each column."""
    for number, line in enumerate(table(words(sys.argv[1:]))):
        print(f"| {' | '.join(line)} |")
        if not number:
            print(f"|{'---|' * len(line)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
