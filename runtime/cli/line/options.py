"""The options of `gcm-deploy` as a table, and what is made of those that are given."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from functools import partial
from typing import Any

from gcm.cli.command_table import CommandTable, command
from gcm.cli.common_options import (
    VERSION,
    CommandParser,
    Option,
    OptionGroup,
    number_of,
    setting,
)
from gcm.records import dataclass
from runtime.allocations import present_job
from runtime.cli.commands import COMMANDS
from runtime.cli.line import values
from runtime.cli.line.words import OneLine, cut, one_line_of
from runtime.exit_codes import WRONG_USAGE

_USAGE = """\
gcm-deploy [options] -n RANKS | --emulate SHAPE | -H HOSTS  PROGRAM [ARGUMENT ...]
       gcm-deploy [options] DESCRIPTOR [-- ARGUMENT ...]"""

_DESCRIPTION = """\
Run an MPI program on several clusters as if they were one machine.

  gcm-deploy -n 4 ring.py                 4 ranks in one cluster, on this machine
  gcm-deploy --emulate 2x2x2 ring.py      2 sites of 2 clusters of 2 ranks, on this machine
  gcm-deploy -H ana@lyon:4,porto:4 ring.py --steps 20
                                          a cluster on each host, reached over ssh
  gcm-deploy laptop.xml -- --steps 20     run what a descriptor describes
  gcm-deploy --dry-run laptop.xml         show what would be started, and start nothing

The output of the program goes to standard output and standard error; messages of gcm-deploy itself
go to standard error."""

_EPILOG = """\
more examples:
  gcm-deploy --emulate 2x2 --write ring.xml ring.py    save the command line as a descriptor
  gcm-deploy -n 4 -m package.module                    a module, as with python -m
  gcm-deploy --set ranks=4 --tag-output quickstart.xml set a variable, tag lines with their rank
  gcm-deploy --output-dir logs --quiet laptop.xml      one file for each rank and stream
  gcm-deploy --record run.facts laptop.xml             record a run; gcm-deploy view run.facts
  gcm-deploy --detach laptop.xml                       go on without the terminal; gcm-deploy attach
  gcm-deploy --report run.html laptop.xml              a page about it, for a browser
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


deploy_command = partial(command, wrong_usage=WRONG_USAGE)
"""Gives a function the options of a command that has the exit codes of `gcm-deploy`."""

FORMAT = Option("--format", choices=[str(one) for one in Format], default=Format.TEXT,
                help="for people or for programs")  # fmt: skip
PLANS = Option("--plans", metavar="RULES", read=values.plans, default="",
               help="plans of collectives over clusters by name, such as 'bcast=flat "
               "barrier=4-ary', or one plan for all that have it: tree, flat, ...")  # fmt: skip
SETTINGS = Option("--set", dest="settings", metavar="NAME=VALUE", action="append", default=[],
                  read=setting,
                  help="the value of a variable of the descriptor; may be repeated")  # fmt: skip
HERE = "."
"""What `--detach` means without a host."""

DETACH = Option("--detach", nargs="?", const=HERE, default="", metavar="HOST",
                help="let the run go on without this terminal, with list, attach, logs and stop "
                "for it; with --detach=HOST its launcher moves to a site, cluster or host of the "
                "run, without this machine")  # fmt: skip
MODULE = Option("-m", dest="module", metavar="MODULE",
                help="run a module, as python -m does")  # fmt: skip
VARIABLES = Option("-x", dest="variables", metavar="NAME[=VALUE]", action="append", default=[],
                   read=values.variable, help="give every rank this variable, by default with its "
                   "value here; `*` stands for any text, may be repeated")  # fmt: skip

REPLACE = Option("--replace", metavar="GLOB", action="append", default=[], dest="replaceable",
                 read=values.result, help="results that take the place of files which you had "
                 "before the first run, as with <file-transfer direction='out' replace='yes'>; may "
                 "be repeated")  # fmt: skip

