"""How a collective ends when a member is lost: at every member, and not only next to the loss."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.operations import Operation

if TYPE_CHECKING:
    from runtime.mpi.engine import Engine


class Guard:
    """Knows the leaders of the other clusters, without which no collective can be done.

    A member may wait for one that lives, and that has given up since it waited for one that is
    lost: inside a cluster native MPI would not tell. So everybody looks after all leaders. When
    another member of a cluster is lost, its native MPI ends the leader too.
    """

    def __init__(self, engine: Engine, leaders: Sequence[int]) -> None:
        self._engine = engine
        self.leaders = leaders
        self._abandoned: list[Operation] = []

    def steps(self, steps: Generator[Any, None, Any]) -> Generator[Operation, None, Any]:
        """Carry an algorithm out, and end it when a leader is lost.

        What MPI refuses, such as a message that is too long, is raised at the end: others of this
        cluster wait for native calls that are still to come.
        """
        refused: MPI.Exception | None = None
        try:
            waits = next(steps)
            while True:
                waiting = Guarded(self, waits)
                try:
                    yield waiting
                except MPI.Exception as error:
                    refused = refused or error
                    waits = next(steps)
                except BaseException as error:  # thrown in by whoever drives this
                    waits = steps.throw(error)
                else:
                    waits = next(steps)
        except StopIteration as end:
            if refused is not None:
                raise refused from None
            return end.value

    def loss(self) -> Exception | None:
        """Return the error that names a leader that is lost."""
        return self._engine.hopeless(self.leaders, near=True)

    def abandon(self, operations: Sequence[Operation]) -> None:
        """Keep what native MPI may still write to; nobody waits for it any more."""
        self._abandoned += [one for one in operations if not one.done]


class Guarded(Operation):
    """Several operations that are done when all of them are, or fail with a loss."""

    __slots__ = ("_guard", "_parts")

    def __init__(self, guard: Guard, parts: Sequence[Operation]) -> None:
        super().__init__()
        self._guard, self._parts = guard, parts

    @property
    def polled(self) -> bool:  # type: ignore[override] # depends on its parts
        """Whether native MPI has to be asked for one of them."""
        return any(one.polled and not one.done for one in self._parts)

    @property
    def restless(self) -> bool:
        """Whether one of them is."""
        return any(one.restless and not one.done for one in self._parts)

    def test(self) -> bool:
        """Look after all."""
        if self.done:
            return True
        if all(one.test() for one in self._parts):
            self.finish(next((one.error for one in self._parts if one.error is not None), None))
        elif (loss := self._guard.loss()) is not None:
            self._guard.abandon(self._parts)
            self.finish(loss)
        return self.done

    def describe(self) -> str:
        """Say what is waited for."""
        return ", ".join(one.describe() for one in self._parts if not one.done)

    def awaited(self) -> Sequence[int]:
        """Return without whom it cannot be done."""
        missing = [index for one in self._parts if not one.done for index in one.awaited()]
        return sorted({*missing, *self._guard.leaders})
