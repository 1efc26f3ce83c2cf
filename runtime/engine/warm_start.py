"""Lets the front-ends of this machine get ready while the launcher still reads its descriptor.

What they import takes as long as what the launcher imports; on two cores both are done at once.
"""

from __future__ import annotations

import sys
from typing import Self

from runtime.engine.home import python_path
from runtime.launchers.base import Command, Process
from runtime.launchers.local import LocalLauncher


class WarmStart:
    """A launcher for this machine, and a process in it that waits to become the front-ends.

    Import this module before what takes long. Closing it ends the process if nobody took it.

    >>> with WarmStart() as warm:                              # doctest: +SKIP
    ...     outcome = deploy(read_the_plan(), listener, warm=warm)
    """

    def __init__(self, python: str = sys.executable) -> None:
        self.launcher = LocalLauncher()
        self._python = python
        command = Command((python, "-m", "runtime.frontend"), python_path())
        self._process: Process | None = self.launcher.start(command)

    def take(self, python: str, first_input: bytes) -> Process | None:
        """Return the process, told what to become; None if it has been taken or does not fit."""
        process = self._process
        if process is None or python != self._python or process.exit is not None:
            return None
        self._process = None
        process.write(first_input)
        return process

    def dismiss(self) -> None:
        """Let the process go if nobody took it; the launcher stays."""
        process, self._process = self._process, None
        if process is not None:
            process.close_input()

    def close(self) -> None:
        """End everything; twice is once."""
        self.launcher.close()

    def __enter__(self) -> Self:
        """Return it, to be closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
