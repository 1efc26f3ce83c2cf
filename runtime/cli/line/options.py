"""The options of `gcm-deploy` and their help."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from gcm.cli.common_options import CommandParser, ShowVersion, setting
from gcm.records import dataclass
from runtime.cli.line.words import OneLine, add_machine, cut, one_line_of
from runtime.exit_codes import WRONG_USAGE

_USAGE = """\
gcm-deploy [options] -n RANKS | --emulate SHAPE | -H HOSTS  PROGRAM [ARGUMENT ...]
       gcm-deploy [options] DESCRIPTOR [-- ARGUMENT ...]
       gcm-deploy doctor [DESCRIPTOR]
       gcm-deploy login HOST|DESCRIPTOR ...
       gcm-deploy new [FILE]
       gcm-deploy ps|stacks|waits [PID ...]
       gcm-deploy view FILE
       gcm-deploy completion bash|zsh|fish"""

_DESCRIPTION = """\
Run an MPI program on several clusters as if they were one machine.

  gcm-deploy -n 4 ring.py                 4 ranks in one cluster, on this machine
  gcm-deploy --emulate 2x2x2 ring.py      2 sites of 2 clusters of 2 ranks, on this machine
  gcm-deploy -H ana@lyon:4,porto:4 ring.py --steps 20
                                          a cluster on each host, reached over ssh
  gcm-deploy new                          ask four questions and write a descriptor
  gcm-deploy doctor laptop.xml            report what would not work, and how to fix it
  gcm-deploy login ana@lyon               log in once where a host asks for a second factor
  gcm-deploy laptop.xml -- --steps 20     run what a descriptor describes
  gcm-deploy --dry-run laptop.xml         show what would be started, and start nothing
  gcm-deploy waits                        in another terminal: which ranks wait for which others

The output of the program goes to standard output and standard error; messages of gcm-deploy itself
go to standard error."""

_EPILOG = """\
more examples:
  gcm-deploy --emulate 2x2 --write ring.xml ring.py    save the command line as a descriptor
  gcm-deploy -n 4 -m package.module                    a module, as with python -m
  gcm-deploy --set ranks=4 --tag-output quickstart.xml set a variable, tag lines with their rank
  gcm-deploy --output-dir logs --quiet laptop.xml      one file for each rank and stream
  gcm-deploy --record run.facts laptop.xml             record a run; gcm-deploy view run.facts
  gcm-deploy --export-adl grid.fractal laptop.xml      write the machine as an assembly
  gcm-deploy --draw machine.svg laptop.xml             draw the machine

exit codes:
  0 success, else that of the rank that failed first (128 + n for signal n);
  130 Ctrl-C, 124 --run-timeout
  201 the descriptor has faults, 202 the command line has, 203 the deployment failed,
  204 the machine failed while the application ran, 205 its output could not be written,
  206 gcm-deploy doctor found a problem that will make a run fail"""

DEFAULT_TIMEOUT = 60.0


class Format(StrEnum):
    """Output formats: for people or for programs."""

    TEXT = "text"
    JSON = "json"


class ProgressMode(StrEnum):
    """When the progress is shown as a live tree."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Options:
    """The parsed command line: a descriptor, or in its place a program and its machine."""

    descriptor: str
    one_line: OneLine | None
    settings: Mapping[str, str]
    variables: tuple[str, ...]
    arguments: tuple[str, ...]
    dry_run: bool
    show_variables: bool
    export_adl: str
    draw: str
    colours: str
    write: str
    format: Format
    tag_output: bool
    output_dir: str
    all_tracebacks: bool
    timeout: float
    run_timeout: float | None
    explain_waits: float | None
    progress: ProgressMode
    quiet: bool
    verbose: bool
    summary: bool
    record: str


