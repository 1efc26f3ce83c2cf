"""The commands `gcm-deploy`, which runs programs and descriptors, and `gcm-peer`, about labs."""

from __future__ import annotations

TYPE_CHECKING = False  # known to type checkers; until `main` runs, Ctrl-C ends in a traceback
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "peer_main", "run_main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `gcm-deploy ...`; return its exit code.

    0 or the application's own code, or one of `runtime.exit_codes`. An interrupt is handled even
    while the command itself is still loading.
    """
    try:
        from runtime.cli.command import run_command

        return run_command(arguments)
    except KeyboardInterrupt:
        return _interrupted("gcm-deploy")


def peer_main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `gcm-peer ...`; return its exit code.

    0: all is well; 1: something failed; 2: the command line was wrong; 3: no daemon runs here;
    130: interrupted. Those of `gcm-peer run` are the same as those of `main`.
    """
    try:
        from runtime.cli.peer import run_command

        return run_command(arguments)
    except KeyboardInterrupt:
        return _interrupted("gcm-peer")


def run_main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `gcm-run ...`, an alias of `gcm-peer run`; return its exit code."""
    try:
        from runtime.cli.lab_run import run_alias

        return run_alias(arguments)
    except KeyboardInterrupt:
        return _interrupted("gcm-run")


def _interrupted(command: str) -> int:
    import sys

    from runtime.exit_codes import INTERRUPTED

    print(f"{command}: interrupted", file=sys.stderr)
    return INTERRUPTED
