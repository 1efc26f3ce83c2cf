"""Operations in progress: each is one message, native request or collective that will be done."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from mpi4py import MPI

from runtime.mpi.values.statuses import write

if TYPE_CHECKING:
    from runtime.mpi.progress.losses import LossHandler
    from runtime.wire import Outgoing

IDLE, NOTIFIED, POLLED = range(3)
"""How urgent it is to poll native MPI: not at all; seldom, since a wake-up announces when it is
worth it; again and again.
"""

STEPS, MOST_QUESTIONS = 3, 64
"""How often native MPI is polled in a row for its part of a collective: at first, later."""


class Operation:
    """Something in progress. When it completes `done` is true; if it failed `error` is set too.

    Of a received message, `source` is the rank in the peers of its communicator, `tag` the tag,
    `nbytes` the size, and `data` the bytes if no memory was given for them. All of it changes only
    with the engine's lock held.
    """

    __slots__ = ("cancelled", "data", "done", "error", "nbytes", "source", "tag")

    def __init__(self) -> None:
        self.done = False
        self.error: BaseException | None = None
        self.source = MPI.ANY_SOURCE
        self.tag = MPI.ANY_TAG
        self.nbytes = 0
        self.cancelled = False
        self.data: bytes | bytearray | memoryview | None = None

    @property
    def urgency(self) -> int:
        """How urgent it is to ask native MPI if it is done."""
        return IDLE

    def test(self) -> bool:
        """Return whether it is done; polls native MPI if necessary, drives nothing else."""
        return self.done

    def cancel(self) -> None:
        """Cancel it if that is still possible; it is then `done` and `cancelled`."""

    def fill(self, status: MPI.Status | None) -> None:
        """Fill the status of a program, if it wants one, with everything except the error."""
        if status is not None:
            write(status, self.source, self.tag, self.nbytes)
            if self.cancelled:
                status.Set_cancelled(True)

    def takes_long(self) -> None:
        """Record that a call has waited for it for long."""

    def describe(self) -> str:
        """Describe what is waited for."""
        return "something"

    def awaited(self) -> Sequence[int]:
        """Return the indexes of far processes without which it cannot complete."""
        return ()

    def finish(self, error: BaseException | None = None) -> None:
        """Complete it."""
        self.error = error
        self.done = True


def most_urgent(operations: Iterable[Operation]) -> int:
    """Return how urgent it is to poll native MPI for those that are not done."""
    most = IDLE
    for one in operations:
        if not one.done and (urgency := one.urgency) > most:
            most = urgency
    return most


class Finished(Operation):
    """An operation that was done from the start, such as a message to PROC_NULL."""

    __slots__ = ()

    def __init__(self, source: int = MPI.PROC_NULL, tag: int = MPI.ANY_TAG) -> None:
        super().__init__()
        self.source = source
        self.tag = tag
        self.done = True


class Failed(Operation):
    """An operation that had failed from the start."""

    __slots__ = ()

    def __init__(self, error: BaseException | None) -> None:
        super().__init__()
        self.finish(error)


class NativeOperation(Operation):
    """A request of native MPI; `ranks` maps its ranks to those of the peers."""

    __slots__ = ("_ranks", "_request", "_status", "_what")

    def __init__(
        self,
        request: MPI.Request,
        ranks: Sequence[int] | None = None,
        what: str = "a native operation",
    ) -> None:
        super().__init__()
        self._request = request
        self._ranks = ranks
        self._status = MPI.Status()
        self._what = what

    @property
    def urgency(self) -> int:
        """It is urgent: no wake-up announces it."""
        return POLLED

    def test(self) -> bool:
        """Poll native MPI."""
        return self.done or self._ask(1)

    def _ask(self, times: int) -> bool:
        """Poll up to a number of times."""
        test, status = self._request.Test, self._status
        try:
            for _ in range(times):
                if test(status):
                    self._read()
                    self.finish()
                    return True
        except MPI.Exception as error:
            self._read()
            self.finish(error)
        return self.done

    def cancel(self) -> None:
        """Cancel the native request."""
        if not self.done:
            self._request.Cancel()

    def describe(self) -> str:
        """Describe what is waited for."""
        return self._what

    def _read(self) -> None:
        status = self._status
        source = status.source
        self.source = self._ranks[source] if self._ranks and source >= 0 else source
        self.tag = status.tag
        self.nbytes = max(status.count, 0)
        self.cancelled = status.cancelled


class NativeStep(NativeOperation):
    """A native request of a collective; a wake-up says when it is worth polling."""

    __slots__ = ("_questions", "_urgency", "_wake")

    def __init__(
        self,
        request: MPI.Request,
        what: str,
        *,
        urgency: int,
        wake: Callable[[], None] | None,
        messages: int = 0,
    ) -> None:
        """Let `wake` wake those that wait for its end.

        Up to `messages` messages of members may be there already, which native MPI takes one by
        one.
        """
        super().__init__(request, None, what)
        self._urgency = urgency
        self._wake = wake
        self._questions = STEPS + messages

    @property
    def urgency(self) -> int:
        """It is urgent unless a wake-up announces it."""
        return self._urgency

    def test(self) -> bool:
        """Poll native MPI; each poll makes one step of a collective.

        Or it takes one earlier message of a program: after polls in vain twice as many are made,
        because a waiting call sleeps for long before the next ones.
        """
        if self.done or self._ask(self._questions):
            return True
        self._questions = min(2 * self._questions, MOST_QUESTIONS)
        return False

    def finish(self, error: BaseException | None = None) -> None:
        """Complete it, and tell others of this cluster."""
        super().finish(error)
        if self._wake is not None:
            self._wake()


class FarSend(Operation):
    """A message to another cluster."""

    __slots__ = ("_index", "_outgoing", "_problem", "_recovery", "_what")

    def __init__(
        self,
        outgoing: Outgoing,
        index: int,
        what: Callable[[], str],
        problem: Callable[[int, Exception], Exception],
        recovery: LossHandler | None = None,
    ) -> None:
        super().__init__()
        self._outgoing = outgoing
        self._index = index
        self._what = what
        self._problem = problem
        self._recovery = recovery

    def test(self) -> bool:
        """Test whether the payload's memory is free again, or the message matched."""
        if not self.done:
            outgoing = self._outgoing
            if outgoing.error is not None:
                self.finish(self._problem(self._index, outgoing.error))
            elif outgoing.done:
                self.finish()
            elif self._recovery is not None and self._recovery.is_closed:
                self.finish(self._recovery.error)
        return self.done

    def describe(self) -> str:
        """Describe what is waited for."""
        return self._what()

    def awaited(self) -> Sequence[int]:
        """Return the receiver."""
        return (self._index,)