def read_options(words: Sequence[str]) -> Options:
    """Parse the words of a command line; raises `SystemExit` for wrong ones."""
    parser = build_parser()
    pieces = cut(words, parser)
    found = parser.parse_args(pieces.options)
    try:
        one_line = one_line_of(found, pieces)
    except ValueError as fault:
        parser.error(str(fault))
    if found.colours and not found.draw:
        parser.error("--colours is for the picture that --draw FILE makes, which is not asked for")
    return options_of(found, one_line, pieces.arguments)


def options_of(
    found: argparse.Namespace, one_line: OneLine | None, arguments: Sequence[str]
) -> Options:
    """Return the options that a parser has found; those it does not know have their defaults."""
    said: dict[str, Any] = {
        "descriptor": "",
        "export_adl": "",
        "draw": "",
        "colours": "",
        "write": "",
    }
    said |= vars(found)
    return Options(
        descriptor=said["descriptor"] or "",
        one_line=one_line,
        settings=dict(said.get("settings", ())),
        variables=_last_of_each(found.variables),
        arguments=tuple(arguments),
        dry_run=found.dry_run,
        show_variables=said.get("show_variables", False),
        export_adl=said["export_adl"] or "",
        draw=said["draw"],
        colours=said["colours"] or "auto",
        write=said["write"],
        format=Format(found.format),
        tag_output=found.tag_output,
        output_dir=found.output_dir,
        all_tracebacks=found.all_tracebacks,
        timeout=found.timeout,
        run_timeout=found.run_timeout,
        explain_waits=found.explain_waits,
        progress=ProgressMode(found.progress),
        quiet=found.quiet,
        verbose=found.verbose,
        summary=found.summary,
        record=found.record,
    )


