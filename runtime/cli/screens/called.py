"""By which of its names this command was called, for what it says itself."""

from __future__ import annotations

import os
import sys

NAMES = ("gcm-deploy", "gcm-run")
COMMAND = next((one for one in NAMES if one == os.path.basename(sys.argv[0])), NAMES[0])
