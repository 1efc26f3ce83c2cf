"""`gcm-peer run`: a program on machines of a lab that have places now. Its alias is `gcm-run`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from gcm.cli.command_table import CommandTable
from gcm.cli.common_options import VERSION, Option, OptionGroup, number_of
from gcm.documents import Attribute
from runtime.cli.command import dispatch
from runtime.cli.commands import COMMANDS
from runtime.cli.guard import guarded
from runtime.cli.line import values
from runtime.cli.line.options import (
    MODULE,
    RANKS_OF_OTHERS,
    RECOVERY,
    REPLACE,
    VARIABLES,
    WATCHING,
    Options,
    deploy_command,
    ignored_without_a_run,
    options_of,
)
from runtime.cli.line.words import Attributes, OneLine, attributes_of, cut, files_of, options_end
from runtime.cli.peer import GCM_PEER
from runtime.deployment.language.table import LANGUAGE
from runtime.deployment.machine_argument import PeersArgument
from runtime.exit_codes import WRONG_USAGE
from runtime.peers.configuration.folder import PeerFolder

_USAGE = """\
gcm-peer run [options] -n RANKS PROGRAM [ARGUMENT ...]
       gcm-peer run [options] -n RANKS -m MODULE [ARGUMENT ...]"""

_MORE = """\
A lab has machines that lend places while they are up.

  gcm-peer run -n 4 ring.py               4 ranks, on as many peers as possible
  gcm-peer run -n 8 -r 2 ring.py          each rank twice, on different peers: one may die
  gcm-peer run -n 8 -a concentrate ring.py  on the nearest peers, as many ranks on each as it lends
  gcm-peer run -n 4 https://example.org/ring.py
                                          the same, and peers fetch it from the web server
  gcm-peer run -n 4 --dry-run ring.py     show which peers would be asked, and ask none
  gcm-peer advise --failure-rate 1/30d -n 128 --time 2h
                                          how many replicas such a run should have

You need a credential of the lab: its keeper makes one with gcm-peer lab invite. The program
folder is copied to the peers, and what the ranks write there comes home."""

_EPILOG = """\
gcm-run is another name of gcm-peer run.

