"""How collectives on little data are carried out: by messages of the post alone.

Native MPI wakes nobody, so inside a cluster every native step costs a bell besides, and what there
is to do for several steps at a time takes a processor that has just woken up far longer than the
messages themselves.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from runtime.collectives.brief import Tree, combined, nothing, spread
from runtime.mpi.collective_calls_accord import brief_tag_of
from runtime.mpi.collective_calls_guard import Guarded
from runtime.mpi.operations import Operation

if TYPE_CHECKING:
    from runtime.collectives.brief import Fold, Talk
    from runtime.collectives.layout import Layout
    from runtime.collectives.port import Data
    from runtime.mpi.collective_calls_guard import Guard
    from runtime.mpi.membership import Membership

BriefSteps: TypeAlias = "Generator[Operation, None, Data]"
"""What a brief collective waits for, one after the other; it returns its result."""

MOST_MEMBERS = 8
"""Up to so many members of a cluster talk to their leader one by one."""


class Brief:
    """What all brief collectives of a communicator have in common."""

    __slots__ = ("box", "engine", "guard", "members", "tree")

    def __init__(self, members: Membership, layout: Layout, guard: Guard) -> None:
        self.members, self.engine, self.guard = members, members.engine, guard
        self.box = members.engine.collective_box(members)
        self.tree = Tree(layout)

    def port(self, kind: str, turn: int) -> BriefPort:
        """Return what one of them uses."""
        return BriefPort(self, kind, brief_tag_of(kind, turn))


class BriefPort:
    """What one brief collective does; each is a generator that ends with its result."""

    __slots__ = ("_brief", "_kind", "_sent", "_tag")

    def __init__(self, brief: Brief, kind: str, tag: int) -> None:
        self._brief, self._kind, self._tag = brief, kind, tag
        self._sent: list[Operation] = []

    def meet(self) -> BriefSteps:
        """Wait until every member has come."""
        return self._carry_out(combined(self._brief.tree, self._say, b"", nothing))

    def combine(self, mine: Data, fold: Fold) -> BriefSteps:
        """Return the fold of everybody's data."""
        return self._carry_out(combined(self._brief.tree, self._say, mine, fold))

    def spread(self, data: Data, root: int) -> BriefSteps:
        """Return the root's data; that of others does not matter."""
        return self._carry_out(spread(self._brief.tree, self._say, data, root))

    def _say(self, rank: int, data: Data) -> None:
        brief = self._brief
        sent = brief.engine.send_brief(brief.members, rank, self._tag, data)
        if sent is not None:
            self._sent.append(sent)

    def _carry_out(self, talk: Talk) -> BriefSteps:
        """Wait for what the talk waits for, and at last for what could not be sent at once.

        That is so where receivers lag far behind.
        """
        result: Data = b""
        try:
            wanted = next(talk)
            while True:
                hearing = Hearing(self._brief, self._kind, self._tag, wanted)
                yield hearing
                wanted = talk.send(hearing.heard())
        except StopIteration as end:
            result = end.value
        if self._sent:
            yield Guarded(self._brief.guard, self._sent)
        return result


class Hearing(Operation):
    """One message of each of some members, all with one tag."""

    __slots__ = ("_brief", "_kind", "_tag", "_wanted")

    def __init__(self, brief: Brief, kind: str, tag: int, wanted: Sequence[int]) -> None:
        super().__init__()
        self._brief, self._kind, self._tag, self._wanted = brief, kind, tag, wanted
        brief.box.expect(wanted, tag)

    def heard(self) -> list[Data]:
        """Return what they have said, once all is there."""
        return [self._brief.box.taken(rank, self._tag) for rank in self._wanted]

    def test(self) -> bool:
        """Look whether all have spoken, or cannot any more."""
        if not self.done:
            brief = self._brief
            if brief.box.accept(self._wanted, self._tag):
                self.done = True
            elif brief.guard.accord.is_troubled:
                self._look_for_a_problem()
        return self.done

    def _look_for_a_problem(self) -> None:
        """Be done if calls do not fit, a leader is lost, or somebody who is waited for."""
        guard, engine = self._brief.guard, self._brief.engine
        problem = guard.problem()
        for index in self._missing():
            problem = problem or engine.hopeless((index,), near=False)
        if problem is not None:
            self._brief.box.fail(self._tag)
            self.finish(problem)

    def takes_long(self) -> None:
        """Let the guard find out why."""
        self._brief.guard.takes_long()

    def describe(self) -> str:
        """Say what is waited for."""
        names = ", ".join(map(self._brief.engine.name_of, self._missing()))
        return f"a message of the {self._kind} from {names}"

    def awaited(self) -> Sequence[int]:
        """Return without whom it cannot be done."""
        return sorted({*self._missing(), *self._brief.guard.leaders})

    def _missing(self) -> list[int]:
        box, group = self._brief.box, self._brief.members.group
        return [group[rank] for rank in self._wanted if not box.is_here(rank, self._tag)]
