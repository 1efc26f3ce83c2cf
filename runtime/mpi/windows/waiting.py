"""What a process waits for at a window: answers of targets, and what others have to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mpi4py import MPI

from runtime.mpi.progress.operations import Operation, most_urgent

if TYPE_CHECKING:
    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.losses import LossHandler


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
        """Where the answer goes."""

    def _is_there(self) -> bool:
        return self._has_come

    def answer(self, body: memoryview | None) -> None:
        """Take the answer; there is no body where that went into the memory already."""
        if body is not None and self.into is not None:
            self.into[:] = body
        self._has_come = True
        self.finish()

    def refuse(self, fault: BaseException) -> None:
        """Fail with what the target says."""
        self.finish(fault)


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
