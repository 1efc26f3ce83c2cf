"""Finds the MPI calls that the threads of this process are in, from their stacks.

Nothing is recorded while calls are made, so calls cost nothing. A call of ours is a frame of this
package; a call of mpi4py's own has none, and is recognised by the program's line that makes it. A
frame that was seen gets a mark, which shows later whether it is still the same call.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from runtime import calls
from runtime.home import HOME, OWN_FRAMES

if TYPE_CHECKING:
    from dis import Instruction

_OURS = f"{HOME}/runtime/mpi/"
_RUNTIME = f"{HOME}/runtime/"
_AT_REST = ("threading.py", "queue.py", "concurrent/futures/_base.py")
"""Files of Python in which threads wait for other threads of their process.

One that waits for a time alone, such as a timer, may act, and so may one that waits for files.
"""

CO_OPTIMIZED = 1
"""A flag of the code of functions; see `inspect`, which ranks do not load just for that."""

OBSERVED = "observed_call"
"""The name of the function around calls that are observed; see `observed_calls`."""

LOOKS_AT_LOCALS = {"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe"}

_NO_FUNCTION = compile("", "", "exec").co_name

_BLOCKS = (calls.BLOCKING,)
SENDS = frozenset(calls.of_kind("send", how=_BLOCKS))
RECEIVES = frozenset(calls.of_kind("receive", "probe", how=_BLOCKS))
EXCHANGES = frozenset(calls.of_kind("exchange", how=_BLOCKS))
WAITS = frozenset(calls.of_kind("wait", of=calls.OF_REQUESTS))
OF_MPI = WAITS - {"wait"}
"""The waits whose names nothing else has; files of Python and other libraries have `wait`, too."""

COLLECTIVES = frozenset(calls.of_kind("collective", "copy", "make", how=_BLOCKS))
NONBLOCKING = frozenset(
    calls.of_kind("send", "receive", "exchange", "collective", "copy", how=(calls.BEGUN,))
)
"""The calls that return a request."""

LOOKS = frozenset(calls.of_kind("probe", "test", of=calls.WITH_REQUESTS)) - RECEIVES
"""The calls that look whether something has come, and return at once."""

BLOCKING = SENDS | RECEIVES | EXCHANGES | WAITS | COLLECTIVES
"""The calls that may block, as mpi4py names them."""


class _Mark:
    """Marks a frame as seen, with the time; it lives as long as the frame does."""

    __slots__ = ("seen", "serial")

    def __init__(self, serial: int) -> None:
        self.serial = serial
        self.seen = time.monotonic()

    def __call__(self, *_: object) -> None:
        """Act as a trace function that traces nothing."""


class CallOfThread:
    """A call that a thread is in: its frame, and since when it has been seen there."""

    def __init__(
        self, name: str, frame: FrameType | None, caller: FrameType, mark: _Mark, thread: int
    ) -> None:
        self._at, self._thread = caller.f_lasti, thread
        self.name = name
        self.frame = frame
        """The frame of this package; None for a call of mpi4py's own."""
        self.caller = caller
        self.mark = mark

    @property
    def goes_on(self) -> bool:
        """Whether its thread is in it still."""
        top = one = sys._current_frames().get(self._thread)
        if self.frame is None:
            return _beyond(top) is self.caller and self.caller.f_lasti == self._at
        while one is not None and one is not self.frame:
            one = one.f_back
        return one is not None

    @property
    def seconds(self) -> float:
        """How long it has lasted at least."""
        return time.monotonic() - self.mark.seen

    @property
    def where(self) -> str:
        """The line of the program."""
        return where(self.caller)


class ThreadsLook:
    """What the threads of the program are doing: their calls, and which others may act."""

    def __init__(self) -> None:
        self.calls: list[CallOfThread] = []
        self.may_act = False
        self.threads = 0
        self.at = ""


