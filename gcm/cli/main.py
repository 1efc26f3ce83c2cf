"""The entry of the `gcm` command: reads the command line and hands over to one command."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from gcm.cli.options import build_parser

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `gcm ...`; return its exit code.

    0: all is well; 1: there were faults; 2: the command line was wrong; 130: interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not where a program has put another one
            stream.reconfigure(errors="backslashreplace")
    options = build_parser().parse_args(arguments)
    try:
        code = _dispatch(options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(f"gcm {options.command}: interrupted", file=sys.stderr)
        return INTERRUPTED
    return code


def _dispatch(options: argparse.Namespace) -> int:
    # Each command is imported when it is used, so that `gcm --help` need not load the others.
    match options.command:
        case "check":
            from gcm.cli.check import check

            return check(options.files, options.path, options.format)
        case "show":
            from gcm.cli.show import show

            return show(options.file, options.settings, options.path, options.format)
        case "draw":
            from gcm.cli.draw import draw_file

            return draw_file(
                options.file, options.settings, options.path, options.output, options.controls
            )
        case _:
            from gcm.cli.run import run

            return run(options.file, options.settings, options.path)