def command_parser(
    prog: str, description: str, epilog: str, *, usage: str | None = None
) -> CommandParser:
    """Return a parser of this command, or of one of those that can be its first word."""
    parser = CommandParser(
        prog=prog,
        usage=usage,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.wrong_usage = WRONG_USAGE
    return parser


def build_parser() -> CommandParser:
    """Return the parser of what precedes the arguments of the program."""
    parser = command_parser("gcm-deploy", _DESCRIPTION, _EPILOG, usage=_USAGE)
    parser.stray_hint = "arguments for the program of a descriptor stand behind '--'"
    parser.add_argument(
        "descriptor", nargs="?", metavar="DESCRIPTOR", help="what to deploy: an XML file"
    )
    add_machine(parser)
    _add_instead(parser)
    add_watching(parser)
    parser.add_argument(
        "--set", dest="settings", metavar="NAME=VALUE", action="append", default=[], type=setting,
        help="the value of a variable of the descriptor; may be repeated",
    )  # fmt: skip
    add_variables(parser)
    return parser


def add_variables(parser: argparse.ArgumentParser) -> None:
    """Add the last options: variables of ranks, and the version."""
    parser.add_argument(
        "-x", dest="variables", metavar="NAME[=VALUE]", action="append", default=[], type=_variable,
        help="give every rank this environment variable, by default with its value here; `*` stands"
        " for any text, may be repeated",
    )  # fmt: skip
    parser.add_argument("--version", action=ShowVersion, nargs=0, help="show the version")


def _add_instead(parser: argparse.ArgumentParser) -> None:
    titled = parser.add_argument_group("instead of a run")
    group = titled.add_mutually_exclusive_group()
    group.add_argument(
        "--dry-run", action="store_true",
        help="show what would be started where, with the exact commands, and start nothing;"
        " not even the Python modules of an assembly are imported",
    )  # fmt: skip
    group.add_argument(
        "--show-variables", action="store_true",
        help="show each variable, its value and where the value came from",
    )  # fmt: skip
    group.add_argument(
        "--export-adl", metavar="FILE", type=_document,
        help="write the machine that would be built as an ADL document, FILE.fractal",
    )  # fmt: skip
    group.add_argument(
        "--draw", metavar="FILE", default="",
        help="draw the machine that would be built: its sites, hosts and ranks, and which can "
        "reach each other; FILE.svg, or FILE.png where resvg_py is installed",
    )  # fmt: skip
    group.add_argument(
        "--write", metavar="FILE", default="",
        help="write a descriptor for a program with -n, --emulate or -H; '-': show it",
    )  # fmt: skip
    titled.add_argument(
        "--colours", choices=("auto", "light", "dark"), default="",
        help="the background of the picture of --draw; auto: as the viewer of an SVG picture "
        "prefers",
    )  # fmt: skip


def add_watching(parser: argparse.ArgumentParser) -> None:
    """Add the options about output, and the time limits for starting and running."""
    group = parser.add_argument_group("output and progress")
    group.add_argument(
        "--tag-output", action="store_true",
        help="begin each line of the application with [site:cluster:rank]",
    )  # fmt: skip
    group.add_argument(
        "--output-dir", metavar="DIR", default="",
        help="also write the output of each rank to separate files in DIR",
    )  # fmt: skip
    group.add_argument(
        "--all-tracebacks", action="store_true",
        help="show the traceback of every rank that fails, not only that of the first",
    )  # fmt: skip
    group.add_argument(
        "--format", choices=[str(one) for one in Format], default=Format.TEXT,
        help="output for people or for programs; with json the summary of a run is the last "
        "line of standard output",
    )  # fmt: skip
    group.add_argument(
        "--progress", choices=[str(one) for one in ProgressMode], default=ProgressMode.AUTO,
        help="show the progress as a live tree, erased at the end; auto: on a terminal; "
        "elsewhere it is a line a minute, after the first minute",
    )  # fmt: skip
    group.add_argument(
        "--timeout", metavar="SECONDS", type=seconds, default=DEFAULT_TIMEOUT,
        help="give up if the application has not started by then (default: %(default)g, plus one "
        "second for each MB that is copied)",
    )  # fmt: skip
    group.add_argument(
        "--run-timeout", metavar="SECONDS", type=seconds,
        help="end the run if the application takes longer, and show what each rank was doing",
    )  # fmt: skip
    group.add_argument(
        "--explain-waits", metavar="SECONDS", type=_seconds_or_none,
        help="report why a rank waits that has been in an MPI call for this long (default: 30; 0: "
        "never)",
    )  # fmt: skip
    group.add_argument(
        "--summary", action="store_true",
        help="at the end show what ran where, how long and how it ended, and what was sent",
    )  # fmt: skip
    group.add_argument(
        "--record", metavar="FILE", default="",
        help="record the run in FILE, for gcm-deploy view: what happened when, and all output",
    )  # fmt: skip
    how_much = group.add_mutually_exclusive_group()
    how_much.add_argument(
        "--verbose", action="store_true",
        help="show each step as a line in place of the tree, and the summary",
    )  # fmt: skip
    how_much.add_argument("--quiet", action="store_true", help="show no progress, only faults")


def _variable(text: str) -> str:
    from runtime.deployment.environment import is_name  # not for `--help`

    name, equals, _ = text.partition("=")
    if not is_name(name, or_pattern=not equals):
        raise argparse.ArgumentTypeError(f"'{text}' is neither NAME nor NAME=VALUE")
    return text


def _last_of_each(variables: Sequence[str]) -> tuple[str, ...]:
    """Return `NAME[=VALUE]` once for each name: the last one counts, as in a shell."""
    last: dict[str, str] = {}
    for one in reversed(variables):
        last.setdefault(one.partition("=")[0], one)
    return tuple(reversed(last.values()))


def _document(text: str) -> str:
    stem, ending = os.path.splitext(os.path.basename(text))
    if ending != ".fractal" or not stem.isprintable():
        raise argparse.ArgumentTypeError(f"'{text}' is not a file whose name ends in .fractal")
    return text


def _seconds_or_none(text: str) -> float:
    return 0.0 if text.strip("0.") == "" and text.count("0") else seconds(text)


def seconds(text: str) -> float:
    """Return a number of seconds above 0; raises ArgumentTypeError for anything else."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds above 0")
    return number
