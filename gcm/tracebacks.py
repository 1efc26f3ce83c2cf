"""Tracebacks for users: only the frames of their own code."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType

import gcm
from gcm.errors import GcmError
from gcm.interfaces.stub import STUB_FILE

_OURS = str(Path(gcm.__file__).parent) + "/"
_STANDARD = os.path.dirname(os.__file__) + "/"  # `sysconfig` is slow to import


def told_to_user(error: BaseException, *, also_ours: tuple[str, ...] = ()) -> str:
    """Return the traceback if the user's code is at fault, otherwise only the message."""
    trace = users_traceback(error, also_ours=also_ours)
    own_fault = isinstance(error, GcmError) and "  File " not in trace
    return str(error) if own_fault else trace


def users_traceback(error: BaseException, *, also_ours: tuple[str, ...] = ()) -> str:
    """Return the traceback of `error` and its causes, without the frames of `gcm`.

    `also_ours` are prefixes of further files whose frames are left out.
    """
    told = traceback.TracebackException.from_exception(error)
    pending: list[traceback.TracebackException | None] = [told]
    while pending:
        one = pending.pop()
        if one is not None:
            one.stack[:] = list(_users(one.stack, (_OURS, STUB_FILE, "<frozen ", *also_ours)))
            pending += [one.__cause__, one.__context__, *(one.exceptions or ())]
    return "".join(told.format()).rstrip()


def users_part(
    trace: TracebackType | None, *, also_ours: tuple[str, ...] = ()
) -> TracebackType | None:
    """Return a traceback from where it enters the user's code; all of it if it never does."""
    found = trace
    while found is not None and _is_ours(found, also_ours):
        found = found.tb_next
    return found or trace


def _is_ours(trace: TracebackType, also_ours: tuple[str, ...]) -> bool:
    file = trace.tb_frame.f_code.co_filename
    return file.startswith((_OURS, STUB_FILE, "<frozen ", _STANDARD, *also_ours))


def _users(
    frames: Iterable[traceback.FrameSummary], ours: tuple[str, ...]
) -> Iterator[traceback.FrameSummary]:
    """Remove our frames, and what the standard library did on our behalf."""
    on_our_behalf = False
    for frame in frames:
        if frame.filename.startswith(ours):
            on_our_behalf = True
        elif not (on_our_behalf and frame.filename.startswith(_STANDARD)):
            on_our_behalf = False
            yield frame
