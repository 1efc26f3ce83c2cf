"""Keeps what processes know out of core files."""

from __future__ import annotations

import resource


def leave_no_core_file() -> None:
    """Let this process and all that it starts leave no core file: the run's secret would be in it.

    A program of a rank that wants one can raise the limit again, which is a soft one.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
