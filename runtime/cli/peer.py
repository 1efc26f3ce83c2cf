"""The `gcm-peer` command: lends this machine to a lab, and runs programs in it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gcm.cli.command_table import CommandTable
from gcm.cli.common_options import VERSION
from runtime.cli.commands import COMMANDS
from runtime.cli.guard import guarded_daemon

_DESCRIPTION = """\
Lend the idle time of this machine to a lab, and look at the machines of the lab.

  gcm-peer lab create ourlab --supernode lab1      make a lab; keep the folder that it names
  gcm-peer lab invite lab1 --supernode             write lab1.credential: hand it to the machine
  gcm-peer lab invite desk7 --peer                 one for each machine that lends its time
  gcm-peer lab invite alice --user                 one for each user
  gcm-peer supernode --credential lab1.credential  on lab1: let the others find each other
  gcm-peer boot --credential desk7.credential      on desk7: lend its time, from now on
  gcm-peer lab join alice.credential               for alice: to run programs in the lab
  gcm-peer run -n 4 ring.py                        run a program on the peers
  gcm-peer hosts                                   the hosts of the lab, the nearest first
  gcm-peer halt                                    end everything that runs here for others"""

_EPILOG = """\
exit codes:
  0 success, 1 something failed, 2 the command line is wrong, 3 no daemon runs here,
  130 Ctrl-C; those of gcm-peer run are those of gcm-deploy

files: ~/.gcm/peer and ~/.gcm/supernode (--folder, GCM_PEER_FOLDER), ~/.gcm/labs,
  ~/.gcm/credential (GCM_CREDENTIAL) for the user; GCM_FOLDER instead of ~/.gcm"""

GCM_PEER = CommandTable(
    "gcm-peer", _DESCRIPTION, VERSION, epilog=_EPILOG, commands=COMMANDS["gcm-peer"]
)
"""The program `gcm-peer`."""


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run `gcm-peer`, as `runtime.cli.peer_main` describes.

    Raises:
        KeyboardInterrupt: it was interrupted.
    """
    words = sys.argv[1:] if arguments is None else arguments
    return guarded_daemon("gcm-peer", lambda: GCM_PEER.run_command(words))
