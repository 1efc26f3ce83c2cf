"""The errors that end a command, and the name under which it was called, for its messages."""

from __future__ import annotations

import os
import sys

from runtime.errors import GridError

NAMES = ("gcm-deploy", "gcm-peer", "gcm-run")
COMMAND = next((one for one in NAMES if one == os.path.basename(sys.argv[0])), NAMES[0])


class UsageError(GridError):
    """The command line asks for something impossible."""


class OutputFailed(GridError):
    """Output that cannot be written."""
