"""Tracebacks as the user wants them: only the frames of their own code."""

from __future__ import annotations

import traceback
from pathlib import Path

import gcm
from gcm.interfaces.stub import STUB_FILE

_OURS = str(Path(gcm.__file__).parent) + "/"


def users_traceback(error: BaseException) -> str:
    """Return the traceback of `error` and of all behind it, without the frames of this package."""
    told = traceback.TracebackException.from_exception(error)
    pending: list[traceback.TracebackException | None] = [told]
    while pending:
        one = pending.pop()
        if one is not None:
            one.stack[:] = [frame for frame in one.stack if not _is_ours(frame.filename)]
            pending += [one.__cause__, one.__context__, *(one.exceptions or ())]
    return "".join(told.format()).rstrip()


def _is_ours(filename: str) -> bool:
    return filename.startswith((_OURS, STUB_FILE, "<frozen "))
