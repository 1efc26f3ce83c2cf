"""Lets the front-ends of this machine part from a process that has loaded what they need.

Another Python that loads it all again would be most of the time that a machine takes to start.
"""

from __future__ import annotations

import gc
import sys
import threading
from typing import Self

from runtime.engine import front_end
from runtime.launchers.base import Command, Process
from runtime.launchers.forked_guard import ForkedGuard
from runtime.launchers.local import LocalLauncher

FRONT_END = "front-end"
"""What the guard of a warm start calls the program of a front-end."""


class WarmStart:
    """A launcher for this machine whose guard can become the front-ends.

    To be made before any thread is started; where there are threads, front-ends are started as
    processes of their own.

    >>> with WarmStart() as warm:                              # doctest: +SKIP
    ...     outcome = deploy(plan, listener, warm=warm)
    """

    def __init__(self) -> None:
        self._is_warm = threading.active_count() == 1
        guard = ForkedGuard({FRONT_END: _run}) if self._is_warm else None
        self.launcher = LocalLauncher(guard=guard)

    def start(self, command: Command) -> Process:
        """Start the front-ends that a command would start; raises LaunchError."""
        if self._is_warm and command.argv[0] == sys.executable:
            command = Command((FRONT_END,), command.environment, command.cwd, command.first_input)
        return self.launcher.start(command)

    def close(self) -> None:
        """End everything; twice is once."""
        self.launcher.close()

    def __enter__(self) -> Self:
        """Return it, to be closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def _run() -> int:
    gc.enable()  # whoever loaded all this may have had a reason to switch it off
    return front_end.main()