class CallWatch:
    """Looks at the threads repeatedly; one for each process. Not thread-safe."""

    def __init__(self) -> None:
        self._count = 0
        self._unmarked: dict[tuple[Any, ...], _Mark] = {}

    def look(self) -> ThreadsLook:
        """Return what the threads are doing now. The caller should drop the result soon."""
        found = ThreadsLook()
        unmarked: dict[tuple[Any, ...], _Mark] = {}
        names = _names_of_threads()
        for thread, frame in sys._current_frames().items():
            name = names.get(thread)
            if name is None or name.startswith("gcm-"):
                continue  # it is ours
            found.threads += 1
            call = self._call_of(thread, frame, unmarked)
            if call is not None:
                found.calls.append(call)
            elif not _is_at_rest(frame):
                found.may_act = True
            if name == "MainThread":
                found.at = where(program_frame(frame))
        self._unmarked = unmarked
        return found

    def _call_of(
        self, thread: int, frame: FrameType, unmarked: dict[tuple[Any, ...], _Mark]
    ) -> CallOfThread | None:
        entered = _entered(frame)
        if entered is not None:
            name, caller = entered.f_code.co_name, _beyond(entered.f_back)
            if name not in BLOCKING or caller is None:
                return None
            trace = entered.f_trace
            if trace is None:
                entered.f_trace = trace = self._new_mark()
            if isinstance(trace, _Mark):
                return CallOfThread(name, entered, caller, trace, thread)
            key: tuple[Any, ...] = (thread, id(entered), frame.f_lasti)  # a debugger uses it
            mark = self._unmarked_at(key, unmarked)
            return CallOfThread(name, entered, caller, mark, thread)
        name, beyond = _native_call(frame), _beyond(frame)
        if frame is not beyond and beyond is not None:
            name, frame = frame.f_locals["call"].__name__, beyond
        if not name:
            return None
        key = (thread, *_fingerprint(frame))
        return CallOfThread(name, None, frame, self._unmarked_at(key, unmarked), thread)

    def _unmarked_at(self, key: tuple[Any, ...], unmarked: dict[tuple[Any, ...], _Mark]) -> _Mark:
        mark = unmarked[key] = self._unmarked.get(key) or self._new_mark()
        return mark

    def _new_mark(self) -> _Mark:
        self._count += 1
        return _Mark(self._count)


def plain_state(
    watch: CallWatch, told: Callable[[CallOfThread], dict[str, object]], *, with_stacks: bool
) -> dict[str, object]:
    """Return what a rank reports from its stacks; `told` adds details of each call."""
    look = watch.look()
    return {
        "waits": [told(one) for one in look.calls],
        "at": look.at,
        "may_act": look.may_act,
        "alone": look.threads == 1,
        "turns": {},
        "unreceived": [],
        "stacks": stacks() if with_stacks else [],
        "host": os.uname().nodename,
        "pid": os.getpid(),
        **_resources(),
    }


def _resources() -> dict[str, object]:
    import resource  # only where somebody asks

    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"memory": used.ru_maxrss * 1024, "cpu": used.ru_utime + used.ru_stime}


def state_of_any_rank(name: str, watch: CallWatch, with_stacks: bool) -> dict[str, object]:
    """Return what a rank is doing that does not use the MPI of the machine."""
    del name
    return plain_state(watch, facts_of_call, with_stacks=with_stacks)


def facts_of_call(call: CallOfThread) -> dict[str, object]:
    """Return what is known of any call, including mpi4py's own."""
    kind = "collective" if call.name in COLLECTIVES else "unknown"
    is_wait = call.name in WAITS
    began = begun_by(call.caller) if is_wait else ""
    return {
        "call": call.name,
        "began": began,
        "is-mpi": call.frame is not None
        or call.name in OF_MPI
        or bool(began)
        or (is_wait and _is_request(receiver(call.caller))),
        "parts": [[kind, "", None, False]],
        "comm": ["", "", []],
        "needs_all": True,
        "turn": None,
        "root": "",
        "seconds": call.seconds,
        "where": call.where,
        "serial": call.mark.serial,
        "size": None,
    }


