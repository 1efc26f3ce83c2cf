"""What a process waits for at a window: answers of targets, and what others have to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mpi4py import MPI

from runtime.mpi.errors import CommunicatorRevoked, FailureError
from runtime.mpi.progress.losses import LossHandler
from runtime.mpi.progress.operations import Operation, most_urgent

if TYPE_CHECKING:
    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.recovery import Recovery

_LEAST_KEPT = 64
"""So many operations are kept before those that are done are forgotten."""


class FirstError:
    """The first error of steps that are all taken, since other processes wait for each of them.

    >>> steps, taken = FirstError(), []
    >>> for step in (1, 0, 2):
    ...     with steps.goes_on():
    ...         taken.append(4 // step)
    >>> taken
    [4, 2]
    >>> steps.tell()
    Traceback (most recent call last):
        ...
    ZeroDivisionError: integer division or modulo by zero
    """

    def __init__(self) -> None:
        self._error: Exception | None = None

    @contextmanager
    def goes_on(self) -> Iterator[None]:
        """Take a step; keep its error."""
        try:
            yield
        except Exception as error:
            if self._error is None:
                self._error = error

    def tell(self) -> None:
        """Raise the first error, if there was any."""
        if self._error is not None:
            raise self._error


class WindowLosses(LossHandler):
    """Why calls at a window are refused: its communicator is closed, or a rank has given it up."""

    def __init__(self, parent: Recovery, own: Recovery, name_of: Callable[[int], str]) -> None:
        """Know the communicator of the program, and the duplicate that the window has."""
        super().__init__()
        self._parent, self._own, self._name_of = parent, own, name_of

    def end(self) -> None:
        """Let it alone again; the lock is held."""
        self._parent.closed_with_it.remove(self._own)

    @property
    def is_closed(self) -> bool:
        """Whether calls are refused."""
        return self._parent.is_closed or self._own.is_closed

    @property
    def error(self) -> FailureError | None:
        """The error of calls; None while the window works."""
        by = self._own.revoked_by
        if self._parent.is_closed or by is None:
            return self._parent.error or self._own.error
        return CommunicatorRevoked(
            f"{self._name_of(by)} has given the window up, since it was broken there",
            cause="a rank was lost, or the communicator revoked",
            cure="Free it here, too, and make another one of the communicator that Shrink returns",
        )


class Unfinished:
    """Accesses to a rank until a synchronisation; those that are done are forgotten meanwhile."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._limit = _LEAST_KEPT

    def add(self, operation: Operation) -> None:
        """Keep one more. All are tested only when they have doubled: each rarely, that is."""
        kept = self.operations
        if len(kept) >= self._limit:
            kept[:] = [one for one in kept if not one.test() or one.error is not None]
            self._limit = max(_LEAST_KEPT, 2 * len(kept))
        kept.append(operation)


class Awaited(Operation):
    """Something that others have to do, which a predicate tells; it fails where one is lost."""

    __slots__ = ("_engine", "_indexes", "_recovery", "_what", "is_there")

    def __init__(
        self,
        engine: Engine,
        recovery: LossHandler,
        indexes: Sequence[int],
        what: str,
        is_there: Callable[[], bool],
    ) -> None:
        super().__init__()
        self._engine, self._recovery, self._indexes, self._what = engine, recovery, indexes, what
        self.is_there = is_there

    def test(self) -> bool:
        """Ask whether it is there; the lock is held."""
        if self.done:
            return True
        if self.is_there():
            self.finish()
        elif self._recovery.is_closed:
            self.finish(self._recovery.error)
        elif self._engine.losses.gone:
            for one in self._indexes:
                if one in self._engine.losses.gone:
                    self.finish(self._engine.losses.of(one))
                    break
        return self.done

    def describe(self) -> str:
        """Describe what is waited for."""
        return self._what

    def awaited(self) -> Sequence[int]:
        """Return who has to do it."""
        return self._indexes


class Answered(Awaited):
    """A request that its target answers, with bytes for memory here if it asks for some."""

    __slots__ = ("_has_come", "into")

    def __init__(
        self,
        engine: Engine,
        recovery: LossHandler,
        index: int,
        what: str,
        into: memoryview | None = None,
    ) -> None:
        super().__init__(engine, recovery, (index,), what, self._is_there)
        self._has_come = False
        self.into = into
        """Where the answer goes; nowhere once this has failed: it is the program's again."""

    def _is_there(self) -> bool:
        return self._has_come

    def answer(self, body: memoryview | None) -> None:
        """Take the answer; there is no body where that went into the memory already."""
        if self.done:
            return
        if body is not None and self.into is not None:
            self.into[:] = body
        self._has_come = True
        self.finish()

    def refuse(self, fault: BaseException) -> None:
        """Fail with what the target says."""
        if not self.done:
            self.finish(fault)

    def finish(self, error: BaseException | None = None) -> None:
        """Complete it; what comes late stays out of the program's memory."""
        if error is not None:
            self.into = None
        super().finish(error)


class AllOf(Operation):
    """Several operations, and what is done once they are done, unless one has failed."""

    __slots__ = ("_parts", "_then")

    def __init__(self, parts: Sequence[Operation], then: Callable[[], object] | None) -> None:
        super().__init__()
        self._parts, self._then = parts, then
        self.source = MPI.UNDEFINED  # as MPI says where there is no message

    def test(self) -> bool:
        """Test all of them."""
        if self.done:
            return True
        tested = [one.test() for one in self._parts]  # all of them, since each makes progress
        if all(tested):
            error = next((one.error for one in self._parts if one.error is not None), None)
            if error is None and self._then is not None:
                self._then()
            self.finish(error)
        return self.done

    @property
    def urgency(self) -> int:
        """As urgent as the most urgent one."""
        return most_urgent(self._parts)

    def fill(self, status: MPI.Status | None) -> None:
        """Leave a status as it is: accesses of windows have none."""

    def describe(self) -> str:
        """Describe what is waited for."""
        return " and ".join(dict.fromkeys(one.describe() for one in self._parts if not one.done))

    def awaited(self) -> Sequence[int]:
        """Return the processes that they need."""
        return [index for one in self._parts if not one.done for index in one.awaited()]
