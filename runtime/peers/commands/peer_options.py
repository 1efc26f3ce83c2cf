"""What can be written behind `gcm-peer`: its sub-commands, their options and their help."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from gcm.cli.common_options import CommandParser, ShowVersion, add_shell

WRONG_USAGE = 2

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


def build_parser() -> CommandParser:
    """Return the parser; `command` of what it returns is the name of the sub-command."""
    parser = _parser(None, "gcm-peer", _DESCRIPTION, _EPILOG)
    parser.add_argument("--version", action=ShowVersion, nargs=0, help="print the version")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=CommandParser
    )
    _add_boot(commands)
    _add_supernode(commands)
    _add_looking(commands)
    _add_watching(commands)
    _add_config(commands)
    _add_lab(commands)
    _add_completion(commands)
    return parser


def _parser(commands: Any, name: str, description: str, epilog: str = "") -> CommandParser:
    settings: dict[str, Any] = {
        "description": description,
        "epilog": epilog or None,
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
    }
    if commands is None:
        made = CommandParser(prog=name, **settings)
    else:
        made = commands.add_parser(name, help=description.splitlines()[0], **settings)
    made.wrong_usage = WRONG_USAGE
    return made


def _add_folder(parser: CommandParser, *, with_supernode: bool = True) -> None:
    parser.add_argument(
        "--folder", default="", metavar="FOLDER", help="the folder of the daemon (~/.gcm/peer)"
    )
    if with_supernode:
        parser.add_argument(
            "--supernode", action="store_true", help="refer to the supernode of this machine"
        )


def _add_json(parser: CommandParser) -> None:
    parser.add_argument("--json", action="store_true", help="write JSON")


def _add_starting(parser: CommandParser) -> None:
    _add_folder(parser, with_supernode=False)
    parser.add_argument(
        "--credential",
        default="",
        metavar="FILE",
        help="put this credential into the folder first; needed once",
    )
    parser.add_argument(
        "--foreground", action="store_true", help="do not go into the background; log to stderr"
    )
    _add_json(parser)


def _add_boot(commands: Any) -> None:
    parser = _parser(
        commands,
        "boot",
        "Start the daemon of a peer in the background.",
        "examples:\n"
        "  gcm-peer boot --credential desk7.credential   the first time\n"
        "  gcm-peer boot                                 later\n"
        "  gcm-peer boot --foreground                    for a service manager",
    )
    _add_starting(parser)


def _add_supernode(commands: Any) -> None:
    parser = _parser(
        commands,
        "supernode",
        "Start the daemon of a supernode in the background.",
        "examples:\n"
        "  gcm-peer supernode --credential lab1.credential   the first time\n"
        "  gcm-peer halt --supernode                         end it\n\n"
        "A lab may have any number of supernodes; they keep each other informed.",
    )
    _add_starting(parser)


def _add_looking(commands: Any) -> None:
    halt = _parser(
        commands,
        "halt",
        "End the daemon, and everything that runs here for others.",
        "examples:\n  gcm-peer halt\n  gcm-peer halt --supernode",
    )
    _add_folder(halt)
    _add_json(halt)
    for name, description, examples in (
        (
            "status",
            "Show the daemon: its share, what runs here, its supernode, what is wrong.",
            "  gcm-peer status\n  gcm-peer status desk7:7701   that of another peer, as a user",
        ),
        (
            "hosts",
            "Show the hosts of the lab that are known here, the nearest first.",
            "  gcm-peer hosts\n  gcm-peer hosts lab1   those that a supernode knows, as a user",
        ),
    ):
        parser = _parser(commands, name, description, f"examples:\n{examples}")
        parser.add_argument(
            "address", nargs="?", default="", metavar="HOST[:PORT]", help="the daemon to ask"
        )
        _add_folder(parser)
        _add_json(parser)


def _add_watching(commands: Any) -> None:
    for name, description, examples in (
        (
            "top",
            "Watch the lab: peers by round trip, their sites, what runs on them.",
            "  gcm-peer top\n  gcm-peer top lab1   as a supernode sees it\n"
            "  gcm-peer top --once | grep desk7",
        ),
        (
            "web",
            "Watch the lab as a page in a browser of this machine.",
            "  gcm-peer web\n  gcm-peer web --port 8080   where a tunnel leads to it",
        ),
    ):
        parser = _parser(commands, name, description, f"examples:\n{examples}")
        parser.add_argument(
            "address", nargs="?", default="", metavar="HOST[:PORT]", help="the daemon to ask"
        )
        _add_folder(parser)
        if name == "top":
            parser.add_argument("--once", action="store_true", help="show it once, as plain text")
            _add_json(parser)
        else:
            parser.add_argument(
                "--port", type=_port, default=0, metavar="PORT",
                help="the port at 127.0.0.1 (any free one)",
            )  # fmt: skip


def _add_config(commands: Any) -> None:
    parser = _parser(
        commands,
        "config",
        "Show the settings of the peer, and check them.",
        "examples:\n"
        "  gcm-peer config                               what holds now\n"
        "  gcm-peer config --template                    every setting with its meaning\n"
        "  gcm-peer config --template > ~/.gcm/peer/peer.toml",
    )
    parser.add_argument("--template", action="store_true", help="write a file with every setting")
    parser.add_argument("--reference", action="store_true", help="write a table in Markdown")
    _add_folder(parser)
    _add_json(parser)


def _add_lab(commands: Any) -> None:
    lab = _parser(commands, "lab", "Make a lab, invite members, accept an invitation.")
    actions = lab.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=CommandParser
    )
    create = _parser(
        actions,
        "create",
        "Make a lab; whoever keeps its folder decides who belongs to it.",
        "examples:\n  gcm-peer lab create ourlab --supernode lab1 --supernode lab2:7711",
    )
    create.add_argument("name", metavar="NAME")
    create.add_argument(
        "--supernode",
        dest="supernodes",
        action="append",
        default=[],
        metavar="HOST[:PORT]",
        help="where a supernode will be; goes into all invitations",
    )
    invite = _parser(
        actions,
        "invite",
        "Write the credential of a new member, to hand out.",
        "examples:\n"
        "  gcm-peer lab invite alice --user\n"
        "  gcm-peer lab invite desk7 --peer --days 90 -o desk7.credential",
    )
    invite.add_argument("name", metavar="NAME")
    kind = invite.add_mutually_exclusive_group(required=True)
    for role in ("user", "peer", "supernode"):
        kind.add_argument(
            f"--{role}",
            dest="role",
            action="store_const",
            const=role,
            help=f"the member is a {role}",
        )
    invite.add_argument("--days", type=_days, default=365, help="how many days it is valid (365)")
    invite.add_argument("-o", "--output", default="", metavar="FILE", help="(NAME.credential)")
    invite.add_argument("--lab", default="", metavar="LAB", help="which lab, if there are several")
    join = _parser(
        actions,
        "join",
        "Put a credential where it belongs on this machine.",
        "examples:\n  gcm-peer lab join alice.credential",
    )
    join.add_argument("file", metavar="FILE")
    _add_folder(join, with_supernode=False)
    show = _parser(actions, "show", "Show a lab and its members.")
    show.add_argument("--lab", default="", metavar="LAB", help="which lab, if there are several")
    _add_json(show)


def _add_completion(commands: Any) -> None:
    parser = _parser(
        commands,
        "completion",
        "Print the script with which a shell completes gcm-peer.",
        "examples:\n"
        '  eval "$(gcm-peer completion bash)"       in ~/.bashrc; likewise for zsh, in ~/.zshrc\n'
        "  gcm-peer completion fish | source        in ~/.config/fish/config.fish",
    )
    add_shell(parser)


def _port(written: str) -> int:
    if written.isascii() and written.isdecimal() and 0 < int(written) < 1 << 16:
        return int(written)
    raise argparse.ArgumentTypeError(f"{written!r} is not a port, 1 to 65535")


def _days(written: str) -> int:
    try:
        found = int(written)
    except ValueError:
        found = 0
    if not 0 < found <= 3650:
        raise argparse.ArgumentTypeError(f"{written!r} is not 1 to 3650 days")
    return found


Action = Callable[[argparse.Namespace], int]


def read_options(words: Sequence[str] | None) -> argparse.Namespace:
    """Return what the words of a command line mean; raises `SystemExit` for wrong ones."""
    found: argparse.Namespace = build_parser().parse_args(words)
    return found
