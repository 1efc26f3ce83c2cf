"""What can be written behind `gcm-peer`: its sub-commands, their options and their help."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from gcm.cli.common_options import SHELL, CommandTable, Option, OptionGroup, ShowVersion, port

_DESCRIPTION = """\
Lend the idle time of this machine to a lab, and look at the machines of the lab.

  gcm-peer lab create ourlab --supernode lab1      make a lab; keep the folder that it names
  gcm-peer lab invite lab1 --supernode             write lab1.credential: hand it to the machine
  gcm-peer lab invite desk7 --peer                 one for each machine that lends its time
  gcm-peer lab invite alice --user                 one for each user
  gcm-peer supernode --credential lab1.credential  on lab1: let the others find each other
  gcm-peer boot --credential desk7.credential      on desk7: lend its time, from now on
  gcm-peer lab join alice.credential               for alice: to run programs in the lab
  gcm-peer hosts                                   the hosts of the lab, the nearest first
  gcm-peer halt                                    end everything that runs here for others"""

_EPILOG = """\
exit codes:
  0 success, 1 something failed, 2 the command line is wrong, 3 no daemon runs here,
  130 Ctrl-C

files: ~/.gcm/peer and ~/.gcm/supernode (--folder, GCM_PEER_FOLDER), ~/.gcm/labs,
  ~/.gcm/credential (GCM_CREDENTIAL) for the user; GCM_FOLDER instead of ~/.gcm"""


def _days(written: str) -> int:
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

_LAB_COMMANDS = (
    CommandTable(
        "create", "Make a lab; whoever keeps its folder decides who belongs to it.", _NAME,
        Option("--supernode", dest="supernodes", action="append", default=[], metavar="HOST[:PORT]",
               help="where a supernode will be; goes into all invitations"),
        epilog="examples:\n  gcm-peer lab create ourlab --supernode lab1 --supernode lab2:7711",
    ),
    CommandTable(
        "invite", "Write the credential of a new member, to hand out.", _NAME,
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
            excludes=True, required=True,
        ),
        Option("--days", read=_days, default=365, help="how many days it is valid (365)"),
        Option("-o", "--output", default="", metavar="FILE", help="(NAME.credential)"),
        _LAB,
        epilog="examples:\n"
        "  gcm-peer lab invite alice --user\n"
        "  gcm-peer lab invite desk7 --peer --days 90 -o desk7.credential",
    ),
    CommandTable(
        "join", "Put a credential where it belongs on this machine.",
        Option("file", metavar="FILE"),
        _FOLDER, epilog="examples:\n  gcm-peer lab join alice.credential",
    ),
    CommandTable(
        "show", "Show a lab and its members.", _LAB, _JSON,
    ),
)  # fmt: skip

GCM_PEER = CommandTable(
    "gcm-peer", _DESCRIPTION,
    Option("--version", action=ShowVersion, nargs=0, help="print the version"),
    epilog=_EPILOG,
    commands=(
        CommandTable(
            "boot", "Start the daemon of a peer in the background.", *_STARTING,
            epilog="examples:\n"
            "  gcm-peer boot --credential desk7.credential   the first time\n"
            "  gcm-peer boot                                 later\n"
            "  gcm-peer boot --foreground                    for a service manager",
        ),
        CommandTable(
            "supernode", "Start the daemon of a supernode in the background.", *_STARTING,
            epilog="examples:\n"
            "  gcm-peer supernode --credential lab1.credential   the first time\n"
            "  gcm-peer halt --supernode                         end it\n\n"
            "A lab may have any number of supernodes; they keep each other informed.",
        ),
        CommandTable(
            "halt", "End the daemon, and everything that runs here for others.", *_DAEMON, _JSON,
            epilog="examples:\n  gcm-peer halt\n  gcm-peer halt --supernode",
        ),
        CommandTable(
            "status", "Show the daemon: its share, what runs here, its supernode, what is wrong.",
            *_ASKED, _JSON,
            epilog="examples:\n  gcm-peer status\n"
            "  gcm-peer status desk7:7701   that of another peer, as a user",
        ),
        CommandTable(
            "hosts", "Show the hosts of the lab that are known here, the nearest first.", *_ASKED,
            _JSON,
            epilog="examples:\n  gcm-peer hosts\n"
            "  gcm-peer hosts lab1   those that a supernode knows, as a user",
        ),
        CommandTable(
            "top", "Watch the lab: peers by round trip, their sites, what runs on them.", *_ASKED,
            Option("--once", action="store_true", help="show it once, as plain text"),
            _JSON,
            epilog="examples:\n  gcm-peer top\n  gcm-peer top lab1   as a supernode sees it\n"
            "  gcm-peer top --once | grep desk7",
        ),
        CommandTable(
            "web", "Watch the lab as a page in a browser of this machine.", *_ASKED,
            Option("--port", read=port, default=0, metavar="PORT",
                   help="the port at 127.0.0.1 (any free one)"),
            epilog="examples:\n  gcm-peer web\n"
            "  gcm-peer web --port 8080   where a tunnel leads to it",
        ),
        CommandTable(
            "config", "Show the settings of the peer, and check them.",
            Option("--template", action="store_true", help="write a file with every setting"),
            Option("--reference", action="store_true", help="write a list in Markdown"),
            *_DAEMON, _JSON,
            epilog="examples:\n"
            "  gcm-peer config                               what holds now\n"
            "  gcm-peer config --template                    every setting with its meaning\n"
            "  gcm-peer config --template > ~/.gcm/peer/peer.toml",
        ),
        CommandTable(
            "lab", "Make a lab, invite members, accept an invitation.", commands=_LAB_COMMANDS,
            dest="action",
        ),
        CommandTable(
            "completion", "Print the script with which a shell completes gcm-peer.", SHELL,
            epilog="examples:\n"
            '  eval "$(gcm-peer completion bash)"       in ~/.bashrc; likewise for zsh, in'
            " ~/.zshrc\n"
            "  gcm-peer completion fish | source        in ~/.config/fish/config.fish",
        ),
    ),
)  # fmt: skip
"""The command `gcm-peer`; `command` of what its parser returns is the name of the sub-command."""


Action = Callable[[argparse.Namespace], int]


def read_options(words: Sequence[str] | None) -> argparse.Namespace:
    """Return what the words of a command line mean; raises `SystemExit` for wrong ones."""
    found: argparse.Namespace = GCM_PEER.parser().parse_args(words)
    return found
