"""The `gcm` command: check, show, draw and run assemblies."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `gcm ...`; return its exit code.

    0: success; 1: errors were found; 2: the command line was wrong; 130: interrupted, even while
    the command itself is still loading.
    """
    try:
        from gcm.cli.command import run_command

        return run_command(arguments)
    except KeyboardInterrupt:
        import sys

        print("gcm: interrupted", file=sys.stderr)
        return INTERRUPTED
