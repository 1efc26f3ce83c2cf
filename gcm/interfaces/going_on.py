"""The rest of a multicast goes on in another thread as soon as one of its calls has to wait.

Passive components are called one after the other in the thread of the caller. If one of them waits
for something that only a later call can bring about, such as the round of a gathercast that all of
them take part in, that call must not come too late. So one that begins to wait first hands on what
the multicasts of its thread have not called yet. It finds them on its own stack, so that a
multicast in which nobody waits pays next to nothing for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import Lock, Thread, local
from types import FrameType
from typing import Any, ParamSpec, Protocol, TypeVar

from gcm.interfaces.future import Future, fulfil
from gcm.interfaces.stacks import inside

Item = TypeVar("Item")
P = ParamSpec("P")
T = TypeVar("T")

LOOP_FILE = "<multicast of "
"""How the file name of the loops begins that `hand_on_the_rest` looks for.

Such a loop takes its calls from the iterator `gcm_items`, keeps the futures of those that it handed
on in the list `gcm_handed`, and knows an `Elsewhere` as `gcm_elsewhere`.
"""

GoOn = tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]]
"""A function and the arguments with which it makes the calls that are left."""


class Located(Protocol):
    """The component that has a multicast interface."""

    @property
    def path(self) -> str:
        """Where it is, for messages; moves with its composites."""


class Elsewhere:
    """Where a loop hands on its calls: `gcm_elsewhere` in its frame.

    `how` is given the frame of the loop and the list of calls that are left, and tells what makes
    them. What is made elsewhere counts as inside the `owner` of the multicast.
    """

    __slots__ = ("_operation", "_owner", "how")

    def __init__(
        self, owner: Located, operation: str, how: Callable[[FrameType, list[Any]], GoOn]
    ) -> None:
        self._owner = owner
        self._operation = operation
        self.how = how

    def hand_on(self, frame: FrameType) -> None:
        """Make the calls that are left in another thread; the future goes to `gcm_handed`."""
        left = list(frame.f_locals["gcm_items"])
        if left:
            handed = Handed(f"the rest of '{self._operation}' of {self._owner.path}")
            frame.f_locals["gcm_handed"].append(handed)
            work = (handed, self._owner, self._operation, self.how(frame, left))
            try:  # nobody is to be kept from ending by what is left of a multicast
                Thread(target=_fulfil, args=work, name="multicast", daemon=True).start()
            except BaseException as error:  # there is no other thread: then nobody makes the calls
                handed.set_exception(error)
                raise


class Handed(Future[Any]):
    """The outcome of calls that another thread makes, because the first one has to wait.

    If that one is interrupted, what the other thread waits for may never come about. So the other
    thread tells how its wait can be ended, while it waits for a round that several calls make.
    """

    def __init__(self, about: object) -> None:
        super().__init__(about)
        self._guard = Lock()
        self._interrupted = False
        self._give_up: Callable[[], object] | None = None
        self._further: list[Handed] = []
        maker: Handed | None = getattr(_this_thread, "handed", None)
        if maker is not None:
            maker.hand_further(self)

    def hand_further(self, handed: Handed) -> None:
        """Let `handed` be interrupted with this one: the thread that works on this one made it."""
        with self._guard:
            self._further.append(handed)
            late = self._interrupted
        if late:
            handed.interrupt()

    def interrupt(self) -> None:
        """Let the thread that makes the calls wait for no round any more."""
        with self._guard:
            self._interrupted = True
            give_up, further = self._give_up, list(self._further)
        if give_up is not None:
            give_up()
        for handed in further:
            handed.interrupt()

    def wait(self, wait: Callable[[], T], give_up: Callable[[], object]) -> T:
        """Call `wait`; `give_up` ends it, now or later, if the multicast is interrupted."""
        with self._guard:
            self._give_up, late = give_up, self._interrupted
        if late:
            give_up()
        try:
            return wait()
        finally:
            with self._guard:
                self._give_up = None


_this_thread = local()
"""`handed`: what the thread makes calls for, if it is one that was made for that."""


def wait_for_others(wait: Callable[[], T], give_up: Callable[[], object]) -> T:
    """Call `wait`, which others end; where these may have been interrupted `give_up` does."""
    handed: Handed | None = getattr(_this_thread, "handed", None)
    return wait() if handed is None else handed.wait(wait, give_up)


def interrupt(handed: Iterable[Handed]) -> None:
    """Tell the threads that make calls for a multicast that nobody waits for them any more."""
    for one in handed:
        one.interrupt()


def _fulfil(handed: Handed, owner: Located, operation: str, how: GoOn) -> None:
    _this_thread.handed = handed
    fulfil(handed, inside, (owner, operation, _begun, (handed, *how), {}), {})


def _begun(
    handed: Handed, call: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Make the calls, now that this thread counts as inside their component."""
    handed.set_running_or_notify_cancel()
    return call(*args, **kwargs)


def is_under_way(frame: FrameType) -> bool:
    """Return whether what the loop in `frame` handed on is on its way to a thread of its own."""
    if not _is_loop(frame):
        return False
    return any(not (one.running() or one.done()) for one in frame.f_locals.get("gcm_handed", ()))


def _is_loop(frame: FrameType) -> bool:
    code = frame.f_code
    return code is make_each.__code__ or code.co_filename.startswith(LOOP_FILE)


def make_each(
    gcm_items: Iterator[Item],
    gcm_handed: list[Handed],  # noqa: ARG001 - for `hand_on_the_rest`
    gcm_elsewhere: Elsewhere,  # noqa: ARG001 - likewise
    call: Callable[[Item], None],
) -> None:
    """Make each call of `gcm_items`, unless it is handed on before its turn."""
    for item in gcm_items:
        call(item)


def hand_on_the_rest() -> None:
    """Let others make the calls that this thread cannot make while it waits."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        code = frame.f_code  # not by `_is_loop`: every wait comes past here, for every frame
        if code is make_each.__code__ or code.co_filename.startswith(LOOP_FILE):
            elsewhere = frame.f_locals.get("gcm_elsewhere")
            if elsewhere is not None:  # else this frame is only around the loop
                elsewhere.hand_on(frame)
        frame = frame.f_back


def outside(wait: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `wait` for a call that has reached its stub but has not entered the component yet.

    What this thread was still going to call goes on elsewhere: the wait may be for just that.
    """
    hand_on_the_rest()
    return wait(*args, **kwargs)
