"""Finds the calls inside a component on the stacks of the threads, so that calls cost nothing.

Counting calls in and out would more than double the cost of a call. A call through a stub leaves
the stub's frame on its thread's stack for as long as it runs, so a look at all stacks, taken only
when a component stops, gives the same information, with file and line.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from types import FrameType
from typing import TYPE_CHECKING

from gcm.interfaces.collective.gathercast import Ticket
from gcm.interfaces.future import Future
from gcm.interfaces.going_on import is_under_way, outside
from gcm.interfaces.interface import ServerInterface
from gcm.interfaces.stacks import inside, through
from gcm.interfaces.stub import STUB_FILE, Stub
from gcm.membranes.requests.request import Request, RequestFuture
from gcm.records import dataclass

if TYPE_CHECKING:
    from gcm.components.model import Component

_ATTEMPTS = 50

_looking = threading.Lock()
"""Held by who looks at stacks. Two at once would have each other's frames in variables, a circle:
what the stacks of all threads have would stay until the garbage collector comes.
"""


@dataclass(frozen=True, slots=True)
class Visit:
    """A call that runs inside a component, or waits there in an incomplete round."""

    component: Component
    operation: str
    thread: str
    place: str
    is_queued: bool = False

    def __str__(self) -> str:
        """Return who is doing what where, for an error message."""
        return f"{self.component.path} is in '{self.operation}' at {self.place} ({self.thread})"


def visits(members: Collection[Component]) -> list[Visit]:
    """Return the calls that are inside `members`, on any other thread.

    A call that waits in an incomplete round of one of `members` does not count as running: the
    calls that complete the round have to get in first. It stays queued, and continues once they run
    again.
    """
    with _looking:  # a function of its own has the frames, and has ended when the lock is free
        return _visits(members)


def _visits(members: Collection[Component]) -> list[Visit]:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    found: list[Visit] = []
    stacks = dict(_stable_stacks())
    queued = _queued(stacks, members)
    for ident, stack in stacks.items():
        place = f"{stack[0].f_code.co_filename}:{stack[0].f_lineno}"
        thread = names.get(ident, f"thread {ident}")
        found += (
            Visit(owner, operation, thread, place, ident in queued)
            for owner, operation in _entries(stack)
            if owner in members
        )
    return found


def is_inside(members: Collection[Component], frame: FrameType | None) -> bool:
    """Return whether the code of `frame` runs inside `members`."""
    return any(owner in members for owner, _ in _entries(list(_chain(frame))))


def comes_from_inside(members: Collection[Component], frame: FrameType | None) -> bool:
    """Return whether the call that `frame` holds at a component's gate came from `members`."""
    return any(owner in members for owner, _ in _entries(list(_chain(frame)), waits=True))


def _queued(stacks: Mapping[int, list[FrameType]], members: Collection[Component]) -> set[int]:
    """Return the threads that wait for an incomplete round, or for an active object that does."""
    awaited = {ident: _awaited(stack) for ident, stack in stacks.items()}
    queued: set[int] = set()
    stuck: set[Component] = set()  # active objects whose thread is one of `queued`
    found = True
    while found:
        more = {
            ident
            for ident, future in awaited.items()
            if ident not in queued and _is_held(future, members, stuck) and not is_under_way(ident)
        }
        queued |= more
        stuck.update(served for ident in more for served in _serves(stacks[ident]))
        found = bool(more)
    return queued


def _awaited(stack: list[FrameType]) -> object:
    """Return the future that the thread waits for, or None."""
    waiting = next((frame for frame in stack[:3] if frame.f_code is Future._wait.__code__), None)
    return waiting.f_locals["self"] if waiting else None


def _is_held(future: object, members: Collection[Component], stuck: Collection[Component]) -> bool:
    if isinstance(future, RequestFuture):
        queue = future.about.queue
        return queue is not None and queue.component in stuck
    return isinstance(future, Ticket) and future.is_open and future.owner in members


def _serves(stack: list[FrameType]) -> Iterator[Component]:
    """Yield the active object whose requests the thread serves, if it does that."""
    for frame in stack:
        if frame.f_code is inside.__code__ and isinstance(frame.f_locals["operation"], Request):
            yield frame.f_locals["component"]


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
    done: dict[int, list[FrameType]] = {}
    for attempt in range(_ATTEMPTS):
        tops = _tops_of_others()
        pending = {ident: list(_chain(tops[ident])) for ident in tops if ident not in done}
        again = _tops_of_others()
        for ident, stack in pending.items():
            last = attempt == _ATTEMPTS - 1
            if last or stack == list(_chain(again.get(ident))):
                done[ident] = stack
        if len(done) >= len(again):
            break
    return list(done.items())


def _tops_of_others() -> dict[int, FrameType]:
    """Return the innermost frame of each other thread.

    Who has his own frame in a variable makes a circle: all that the stacks of all threads have
    would stay until the garbage collector comes.
    """
    tops = sys._current_frames()  # documented for this purpose, in spite of its name
    del tops[threading.get_ident()]
    return tops
