"""Finds the MPI calls that the threads of this process are in.

A call of ours has written down what it waits for, see `latest_calls`: the stack of a thread says
whether it is in that call still, and in which line of the program. A `Wait` of mpi4py's own has
written nothing and has no frame: the line that calls it names it.
"""

from __future__ import annotations

import _thread
import os
import sys
import time
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

from runtime import calls
from runtime.clocks import name_of_clock
from runtime.home import HOME, OWN_FRAMES
from runtime.lazy_import import imported
from runtime.machine.rank_states import (
    COLLECTIVE,
    UNKNOWN,
    KnownCommunicator,
    Part,
    RankState,
    RecoveryState,
    UnreceivedMessage,
    Wait,
)
from runtime.mpi.progress.latest_calls import begun, of_threads

if TYPE_CHECKING:
    from runtime.mpi.progress.latest_calls import Written

_OURS = f"{HOME}/runtime/mpi/"
_OBSERVER = f"{_OURS}surface/observed_calls.py"
_RUNTIME = f"{HOME}/runtime/"
_PYTHON = (*OWN_FRAMES, "<frozen", f"{sys.base_prefix}/lib/")

AN_MPI_CALL = "an MPI call at"
"""What is told of a thread that is in our MPI, in nothing that it has written down."""

AT_THE_END = "its end, where it waits until all others of its cluster come to theirs"
"""What is told of a rank whose program has ended."""

_END = "wait_for_the_ends_of_all"

_NO_FUNCTION = compile("", "", "exec").co_name

_BLOCKS = (calls.BLOCKING,)
SENDS = frozenset(calls.of_kind("send", how=_BLOCKS))
RECEIVES = frozenset(calls.of_kind("receive", "probe", how=_BLOCKS))
EXCHANGES = frozenset(calls.of_kind("exchange", how=_BLOCKS))
WAITS = frozenset(calls.of_kind("wait", of=calls.OF_REQUESTS))
OF_MPI = WAITS - {"wait"}
"""The waits whose names nothing else has; files of Python and other libraries have `wait`, too."""

COLLECTIVES = frozenset(calls.of_kind("collective", "copy", "make", how=_BLOCKS))
BLOCKING = SENDS | RECEIVES | EXCHANGES | WAITS | COLLECTIVES
"""The calls that may block, as mpi4py names them."""


class Mark:
    """When a call was seen for the first time, and a number that no other call has.

    `call` is what the thread has written, or the place of a call of mpi4py's own.
    """

    __slots__ = ("call", "seen", "serial")

    def __init__(self, serial: int, call: Written) -> None:
        self.serial, self.call = serial, call
        self.seen = time.monotonic()


class CallOfThread:
    """A call that a thread is in, and since when it has been seen there."""

    def __init__(  # noqa: PLR0917 - all of it is said where it is made
        self,
        name: str,
        written: Written | None,
        top: FrameType,
        mark: Mark,
        thread: int,
        began: str = "",
    ) -> None:
        self.begun_on: object = None
        """The communicator on which the program has begun something last."""
        self.name, self.mark, self._thread = name, mark, thread
        self.written = written
        """What it has written down; None for a call of mpi4py's own."""
        self.began = began
        """The call whose request it waits for, where only the line of the program tells."""
        at = program_frame(top)
        self.where = where(at)
        """The line of the program."""

    @property
    def goes_on(self) -> bool:
        """Whether its thread is in it still."""
        top = sys._current_frames().get(self._thread)
        if top is None or self.written is None:
            return top is not None and self.mark.call == (id(_beyond(top)), _beyond(top).f_lasti)
        return _written_on(top, self._thread) is self.written

    @property
    def seconds(self) -> float:
        """How long it has lasted at least."""
        return time.monotonic() - self.mark.seen


class ThreadsLook:
    """What the threads of the program are doing: their calls, and which others may act."""

    def __init__(self) -> None:
        self.calls: list[CallOfThread] = []
        self.besides: list[Wait] = []
        """What they wait for in other libraries of ours."""
        self.may_act = False
        self.threads = 0
        self.at = ""


class MessagesLook:
    """What is known of the messages of a rank, and of its communicators, at one moment."""

    def __init__(self) -> None:
        self.turns: tuple[tuple[str, int], ...] = ()
        self.unreceived: list[UnreceivedMessage] = []
        self.intercepted: tuple[str, ...] = ()
        self.recoveries: tuple[RecoveryState, ...] = ()


