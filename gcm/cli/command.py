"""The `gcm` command: reads the command line and runs one of its commands."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from gcm.cli.options import GCM, WRONG_USAGE
from gcm.cli.output import written


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Do what `gcm.cli.main` describes.

    Raises:
        KeyboardInterrupt: it was interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # unless the program has set its own
            stream.reconfigure(errors="backslashreplace")
    words = sys.argv[1:] if arguments is None else arguments
    if words and GCM.command(words) is None:
        from gcm.cli.other_command import missing_command

        if meant := missing_command(words):
            print(f"gcm: {meant}", file=sys.stderr)
            return WRONG_USAGE
    return written("gcm", lambda: GCM.run_command(words), reader_left=1, failed=1)