exit codes: those of gcm-deploy; 203 also if too few places were found"""


def _row(element: str, name: str) -> Attribute:
    """Return the attribute that an option writes."""
    row = LANGUAGE.elements[element].attribute(name)
    assert row is not None, "the language has it"
    return row


def _with_own_detector(attributes: Attributes) -> Attributes:
    """Return the attributes with the detector that this machine's peer.toml names, if it does.

    Raises:
        PeerError: there are faults in that file.
    """
    named = attributes.get("failure-detector", {})
    file = PeerFolder.of().configuration
    if "protocol" in named or not file.exists():
        return attributes
    from runtime.peers.configuration.reading import read

    own = read(file).text("detector")
    return {**attributes, "failure-detector": {"protocol": own, **named}} if own else attributes


def _read(table: CommandTable, words: Sequence[str]) -> Options:
    """Return the options of a command line; raises `SystemExit` for a wrong one."""
    parser = table.parser()
    pieces = cut(words, parser)
    at, seen = options_end(words, parser)
    if "" in seen:
        from runtime.cli.line.mistaken_words import about_named_hosts

        if advice := about_named_hosts(words[:at]):
            parser.error(advice)
    if not pieces.program and not seen & {"ranks", "module", "", "help", "version"} and words[at:]:
        number, rest = "4", [*words[at:]]
        if rest[1:2] and rest[1] in ("-n", "-np", "--np") and rest[2:3]:
            number = rest[2]
            del rest[1:3]
        line = shlex.join([*words[:at], *rest])
        parser.error(f"say how many ranks, before the program: gcm-peer run -n {number} {line}")
    found = parser.parse_args(pieces.options)
    program = pieces.program or found.module or ""
    if not found.ranks:
        parser.error("say how many ranks: gcm-peer run -n 4 program.py")
    if not program:
        parser.error("name a program after the options, or a module with -m")
    if needless := ignored_without_a_run(table, found):
        parser.error(needless)
    one_line = OneLine(
        program,
        bool(found.module),
        PeersArgument(found.ranks),
        options=pieces.options,
        inputs=found.inputs,
        files=files_of(table, pieces.options),
        attributes=_with_own_detector(attributes_of(table, found)),
    )
    return options_of(found, one_line, pieces.arguments)


@deploy_command(
    Option("-n", "-np", dest="ranks", metavar="RANKS", read=number_of("ranks"),
           also=RANKS_OF_OTHERS, help="how many ranks there are"),
    Option("-r", dest="replicas", metavar="R", read=number_of("replicas"),
           sets="application replicas", help="each rank is R processes on different peers, and "
           "survives while one of them lives"),
    Option("--restart", action="store_true", sets="application restart",
           help="restart replicas that have died while their peer has not: they join when the "
           "program calls MPI.Checkpoint"),
    *RECOVERY,
    Option("-a", dest="strategy", metavar="STRATEGY", default="", sets="peers strategy",
           help="spread (or scatter), concentrate (or gather), mixed, or your own module.Class "
        f"(default: {_row('peers', 'strategy').default})"),
    Option("--by", choices=_row("peers", "by").choices, default="", sets="peers by",
           help="which hosts come first: near ones, or those that are idle (default: distance)"),
    Option("-w", dest="wait", metavar="SECONDS", read=values.wait, sets="peers wait",
           help="how long to look for free places (default: 30, and 5 where every peer lends all "
           "that it has)"),
    Option("--staging", choices=_row("peers", "staging").choices, default="", sets="peers staging",
           help="how the program gets to the peers: each passes it to two others, to the next one, "
           "or it is sent from here to each; auto: by size (default: auto)"),
    Option("--credential", metavar="FILE", default="", sets="peers credential",
           help="who you are in the lab (default: that in GCM_CREDENTIAL, or ~/.gcm/credential)"),
    MODULE,
    Option("-l", dest="inputs", metavar="FILE", read=values.listed, default=(),
           help="also copy the files that FILE lists, one in a line: relative to this folder, or "
           "addresses of a web server"),
    OptionGroup(
        Option("--detector", choices=_row("failure-detector", "protocol").choices,
               sets="failure-detector protocol", help="how heartbeats spread (default: dbrr)"),
        Option("--detector-timeout", metavar="SECONDS", read=values.wait,
               sets="failure-detector timeout",
               help="how long a peer may be silent before it counts as lost (default: 3s)"),
        Option("--detector-period", metavar="SECONDS", read=values.wait,
               sets="failure-detector period",
               help="the time between two heartbeats (default: 0.5 s, or what fits the timeout)"),
        Option("--frozen", choices=_row("failure-detector", "frozen").choices,
               sets="failure-detector frozen", help="what happens to a rank that is stopped: "
               "reported, or ended (default: suspect)"),
        title="failure detector",
        description="how soon the loss of a peer is noticed: as <failure-detector> has it",
    ),
    Option("--dry-run", action="store_true", help="show which peers would be asked, and ask none"),
    Option("--write", metavar="FILE", default="",
           help="write this command line as a descriptor; '-': show it"),
    WATCHING, REPLACE, VARIABLES, VERSION,
    more=_MORE, epilog=_EPILOG, usage=_USAGE, read=_read,
)  # fmt: skip
def run(options: Options) -> int:
    """Run a program in the lab."""
    return guarded("gcm-peer", lambda: dispatch(options))


def read_line(words: Sequence[str]) -> Options:
    """Return the options of what is typed behind `gcm-peer run`; raises `SystemExit`."""
    return _read(run.table("gcm-peer run", "run a program"), words)


GCM_RUN = CommandTable(
    "gcm-run", "Run an MPI program on the peers of a lab: another name of gcm-peer run.",
    usage="gcm-run [what follows gcm-peer run]", wrong_usage=WRONG_USAGE,
    commands=COMMANDS["gcm-run"], other_words=True,
)  # fmt: skip
"""The program `gcm-run`."""


def run_alias(arguments: Sequence[str] | None = None) -> int:
    """Do what `runtime.cli.run_main` describes; raises KeyboardInterrupt."""
    words = sys.argv[1:] if arguments is None else arguments
    program = GCM_RUN if GCM_RUN.command(words) else GCM_PEER
    first = [] if program is GCM_RUN else ["run"]
    return guarded("gcm-run", lambda: program.run_command([*first, *words]))
