"""Runs one module of mpi4py's own tests in a rank, and writes down what becomes of each test.

    run_module.py FOLDER MODULE REPORT TYPES [EXCLUDED ...]

FOLDER has the tests, REPORT is the folder for one file of lines for each rank; an excluded test is
named by a pattern, a helper that tests call by its class and name. What MPI is in it is none of
this program's business. TYPES are the codes of the elements of which tests make arrays, all of them
where it is empty.
"""

from __future__ import annotations

import fnmatch
import importlib
import json
import os
import sys
import traceback
import unittest
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from mpi4py import MPI

_Error = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]


class Report(unittest.TestResult):
    """Writes a line when a test begins and one when it ends, at once, for the case of a hang."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("w", encoding="utf-8")
        self._word = ""

    def say(self, word: str, test: str, detail: str = "") -> None:
        """Write one line."""
        print(json.dumps([word, test, detail]), file=self._file, flush=True)

    def startTest(self, test: unittest.TestCase) -> None:
        """Know that a test begins."""
        super().startTest(test)
        self._word = "passed"
        self.say("begins", test.id())

    def stopTest(self, test: unittest.TestCase) -> None:
        """Know that it has ended."""
        super().stopTest(test)
        if self._word == "passed":
            self.say("passed", test.id())

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        """Know that it skipped itself."""
        super().addSkip(test, reason)
        self._ended("skipped", test, reason)

    def addError(self, test: unittest.TestCase, err: _Error) -> None:
        """Know that it raised something."""
        super().addError(test, err)
        self._ended("failed", test, _shown(err))

    addFailure = addError

    def addSubTest(
        self, test: unittest.TestCase, subtest: unittest.TestCase, err: _Error | None
    ) -> None:
        """Know that a part of it has ended."""
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._ended("failed", test, _shown(err))

    def _ended(self, word: str, test: Any, detail: str) -> None:
        self._word = word
        self.say(word, test.id(), detail)


def _shown(err: _Error) -> str:
    """Return what a test raised, and where, without the frames of unittest."""
    _, error, trace = err
    frames = [one for one in traceback.extract_tb(trace) if "/unittest/" not in one.filename]
    where = "".join(traceback.format_list(frames)).replace(f"{Path.cwd()}/", "")
    return where + "".join(traceback.format_exception_only(error))


def tests_in(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    """Yield the single tests of a suite."""
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from tests_in(one)
        else:
            yield one


def without_helper(test: unittest.TestCase, helper: str) -> None:
    """Let a test go on without what a helper checks, which is named like a test."""
    module, _, name = helper.partition(".")
    base, _, method = name.partition(".")
    if type(test).__module__ == module and base in {one.__name__ for one in type(test).__mro__}:
        setattr(test, method, lambda *_args, **_kwargs: None)


def use_types(codes: str) -> None:
    """Let tests loop over arrays of the standard library alone, with elements of these types."""
    arrays: Any = importlib.import_module("arrayimpl")
    arrays.ArrayBackends[:] = [one for one in arrays.ArrayBackends if one.backend == "array"]
    for one in arrays.ArrayBackends:
        one.TypeMap = {code: found for code, found in one.TypeMap.items() if code in codes}


def main() -> int:
    """Run the module; return 0 unless a test failed."""
    folder, module, reports, types, *excluded = sys.argv[1:]
    sys.path.insert(0, folder)
    # The tests look for these libraries, which take long to load where they are installed.
    for library in ("cupy", "numba"):
        sys.modules[library] = None  # type: ignore[assignment]  # the way to forbid an import
    if types:
        use_types(types)
    report = Report(Path(reports) / f"{MPI.COMM_WORLD.Get_rank()}-{os.getpid()}.jsonl")
    chosen = unittest.TestSuite()
    for test in tests_in(unittest.defaultTestLoader.loadTestsFromName(module)):
        if any(fnmatch.fnmatchcase(test.id(), pattern) for pattern in excluded):
            report.say("excluded", test.id())
        else:
            for pattern in excluded:
                without_helper(test, pattern)
            chosen.addTest(test)
    chosen.run(report)
    report.say("end", module, MPI.Get_library_version().split()[0])
    return 0 if report.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