def where(frame: FrameType) -> str:
    """Return the location of a frame: `ring.py:12 in step`."""
    code = frame.f_code
    inside = "" if code.co_name == _NO_FUNCTION else f" in {code.co_name}"
    return f"{code.co_filename.rpartition('/')[2]}:{frame.f_lineno}{inside}"


def program_frame(frame: FrameType) -> FrameType:
    """Return the innermost frame that is neither ours nor Python's own."""
    found: FrameType | None = frame
    while found is not None:
        name = found.f_code.co_filename
        if not name.startswith((_RUNTIME, *OWN_FRAMES, "<frozen", sys.base_prefix + "/lib/")):
            return found
        found = found.f_back
    return frame


def stacks() -> list[list[str]]:
    """Return the name and stack of each thread of the program, as tracebacks show them.

    A stack ends where it enters our MPI.
    """
    import traceback

    names = _names_of_threads()
    found = []
    for thread, frame in sys._current_frames().items():
        name = names.get(thread)
        if name is None or name.startswith("gcm-"):
            continue
        summary = traceback.extract_stack(_entered(frame) or frame)
        own = [
            one
            for one in summary
            if not one.filename.startswith(OWN_FRAMES) and one.name != OBSERVED
        ]
        found.append([name, "".join(traceback.format_list(own))])
    return found


def _names_of_threads() -> dict[int, str]:
    """Return the names of Python's threads, without those that only listen for this package."""
    import _thread

    threading = sys.modules.get("threading")
    if threading is None:
        main: int = getattr(_thread, "_get_main_thread_ident", lambda: 0)()
        first = next(reversed(sys._current_frames()), main)
        return {main or first: "MainThread"}
    return {one.ident: one.name for one in tuple(threading._active.values()) if one.ident}


def _entered(frame: FrameType) -> FrameType | None:
    """Return the frame by which the program entered our MPI, if it did."""
    found: FrameType | None = None
    one: FrameType | None = frame
    while one is not None:
        if one.f_code.co_filename.startswith(_OURS) and one.f_code.co_name != OBSERVED:
            found = one
        one = one.f_back
    return found


def _beyond(frame: FrameType | None) -> FrameType | None:
    """Return the frame itself, or the innermost caller of it that does not only observe."""
    while frame is not None and frame.f_code.co_name == OBSERVED:
        frame = frame.f_back
    return frame


def _is_at_rest(frame: FrameType) -> bool:
    is_timed = frame.f_locals.get("timeout") is not None
    return frame.f_code.co_filename.endswith(_AT_REST) and not is_timed


def _native_call(frame: FrameType) -> str:
    """Return the name of the mpi4py call that a frame may be in, from its bytecode."""
    for name in _called(frame.f_code, frame.f_lasti):
        if name in BLOCKING:
            return name
    return ""


def _called(code: CodeType, at: int) -> Iterator[str]:
    import dis

    if dis.opname[code.co_code[at]].startswith("CALL"):
        names = [one.argval for one in _loaded_for(code, at) if one.opname in _ATTRIBUTES]
        yield str(names[-1]) if names else ""


_ATTRIBUTES = {"LOAD_METHOD", "LOAD_ATTR"}


