"""What became of the tests of a module: read from the ranks' reports, merged and counted."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

EXCLUDED = Path(__file__).with_name("excluded.toml")

# From harmless to bad: of what a test is at different ranks, the worst counts.
WORDS = ("excluded", "passed", "skipped", "begins", "failed")
UNFINISHED = "begins"


@dataclass
class Result:
    """One module on one grid: what each test was, and what was said about it."""

    words: dict[str, str] = field(default_factory=dict)
    details: dict[str, str] = field(default_factory=dict)
    problem: str = ""
    """Why the run itself went wrong, such as a hang."""
    libraries: set[str] = field(default_factory=set)
    """The first words of the native MPIs' names that the ranks ran with."""
    seconds: float = 0.0

    @property
    def counts(self) -> Counter[str]:
        """How many tests were what."""
        return Counter(self.words.values())

    def faults(self) -> list[str]:
        """Return the names of tests that did not end well."""
        return sorted(test for test, word in self.words.items() if word in (UNFINISHED, "failed"))

    def skipped(self) -> set[str]:
        """Return the names of tests that skipped themselves somewhere."""
        return {test for test, word in self.words.items() if word == "skipped"}

    @property
    def is_good(self) -> bool:
        """Whether all tests ran and ended well."""
        return not self.problem and not self.faults() and bool(self.words)


def read_reports(folder: Path, ranks: int) -> Result:
    """Return what the ranks have written."""
    result = Result()
    ended = 0
    for file in sorted(folder.glob("*.jsonl")):
        mine: dict[str, tuple[str, str]] = {}
        for line in file.read_text(encoding="utf-8").splitlines():
            word, test, detail = json.loads(line)
            if word == "end":
                ended += 1
                result.libraries.add(detail)
            else:
                mine[test] = word, detail  # `begins` is followed by what became of it
        for test, (word, detail) in mine.items():
            _note(result, test, word, f"rank {file.stem}: {detail}" if detail else "")
    result.problem = "" if ended == ranks else f"only {ended} of {ranks} ranks came to the end"
    return result


def _note(result: Result, test: str, word: str, detail: str) -> None:
    known = result.words.get(test)
    if known is None or WORDS.index(word) > WORDS.index(known):
        result.words[test] = word
        result.details[test] = detail


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Tests, or helpers that tests call, that are not run, and why."""

    tests: tuple[str, ...]
    helpers: tuple[str, ...]
    grids: tuple[str, ...]
    reason: str


def read_exclusions(path: Path = EXCLUDED) -> list[Exclusion]:
    """Return the list of the repository; raises KeyError for an entry without a reason."""
    found = tomllib.loads(path.read_text(encoding="utf-8")).get("excluded", [])
    return [
        Exclusion(
            tuple(one.get("tests", ())),
            tuple(one.get("helpers", ())),
            tuple(one.get("grids", ())),
            one["reason"],
        )
        for one in found
    ]


def excluded_on(mixed_with: str, grid: str, exclusions: list[Exclusion]) -> list[str]:
    """Return the patterns that hold for a grid, and for the other MPI it is mixed with, if any."""
    return [
        pattern
        for one in exclusions
        if not one.grids or {mixed_with, grid} & {*one.grids}
        for pattern in (*one.tests, *one.helpers)
    ]


def unused(exclusions: list[Exclusion], tests: set[str]) -> list[str]:
    """Return the patterns that fit no test that there is."""
    return [
        pattern
        for one in exclusions
        for pattern in one.tests
        if not any(fnmatchcase(test, pattern) for test in tests)
    ]
