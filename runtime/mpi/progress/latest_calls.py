"""What each thread has written down of its latest call that may block: for those who ask why.

A call writes its name and what it waits for as it begins: a tuple, whose identity is that of the
call. Nothing is written at its end, so `call` and `outer` say only what a thread does whose stack
has a function of that name; see `runtime.mpi.surface.waiting_calls`. The forms by kind:

    name, comm, dest, tag                        sends
    name, comm, source, tag                      receives and probes
    name, comm, source, recvtag, dest, sendtag   exchanges
    name, comm, root, data                       collectives, which take it back at the end
    name, comm                                   what makes a communicator
    name, request or requests                    waits
"""

from __future__ import annotations

import _thread
import functools

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    import threading
    from typing import Any

    Written = tuple[Any, ...]


class LatestCall:
    """What one thread has written: a call, and one that is made of others.

    `is_heard` is whether listeners hear of its call already: what that calls is not the program's.
    """

    __slots__ = ("call", "is_heard", "outer")

    def __init__(self) -> None:
        self.call: Written | None = None
        self.outer: Written | None = None
        self.is_heard = False


class Begun:
    """The communicator of the last call that has begun something, and whether it was an object.

    True stands for one that is not known: of a persistent request that was started.
    Who looks at threads sets `comm` to None: if it is None still, no thread has begun anything.
    """

    __slots__ = ("comm", "objects")

    def __init__(self) -> None:
        self.comm: Any = None
        self.objects = False


of_threads: dict[int, LatestCall] = {}
"""By the number of the thread; those of ended threads are left until somebody looks."""

mine = _thread._local()
"""`mine.latest` is the one of the calling thread, once it has one. A subclass that makes it would
cost as much as all else.
"""


class Sole:
    """Where the only thread of a program writes, None once it has another one.

    To look it up here takes a tenth of what it takes in `mine`.
    """

    __slots__ = ("latest",)

    def __init__(self) -> None:
        self.latest: LatestCall | None = None


sole = Sole()

begun = Begun()


def expect_one_thread() -> None:
    """Let the main thread write to `sole` until the program starts another thread."""
    import threading

    of_program = [one for one in threading.enumerate() if _is_of_program(one)]
    if of_program != [threading.main_thread()] or threading.current_thread() not in of_program:
        return
    sole.latest = latest_of_thread()
    start: Any = threading.Thread.start
    start_unnamed: Any = _thread.start_new_thread

    @functools.wraps(start)
    def start_thread(thread: Any) -> None:
        if _is_of_program(thread):
            sole.latest = None
        start(thread)

    @functools.wraps(start_unnamed)
    def start_new_thread(function: Any, *args: Any, **options: Any) -> Any:
        if not str(getattr(function, "__module__", "")).startswith("runtime."):
            sole.latest = None
        return start_unnamed(function, *args, **options)

    setattr(threading.Thread, "start", start_thread)  # noqa: B010 - the type checker would refuse
    setattr(_thread, "start_new_thread", start_new_thread)  # noqa: B010


def _is_of_program(thread: threading.Thread) -> bool:
    return not thread.name.startswith("gcm-")


def latest_of_thread() -> LatestCall:
    """Return what the calling thread has written; its first call has nothing to write to yet."""
    latest: LatestCall | None = getattr(mine, "latest", None)
    if latest is None:
        latest = mine.latest = of_threads[_thread.get_ident()] = LatestCall()
    return latest


def entered(on: object) -> tuple[Any, LatestCall]:
    """Return the members of a communicator and the thread's latest call, where one is missing.

    That is so for an object of mpi4py's own, and in the first call of a thread.
    """
    return getattr(on, "_members", None), latest_of_thread()


def write_down(name: str, *told: object) -> None:
    """Write down a call that is about to wait anyhow."""
    (sole.latest or latest_of_thread()).call = name, *told


def note(name: str, comm: object, *told: object) -> None:
    """Write down a call that is made of others, which write down themselves."""
    (sole.latest or latest_of_thread()).outer = name, comm, *told
