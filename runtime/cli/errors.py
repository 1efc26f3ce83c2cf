"""What keeps `gcm-deploy` from doing what its command line asks for."""

from __future__ import annotations

from runtime.errors import GridError


class UsageError(GridError):
    """The command line asks for something that cannot be meant."""
