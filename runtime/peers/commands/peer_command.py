"""The command `gcm-peer`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `gcm-peer ...`; return its exit code.

    0: all is well; 1: something failed; 2: the command line was wrong; 3: no daemon runs here;
    130: interrupted.
    """
    try:
        from runtime.errors import GridError
        from runtime.exit_codes import READER_LEFT
        from runtime.peers.commands.daemon_actions import ACTIONS
        from runtime.peers.commands.lab_actions import LAB_ACTIONS
        from runtime.peers.commands.peer_options import read_options

        try:
            options = read_options(arguments)
            if options.command == "lab":
                code = LAB_ACTIONS[options.action](options)
            elif options.command in ("top", "web"):
                from runtime.peers.commands.watch_actions import WATCH_ACTIONS

                code = WATCH_ACTIONS[options.command](options)
            else:
                code = ACTIONS[options.command](options)
            sys.stdout.flush()
            return code
        except BrokenPipeError:  # the reader, such as `head`, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return READER_LEFT
        except GridError as error:
            print(f"gcm-peer: {error}", file=sys.stderr)
            return 1
    except KeyboardInterrupt:
        print("gcm-peer: interrupted", file=sys.stderr)
        return INTERRUPTED
