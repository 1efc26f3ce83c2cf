"""Tracebacks as the user wants them: only the frames of their own code."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

import gcm
from gcm.interfaces.stub import STUB_FILE

_OURS = str(Path(gcm.__file__).parent) + "/"
_STANDARD = sysconfig.get_path("stdlib") + "/"


def users_traceback(error: BaseException) -> str:
    """Return the traceback of `error` and of all behind it, without the frames of `gcm`."""
    told = traceback.TracebackException.from_exception(error)
    pending: list[traceback.TracebackException | None] = [told]
    while pending:
        one = pending.pop()
        if one is not None:
            one.stack[:] = list(_users(one.stack))
            pending += [one.__cause__, one.__context__, *(one.exceptions or ())]
    return "".join(told.format()).rstrip()


def _users(frames: Iterable[traceback.FrameSummary]) -> Iterator[traceback.FrameSummary]:
    """Leave out our frames, and what the standard library did on our behalf."""
    on_our_behalf = False
    for frame in frames:
        if frame.filename.startswith((_OURS, STUB_FILE, "<frozen ")):
            on_our_behalf = True
        elif not (on_our_behalf and frame.filename.startswith(_STANDARD)):
            on_our_behalf = False
            yield frame
