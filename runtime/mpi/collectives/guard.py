"""Ends a collective that cannot complete: at every member, and not only next to the cause."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.errors import ComponentFault, FailureError, OutOfStep, ProcessGone
from runtime.mpi.progress.operations import Operation, most_urgent

if TYPE_CHECKING:
    from runtime.mpi.collectives.direct import Direct
    from runtime.mpi.collectives.mismatches import MismatchDetector
    from runtime.mpi.collectives.port import NativePort


NO_TURN = 0
"""The number for everything but collective calls, which are counted from 1."""


class GivenUp(Exception):
    """An exception raised by a function of the program during a collective; others wait for it."""

    def __init__(self, why: Exception) -> None:
        super().__init__(str(why))
        self.why = why


class Attendance:
    """Watches the leaders of the other clusters, without which a call cannot complete.

    A member may wait for a live one that has given up because it waited for a lost one: within a
    cluster native MPI would not tell. So every member watches all leaders. When another member of a
    cluster is lost, its native MPI ends the leader too. `mismatches` reports what members tell each
    other of losses.
    """

    def __init__(self, leaders: Sequence[int], mismatches: MismatchDetector) -> None:
        self.leaders = leaders
        self.mismatches = mismatches
        self._abandoned: list[Operation | Direct] = []

    def problem(self, _turn: int) -> Exception | None:
        """Return the error for a revoked communicator or a lost leader, or None."""
        return self.mismatches.revoked or self.mismatches.lost(self.leaders)

    def abandon(self, operations: Sequence[Operation]) -> None:
        """Keep memory that native MPI may still write to; nobody waits for it any more."""
        self._abandoned += [one for one in operations if not one.done]

    def takes_long(self, turn: int) -> None:
        """Record that a wait takes long; for a watched native call this means nothing."""

    def attended(self, *operations: Operation) -> Operation:
        """Return one operation for several, which fails when a leader is lost."""
        return Guarded(self, operations, NO_TURN)


class CollectiveGuard(Attendance):
    """Ends a collective also when members make mismatched calls, as `mismatches` detects.

    Calls without messages to other clusters, such as `Dup`, are only watched: they may be what a
    program calls after collectives have been mismatched.
    """

    spares_losses = False
    """Whether the loss of a member that is only sent to ends no call."""

    def steps(
        self, inner: Generator[Any, None, Any], turn: int, kind: str
    ) -> Generator[Any, None, Any]:
        """Carry a collective out when its turn has come, and tell others if it fails here.

        `inner` checks for a `problem` whenever it waits.
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
        if not isinstance(why, MPI.Exception | OutOfStep | ComponentFault):
            self.mismatches.give_up(turn, kind, why)

    def carried_out(
        self, steps: Generator[Any, None, Any], turn: int, port: NativePort
    ) -> Generator[Operation, None, Any]:
        """Carry an algorithm out, and end it when a leader is lost.

        Errors of MPI, such as a truncated message, are raised at the end: other members of this
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
                except BaseException as error:  # thrown in by the driver of this generator
                    waits = steps.throw(error)
                else:
                    waits = next(steps)
        except StopIteration as end:
            if refused is not None:
                raise refused from None
            return end.value
        finally:
            self.abandon(port.tag_messages)
            if port.direct.is_busy:
                self._abandoned.append(port.direct)

    def takes_long(self, turn: int) -> None:
        """Tell others which call this process is in: they may be in another one."""
        self.mismatches.announce(turn, self.leaders)

    def problem(self, turn: int) -> Exception | None:
        """Return why a call cannot complete: mismatched calls, or a lost leader.

        The process that detects a mismatch may end for that reason.
        """
        return self.mismatches.problem(turn) or super().problem(turn)


class RootGuard(CollectiveGuard):
    """Ends a broadcast only when its root is lost, which is the only leader."""

    spares_losses = True


class Settled(Operation):
    """Done when all others have refused the earlier calls that this process has refused."""

    __slots__ = ("_guard", "_turn")

    def __init__(self, guard: CollectiveGuard, turn: int) -> None:
        super().__init__()
        self._guard, self._turn = guard, turn

    def test(self) -> bool:
        """Check what others have said."""
        if not self.done:
            problem = self._guard.problem(self._turn)
            if problem is not None or self._guard.mismatches.is_settled(self._turn):
                self.finish(problem)
        return self.done

    def describe(self) -> str:
        """Describe what is waited for."""
        return "what other ranks say of a call that this one refused"

    def awaited(self) -> Sequence[int]:
        """Return the ranks without which it cannot complete."""
        return self._guard.leaders


class Guarded(Operation):
    """Several operations of a call: done when all are, and failed when they cannot complete.

    Another call may be in progress at the same time, so it keeps the number of its own.
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
        """Test all of them."""
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
                error = self._guard.problem(self._turn) or error  # it may have reported why it ends
            self.finish(error)
        elif (problem := self._guard.problem(self._turn)) is not None:
            self._guard.abandon(left)
            self.finish(problem)
        return self.done

    def takes_long(self) -> None:
        """Let the guard find out why."""
        self._guard.takes_long(self._turn)

    def describe(self) -> str:
        """Describe what is waited for."""
        return ", ".join(one.describe() for one in self._left if not one.done)

    def awaited(self) -> Sequence[int]:
        """Return the ranks without which it cannot complete."""
        missing = [index for one in self._parts if not one.done for index in one.awaited()]
        return sorted({*missing, *self._guard.leaders})