RECOVERY = (
    Option("--failures", choices=("abort", "return"), default="", sets="application failures",
           help="what the loss of a rank does: abort ends the run (the default); with return, "
           "calls that need the lost rank raise an MPI error, and the other ranks continue"),
    Option("--recovery", default="",
           choices=("shrink", "blank", "rebuild", "rebuild-at-end", "abort"),
           sets="application recovery", help="what Dup, Split and Create make of a communicator "
           "that has lost ranks: one of the survivors, with gaps, or with restarted ranks in their "
           "places or behind the survivors; abort ends the run"),
    Option("--recovery-messages", choices=("nop", "cont"), default="",
           sets="application recovery-messages", help="which calls work between a loss and the "
           "recovery: none (nop, the default), or those that do not need lost ranks (cont)"),
)  # fmt: skip
"""What the loss of a rank means."""

RANKS_OF_OTHERS = ("--np", "--ntasks")
"""What `mpirun` and `srun` call the number of ranks."""

_MACHINE = OptionGroup(
    Option("-n", "-np", dest="ranks", metavar="RANKS", read=values.ranks, also=RANKS_OF_OTHERS,
           help="one cluster on this machine, as with mpiexec"),
    Option("--emulate", metavar="SHAPE", read=values.shape,
           help="clusters on this machine: SITESxCLUSTERSxRANKS, CLUSTERSxRANKS (one site) or "
           "RANKS (one cluster)"),
    Option("--wan", metavar="DELAY[,RATE]", read=values.line,
           help="the line between the sites of --emulate: delay one way and bits a second, as "
           "10ms,1gbit"),
    Option("-H", dest="hosts", metavar="HOSTS", action="append", read=values.hosts,
           also=("-host", "-hosts", "--host", "--hosts"),
           help="a cluster on each host, over ssh: [USER@]HOST[:RANKS],... with ranges such as "
           "node[1-4]:8; localhost is this machine; a second -H is a second site"),
    Option("-f", "-hostfile", "--hostfile", "-machinefile", "--machinefile", dest="hosts",
           metavar="FILE", action="append", read=values.hosts_in, help=argparse.SUPPRESS),
    Option("-ppn", "--npernode", "--ntasks-per-node", dest="each", metavar="RANKS",
           read=number_of("ranks"), default=0, help=argparse.SUPPRESS),
    # there may always be more ranks than processors
    Option("-oversubscribe", "--oversubscribe", action="store_true", help=argparse.SUPPRESS),
    MODULE,
    Option("--python", metavar="PATH", default="", help="the Python on the remote hosts of -H; of "
           "one host: -H lyon:4:python=~/v/bin/python"),
    Option("--mpi", metavar="FLAVOUR", read=values.flavour,
           help="the kind of MPI: mpich, openmpi, ..., or mpich-wheel, the package mpich of this "
           "Python, which is brought along; of one host: -H lyon:4:mpi=openmpi"),
    Option("--replicas", metavar="R", read=number_of("replicas"), default=0,
           sets="application replicas", help="each rank is R processes on different hosts, and "
           "survives while one of them lives"),
    Option("--restart", action="store_true", sets="application restart",
           help="restart replicas that have died: they join when the program calls MPI.Checkpoint"),
    *RECOVERY, title="without a descriptor",
    description="all behind PROGRAM, or behind -m MODULE, are its arguments",
)  # fmt: skip

_INSTEAD = OptionGroup(
    OptionGroup(
        Option("--dry-run", action="store_true",
               help="show what would be started where, with the exact commands, and start nothing"),
        Option("--show-variables", action="store_true",
               help="show each variable, its value and where the value came from"),
        Option("--export-adl", metavar="FILE", read=values.document,
               help="write the machine as an ADL document, FILE.fractal"),
        Option("--draw", metavar="FILE", default="", help="draw the machine: sites, hosts and "
               "ranks, and which can reach each other; FILE.svg, or FILE.png where resvg_py is "
               "installed"),
        Option("--write", metavar="FILE", default="",
               help="write a descriptor for a program with -n, --emulate or -H; '-': show it"),
        excludes=True,
    ),
    Option("--colours", choices=("auto", "light", "dark"), default="",
           help="the background of the picture of --draw; auto: as the viewer of an SVG picture "
           "prefers"),
    title="instead of a run",
)  # fmt: skip