def _loaded_for(code: CodeType, at: int) -> list[Instruction]:
    """Return what was done on the same stretch of source for a call."""
    import dis

    line, _, column, _ = list(code.co_positions())[at // 2]
    return [
        one
        for one in dis.get_instructions(code)
        if one.offset < at
        and one.positions is not None
        and (one.positions.lineno, one.positions.col_offset) == (line, column)
    ]


def begun_by(frame: FrameType) -> str:
    """Return the call whose request a frame waits for, from its bytecode; "" if that is not plain.

    It is plain in `comm.Ibarrier().Wait()`, and for a variable to which only such calls are
    assigned.
    """
    import dis

    code = frame.f_code
    loaded = _loaded_for(code, frame.f_lasti)
    names = [str(one.argval) for one in loaded if one.opname in _ATTRIBUTES]
    begun = [name for name in names if name in NONBLOCKING]
    if begun or len(names) != 1:
        return "".join(begun[-1:])
    variable = loaded[0].argval
    before, assigned = None, set()
    for one in dis.get_instructions(code):
        if one.opname.startswith("STORE") and one.argval == variable:
            is_call = before is not None and before.opname.startswith("CALL")
            assigned.add("".join(_called(code, before.offset)) if before and is_call else "")
        before = one
    found = "".join(assigned) if len(assigned) == 1 else ""
    return found if found in NONBLOCKING else ""


def receiver(frame: FrameType) -> object:
    """Return the object whose method a frame calls, from its bytecode; None if it is not plain.

    It is plain for a variable, its attributes, and an element of a list or dictionary, for which
    the first request there is returned. No code of the program runs for that.
    """
    loaded = _loaded_for(frame.f_code, frame.f_lasti)
    while loaded and loaded[-1].opname not in _ATTRIBUTES:
        loaded.pop()
    if not loaded or not loaded[0].opname.startswith("LOAD"):
        return None
    found = _variable(frame, str(loaded[0].argval))
    for one in loaded[1:-1]:
        if one.opname in _ATTRIBUTES:
            found = _attribute(found, str(one.argval))
        elif one.opname.startswith("BINARY"):
            several = found.values() if isinstance(found, dict) else found
            is_plain = type(found) in (dict, list, tuple)
            some: Any = several if is_plain else ()
            found = next((one for one in tuple(some) if _is_request(one)), None)
    return found


def variables(frame: FrameType) -> list[object]:
    """Return the values of the variables that the code of a frame knows."""
    found = list(frame.f_globals.values())
    if not _may_know_locals(frame):
        known = frame.f_locals
        found += known.values()
        _forget_copies(frame, known)
    return found


def _variable(frame: FrameType, name: str) -> object:
    if _may_know_locals(frame):
        return frame.f_globals.get(name)
    known = frame.f_locals
    found = known.get(name, frame.f_globals.get(name))
    _forget_copies(frame, known)
    return found


def _attribute(value: object, name: str) -> object:
    try:
        return object.__getattribute__(value, "__dict__").get(name)
    except AttributeError:
        return None


def _is_request(value: object) -> bool:
    return any(
        one.__module__.startswith("mpi4py") and one.__name__ == "Request"
        for one in type(value).__mro__
    )


def _fingerprint(frame: FrameType) -> tuple[Any, ...]:
    """Return a value that usually differs when a thread is in the same line once more."""
    found: list[Any] = []
    one: FrameType | None = frame
    while one is not None and not one.f_code.co_filename.startswith(OWN_FRAMES):
        found.append((id(one), one.f_lasti, _hash_of_locals(one)))
        one = one.f_back
    return tuple(found)


def _hash_of_locals(frame: FrameType) -> int:
    """Return a value that usually differs when local variables have other values.

    Before Python 3.13 this copies the variables of a function into a dictionary that stays with the
    frame and keeps its values alive; so it is emptied. A function that may have asked for that
    dictionary itself is skipped.
    """
    if _may_know_locals(frame):
        return 0
    found = frame.f_locals
    made = hash(tuple(map(id, found.values())))
    _forget_copies(frame, found)
    return made


def _may_know_locals(frame: FrameType) -> bool:
    code = frame.f_code
    return bool(code.co_flags & CO_OPTIMIZED and LOOKS_AT_LOCALS.intersection(code.co_names))


def _forget_copies(frame: FrameType, found: dict[str, Any]) -> None:
    if frame.f_code.co_flags & CO_OPTIMIZED and sys.version_info < (3, 13):
        found.clear()
