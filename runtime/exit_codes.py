"""The exit codes of `gcm-deploy` that are not those of the application.

A program's own exit codes pass through, and 128 + n tells that signal n ended it. What went wrong
around the program has codes from 200 on, which neither of them has.
"""

from __future__ import annotations

FAULTS = 201
"""The descriptor has faults; nothing was started."""
WRONG_USAGE = 202
"""The command line was wrong; nothing was started."""
NEVER_STARTED = 203
"""The deployment failed before the application ran."""
LOST = 204
"""A part of the machine failed while the application ran: a front-end, an `mpiexec`, a node."""
OUTPUT_FAILED = 205
"""What the application made could not be written or brought home."""
UNHEALTHY = 206
"""`gcm-deploy doctor` found a problem that will make a run fail."""
WALLTIME_OVER = 207
"""The job of a cluster came to the end of its walltime; the application was ended before that."""
FAULTS_FOUND = 208
"""`--check` found faults of the program, however it ended."""
TIMED_OUT = 124
"""The application ran longer than `--run-timeout` allows; `timeout` reports the same."""
INTERRUPTED = 130
"""Ctrl-C ended the run."""
READER_LEFT = 141
"""What a shell reports of a program that SIGPIPE ended."""