WATCHING = OptionGroup(
    Option("--tag-output", action="store_true",
           help="begin each line of the application with its rank, as [3]; where there are "
           "several codes, as [ocean 3]"),
    Option("--output-dir", metavar="DIR", default="",
           help="also write the output of each rank to separate files in DIR"),
    Option("--all-tracebacks", action="store_true",
           help="show the traceback of every rank that fails"),
    Option("--format", choices=[str(one) for one in Format], default=Format.TEXT,
           help="output for people or for programs; with json the last line is the summary"),
    Option("--progress", choices=[str(one) for one in ProgressMode], default=ProgressMode.AUTO,
           help="show the progress as a live tree; auto: on a terminal; elsewhere a line a minute, "
           "after the first one"),
    Option("--timeout", metavar="SECONDS", read=values.seconds, default=DEFAULT_TIMEOUT,
           help="give up if the application has not started by then (default: %(default)g, plus "
           "one second for each MB that is copied, and for each four ranks on one host)"),
    Option("--run-timeout", metavar="SECONDS", read=values.seconds,
           help="end the run if the application takes longer, and show what each rank was doing"),
    Option("--explain-waits", metavar="SECONDS", read=values.seconds_or_none,
           help="report why a rank waits that has been in an MPI call for this long (default: 30; "
           "0: never)"),
    Option("--check", action="store_true", for_ranks="is_checked",
           help="look for faults of the program that MPI lets pass, such as collectives that do "
           "not fit; the exit code is 208 if there are any"),
    Option("--summary", action="store_true",
           help="at the end show what ran where, how it ended, where the time of the ranks went, "
           "and what came home; with --verbose also what was sent"),
    Option("--log-level", choices=("debug", "info", "warning"), default="warning",
           help="log what is at least as important; info: each change of the run, a cluster or a "
           "rank"),
    Option("--log", metavar="FILE", default="", help="keep the log of the run in FILE; without "
           "this only a failed run leaves one, which its last line names"),
    Option("--record", metavar="FILE", default="",
           help="record the run in FILE, for gcm-deploy view: what happened when, and all output"),
    Option("--report", metavar="FILE", default="",
           help="at the end write a page about the run for a browser"),
    Option("--trace", metavar="FILE", default="",
           help="at the end write a trace for Perfetto: calls and messages of ranks, losses; as "
           "OTF2, into a new folder, if the name ends in .otf2"),
    Option("--web", action="store_true",
           help="print the address of a page that shows the run in a browser of this machine"),
    OptionGroup(
        Option("--verbose", action="store_true",
               help="show each step as a line in place of the tree, and whole tables"),
        Option("--quiet", action="store_true", help="show no progress, only faults"),
        excludes=True,
    ),
    title="output and progress",
)  # fmt: skip
"""The options about output, and the time limits for starting and running."""

_WRITES = ("log", "record", "report", "trace")
_INSTEAD_OF_A_RUN = ("dry_run", "show_variables", "export_adl", "draw", "write")
_NEEDS_A_RUN = (
    "report", "trace", "record", "web", "check", "summary", "output_dir", "log", "run_timeout",
    "detach",
)  # fmt: skip
"""The options for which something has to run, by where their values are kept."""


