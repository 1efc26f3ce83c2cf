"""The name under which this command was called, for its own messages."""

from __future__ import annotations

import os
import sys

NAMES = ("gcm-deploy", "gcm-run")
COMMAND = next((one for one in NAMES if one == os.path.basename(sys.argv[0])), NAMES[0])
