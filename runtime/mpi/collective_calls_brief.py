"""How collectives on little data are carried out: by messages of the post alone.

Native MPI wakes nobody, so inside a cluster every native step costs a bell besides, and what there
is to do for several steps at a time takes a processor that has just woken up far longer than the
messages themselves.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from runtime.collectives.brief import Tree
from runtime.mpi.collective_calls_accord import brief_tag_of
from runtime.mpi.collective_calls_guard import Guarded
from runtime.mpi.operations import Operation

if TYPE_CHECKING:
    from runtime.collectives.brief import TalkOf
    from runtime.collectives.layout import Layout
    from runtime.collectives.port import Data
    from runtime.mpi.collective_calls_guard import Guard
    from runtime.mpi.membership import Membership

BriefSteps: TypeAlias = "Generator[Operation, None, None]"
"""What a brief collective waits for, one after the other."""

MOST_MEMBERS = 8
"""Up to so many members of a cluster talk to their leader one by one."""


class Brief:
    """Carries the brief collectives of a communicator out."""

    __slots__ = ("box", "engine", "guard", "members", "tree")

    def __init__(self, members: Membership, layout: Layout, guard: Guard) -> None:
        self.members, self.engine, self.guard = members, members.engine, guard
        self.box = members.engine.collective_box(members)
        self.tree = Tree(layout)

    def steps(self, words: Words, turn: int, wanted: Sequence[int] | None = None) -> BriefSteps:
        """Carry one out as a task, or what is left of it once it waits for what is `wanted`."""
        return self.guard.steps(self._steps(words, wanted), turn, words.kind)

    def _steps(self, words: Words, wanted: Sequence[int] | None) -> BriefSteps:
        talk = words.talk
        try:
            if wanted is None:
                wanted = next(talk)
            while True:
                hearing = Hearing(self, words, wanted)
                yield hearing
                wanted = talk.send(hearing.said)
        except StopIteration:
            pass
        if words.unsent:
            yield Guarded(self.guard, words.unsent)

    def carry_out(self, words: Words, turn: int) -> Operation | None:
        """Carry one out here and now, while nothing else goes on and nothing is wrong.

        That takes half of the processor time. Return the task that is left where it takes long.
        """
        box, talk, tag, waits = self.box, words.talk, words.tag, self.engine.waits
        accord = self.guard.accord
        wanted: Sequence[int] | None = None
        with self.engine.lock:
            if not self.engine.is_quiet:
                return self._left(words, turn, None)
            begun = time.perf_counter()
            try:
                wanted = next(talk)
                while True:
                    box.expect(wanted, tag)
                    while (said := box.hear(wanted, tag)) is None:
                        if accord.is_troubled or not waits.doze(begun):
                            return self._left(words, turn, wanted)
                    wanted = None
                    wanted = talk.send(said)
            except StopIteration:  # nothing more is waited for but what could not be sent
                return self._left(words, turn, ()) if words.unsent else None
            except BaseException as error:
                if wanted is None:
                    self.guard.give_up(turn, words.kind, error)
                else:  # whoever waits was interrupted; others wait for this process
                    self._left(words, turn, wanted)
                raise

    def _left(self, words: Words, turn: int, wanted: Sequence[int] | None) -> Operation:
        return self.engine.start(self.members, self.steps(words, turn, wanted), words.kind)


class Words:
    """What is said in one brief collective by this process, all with one tag."""

    __slots__ = ("_brief", "_head", "kind", "tag", "talk", "unsent")

    def __init__(self, brief: Brief, kind: str, turn: int, talk_of: TalkOf) -> None:
        self.kind = kind
        self.tag = brief_tag_of(kind, turn)
        self._brief = brief
        self._head = brief.engine.head_of(brief.members, self.tag)
        self.talk = talk_of(brief.tree, self._say)
        self.unsent: list[Operation] = []
        """What could not be sent at once; that is so where receivers lag far behind."""

    def _say(self, rank: int, data: Data) -> None:
        brief = self._brief
        sent = brief.engine.send_brief(brief.members, rank, self._head, data)
        if sent is not None:
            self.unsent.append(sent)


class Hearing(Operation):
    """One message of each of some members."""

    __slots__ = ("_brief", "_wanted", "_words", "said")

    def __init__(self, brief: Brief, words: Words, wanted: Sequence[int]) -> None:
        super().__init__()
        self._brief, self._words, self._wanted = brief, words, wanted
        self.said: list[Data] = []
        """What they have said, once all is there."""
        brief.box.expect(wanted, words.tag)

    def test(self) -> bool:
        """Look whether all have spoken, or cannot any more."""
        if not self.done:
            brief = self._brief
            said = brief.box.hear(self._wanted, self._words.tag)
            if said is not None:
                self.said = said
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
            self._brief.box.fail(self._words.tag)
            self.finish(problem)

    def takes_long(self) -> None:
        """Let the guard find out why."""
        self._brief.guard.takes_long()

    def describe(self) -> str:
        """Say what is waited for."""
        names = ", ".join(map(self._brief.engine.name_of, self._missing()))
        return f"a message of the {self._words.kind} from {names}"

    def awaited(self) -> Sequence[int]:
        """Return without whom it cannot be done."""
        return sorted({*self._missing(), *self._brief.guard.leaders})

    def _missing(self) -> list[int]:
        box, group, tag = self._brief.box, self._brief.members.group, self._words.tag
        return [group[rank] for rank in self._wanted if not box.is_here(rank, tag)]