class _ShowInclude(argparse.Action):
    """Prints where `gcm.h` is, for the `-I` of a compiler."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        """Print the folder, and exit."""
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        print(os.path.join(package, "include"))
        parser.exit()


INCLUDE = Option(
    "--include",
    action=_ShowInclude,
    nargs=0,
    help="print the folder of gcm.h, which programs in C may include",
)

GCM_DEPLOY = CommandTable(
    "gcm-deploy", _DESCRIPTION,
    Option("descriptor", nargs="?", default="", metavar="DESCRIPTOR",
           help="what to deploy: an XML file; arguments behind '--' take the place of its own"),
    _MACHINE, _INSTEAD, WATCHING, DETACH, REPLACE, PLANS, SETTINGS, VARIABLES, INCLUDE,
    VERSION,
    epilog=_EPILOG, usage=_USAGE, commands=COMMANDS["gcm-deploy"], other_words=True,
    wrong_usage=WRONG_USAGE,
)  # fmt: skip
"""What precedes the arguments of the program."""


@dataclass(frozen=True, slots=True)
class Options:
    """The parsed command line: a descriptor, or in its place a program and its machine.

    The other fields are called like their options; those that a command does not have keep their
    defaults.
    """

    one_line: OneLine | None
    arguments: tuple[str, ...]
    variables: tuple[str, ...]
    format: Format
    progress: ProgressMode
    dry_run: bool
    tag_output: bool
    output_dir: str
    all_tracebacks: bool
    timeout: float
    quiet: bool
    verbose: bool
    summary: bool
    log_level: str
    log: str
    record: str
    report: str
    trace: str
    check: bool
    web: bool
    write: str
    run_timeout: float | None = None
    explain_waits: float | None = None
    descriptor: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    show_variables: bool = False
    export_adl: str = ""
    draw: str = ""
    colours: str = ""
    detach: str = ""
    plans: str = ""
    replaceable: Sequence[str] = ()
    for_ranks: Mapping[str, Any] = field(default_factory=dict)
    """The fields of `RankSettings` that options have a value for."""
    spool: str = ""
    """The file in which a detached run is recorded; no option names it."""


def read_options(words: Sequence[str]) -> Options:
    """Parse the words of a command line; raises `SystemExit` for wrong ones.

    Within a job of a batch system `-n` means its nodes, and a program needs no machine.
    """
    parser = deploy_parser()
    job = present_job(os.environ)
    if job is not None:
        from runtime.cli.line.document import within_job

        words = within_job(words, parser, sum(job.slots))
    pieces = cut(words, parser)
    found = parser.parse_args(pieces.options)
    try:
        one_line = one_line_of(GCM_DEPLOY, found, pieces)
    except ValueError as fault:
        parser.error(str(fault))
    if job is not None and one_line is not None and found.ranks:
        one_line = replace(one_line, job=job)
    if found.colours and not found.draw:
        parser.error("--colours is for the picture that --draw FILE makes, which is not asked for")
    if refused := ignored_without_a_run(GCM_DEPLOY, found) or written_twice(GCM_DEPLOY, found):
        parser.error(refused)
    return options_of(found, one_line, pieces.arguments)


def ignored_without_a_run(table: CommandTable, found: argparse.Namespace) -> str:
    """Return what is wrong with options of a run beside one that runs nothing; "" for nothing."""
    rows = {row.dest: row.names[0] for row in table.rows()}
    instead = [rows[one] for one in _INSTEAD_OF_A_RUN if one in rows and getattr(found, one)]
    needing = [rows[one] for one in _NEEDS_A_RUN if one in rows and getattr(found, one)]
    if not instead or not needing:
        return ""
    is_many = len(needing) > 1
    return (
        f"with {instead[0]} nothing runs, and {', '.join(needing)} {'are' if is_many else 'is'} "
        f"about a run: leave {'them' if is_many else 'it'} out, or give two commands"
    )


def written_twice(table: CommandTable, found: argparse.Namespace) -> str:
    """Return what is wrong where two options name one file to write; "" where none do."""
    rows = {row.dest: row.names[0] for row in table.rows()}
    seen: dict[str, str] = {}
    for name in _WRITES:
        file = getattr(found, name, "") if name in rows else ""
        if not file:
            continue
        first = seen.setdefault(os.path.realpath(file), rows[name])
        if first != rows[name]:
            return f"{first} and {rows[name]} would both write {file}: name two files"
    return ""


def deploy_parser() -> CommandParser:
    """Return the parser of what precedes the arguments of the program."""
    parser = GCM_DEPLOY.parser()
    parser.stray_hint = "arguments for the program of a descriptor stand behind '--'"
    return parser


def options_of(
    found: argparse.Namespace, one_line: OneLine | None, arguments: Sequence[str]
) -> Options:
    """Return the options that a parser has found."""
    known = Options.__match_args__
    given = ((name, value) for name, value in vars(found).items() if value is not None)
    values_given = {name: value for name, value in given if name in known}
    values_given |= {
        "settings": dict(values_given.get("settings", ())),
        "variables": _last_of_each(found.variables),
        "format": Format(found.format),
        "progress": ProgressMode(found.progress),
        "for_ranks": {
            row.for_ranks: value
            for row in GCM_DEPLOY.rows()
            if row.for_ranks and (value := getattr(found, row.dest)) is not None
        },
    }
    return Options(one_line=one_line, arguments=tuple(arguments), **values_given)


def _last_of_each(variables: Sequence[str]) -> tuple[str, ...]:
    """Return `NAME[=VALUE]` once for each name: the last one counts, as in a shell."""
    last: dict[str, str] = {}
    for one in reversed(variables):
        last.setdefault(one.partition("=")[0], one)
    return tuple(reversed(last.values()))