class Both(Operation):
    """Two operations; the received message is that of the second one."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: Operation, second: Operation) -> None:
        super().__init__()
        self._first = first
        self._second = second

    @property
    def urgency(self) -> int:
        """As urgent as the more urgent one."""
        return most_urgent((self._first, self._second))

    def test(self) -> bool:
        """Test both."""
        if not self.done and self._first.test() & self._second.test():
            second = self._second
            self.source, self.tag, self.nbytes = second.source, second.tag, second.nbytes
            self.data = second.data
            self.finish(self._first.error or second.error)
        return self.done

    def describe(self) -> str:
        """Describe what is waited for."""
        return " and ".join(one.describe() for one in self.parts())

    def awaited(self) -> Sequence[int]:
        """Return the processes that either needs."""
        return [index for one in self.parts() for index in one.awaited()]

    def parts(self) -> list[Operation]:
        """Return those that are not done."""
        return [one for one in (self._first, self._second) if not one.done]


Steps: TypeAlias = "Generator[Operation | Sequence[Operation], None, Any]"
"""The generator of a collective: it yields operations to wait for, and returns its result."""


class Task(Operation):
    """A collective in progress: its generator is resumed when what it yielded is done."""

    __slots__ = ("_is_in_step", "_steps", "_waits", "_what", "result")

    def __init__(self, steps: Steps, what: str = "a collective") -> None:
        super().__init__()
        self._steps, self._is_in_step = steps, False
        self._waits: Sequence[Operation] = ()
        self._what = what
        self.result: Any = None

    @property
    def urgency(self) -> int:
        """As urgent as what it waits for."""
        return most_urgent(self._waits)

    def advance(self) -> bool:
        """Resume it as long as possible; return whether it was. Errors are thrown into it.

        A step may call the program, as its functions that copy attributes: what that calls may make
        progress with all but this.
        """
        moved = False
        while not self.done and not self._is_in_step:
            failed = None
            for one in self._waits:
                if not one.test():
                    return moved
                if failed is None:
                    failed = one.error
            moved = self._is_in_step = True
            try:
                step = next(self._steps) if failed is None else self._steps.throw(failed)
            except StopIteration as end:
                self.result = end.value
                self.finish()
            except (
                BaseException
            ) as error:  # any error is passed to the callers that wait for the task
                self.finish(error)
            else:
                self._waits = (step,) if isinstance(step, Operation) else tuple(step)
            finally:
                self._is_in_step = False
        return moved

    def takes_long(self) -> None:
        """Pass it on to what it waits for."""
        for one in self._waits:
            one.takes_long()

    def describe(self) -> str:
        """Describe what is waited for."""
        waits = ", ".join(one.describe() for one in self._waits if not one.done)
        return f"{self._what} ({waits or 'after those begun before it'})"

    def awaited(self) -> Sequence[int]:
        """Return the processes that its current step needs."""
        return [index for one in self._waits if not one.done for index in one.awaited()]
