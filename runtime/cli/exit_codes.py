"""The exit codes of `gcm-deploy` that are not the application's own."""

from __future__ import annotations

FAULTS = 1
WRONG_USAGE = 2
FAILED = 3
INTERRUPTED = 130
READER_LEFT = 141
"""What a shell reports of a program that SIGPIPE ended."""
