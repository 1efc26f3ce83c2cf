"""Who is inside a component now: found on the stacks of the threads, so that calls cost nothing.

Counting calls in and out would more than double the price of a call. A call through a stub leaves
the stub's frame on its thread's stack for as long as it runs, so a look at all stacks, taken only
when a component stops, tells the same, and the file and line as well.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING

from gcm.interfaces.interface import ServerInterface
from gcm.interfaces.stacks import inside, outside, through
from gcm.interfaces.stub import STUB_FILE, Stub

if TYPE_CHECKING:
    from gcm.components.model import Component

_ATTEMPTS = 50


@dataclass(frozen=True, slots=True)
class Visit:
    """A call that is running inside a component."""

    component: Component
    operation: str
    thread: str
    place: str

    def __str__(self) -> str:
        """Return who is doing what where, for an error message."""
        return f"{self.component.path} is in '{self.operation}' at {self.place} ({self.thread})"


def visits(members: Collection[Component]) -> list[Visit]:
    """Return the calls that are running inside `members`, on any other thread."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    found: list[Visit] = []
    for ident, stack in _stable_stacks():
        place = f"{stack[0].f_code.co_filename}:{stack[0].f_lineno}"
        thread = names.get(ident, f"thread {ident}")
        found += (
            Visit(owner, operation, thread, place)
            for owner, operation in _entries(stack)
            if owner in members
        )
    return found


def is_inside(members: Collection[Component], frame: FrameType | None) -> bool:
    """Tell whether what runs in `frame` runs inside `members`."""
    return any(owner in members for owner, _ in _entries(list(_chain(frame))))


def comes_from_inside(members: Collection[Component], frame: FrameType | None) -> bool:
    """Tell whether the call that `frame` holds at the gate of a component came from `members`."""
    return any(owner in members for owner, _ in _entries(list(_chain(frame)), waits=True))


def _entries(stack: list[FrameType], *, waits: bool = False) -> Iterator[tuple[Component, str]]:
    """Yield each component that `stack` (the innermost frame first) is inside of, and where.

    A call that waits has reached its stub, the next one down the stack, but not the component.
    """
    for frame in stack:
        if frame.f_code is outside.__code__:
            waits = True
            continue
        entry = _entry(frame)
        if entry is not None:
            component, operation = entry
            if component is not None and not waits:
                yield component, operation
            waits = False


def _entry(frame: FrameType) -> tuple[Component | None, str] | None:
    """Return the component that a call enters in `frame`, and the operation.

    A control call is an entry too, but into no content: then there is no component.
    """
    code = frame.f_code
    if code is inside.__code__:
        return frame.f_locals["component"], str(frame.f_locals["operation"])
    if code is through.__code__:
        return _served(frame.f_locals["stub"], frame.f_locals["operation"])
    if code.co_filename.startswith(STUB_FILE):
        return _served(frame.f_locals.get("self"), code.co_name)
    return None


def _served(stub: object, operation: str) -> tuple[Component | None, str] | None:
    end = stub._end if isinstance(stub, Stub) else None
    if not isinstance(end, ServerInterface):
        return None
    return end.owner if end.is_functional else None, operation


def _chain(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _stable_stacks() -> list[tuple[int, list[FrameType]]]:
    """Return the stacks of all other threads, each one as it was at one moment.

    A thread that runs on while its stack is read could hide a frame: a frame that has returned no
    longer knows who called it. While the innermost frame stays the same, everything below it stays
    too, so a stack counts only if it reads the same twice.
    """
    me = threading.get_ident()
    done: dict[int, list[FrameType]] = {}
    for attempt in range(_ATTEMPTS):
        tops = sys._current_frames()  # documented for this purpose, in spite of its name
        pending = {ident: list(_chain(tops[ident])) for ident in tops if ident not in done}
        again = sys._current_frames()
        for ident, stack in pending.items():
            last = attempt == _ATTEMPTS - 1
            if ident != me and (last or stack == list(_chain(again.get(ident)))):
                done[ident] = stack
        if len(done) >= len(again) - 1:
            break
    return list(done.items())
