"""How a collective ends when it cannot be done: at every member, and not only next to the cause."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.errors import FailureError, OutOfStep, ProcessGone
from runtime.mpi.progress.operations import Operation, most_urgent

if TYPE_CHECKING:
    from runtime.mpi.collectives.direct import Direct
    from runtime.mpi.collectives.mismatches import MismatchDetector
    from runtime.mpi.collectives.port import NativePort


NO_TURN = 0
"""The number of what is no collective call: they begin with 1."""


class GivenUp(Exception):
    """What a function of the program raised in the middle of a collective; others wait for it."""

    def __init__(self, why: Exception) -> None:
        super().__init__(str(why))
        self.why = why


class Attendance:
    """Knows the leaders of the other clusters, without which a call cannot be done.

    A member may wait for one that lives, and that has given up since it waited for one that is
    lost: inside a cluster native MPI would not tell. So everybody looks after all leaders. When
    another member of a cluster is lost, its native MPI ends the leader too. What members say of
    losses comes from `mismatches`.
    """

    def __init__(self, leaders: Sequence[int], mismatches: MismatchDetector) -> None:
        self.leaders = leaders
        self.mismatches = mismatches
        self._abandoned: list[Operation | Direct] = []

    def problem(self, _turn: int) -> Exception | None:
        """Return the error that says that all is revoked, or names a leader that is lost."""
        return self.mismatches.revoked or self.mismatches.lost(self.leaders)

    def abandon(self, operations: Sequence[Operation]) -> None:
        """Keep what native MPI may still write to; nobody waits for it any more."""
        self._abandoned += [one for one in operations if not one.done]

    def takes_long(self, turn: int) -> None:
        """Record that a wait takes long; that of a call that is only attended says nothing."""

    def attended(self, *operations: Operation) -> Operation:
        """Return one operation for several, which fails when a leader is lost."""
        return Guarded(self, operations, NO_TURN)


class CollectiveGuard(Attendance):
    """Ends a collective also when members make calls that do not fit, as `mismatches` tells.

    Calls without messages to other clusters, such as `Dup`, are only attended: they may be what
    goes on when collectives do not fit any more.
    """

    def steps(
        self, inner: Generator[Any, None, Any], turn: int, kind: str
    ) -> Generator[Any, None, Any]:
        """Carry a collective out when its turn has come, and tell others if it fails here.

        `inner` looks for a `problem` whenever it waits.
        """
        problem = self.mismatches.problem(turn) or self.mismatches.revoked
        if problem is not None:
            raise problem
        if not self.mismatches.is_settled(turn):
            yield Settled(self, turn)
        try:
            return (yield from inner)
        except GivenUp as fault:
            self.give_up(turn, kind, fault.why)
            raise fault.why from None
        except (Exception, KeyboardInterrupt) as error:
            self.give_up(turn, kind, error)
            raise

    def give_up(self, turn: int, kind: str, why: BaseException) -> None:
        """Tell others that a collective fails here, unless they learn of that in other ways."""
        if not isinstance(why, MPI.Exception | OutOfStep):
            self.mismatches.give_up(turn, kind, why)

    def carried_out(
        self, steps: Generator[Any, None, Any], turn: int, port: NativePort
    ) -> Generator[Operation, None, Any]:
        """Carry an algorithm out, and end it when a leader is lost.

        What MPI refuses, such as a message that is too long, is raised at the end: others of this
        cluster wait for native calls that are still to come.
        """
        refused: MPI.Exception | None = None
        try:
            waits = next(steps)
            while True:
                waiting = Guarded(self, waits, turn, port)
                try:
                    yield waiting
                except FailureError as error:
                    waits = steps.throw(error)
                except MPI.Exception as error:
                    refused = refused or error
                    waits = next(steps)
                except BaseException as error:  # thrown in by the driver of this
                    waits = steps.throw(error)
                else:
                    waits = next(steps)
        except StopIteration as end:
            if refused is not None:
                raise refused from None
            return end.value
        finally:
            if port.direct.is_busy:
                self._abandoned.append(port.direct)

    def takes_long(self, turn: int) -> None:
        """Tell others which call this process is in: they may be in another one."""
        self.mismatches.ask(turn, self.leaders)

    def problem(self, turn: int) -> Exception | None:
        """Return why a call cannot be done: calls do not fit, or a leader is lost.

        Who finds that calls do not fit may end for that reason.
        """
        return self.mismatches.problem(turn) or super().problem(turn)


class Settled(Operation):
    """What is done when all others have refused the calls before that this process has refused."""

    __slots__ = ("_guard", "_turn")

    def __init__(self, guard: CollectiveGuard, turn: int) -> None:
        super().__init__()
        self._guard, self._turn = guard, turn

    def test(self) -> bool:
        """Look what others have said."""
        if not self.done:
            problem = self._guard.problem(self._turn)
            if problem is not None or self._guard.mismatches.is_settled(self._turn):
                self.finish(problem)
        return self.done

    def describe(self) -> str:
        """Say what is waited for."""
        return "what other ranks say of a call that this one refused"

    def awaited(self) -> Sequence[int]:
        """Return without whom it cannot be done."""
        return self._guard.leaders


class Guarded(Operation):
    """Several operations of a call that are done when all of them are, or fail as they cannot be.

    Another call may go on at the same time, so it knows the number of its own.
    """

    __slots__ = ("_guard", "_left", "_parts", "_port", "_turn")

    def __init__(
        self,
        guard: Attendance,
        parts: Sequence[Operation],
        turn: int,
        port: NativePort | None = None,
    ) -> None:
        super().__init__()
        self._guard, self._parts, self._turn, self._port = guard, parts, turn, port
        self._left = parts

    @property
    def urgency(self) -> int:
        """As urgent as the most urgent one."""
        return most_urgent(self._left)

    def test(self) -> bool:
        """Look after all."""
        if self.done:
            return True
        if self._port is not None:
            self._port.look()
        left = [one for one in self._left if not one.test()]
        self._left = left
        if not left:
            error = None
            for one in self._parts:
                if error is None:
                    error = one.error
            if isinstance(error, ProcessGone):
                error = self._guard.problem(self._turn) or error  # it may have said why it ends
            self.finish(error)
        elif (problem := self._guard.problem(self._turn)) is not None:
            self._guard.abandon(left)
            self.finish(problem)
        return self.done

    def takes_long(self) -> None:
        """Let the guard find out why."""
        self._guard.takes_long(self._turn)

    def describe(self) -> str:
        """Say what is waited for."""
        return ", ".join(one.describe() for one in self._left if not one.done)

    def awaited(self) -> Sequence[int]:
        """Return without whom it cannot be done."""
        missing = [index for one in self._parts if not one.done for index in one.awaited()]
        return sorted({*missing, *self._guard.leaders})
