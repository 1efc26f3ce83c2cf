"""What the user is told about an exception."""

from __future__ import annotations

from pathlib import Path

from gcm.tracebacks import told_to_user
from runtime.errors import GridError

_OURS = (str(Path(__file__).parents[1]) + "/",)


def words_of(error: BaseException) -> str:
    """Return the traceback of the user's own code where it is at fault, else the message."""
    words = told_to_user(error, also_ours=_OURS)
    own_fault = isinstance(error, GridError) and "  File " not in words
    return str(error) if own_fault else words