class CallWatch:
    """Looks at the threads repeatedly; one for each process. Not thread-safe."""

    def __init__(self) -> None:
        self._count = 0
        self._marks: dict[int, Mark] = {}
        self._begun_on: object = None

    def look(self) -> ThreadsLook:
        """Return what the threads are doing now. The caller should drop the result soon."""
        found = ThreadsLook()
        marks: dict[int, Mark] = {}
        names = _names_of_threads()
        has_begun, begun.comm = begun.comm, None
        if has_begun is not True:  # a request that was started, of no matter which communicator
            self._begun_on = has_begun or self._begun_on
        known = dict(of_threads)  # before: a thread that begins now is in no frames yet
        frames = tops_of_others()
        for thread in known.keys() - frames.keys() - {_thread.get_ident()}:
            if of_threads.get(thread) is known[thread]:
                del of_threads[thread]
        for thread, frame in frames.items():
            name = names.get(thread)
            if name is None or name.startswith("gcm-"):
                continue  # it is ours
            found.threads += 1
            call = self._call_of(thread, frame, marks, has_moved=has_begun is not None)
            if call is not None:
                call.begun_on = self._begun_on
                found.calls.append(call)
            elif not _is_at_rest(frame):
                found.may_act = True
            if name == "MainThread":
                found.at = where(program_frame(frame))
                if _is_at_the_end(frame):
                    found.at = AT_THE_END
                elif call is None and _is_in_ours(frame):
                    found.at = f"{AN_MPI_CALL} {found.at}{_awaited()}"
        self._marks = marks
        return found

    def _call_of(
        self, thread: int, frame: FrameType, marks: dict[int, Mark], *, has_moved: bool
    ) -> CallOfThread | None:
        from runtime.mpi.surface.line_calls import wait_in_line

        written = _written_on(frame, thread)
        if written is not None:
            mark = marks[thread] = self._again(thread, written) or self._new_mark(written)
            began = ""
            if written[0] in WAITS and not (began := _noted(written[1])):
                waits = wait_in_line(program_frame(frame))
                began = waits[1] if waits is not None else ""
            return CallOfThread(written[0], written, frame, mark, thread, began)
        if _is_in_ours(frame):
            return None
        frame = _beyond(frame)
        found = wait_in_line(frame)
        if found is None:
            return None
        place = id(frame), frame.f_lasti
        same = None if has_moved else self._again(thread, place)
        mark = marks[thread] = same or self._new_mark(place)
        return CallOfThread(found[0], None, frame, mark, thread, found[1])

    def _again(self, thread: int, call: Written) -> Mark | None:
        """Return the mark of a call that the thread was in at the last look, too."""
        mark = self._marks.get(thread)
        if mark is None:
            return None
        is_same = mark.call is call or (type(call[0]) is int and mark.call == call)
        return mark if is_same else None

    def _new_mark(self, call: Written) -> Mark:
        self._count += 1
        return Mark(self._count, call)


def state_seen(
    rank: str,
    look: ThreadsLook,
    waits: Iterable[Wait],
    messages: MessagesLook,
    *,
    with_stacks: bool,
) -> RankState:
    """Return what a rank reports from a look at its threads; `waits` are its calls of MPI."""
    import resource  # only where somebody asks

    used = resource.getrusage(resource.RUSAGE_SELF)
    counts = imported("runtime.mpi.surface.counted_calls")
    return RankState(
        rank,
        (*waits, *look.besides),
        look.at,
        look.may_act,
        messages.turns,
        tuple(messages.unreceived),
        intercepted=messages.intercepted,
        recoveries=messages.recoveries,
        stacks=stacks() if with_stacks else (),
        host=os.uname().nodename,
        pid=os.getpid(),
        is_alone=look.threads == 1,
        memory=used.ru_maxrss * 1024,
        cpu=used.ru_utime + used.ru_stime,
        in_mpi=0.0 if counts is None else counts.seconds(),
        clock=time.monotonic(),
        clock_of=name_of_clock(),
    )


def state_of_any_rank(rank: str, look: ThreadsLook, with_stacks: bool) -> RankState:
    """Return what a rank is doing that does not use the MPI of the machine."""
    waits = map(wait_in, look.calls)
    return state_seen(rank, look, waits, MessagesLook(), with_stacks=with_stacks)


def wait_in(
    call: CallOfThread,
    parts: tuple[Part, ...] = (),
    comm: KnownCommunicator = KnownCommunicator(),  # noqa: B008 - it is frozen
    *,
    needs_all: bool = True,
    turn: int | None = None,
    root: str = "",
    size: int | None = None,
) -> Wait:
    """Return what is known of any call, including mpi4py's own, with these details of it."""
    kind = COLLECTIVE if call.name in COLLECTIVES else UNKNOWN
    return Wait(
        call.name,
        parts or (Part(kind, is_tag_known=False),),
        comm,
        needs_all,
        turn,
        root,
        call.seconds,
        call.where,
        call.mark.serial,
        size,
        call.began,
        bool(call.written or call.name in OF_MPI or call.began or begun.objects),
    )


