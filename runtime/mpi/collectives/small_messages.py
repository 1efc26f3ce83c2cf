"""How collectives on little data are carried out: by our own messages alone.

Native MPI wakes nobody, so inside a cluster every native step costs a wake-up besides, and what
there is to do for several steps at a time takes a processor that has just woken up far longer than
the messages themselves.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from runtime.collectives.brief import MemberTree
from runtime.mpi.collectives.guard import Guarded
from runtime.mpi.collectives.mismatches import brief_tag_of
from runtime.mpi.progress.operations import Operation

if TYPE_CHECKING:
    from runtime.collectives.brief import TalkOf
    from runtime.collectives.layout import Layout
    from runtime.collectives.port import Data
    from runtime.mpi.collectives.guard import CollectiveGuard
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.progress.operations import Task

MOST_MEMBERS = 8
"""Up to so many members of a cluster talk to their leader one by one."""

_TRIES = 3
"""How often a program can be interrupted in a row without a call being forgotten."""


class SmallMessages:
    """Carries the brief collectives of a communicator out."""

    __slots__ = ("box", "engine", "guard", "members", "tree")

    def __init__(
        self, members: CommunicatorMembers, layout: Layout, guard: CollectiveGuard
    ) -> None:
        self.members, self.engine, self.guard = members, members.engine, guard
        self.box = members.engine.collective_box(members)
        self.tree = MemberTree(layout)

    def begin(self, call: SmallMessageCall, turn: int) -> Task:
        """Carry one out as a task, or what is left of it; twice is once."""
        steps = self._steps(call, turn)
        return self.engine.start(self.members, steps, call.kind, has_begun=call.has_begun)

    def _steps(self, call: SmallMessageCall, turn: int) -> Generator[Operation, None, None]:
        try:
            yield from self.guard.steps(self._waits(call, turn), turn, call.kind)
        except (Exception, KeyboardInterrupt):  # not when it is collected, in whatever thread
            call.drop()
            raise

    def _waits(self, call: SmallMessageCall, turn: int) -> Generator[Operation, None, None]:
        yield call
        if call.unsent:
            yield Guarded(self.guard, call.unsent, turn)

    def carry_out(self, call: SmallMessageCall, turn: int) -> Operation:
        """Carry one out here and now, as long as nothing else goes on; return it, done.

        Tasks and the general wait cost more calls. Otherwise return the task that is left.
        """
        try:
            if not self.engine.waits.wait_for_wire(call.test) or call.unsent:
                return self.begin(call, turn)
            if call.error is not None:
                self.guard.give_up(turn, call.kind, call.error)
        except BaseException:  # the waiting call was interrupted; others wait for this process
            for _ in range(_TRIES):
                try:
                    self.begin(call, turn)
                    break
                except BaseException:  # interrupted once more; `raise` tells of the first one
                    continue
            raise
        return call


class SmallMessageCall(Operation):
    """What one brief collective says and hears, all with one tag.

    It can be interrupted anywhere, and tested again.
    """

    __slots__ = ("_brief", "_head", "_heard", "_tag", "_talk", "_turn", "_wanted", "kind",
                 "unsent")  # fmt: skip

    def __init__(self, brief: SmallMessages, kind: str, turn: int, talk_of: TalkOf) -> None:
        super().__init__()
        self.kind = kind
        self._brief = brief
        self._turn = turn
        self._tag = brief_tag_of(kind, turn)
        self._head = brief.engine.head_of(brief.members, self._tag)
        self._talk = talk_of(brief.tree, self._say)
        self._wanted: Sequence[int] | None = None  # whose messages come next, once it has begun
        self._heard: list[Data] | None = None  # these, once they are all here
        self.unsent: list[Operation] = []
        """What could not be sent at once; that is so where receivers lag far behind."""

    def _say(self, rank: int, data: Data) -> None:
        brief = self._brief
        sent = brief.engine.send_brief(brief.members, rank, self._head, data)
        if sent is not None:
            self.unsent.append(sent)

    @property
    def has_begun(self) -> bool:
        """Whether it has said or heard anything."""
        return self._wanted is not None

    def test(self) -> bool:
        """Go on as far as possible; be done with an error if nothing can come any more."""
        brief = self._brief
        box = brief.box
        while not self.done:
            wanted = self._wanted
            if wanted is not None:
                if self._heard is None:
                    self._heard = box.hear(wanted, self._tag)
                if self._heard is None or box.stray is not None:
                    if brief.guard.mismatches.is_troubled:
                        self._look_for_a_problem()
                    if self._heard is None or self.done:
                        break
                box.let_go(wanted, self._tag)
            self._talk_on()
        return self.done

    def _talk_on(self) -> None:
        try:
            # it begins with None; both change at once, so that nobody who is interrupted between
            # them says the same once more
            wanted = self._talk.send(self._heard)  # type: ignore[arg-type]
            self._wanted, self._heard = wanted, None
        except StopIteration:
            self.finish()
        except BaseException as error:  # whatever it is, those who wait for the collective get it
            self.drop()
            self.finish(error)
        else:
            self._brief.box.expect(wanted, self._tag)

    def _look_for_a_problem(self) -> None:
        """Be done if calls do not fit, a leader is lost, or somebody who is waited for."""
        guard, engine = self._brief.guard, self._brief.engine
        problem = guard.problem(self._turn)
        for index in self._missing():
            problem = problem or engine.hopeless((index,), near=False)
        if problem is not None:
            self.drop()
            self.finish(problem)

    def drop(self) -> None:
        """Take no further part, and let go of what others say."""
        self._brief.box.fail(self._tag)
        self._talk.close()

    def takes_long(self) -> None:
        """Let the guard find out why."""
        self._brief.guard.takes_long(self._turn)

    def describe(self) -> str:
        """Say what is waited for."""
        names = ", ".join(map(self._brief.engine.name_of, self._missing()))
        return f"a message of the {self.kind} from {names}"

    def awaited(self) -> Sequence[int]:
        """Return without whom it cannot be done."""
        return sorted({*self._missing(), *self._brief.guard.leaders})

    def _missing(self) -> list[int]:
        box, group = self._brief.box, self._brief.members.group
        wanted = self._wanted or ()
        return [group[rank] for rank in wanted if not box.is_here(rank, self._tag)]
