"""The `gcm-run` command: a program on machines of a lab that have places now."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Sequence

from gcm.cli.common_options import CommandParser
from runtime.cli.command import dispatch, guarded
from runtime.cli.line.options import (
    Options,
    add_variables,
    add_watching,
    command_parser,
    options_of,
)
from runtime.cli.line.words import OneLine, add_ranks_of_others, add_recovery, cut, options_end
from runtime.deployment.language.kinds import DURATION
from runtime.deployment.language.table import LANGUAGE
from runtime.deployment.machine_argument import PeersArgument
from runtime.web_address import is_web_address

_WAIT = re.compile(r"\s*[0-9]+(\.[0-9]+)?\s*(s|min|h)?\s*")

_DETECTOR = LANGUAGE.elements["failure-detector"].attributes
_DETECTOR_OPTIONS = {
    "protocol": "--detector",
    "timeout": "--detector-timeout",
    "period": "--detector-period",
    "frozen": "--frozen",
}
_HELP = {
    "protocol": "how heartbeats spread (default: dbrr)",
    "timeout": "how long a peer may be silent before it counts as lost (default: 3s)",
    "period": "the time between two heartbeats (default: 0.5 s, or what fits the timeout)",
    "frozen": "what happens to a rank that is stopped: reported, or ended (default: suspect)",
}

_USAGE = """\
gcm-run [options] -n RANKS PROGRAM [ARGUMENT ...]
       gcm-run [options] -n RANKS -m MODULE [ARGUMENT ...]
       gcm-run advise --failure-rate RATE -n RANKS --time TIME
       gcm-run completion bash|zsh|fish"""

_DESCRIPTION = """\
Run an MPI program on the peers of a lab: machines that lend places while they are up.

  gcm-run -n 4 ring.py                    4 ranks, on as many peers as possible
  gcm-run -n 8 -r 2 ring.py               each rank twice, on different peers: one may die
  gcm-run -n 8 -a concentrate ring.py     on the nearest peers, as many ranks on each as it lends
  gcm-run -n 4 https://example.org/ring.py
                                          the same, and peers fetch it from the web server
  gcm-run -n 4 --dry-run ring.py          show which peers would be asked, and ask none
  gcm-run advise --failure-rate 1/30d -n 128 --time 2h
                                          how many replicas such a run should have

You need a credential of the lab: its keeper makes one with gcm-peer lab invite. The program
folder is copied to the peers, and what the ranks write there comes home."""

_EPILOG = """\
exit codes: those of gcm-deploy; 203 also if too few places were found"""


def run_program(arguments: Sequence[str] | None = None) -> int:
    """Do what `runtime.cli.run_main` describes; raises KeyboardInterrupt."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["advise"]:
        from runtime.peers.commands import advise

        parser = command_parser("gcm-run advise", advise.DESCRIPTION, advise.EXAMPLES)
        advise.add_arguments(parser)
        return guarded("gcm-run", lambda: advise.run_advise(parser.parse_args(words[1:])))
    if words[:1] == ["completion"]:
        from runtime.cli.line.completion import print_completion_of_run

        return guarded("gcm-run", lambda: print_completion_of_run(words[1:], build_parser()))
    return dispatch("gcm-run", lambda: read_line(words))


def read_line(words: Sequence[str]) -> Options:
    """Parse a command line; raises `SystemExit` for a wrong one."""
    parser = build_parser()
    pieces = cut(words, parser)
    at, seen = options_end(words, parser)
    if not pieces.program and not seen & {"ranks", "module", "", "help", "version"} and words[at:]:
        number, rest = "4", [*words[at:]]
        if rest[1:2] and rest[1] in ("-n", "-np", "--np") and rest[2:3]:
            number = rest[2]
            del rest[1:3]
        line = shlex.join([*words[:at], *rest])
        parser.error(f"say how many ranks, before the program: gcm-run -n {number} {line}")
    found = parser.parse_args(pieces.options)
    program = pieces.program or found.module or ""
    if not found.ranks:
        parser.error("say how many ranks: gcm-run -n 4 program.py")
    if not program:
        parser.error("name a program after the options, or a module with -m")
    machine = PeersArgument(
        found.ranks, found.strategy, found.wait or "", found.credential, found.staging
    )
    one_line = OneLine(
        program,
        bool(found.module),
        machine,
        options=pieces.options,
        replicas=found.replicas,
        restart=found.restart,
        failures=found.failures,
        recovery=found.recovery,
        recovery_messages=found.recovery_messages,
        inputs=found.inputs,
        detector=_detector(found),
    )
    return options_of(found, one_line, pieces.arguments)