def where(frame: FrameType) -> str:
    """Return the location of a frame: `ring.py:12 in step`."""
    code = frame.f_code
    inside = "" if code.co_name == _NO_FUNCTION else f" in {code.co_name}"
    return f"{code.co_filename.rpartition('/')[2]}:{frame.f_lineno}{inside}"


def tops_of_others() -> dict[int, FrameType]:
    """Return the innermost frame of each thread but this one.

    Who has his own frame in a variable makes a circle: all that the stacks of all threads have
    would stay until the garbage collector comes. Pythons before 3.12.4 even crash there, at a
    `PickleBuffer` of a `memoryview`, which a rank has on its stack while it sends.
    """
    tops = sys._current_frames()
    del tops[_thread.get_ident()]
    return tops


def line_of(thread: int) -> str:
    """Return the line of the program that a thread is in; "" if it has ended."""
    frame = sys._current_frames().get(thread)
    return "" if frame is None else where(program_frame(frame))


def program_frame(frame: FrameType) -> FrameType:
    """Return the innermost frame that is neither ours nor Python's own."""
    found: FrameType | None = frame
    while found is not None:
        if not found.f_code.co_filename.startswith((_RUNTIME, *_PYTHON)):
            return found
        found = found.f_back
    return frame


def stacks() -> tuple[tuple[str, str], ...]:
    """Return the name and stack of each thread of the program, as tracebacks show them.

    A stack ends with the line of the program that has called us, whether MPI or coupling.
    """
    import traceback

    names = _names_of_threads()
    found = []
    for thread, frame in tops_of_others().items():
        name = names.get(thread)
        if name is None or name.startswith("gcm-"):
            continue
        summary = traceback.extract_stack(_before_ours(frame))
        own = [
            one
            for one in summary
            if not one.filename.startswith(OWN_FRAMES) and one.filename != _OBSERVER
        ]
        found.append((name, "".join(traceback.format_list(own))))
    return tuple(found)


def _noted(request: object) -> str:
    """Return the call that began a request; "" where a check has kept no note of it."""
    return getattr(getattr(request, "_check", None), "name", "")


def _before_ours(frame: FrameType) -> FrameType:
    """Return the frame of the program that has called us, or the innermost one if we do nothing."""
    caller = program_frame(frame)
    for one in _frames_of(frame):
        if one is caller:
            break
        if one.f_code.co_filename.startswith(_RUNTIME) and one.f_code.co_filename != _OBSERVER:
            return caller
    return frame


def _awaited() -> str:
    """Return what calls of ours wait for that have written nothing down, as those of windows."""
    predefined = imported("runtime.mpi.progress.predefined")
    engine = None if predefined is None else predefined.running_engine()
    told = [] if engine is None else [one for one in engine.waits.describe() if one]
    return f", which waits for {' and '.join(told)}" if told else ""


def _names_of_threads() -> dict[int, str]:
    """Return the names of Python's threads, without those that only listen for this package."""
    threading = sys.modules.get("threading")
    if threading is None:
        main: int = getattr(_thread, "_get_main_thread_ident", lambda: 0)()
        first = next(reversed(sys._current_frames()), main)
        return {main or first: "MainThread"}
    return {one.ident: one.name for one in tuple(threading._active.values()) if one.ident}


def _written_on(frame: FrameType, thread: int) -> Written | None:
    """Return what a thread has written of the call that it is in; None if that is none."""
    latest = of_threads.get(thread)
    if latest is None:
        return None
    ours = {
        one.f_code.co_name for one in _frames_of(frame) if one.f_code.co_filename.startswith(_OURS)
    }
    for written in (latest.outer, latest.call):
        if written is not None and written[0] in ours and written[0] in BLOCKING:
            return written
    return None


def _frames_of(top: FrameType) -> Iterator[FrameType]:
    one: FrameType | None = top
    while one is not None:
        yield one
        one = one.f_back


def _is_in_ours(frame: FrameType) -> bool:
    return any(
        one.f_code.co_filename.startswith(_OURS) and one.f_code.co_filename != _OBSERVER
        for one in _frames_of(frame)
    )


def _is_at_the_end(frame: FrameType) -> bool:
    return any(
        one.f_code.co_name == _END and one.f_code.co_filename.startswith(_OURS)
        for one in _frames_of(frame)
    )


def _beyond(frame: FrameType) -> FrameType:
    """Return the frame itself, or the innermost caller of it that does not only observe."""
    while frame.f_code.co_filename == _OBSERVER and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _is_at_rest(frame: FrameType) -> bool:
    """Return whether a thread waits for another one of its process, however long that takes.

    One that waits for a time alone, such as a timer, may act, and so may one that waits for files.
    """
    from runtime.mpi.surface.line_calls import waits_for_a_thread

    return waits_for_a_thread(frame)
