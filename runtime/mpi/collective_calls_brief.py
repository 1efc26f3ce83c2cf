"""How collectives on little data are carried out: by messages of the post alone.

Native MPI wakes nobody, so inside a cluster every native step costs a bell besides, and what there
is to do for several steps at a time takes a processor that has just woken up far longer than the
messages themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mpi4py import MPI

from runtime.collectives.brief import Tree, combined, nothing, spread
from runtime.mpi.collective_calls_accord import brief_tag_of, call_of
from runtime.mpi.errors import OutOfStep, ProcessGone
from runtime.mpi.operations import Operation

if TYPE_CHECKING:
    from runtime.collectives.brief import Fold, Talk
    from runtime.collectives.layout import Layout
    from runtime.collectives.port import Data
    from runtime.mpi.collective_calls_guard import Guard
    from runtime.mpi.membership import Membership

MOST = 1024
"""Bytes of data that are little."""

FEW = 8
"""Up to so many members of a cluster talk to their leader one by one."""


class Brief(Operation):
    """The brief collectives of one communicator, one after the other; what is waited for now."""

    __slots__ = ("_accord", "_box", "_engine", "_guard", "_kind", "_members", "_tag", "_tree",
                 "_turn", "_wanted")  # fmt: skip

    def __init__(self, members: Membership, layout: Layout, guard: Guard) -> None:
        super().__init__()
        self._members, self._engine = members, members.engine
        self._guard, self._accord = guard, guard.accord
        self._box = members.engine.collective_box(members)
        self._tree = Tree(layout)
        self._kind = ""
        self._turn = self._tag = 0
        self._wanted: Sequence[int] = ()

    # --- what is done -----------------------------------------------------------------------------

    def meet(self) -> None:
        """Wait until every member has come."""
        self._carry_out("Barrier", combined(self._tree, self._say, b"", nothing))

    def combine(self, mine: Data, fold: Fold) -> Data:
        """Return the fold of everybody's data."""
        return self._carry_out("Allreduce", combined(self._tree, self._say, mine, fold))

    def spread(self, data: Data, root: int) -> Data:
        """Return the root's data, which is of the size of everybody's.

        Raises MPI.Exception with class ERR_TRUNCATE if it is not.
        """
        found = self._carry_out("Bcast", spread(self._tree, self._say, data, root), root)
        if len(found) != len(data):
            raise MPI.Exception(MPI.ERR_TRUNCATE)
        return found

    def _carry_out(self, kind: str, talk: Talk, root: int | None = None) -> Data:
        self._begin(kind, root)
        try:
            self._wanted = next(talk)
            while True:
                self._wanted = talk.send(self._heard())
        except StopIteration as end:
            result: Data = end.value
            return result
        except (OutOfStep, ProcessGone):
            raise  # of which the others learn in other ways
        except Exception as error:
            self._accord.give_up(self._turn, kind, error)
            raise

    def _begin(self, kind: str, root: int | None) -> None:
        """Wait for the collectives that were begun before, and count this one."""
        engine = self._engine
        with engine.lock:
            before = engine.last_task(self._members)
        if before is not None:
            engine.wait_until(before.test, lambda: (before,))
        self._kind = kind
        self._turn = self._accord.next_turn(call_of(kind, root))
        self._tag = brief_tag_of(kind, self._turn)
        with engine.lock:
            settled = self._guard.begin(self._turn)
        if settled is not None:
            engine.wait(settled)

    def _say(self, rank: int, data: Data) -> None:
        self._engine.send_brief(self._members, rank, self._tag, data)

    def _heard(self) -> list[Data]:
        """Wait for a message of each that is wanted, and return what they say."""
        engine, box, tag = self._engine, self._box, self._tag
        self.done, self.error = False, None
        with engine.lock:
            box.expect(self._wanted, tag)
        try:
            engine.wait_until(self.test, lambda: (self,))
        except BaseException:  # it was interrupted
            box.expect((), tag)
            raise
        if self.error is not None:
            raise self.error
        heard: list[Data] = []
        with engine.lock:
            for rank in self._wanted:
                come = box.brief.pop((rank, tag))
                come.take()
                heard.append(b"" if come.payload is None else come.payload)
        return heard

    # --- what is waited for -----------------------------------------------------------------------

    def test(self) -> bool:
        """Look whether all have spoken, or cannot any more."""
        if self.done:
            return True
        brief, tag = self._box.brief, self._tag
        for rank in self._wanted:
            come = brief.get((rank, tag))
            if come is None or come.came < come.size:
                if self._box.has_news or self._engine.losses.gone:
                    self._look_for_a_problem(rank)
                return self.done
        self.done = True
        return True

    def _look_for_a_problem(self, rank: int) -> None:
        """Be done if calls do not fit, a leader is lost, or the one who is waited for."""
        problem = self._guard.problem()
        if problem is None:
            problem = self._engine.hopeless((self._members.group[rank],), near=False)
        if problem is not None:
            self._box.expect((), self._tag)
            self.finish(problem)

    def takes_long(self) -> None:
        """Let the guard find out why."""
        self._guard.takes_long()

    def describe(self) -> str:
        """Say what is waited for."""
        names = ", ".join(f"rank {rank}" for rank in self._missing())
        return f"{self._kind} (a message from {names})"

    def awaited(self) -> Sequence[int]:
        """Return without whom it cannot be done."""
        missing = [self._members.group[rank] for rank in self._missing()]
        return sorted({*missing, *self._guard.leaders})

    def _missing(self) -> list[int]:
        return [rank for rank in self._wanted if (rank, self._tag) not in self._box.brief]
