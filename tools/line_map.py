"""A pytest plugin that records which tests run which lines, for the mutation runner."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

AT_IMPORT = ""
"""Stands for a test where a line ran outside of any, which is while modules are imported."""


class LineMap:
    """Write {file: {line: [test, ...]}} of one run, paths relative to the current folder."""

    def __init__(self, output: str, package: str) -> None:
        self._output = Path(output)
        self._root = Path.cwd()
        include = [str(self._root / package / "*")]
        self._coverage = coverage.Coverage(data_file=None, config_file=False, include=include)
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note all that runs meanwhile under the test's name, one name for all its parameters."""
        self._coverage.switch_context(item.nodeid.partition("[")[0])
        try:
            return (yield)
        finally:
            self._coverage.switch_context(AT_IMPORT)

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        self._coverage.stop()
        data = self._coverage.get_data()
        lines = {
            str(Path(file).relative_to(self._root)): data.contexts_by_lineno(file)
            for file in data.measured_files()
        }
        self._output.write_text(json.dumps(lines))
