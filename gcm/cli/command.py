"""The `gcm` command: reads the command line and runs one of its commands."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gcm.cli.options import GCM
from gcm.cli.output import written

if TYPE_CHECKING:
    from gcm.adl import MissingClasses

WRONG_USAGE = 2


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Do what `gcm.cli.main` describes.

    Raises:
        KeyboardInterrupt: it was interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # unless the program has set its own
            stream.reconfigure(errors="backslashreplace")
    words = sys.argv[1:] if arguments is None else arguments
    parser = GCM.parser()
    if words and words[0] not in [one.name for one in GCM.commands]:
        from gcm.cli.other_command import missing_command

        if meant := missing_command(words):
            return _refused(parser, meant)
    return written(
        "gcm", lambda: _dispatch(parser.parse_args(words), parser), reader_left=1, failed=1
    )


def _refused(parser: argparse.ArgumentParser, why: str) -> int:
    print(f"{parser.prog}: {why}", file=sys.stderr)
    return WRONG_USAGE


def _dispatch(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if options.command in ("show", "draw", "run"):
        from gcm.cli.other_command import other_command

        if meant := other_command(options.command, options.file, options.settings):
            return _refused(parser, meant)
    # Each command is imported when it is used, so that `gcm --help` need not load the others.
    match options.command:
        case "check":
            from gcm.cli.check import check

            return check(options.files, options.path, options.format, _missing(options))
        case "show":
            from gcm.cli.show import show

            return show(
                options.file, options.settings, options.path, options.format, _missing(options)
            )
        case "draw":
            from gcm.cli.draw import draw_file

            return draw_file(
                options.file,
                options.settings,
                options.path,
                options.output,
                controls=options.controls,
                missing=_missing(options),
                fold=not options.unfold,
                colours=options.colours,
            )
        case "port":
            from gcm.cli.port import port

            return port(options.files, options.package, options.output, options.path)
        case "completion":
            from gcm.cli.completion import completion_script

            print(completion_script(parser, options.shell))
            return 0
        case _:
            from gcm.cli.run import run

            return run(options.file, options.settings, options.path, options.interface)


def _missing(options: argparse.Namespace) -> MissingClasses | None:
    """Return what collects the classes that need not be there; None where all have to be."""
    from gcm.adl import MissingClasses

    if options.structure or options.no_imports:
        return MissingClasses(imports=not options.no_imports)
    return None
