"""The commands of `gcm-peer` with their options; what they do is loaded when they are run."""

from __future__ import annotations

import argparse

from gcm.cli.command_table import command
from gcm.cli.common_options import Option, OptionGroup, port


def _days(written: str) -> int:
    """Return for how many days a credential is valid; raises ValueError for no such number."""
    found = int(written) if written.strip().isdecimal() else 0
    if not 0 < found <= 3650:
        raise ValueError(f"{written!r} is not 1 to 3650 days")
    return found


_FOLDER = Option("--folder", default="", metavar="FOLDER",
                 help="the folder of the daemon (~/.gcm/peer)")  # fmt: skip
_SUPERNODE = Option("--supernode", action="store_true",
                    help="refer to the supernode of this machine")  # fmt: skip
_JSON = Option("--json", action="store_true", help="write JSON")
_LAB = Option("--lab", default="", metavar="LAB",
              help="which lab, if there are several")  # fmt: skip
_NAME = Option("name", metavar="NAME")
_ADDRESS = Option("address", nargs="?", default="", metavar="HOST[:PORT]",
                  help="the daemon to ask")  # fmt: skip
_DAEMON = (_FOLDER, _SUPERNODE)
"""Which daemon of this machine is meant."""

_ASKED = (_ADDRESS, *_DAEMON)
"""Which daemon is asked."""

_STARTING = (
    _FOLDER,
    Option("--credential", default="", metavar="FILE",
           help="put this credential into the folder first; needed once"),
    Option("--foreground", action="store_true",
           help="do not go into the background; log to stderr"),
    _JSON,
)  # fmt: skip


@command(
    *_STARTING,
    epilog="""\
examples:
  {command} --credential desk7.credential   the first time
  {command}                                 later
  {command} --foreground                    for a service manager""",
)
def boot(options: argparse.Namespace) -> int:
    """Start a peer."""
    from runtime.peers.commands.daemon_actions import boot_peer

    return boot_peer(options)


@command(
    *_STARTING,
    epilog="""\
examples:
  {command} --credential lab1.credential   the first time
  gcm-peer halt --supernode                         end it

A lab may have any number of supernodes; they keep each other informed.""",
)
def supernode(options: argparse.Namespace) -> int:
    """Start a supernode."""
    from runtime.peers.commands.daemon_actions import boot_supernode

    return boot_supernode(options)


@command(*_DAEMON, _JSON, epilog="examples:\n  {command}\n  {command} --supernode")
def halt(options: argparse.Namespace) -> int:
    """End the daemon."""
    from runtime.peers.commands.daemon_actions import halt

    return halt(options)


@command(
    *_ASKED,
    _JSON,
    epilog="""\
examples:
  {command}
  {command} desk7:7701   that of another peer, as a user""",
)
def status(options: argparse.Namespace) -> int:
    """Show a daemon."""
    from runtime.peers.commands.daemon_actions import status

    return status(options)


@command(
    *_ASKED,
    _JSON,
    epilog="""\
examples:
  {command}
  {command} lab1   those that a supernode knows, as a user""",
)
def hosts(options: argparse.Namespace) -> int:
    """Show the hosts that are known."""
    from runtime.peers.commands.daemon_actions import hosts

    return hosts(options)


@command(
    Option("--template", action="store_true", help="write a file with every setting"),
    Option("--reference", action="store_true", help="write a list in Markdown"),
    *_DAEMON,
    _JSON,
    epilog="""\
examples:
  {command}                               what holds now
  {command} --template                    every setting with its meaning
  {command} --template > ~/.gcm/peer/peer.toml""",
)
def config(options: argparse.Namespace) -> int:
    """Show the settings."""
    from runtime.peers.commands.daemon_actions import config

    return config(options)


@command(
    *_ASKED,
    Option("--once", action="store_true", help="show it once, as plain text"),
    _JSON,
    epilog="""\
examples:
  {command}
  {command} lab1   as a supernode sees it
  {command} --once | grep desk7""",
)
def top(options: argparse.Namespace) -> int:
    """Show the lab again and again in a terminal; once where there is none."""
    from runtime.peers.commands.watch_actions import top

    return top(options)


@command(
    *_ASKED,
    Option(
        "--port", read=port, default=0, metavar="PORT", help="the port at 127.0.0.1 (any free one)"
    ),
    epilog="""\
examples:
  {command}
  {command} --port 8080   where a tunnel leads to it""",
)
def web(options: argparse.Namespace) -> int:
    """Show the lab as a page to a browser of this machine, until Ctrl-C."""
    from runtime.peers.commands.watch_actions import web

    return web(options)


@command(
    _NAME,
    Option(
        "--supernode",
        dest="supernodes",
        action="append",
        default=[],
        metavar="HOST[:PORT]",
        help="where a supernode will be; goes into all invitations",
    ),
    epilog="examples:\n  {command} ourlab --supernode lab1 --supernode lab2:7711",
)
def create(options: argparse.Namespace) -> int:
    """Make a lab."""
    from runtime.peers.commands.lab_actions import create

    return create(options)


@command(
    _NAME,
    OptionGroup(
        *(
            Option(
                f"--{role}",
                dest="role",
                action="store_const",
                const=role,
                help=f"the member is a {role}",
            )
            for role in ("user", "peer", "supernode")
        ),
        excludes=True,
        required=True,
    ),
    Option("--days", read=_days, default=365, help="how many days it is valid (365)"),
    Option(
        "-o",
        "--output",
        default="",
        metavar="FILE",
        help="where to write it (~/.gcm/labs/LAB/NAME.credential)",
    ),
    _LAB,
    epilog="""\
examples:
  {command} alice --user
  {command} desk7 --peer --days 90 -o desk7.credential""",
)
def invite(options: argparse.Namespace) -> int:
    """Write a credential."""
    from runtime.peers.commands.lab_actions import invite

    return invite(options)


@command(Option("file", metavar="FILE"), _FOLDER, epilog="examples:\n  {command} alice.credential")
def join(options: argparse.Namespace) -> int:
    """Put a credential where it belongs."""
    from runtime.peers.commands.lab_actions import join

    return join(options)


@command(_LAB, _JSON)
def show(options: argparse.Namespace) -> int:
    """Show a lab."""
    from runtime.peers.commands.lab_actions import show

    return show(options)
