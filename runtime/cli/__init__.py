"""The `gcm-deploy` command: plan, start, watch and end a deployment."""

from __future__ import annotations

TYPE_CHECKING = False  # known to type checkers; until `main` runs, Ctrl-C ends in a traceback
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "run_main"]


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


def run_main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `gcm-run ...`; return its exit code, as `main` does."""
    try:
        from runtime.cli.gcm_run import run_program

        return run_program(arguments)
    except KeyboardInterrupt:
        return _interrupted("gcm-run")


def _interrupted(command: str) -> int:
    import sys

    from runtime.exit_codes import INTERRUPTED

    print(f"{command}: interrupted", file=sys.stderr)
    return INTERRUPTED
