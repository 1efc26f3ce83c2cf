"""What can be written behind `gcm-deploy`: its options and the help about them."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Mapping, Sequence
from enum import StrEnum

from gcm.cli.common_options import CommandParser, ShowVersion, setting
from gcm.records import dataclass
from runtime.exit_codes import WRONG_USAGE

_DESCRIPTION = """\
Start what a descriptor describes, on the machines it names, and bring it to its end.

The output of the application goes to standard output and standard error; what gcm-deploy itself
says goes to standard error."""

_EPILOG = """\
examples:
  gcm-deploy descriptors/quickstart.xml            run it
  gcm-deploy --dry-run descriptors/quickstart.xml  show what would be started, and start nothing
  gcm-deploy --export-adl grid.fractal laptop.xml  write the machine as an assembly
  gcm-deploy laptop.xml -- --steps 20              hand arguments to the application
  gcm-deploy --set ranks=4 --tag-output ring.xml   set a variable, tell whose line is whose
  gcm-deploy --output-dir logs --quiet ring.xml    one file for each rank and stream

exit codes:
  0 all is well, else that of the rank that failed first (128 + n for signal n); 130 Ctrl-C
  201 the descriptor has faults, 202 the command line has, 203 the deployment failed,
  204 the machine failed while the application ran, 205 its output could not be written"""

DEFAULT_TIMEOUT = 60.0


class Format(StrEnum):
    """For whom something is written."""

    TEXT = "text"
    JSON = "json"


class Progress(StrEnum):
    """When the progress is shown as a live tree."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Options:
    """The command line, read."""

    descriptor: str
    settings: Mapping[str, str]
    arguments: tuple[str, ...]
    dry_run: bool
    show_variables: bool
    export_adl: str
    format: Format
    tag_output: bool
    output_dir: str
    all_tracebacks: bool
    timeout: float
    progress: Progress
    quiet: bool


def read_options(words: Sequence[str]) -> Options:
    """Return what the words of a command line mean; raises `SystemExit` for wrong ones."""
    # Cut by hand: what argparse makes of `--` changes from one Python to the next.
    end = words.index("--") if "--" in words else len(words)
    found = _parser().parse_args(words[:end])
    return Options(
        descriptor=found.descriptor,
        settings=dict(found.settings),
        arguments=tuple(words[end + 1 :]),
        dry_run=found.dry_run,
        show_variables=found.show_variables,
        export_adl=found.export_adl or "",
        format=Format(found.format),
        tag_output=found.tag_output,
        output_dir=found.output_dir,
        all_tracebacks=found.all_tracebacks,
        timeout=found.timeout,
        progress=Progress(found.progress),
        quiet=found.quiet,
    )


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="gcm-deploy",
        usage="gcm-deploy [options] DESCRIPTOR [-- ARGUMENT ...]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.wrong_usage = WRONG_USAGE
    parser.add_argument("descriptor", metavar="DESCRIPTOR", help="what to deploy: an XML file")
    parser.add_argument(
        "--set", dest="settings", metavar="NAME=VALUE", action="append", default=[], type=setting,
        help="the value of a variable of the descriptor; may be repeated",
    )  # fmt: skip
    parser.add_argument("--version", action=ShowVersion, nargs=0, help="show the version")
    _add_instead(parser)
    _add_watching(parser)
    return parser


def _add_instead(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("instead of a run")
    group.add_argument(
        "--dry-run", action="store_true",
        help="show what would be started where, with the exact commands, and start nothing",
    )  # fmt: skip
    group.add_argument(
        "--show-variables", action="store_true",
        help="show each variable, its value and where the value came from",
    )  # fmt: skip
    group.add_argument(
        "--export-adl", metavar="FILE", type=_document,
        help="write the machine that would be built as an ADL document, FILE.fractal",
    )  # fmt: skip


def _add_watching(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output and progress")
    group.add_argument(
        "--tag-output", action="store_true",
        help="begin each line of the application with [site:cluster:rank]",
    )  # fmt: skip
    group.add_argument(
        "--output-dir", metavar="DIR", default="",
        help="write the output of each rank to files of its own in DIR",
    )  # fmt: skip
    group.add_argument(
        "--all-tracebacks", action="store_true",
        help="show the traceback of every rank that fails, not only that of the first",
    )  # fmt: skip
    group.add_argument(
        "--format", choices=[str(one) for one in Format], default=Format.TEXT,
        help="for people or for programs; the summary of a run is then the last line of"
        " standard output",
    )  # fmt: skip
    group.add_argument(
        "--progress", choices=[str(one) for one in Progress], default=Progress.AUTO,
        help="show the progress as a live tree; auto: on a terminal, else as plain lines",
    )  # fmt: skip
    group.add_argument(
        "--timeout", metavar="SECONDS", type=_seconds, default=DEFAULT_TIMEOUT,
        help="give up when the application does not run by then (default: %(default)g)",
    )  # fmt: skip
    group.add_argument(
        "--quiet", action="store_true", help="show neither progress nor summary, only faults"
    )


def _document(text: str) -> str:
    stem, ending = os.path.splitext(os.path.basename(text))
    if ending != ".fractal" or not stem.isprintable():
        raise argparse.ArgumentTypeError(f"'{text}' is not a file whose name ends in .fractal")
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds above 0")
    return seconds
