"""The command `gcm-peer`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `gcm-peer ...`; return its exit code.

    0: all is well; 1: something failed; 2: the command line was wrong; 3: no daemon runs here;
    130: interrupted.
    """
    try:
        from gcm.cli.output import written
        from runtime.errors import GridError
        from runtime.exit_codes import READER_LEFT
        from runtime.shown_text import shown_lines

        try:
            return written("gcm-peer", lambda: _do(arguments), reader_left=READER_LEFT, failed=1)
        except GridError as error:
            print(f"gcm-peer: {shown_lines(str(error))}", file=sys.stderr)
            return 1
    except KeyboardInterrupt:
        print("gcm-peer: interrupted", file=sys.stderr)
        return INTERRUPTED


def _do(arguments: Sequence[str] | None) -> int:
    from runtime.peers.commands.daemon_actions import ACTIONS
    from runtime.peers.commands.lab_actions import LAB_ACTIONS
    from runtime.peers.commands.peer_options import read_options

    options = read_options(arguments)
    if options.command == "lab":
        return LAB_ACTIONS[options.action](options)
    if options.command in ("top", "web"):
        from runtime.peers.commands.watch_actions import WATCH_ACTIONS

        return WATCH_ACTIONS[options.command](options)
    return ACTIONS[options.command](options)
