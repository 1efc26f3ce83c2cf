"""A copy of the tree in which the mutation runner plants one fault after the other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import count
from pathlib import Path

from tools.line_map import AT_IMPORT
from tools.mutants import Mutant
from tools.warm_pytest import HUNG

NO_TESTS_FOUND = 5
# The tests of these tools themselves: slow, and they look at no behaviour of the package.
NOT_ASKED = "house"
MEMORY_LIMIT = 6 * 2**30
NOT_COPIED = (".*", "__pycache__", "*.egg-info", "build", "dist")


LineTests = dict[str, dict[int, list[str]]]


class Verdict(StrEnum):
    """What the tests said of a mutant."""

    KILLED = "killed"
    HUNG = "hung"
    SURVIVED = "survived"


class BrokenTestsError(Exception):
    """The tests fail without any mutant, so they could tell nothing."""


class Workshop:
    """One copy of the tree, in which one mutant after the other is tried."""

    def __init__(self, root: Path, folder: Path, tests: str) -> None:
        shutil.copytree(root, folder, ignore=shutil.ignore_patterns(*NOT_COPIED))
        self.folder = folder
        self.tests = tests
        self._ignore = f"--ignore={Path(tests, NOT_ASKED)}"
        self.patience = 600.0
        self.tests_of_lines: LineTests = {}
        self._output = folder / "pytest.log"
        # Cached bytecode is recognised by size and time: give each version a time of its own.
        self._times = count(1)
        self._server = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("warm_pytest.py"))],
            cwd=folder,
            # One thread, because the process forks.
            env={**os.environ, "PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def measure(self, package: str) -> tuple[float, LineTests]:
        """Return the seconds that the tests take as they are, and which tests run which lines.

        Raises BrokenTestsError.
        """
        start = time.monotonic()
        output = self.folder / "lines.json"
        if self._ask([self.tests], lines=[str(output), package]) != "0":
            raise BrokenTestsError(
                f"The tests fail, hang or are missing without any mutant. Make this pass first: "
                f"python -m pytest {self._ignore} {self.tests}\n{self._output.read_text()[-2000:]}"
            )
        read = json.loads(output.read_text())
        lines = {file: {int(n): tests for n, tests in read[file].items()} for file in read}
        return time.monotonic() - start, lines

    def try_out(self, mutant: Mutant) -> Verdict:
        """Plant the mutant, run the tests, and take it out again."""
        path = self.folder / mutant.file
        source = path.read_bytes()
        self._write(path, mutant.apply(source))
        try:
            for tests in self._tests_for(mutant):
                verdict = self._pytest(tests)
                if verdict is not Verdict.SURVIVED:
                    return verdict
            return Verdict.SURVIVED
        finally:
            self._write(path, source)

    def _tests_for(self, mutant: Mutant) -> Iterator[list[str]]:
        """Yield the tests that run the line, then those of the package.

        A line that no test runs may be one that runs at import, whose effect shows elsewhere: then
        those that run any line of its file follow, or all if the file has only such lines.
        """
        lines = self.tests_of_lines.get(mutant.file, {})
        last = mutant.line + mutant.original.count("\n")
        direct = _named(lines.get(line, []) for line in range(mutant.line, last + 1))
        near = self._tests_near(mutant.file)
        yield from filter(None, [direct, near])
        if not direct:
            yield _named(lines.values()) or [self.tests]

    def _write(self, path: Path, source: bytes) -> None:
        path.write_bytes(source)
        moment = next(self._times)
        os.utime(path, (moment, moment))

    def _tests_near(self, file: str) -> list[str]:
        """Return the test folder or file that mirrors a source file: gcm/adl/x.py -> adl."""
        inner = Path(*Path(file).parts[1:])
        if inner.parent.name and Path(self.tests).match(str(inner.parent)):
            mirror = Path(self.tests)
        elif len(inner.parts) > 1:
            mirror = Path(self.tests, inner.parent)
        else:
            mirror = Path(self.tests, f"test_{inner.stem}.py")
        return [str(mirror)] if (self.folder / mirror).exists() else []

    def _pytest(self, arguments: Sequence[str]) -> Verdict:
        answer = self._ask(arguments)
        if answer == HUNG:
            return Verdict.HUNG
        return Verdict.SURVIVED if int(answer) in {0, NO_TESTS_FOUND} else Verdict.KILLED

    def _ask(self, arguments: Sequence[str], **more: object) -> str:
        # The libraries are imported already, too late for pytest to rewrite assertions in them.
        options = ["-x", "-q", "-p", "no:cacheprovider", "--assert=plain", self._ignore]
        request = {
            "arguments": [*options, *arguments],
            "patience": self.patience,
            "memory": MEMORY_LIMIT,
            "output": str(self._output),
            **more,
        }
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return self._server.stdout.readline().strip()

    def close(self) -> None:
        """End the process that runs the tests."""
        with self._server:
            assert self._server.stdin is not None
            self._server.stdin.close()


def _named(groups: Iterable[Iterable[str]]) -> list[str]:
    return sorted({test for group in groups for test in group} - {AT_IMPORT})
