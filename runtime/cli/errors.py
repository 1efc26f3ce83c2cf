"""Errors of the command line of `gcm-deploy`."""

from __future__ import annotations

from runtime.errors import GridError


class UsageError(GridError):
    """The command line asks for something impossible."""
