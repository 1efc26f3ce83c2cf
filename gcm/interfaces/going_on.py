"""The rest of a multicast goes on in another thread as soon as one of its calls has to wait.

Passive components are called one after the other in the thread of the caller. If one of them waits
for something that only a later call can bring about, such as the round of a gathercast that all of
them take part in, that call must not come too late. So one that begins to wait first hands on what
the multicasts of its thread have not called yet: each thread has a stack of those that it makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from threading import Lock, Thread, get_ident, local
from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from gcm.interfaces.future import Future, fulfil
from gcm.interfaces.stacks import inside

Item = TypeVar("Item")
P = ParamSpec("P")
T = TypeVar("T")

Again: TypeAlias = "Callable[[list[Any]], Any]"
"""Makes the calls that are left."""

Cast: TypeAlias = "tuple[Iterator[Any], list[Handed], Elsewhere, Again]"
"""A multicast that is made: its calls, the futures of those handed on, and who makes these."""


class _Casts(list[Cast]):
    """The multicasts that a thread is in, the innermost last."""

    __slots__ = ("__weakref__",)


class _Here(local):
    """What a thread is doing: `handed` is what it makes calls for, if it was made for that."""

    def __init__(self) -> None:
        self.casts = _of_threads[get_ident()] = _Casts()
        self.handed: Handed | None = None


_of_threads: WeakValueDictionary[int, _Casts] = WeakValueDictionary()
"""Those of live threads, by their numbers."""


class Located(Protocol):
    """The component that has a multicast interface."""

    @property
    def path(self) -> str:
        """Where it is, for messages; moves with its composites."""


class Elsewhere:
    """Where a multicast hands on its calls. What is made elsewhere counts as inside its `owner`."""

    __slots__ = ("_operation", "_owner")

    def __init__(self, owner: Located, operation: str) -> None:
        self._owner = owner
        self._operation = operation

    def hand_on(self, items: Iterator[Any], futures: list[Handed], again: Again) -> None:
        """Make the calls that are left in another thread; the future goes to `futures`."""
        left = list(items)
        if left:
            handed = Handed(f"the rest of '{self._operation}' of {self._owner.path}")
            futures.append(handed)
            work = (handed, self._owner, self._operation, again, left)
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
        maker = here.handed
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


here = _Here()
"""Of this thread: `here.casts` are the multicasts that it makes."""


def wait_for_others(wait: Callable[[], T], give_up: Callable[[], object]) -> T:
    """Call `wait`, which others end; where these may have been interrupted `give_up` does."""
    handed = here.handed
    return wait() if handed is None else handed.wait(wait, give_up)


def interrupt(handed: Iterable[Handed]) -> None:
    """Tell the threads that make calls for a multicast that nobody waits for them any more."""
    for one in handed:
        one.interrupt()


def _fulfil(handed: Handed, owner: Located, operation: str, again: Again, left: list[Any]) -> None:
    here.handed = handed
    fulfil(handed, inside, (owner, operation, _begun, (handed, again, left), {}), {})


def _begun(handed: Handed, again: Again, left: list[Any]) -> Any:
    """Make the calls, now that this thread counts as inside their component."""
    handed.set_running_or_notify_cancel()
    return again(left)


def is_under_way(thread: int) -> bool:
    """Return whether what a thread handed on is on its way to a thread of its own."""
    return any(
        not (one.running() or one.done())
        for _, handed, _, _ in tuple(_of_threads.get(thread, ()))
        for one in tuple(handed)
    )


def make_each(
    items: Iterator[Item], handed: list[Handed], elsewhere: Elsewhere, again: Again,
    call: Callable[[Item], None],
) -> None:  # fmt: skip
    """Make each call of `items`, unless it is handed on before its turn."""
    casts = here.casts
    casts.append((items, handed, elsewhere, again))
    try:
        for item in items:
            call(item)
    finally:
        casts.pop()


def hand_on_the_rest() -> None:
    """Let others make the calls that this thread cannot make while it waits."""
    for items, handed, elsewhere, again in reversed(here.casts):
        elsewhere.hand_on(items, handed, again)


def outside(wait: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `wait` for a call that has reached its stub but has not entered the component yet.

    What this thread was still going to call goes on elsewhere: the wait may be for just that.
    """
    hand_on_the_rest()
    return wait(*args, **kwargs)
