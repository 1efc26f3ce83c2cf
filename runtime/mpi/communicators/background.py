"""Duplicates that native MPI makes in the background, and what has to wait for them.

The members of a new communicator look for a number that is free at all of them. MPICH lets one
search at a time have its numbers, in an order that all know, and repeats the others. A search of
one process alone is repeated within the call, which moves none of those before it: the call never
returns. So a communicator of one process is made natively when no duplicate is on its way here, and
a duplicate is on its way only once all its members in this cluster have begun it. Then it needs
nothing of their programs any more, and whoever waits for it waits for a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mpi4py import MPI

from runtime.mpi.progress.operations import POLLED, NativeOperation, Operation, most_urgent

if TYPE_CHECKING:
    from runtime.mpi.progress.engine import Engine

_begun: list[NativeOperation] = []

_WHAT = "a duplicate of a native communicator"


class NativeDuplicate(Operation):
    """A duplicate of a native communicator, which `made` is at the end."""

    __slots__ = ("_begun", "_given", "_info", "_is_alone", "made")

    def __init__(self, given: MPI.Comm, info: MPI.Info | None = None) -> None:
        """Make one of one process, if nothing is in its way; another one has to `begin`."""
        super().__init__()
        self._given, self._info = given, info
        self.made: MPI.Comm = MPI.Comm()
        self._begun: NativeOperation | None = None
        self._is_alone = given.Get_size() == 1 and not given.Is_inter()
        if self._is_alone and not on_their_way():
            self._make()
            if self.error is not None:
                raise self.error

    def begin(self) -> None:
        """Begin it when all its members are known to do so, in the same order everywhere.

        Open MPI sends several messages for it, and confuses those of two that have one parent.
        """
        if self._is_alone:
            return
        try:
            self.made, request = MPI.Comm.Idup(self._given, self._info)
        except MPI.Exception as error:
            self.finish(error)
            return
        self._begun = NativeOperation(request, None, _WHAT)
        _begun[:] = [*on_their_way(), self._begun]

    @property
    def urgency(self) -> int:
        """It is urgent: no wake-up announces it, or what it waits for."""
        return POLLED

    def test(self) -> bool:
        """Make it, if that is possible now; or poll native MPI. The lock is held."""
        if self.done:
            return True
        if self._begun is not None:
            if self._begun.test():
                self.finish(self._begun.error)
        elif self._is_alone and not [one for one in on_their_way() if not one.test()]:
            self._make()
        return self.done

    def _make(self) -> None:
        try:
            self.made = MPI.Comm.Dup(self._given, self._info)
        except MPI.Exception as error:
            self.finish(error)
        else:
            self.finish()

    def describe(self) -> str:
        """Describe what is waited for."""
        return _WHAT


class Followed(Operation):
    """Several operations, after which something is done; it fails as soon as one of them does."""

    __slots__ = ("_parts", "_then")

    def __init__(self, parts: Sequence[Operation], then: Callable[[], None]) -> None:
        super().__init__()
        self._parts, self._then = parts, then

    @property
    def urgency(self) -> int:
        """As urgent as the most urgent one."""
        return most_urgent(self._parts)

    def test(self) -> bool:
        """Test all of them."""
        if self.done:
            return True
        left = [one for one in self._parts if not one.test()]
        error = next((one.error for one in self._parts if one.error is not None), None)
        if error is None and not left:
            try:
                self._then()
            except MPI.Exception as fault:
                error = fault
        if error is not None or not left:
            self.finish(error)
        return self.done

    def takes_long(self) -> None:
        """Pass it on to what it waits for."""
        for one in self._parts:
            one.takes_long()

    def describe(self) -> str:
        """Describe what is waited for."""
        return " and ".join(one.describe() for one in self._parts if not one.done)

    def awaited(self) -> Sequence[int]:
        """Return the processes that any of them needs."""
        return [index for one in self._parts if not one.done for index in one.awaited()]


def on_their_way() -> list[NativeOperation]:
    """Return the duplicates that native MPI has not finished."""
    return [one for one in _begun if not one.done]


def await_earlier(engine: Engine, size: int) -> None:
    """Wait until a native communicator of so many processes can be made without spinning."""
    before = on_their_way() if size == 1 else []
    if before:
        engine.waits.wait(lambda: all(one.test() for one in before), lambda: before)
