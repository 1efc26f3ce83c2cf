"""`gcm-deploy login`: opens the connections that runs share, where a host wants a second factor."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence

from gcm.cli.common_options import Option, OptionGroup
from runtime.cli.errors import UsageError
from runtime.cli.line.options import SETTINGS, deploy_command, read_options
from runtime.cli.streams import write
from runtime.deployment.machine_argument import parse_hosts
from runtime.deployment.model import Deployment, SshHop
from runtime.exit_codes import FAULTS, NEVER_STARTED
from runtime.launchers.errors import LaunchError
from runtime.launchers.masters import Master
from runtime.launchers.ssh import USER_FOLDER
from runtime.processes.launcher.reaching import ssh_hops
from runtime.shown_text import shown_lines

NOT_OPEN = 1
"""The exit code of `--check` where a connection is not open."""

_MORE = """\
For hosts that ask for a password, a second factor or the touch of a hardware key: log in on this
terminal, with the system's ssh. The connection stays open in the background, and runs share it;
they never ask for anything themselves."""

_EPILOG = """\
examples:
  gcm-deploy login ana@lyon               log in to one host
  gcm-deploy login grid.xml               log in to all hosts of a descriptor, one after the other
  gcm-deploy login --check grid.xml       which connections are open?
  gcm-deploy login --end grid.xml         end them, and all that uses them

A connection is where your own ~/.ssh/config has it (ControlPath), and otherwise in ~/.ssh. It ends
after 8 hours in which nothing used it, or as your ControlPersist says.

exit codes:
  0 all are open; 1 with --check, one is not; 203 one could not be opened; 201 the descriptor has
  faults; 202 the command line is wrong"""


Way = tuple[SshHop, ...]


@deploy_command(
    Option("places", nargs="+", metavar="PLACE",
           help="[USER@]HOST,... as for -H, or a descriptor for all its hosts"),
    SETTINGS,
    OptionGroup(
        Option("--check", action="store_true", help="only say which are open"),
        Option("--end", action="store_true", help="end them, also while runs are using them"),
        excludes=True,
    ),
    more=_MORE, epilog=_EPILOG,
)  # fmt: skip
def login(found: argparse.Namespace) -> int:
    """Open, check or end connections, and return the exit code.

    Raises:
        UsageError: a word is neither a descriptor nor a host, or there is nothing to log in to.
    """
    ways: dict[Way, None] = {}
    for word in found.places:
        more = _ways_of(word, found.settings)
        if more is None:
            return FAULTS
        ways |= dict.fromkeys(more)
    if not ways:
        raise UsageError(
            "nothing here is reached over ssh", cure="Name hosts or another descriptor"
        )
    if found.end:
        for way in reversed(ways):  # the connection through another one before that one
            _tell(way, "ended" if _end(_master(way)) else "was not open")
        return 0
    codes = [_checked(way) if found.check else _opened(way) for way in ways]
    return next(filter(None, codes), 0)


def _opened(way: Way) -> int:
    master = _master(way)
    process = master.process()
    if process is not None:
        _tell(way, f"is open already (process {process})")
        return 0
    try:
        master.open()
    except LaunchError as fault:
        print(f"gcm-deploy: {shown_lines(str(fault))}", file=sys.stderr)
        return NEVER_STARTED
    _tell(way, f"is open now (process {master.process()})")
    return 0


def _checked(way: Way) -> int:
    process = _master(way).process()
    _tell(way, "is not open" if process is None else f"is open (process {process})")
    return NOT_OPEN if process is None else 0


def _end(master: Master) -> bool:
    if master.process() is None:
        return False
    master.end()
    return True


def _master(way: Way) -> Master:
    return Master(ssh_hops(way), USER_FOLDER, way[-1].command_path)


def _tell(way: Way, what: str) -> None:
    write(f"{' -> '.join(hop.destination for hop in way)} {what}\n")


def _ways_of(word: str, settings: Sequence[tuple[str, str]]) -> Iterator[Way] | None:
    """Return the ways to the hosts that a word names; None after reporting a faulty descriptor."""
    if not os.path.isfile(word):
        try:
            hosts = parse_hosts(word)
        except ValueError as fault:
            raise UsageError(f"{fault}, and no file", cure="Name a descriptor or hosts") from fault
        if any(one.python or one.mpi for one in hosts):
            raise UsageError(f"'{word}': python= and mpi= are for a run, and nothing runs here")
        return iter([(SshHop(one.name, user=one.user),) for one in hosts if not one.is_local])
    from runtime.cli.load import load_deployment

    # a dry run imports no module of an assembly
    given = ["--dry-run", *(f"--set={name}={value}" for name, value in settings), word]
    deployment = load_deployment(read_options(given))
    return None if deployment is None else _ways(deployment)


def _ways(deployment: Deployment) -> Iterator[Way]:
    """Yield the ways to all hosts of a deployment, those in front of another one first."""
    for cluster in deployment.clusters():
        for length in range(1, len(cluster.hops) + 1):
            yield cluster.hops[:length]
