"""Runs tests of the framework where every primitive lives on a node of one running machine.

`on_nodes.toml` has the files, the tests that show a difference of docs/fractal.md, by its number,
and those that should pass and do not yet. Neither are run: most would wait for what happens to a
copy.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gcm.factory import ComponentPlace, placed

FILE = Path(__file__).with_suffix(".toml")
SECONDS = 30
"""How long one test may take."""

SAME, DIFFERS, FAULT, FAILS = "the same", "differ", "known faults", "FAIL"


class OnNodes:
    """A plugin of pytest that places the primitives of each test, and counts how tests end."""

    def __init__(self, nodes: ComponentPlace) -> None:
        self._nodes = nodes
        self._known = dict(known())
        self.ended: Counter[str] = Counter()
        self.failed: dict[str, float] = {}
        """The tests that have failed, and after how many seconds."""

    @pytest.fixture(autouse=True)
    def on_nodes(self) -> Iterator[None]:
        """Let primitives that the test makes live on the nodes."""
        with placed(self._nodes):
            yield

    def pytest_collection_modifyitems(self, items: list[pytest.Item], config: Any) -> None:
        """Leave out what differs, and what does not work yet."""
        left_out = [one for one in items if self._why(one.nodeid)]
        items[:] = [one for one in items if not self._why(one.nodeid)]
        self.ended.update(self._why(one.nodeid) for one in left_out)
        config.hook.pytest_deselected(items=left_out)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count how a test has ended, whose setup or end may fail too."""
        if report.failed:
            self.failed[report.nodeid] = report.duration
            self.ended[FAILS] += 1
        elif report.when == "call":
            self.ended[SAME] += 1

    def _why(self, test: str) -> str:
        return self._known.get(test) or self._known.get(test.partition("[")[0], "")


def known() -> Iterator[tuple[str, str]]:
    """Yield each test that is left out, and why."""
    table = _table()
    groups = [(DIFFERS, files) for files in table["difference"].values()]
    for why, files in (*groups, (FAULT, table["fault"])):
        for file, tests in files.items():
            for test in tests:
                yield f"{file}::{test}", why


def numbers() -> list[int]:
    """Return the numbers of the differences."""
    return sorted(map(int, _table()["difference"]))


def run_tests(nodes: ComponentPlace) -> Counter[str]:
    """Run the tests; return how many are the same, differ and fail.

    Those that fail run once more, without the others, and are named with what became of them: a
    busy machine may starve a test, and one that fails twice has failed.
    """
    first = _run(nodes, _table()["suites"])
    if not first.failed:
        return first.ended
    again = _run(nodes, list(first.failed))
    for test, seconds in first.failed.items():
        became = "failed again" if test in again.failed else "passed"
        print(f"retried: {test} failed after {seconds:.1f} s, alone it {became}")
    first.ended[FAILS] = again.ended[FAILS]
    first.ended[SAME] += again.ended[SAME]
    return +first.ended


def _run(nodes: ComponentPlace, tests: list[str]) -> OnNodes:
    plugin = OnNodes(nodes)
    options = ["--quiet", "--on-nodes", f"--timeout={SECONDS}", "-p", "no:cacheprovider"]
    code = pytest.main([*options, *tests], plugins=[plugin])
    if code and not plugin.failed:  # such as a file that cannot be imported
        plugin.ended[FAILS] += 1
    return plugin


def _table() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))