def build_parser() -> CommandParser:
    """Return the parser of the options before the program."""
    parser = command_parser("gcm-run", _DESCRIPTION, _EPILOG, usage=_USAGE)
    peers = LANGUAGE.elements["peers"]
    strategy, wait = peers.attribute("strategy"), peers.attribute("wait")
    staging = peers.attribute("staging")
    assert strategy is not None
    assert wait is not None
    assert staging is not None
    parser.add_argument(
        "-n", "-np", dest="ranks", metavar="RANKS", type=_count, help="how many ranks there are"
    )
    add_ranks_of_others(parser, _count)
    parser.add_argument(
        "-r", dest="replicas", metavar="R", type=_count, default=1,
        help="each rank is R processes on different peers, and survives while one of them lives",
    )  # fmt: skip
    parser.add_argument(
        "--restart", action="store_true",
        help="start replicas again that have died while their peer has not: they join the others"
        " when the program calls MPI.Checkpoint",
    )  # fmt: skip
    add_recovery(parser)
    parser.add_argument(
        "-a", dest="strategy", metavar="STRATEGY", default="",
        help="spread (or scatter), concentrate (or gather), mixed, or your own module.Class "
        f"(default: {strategy.default})",
    )  # fmt: skip
    parser.add_argument(
        "-w", dest="wait", metavar="SECONDS", type=_wait,
        help=f"how long to look for free places (default: {wait.default})",
    )  # fmt: skip
    parser.add_argument(
        "--staging", choices=staging.choices, default="",
        help="how the program gets to the peers: each passes it to two others, or to the next "
        f"one, or it is sent from here to each; auto: by size (default: {staging.default})",
    )  # fmt: skip
    parser.add_argument(
        "--credential", metavar="FILE", default="",
        help="who you are in the lab (default: that in GCM_CREDENTIAL, or ~/.gcm/credential)",
    )  # fmt: skip
    parser.add_argument(
        "-m", dest="module", metavar="MODULE", help="run a module, as python -m does"
    )
    parser.add_argument(
        "-l", dest="inputs", metavar="FILE", type=_listed, default=(),
        help="copy the files that FILE lists, one in a line, to the peers as well: relative to this"
        " folder, or addresses of a web server; those outside of it arrive under their last name",
    )  # fmt: skip
    _add_detector(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="show which peers would be asked, and ask none"
    )
    parser.add_argument(
        "--write", metavar="FILE", default="",
        help="write this command line as a descriptor; '-': show it",
    )  # fmt: skip
    add_watching(parser)
    add_variables(parser)
    return parser


def _add_detector(parser: CommandParser) -> None:
    """Add an option for each attribute of `<failure-detector>`."""
    group = parser.add_argument_group(
        "failure detector", "how soon the loss of a peer is noticed: as <failure-detector> has it"
    )
    for one in _DETECTOR:
        group.add_argument(
            _DETECTOR_OPTIONS[one.name], dest=f"detector_{one.name}",
            metavar="SECONDS" if one.kind is DURATION else None,
            type=_wait if one.kind is DURATION else str,
            choices=one.choices or None, help=_HELP[one.name],
        )  # fmt: skip


def _detector(found: argparse.Namespace) -> Sequence[tuple[str, str]]:
    """Return the attributes of `<failure-detector>` that are given."""
    given = [(one.name, getattr(found, f"detector_{one.name}")) for one in _DETECTOR]
    return [(name, value) for name, value in given if value]


def _listed(file: str) -> tuple[str, ...]:
    """Return the files that a file lists; blank lines and those with # in front are left out."""
    try:
        with open(file, encoding="utf-8") as stream:
            lines = [line.strip() for line in stream]
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise argparse.ArgumentTypeError(
            f"the list of files '{file}' cannot be read: {why}"
        ) from error
    found = tuple(one for one in lines if one and not one.startswith("#"))
    for one in found:
        if not is_web_address(one) and not os.path.exists(one):
            raise argparse.ArgumentTypeError(f"'{file}' lists '{one}', which does not exist")
    return found


def _wait(text: str) -> str:
    if not _WAIT.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a time: a number of seconds, or such as 90s, 5min or 1h"
        )
    return text


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1_000_000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least 1")
    return int(text)
