"""Collectives on little data, carried out by this package's own messages alone.

Native MPI wakes nobody, so within a cluster every native step also costs a wake-up, and for a
processor that has just woken up, several steps at a time take far longer than the messages
themselves.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from runtime.collectives.brief import LITTLE, MemberTree
from runtime.mpi.collectives.guard import Guarded
from runtime.mpi.collectives.mismatches import brief_tag_of, sized
from runtime.mpi.errors import FailureError
from runtime.mpi.progress.operations import Operation

if TYPE_CHECKING:
    from runtime.collectives.brief import TalkOf
    from runtime.collectives.layout import Layout
    from runtime.collectives.port import Data
    from runtime.mpi.collectives.guard import CollectiveGuard
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.progress.operations import Task

MOST_MEMBERS = 8
"""Up to this many members of a cluster send to their leader one by one."""

_TRIES = 3
"""How often a program can be interrupted in a row without losing a call."""


class SmallMessages:
    """Carries out the brief collectives of a communicator."""

    def __init__(self, members: CommunicatorMembers, layout: Layout) -> None:
        self.members, self.engine = members, members.engine
        self.box = members.engine.collective_box(members)
        self._tree = MemberTree(layout)

    def tree_of(self, size: int | None) -> MemberTree:
        """Return the tree of a call to which each member brings so many bytes, if it is known."""
        tree = self._tree
        return tree if size is None or size * tree.layout.size > LITTLE else tree.level

    def begin(self, call: SmallMessageCall, turn: int) -> Task:
        """Carry one out, or the rest of it, as a task; calling it twice has no effect."""
        steps = self._steps(call, turn)
        return self.engine.start(self.members, steps, call.kind, has_begun=call.has_begun)

    def _steps(self, call: SmallMessageCall, turn: int) -> Generator[Operation, None, None]:
        try:
            yield from call.guard.steps(self._waits(call, turn), turn, call.kind)
        except (Exception, KeyboardInterrupt):  # not by the garbage collector in any thread
            call.drop()
            raise

    def _waits(self, call: SmallMessageCall, turn: int) -> Generator[Operation, None, None]:
        yield call
        if call.unsent:
            try:
                yield Guarded(call.guard, call.unsent, turn)
            except FailureError:
                if not call.guard.spares_losses or not all(one.done for one in call.unsent):
                    raise

    def carry_out(self, call: SmallMessageCall, turn: int) -> Operation:
        """Carry one out here and now, if nothing else is in progress; return it, done.

        Tasks and the general wait need more calls. Otherwise return a task for the rest.
        """
        try:
            if not self.engine.waits.wait_for_wire(call.test) or call.unsent:
                return self.begin(call, turn)
            if call.error is not None:
                call.guard.give_up(turn, call.kind, call.error)
        except BaseException:  # the waiting call was interrupted; others wait for this process
            for _ in range(_TRIES):
                try:
                    self.begin(call, turn)
                    break
                except BaseException:  # interrupted again; `raise` reports the first one
                    continue
            raise
        return call


class SmallMessageCall(Operation):
    """The messages of one brief collective, all with one tag.

    It can be interrupted anywhere, and tested again.
    """

    __slots__ = ("_brief", "_head", "_heard", "_tag", "_talk", "_turn", "_wanted",
                 "guard", "kind", "unsent")  # fmt: skip

    def __init__(
        self,
        brief: SmallMessages,
        guard: CollectiveGuard,
        kind: str,
        turn: int,
        talk_of: TalkOf,
        *,
        size: int | None,
        reduction: int | None,
    ) -> None:
        super().__init__()
        self.guard, self.kind = guard, kind
        self._brief = brief
        self._turn = turn
        self._tag = sized(brief_tag_of(kind, turn), size, reduction)
        self._head = brief.engine.head_of(brief.members, self._tag)
        self._talk = talk_of(brief.tree_of(size), self._send)
        self._wanted: Sequence[int] | None = None  # expected next, once it has begun
        self._heard: list[Data] | None = None  # their messages, once all are here
        self.unsent: list[Operation] = []
        """What could not be sent at once, which happens where receivers lag far behind."""

    def _send(self, rank: int, data: Data) -> None:
        brief = self._brief
        sent = brief.engine.send_brief(brief.members, rank, self._head, data)
        if sent is not None:
            self.unsent.append(sent)

    @property
    def has_begun(self) -> bool:
        """Whether it has sent or received anything."""
        return self._wanted is not None

    def test(self) -> bool:
        """Make as much progress as possible; fail if nothing can come any more."""
        brief = self._brief
        box = brief.box
        while not self.done:
            wanted = self._wanted
            if wanted is not None:
                if self._heard is None:
                    self._heard = box.take_all(wanted, self._tag)
                if self._heard is None or box.stray is not None:
                    if self.guard.mismatches.is_troubled:
                        self._check_for_problem()
                    if self._heard is None or self.done:
                        break
                box.let_go(wanted, self._tag)
            self._advance()
        return self.done

    def _advance(self) -> None:
        try:
            # it begins with None; both change at once, so that a call that is interrupted in
            # between does not send the same again
            wanted = self._talk.send(self._heard)  # type: ignore[arg-type]
            self._wanted, self._heard = wanted, None
        except StopIteration:
            self.finish()
        except (
            BaseException
        ) as error:  # any error is passed to the callers that wait for the collective
            self.drop()
            self.finish(error)
        else:
            self._brief.box.expect(wanted, self._tag)

    def _check_for_problem(self) -> None:
        """Complete with an error on a mismatch, or if a leader or an expected sender is lost."""
        guard, engine = self.guard, self._brief.engine
        problem = guard.problem(self._turn)
        for index in self._missing():
            problem = problem or engine.losses.among((index,), near=False)
        if problem is not None:
            self.drop()
            self.finish(problem)

    def drop(self) -> None:
        """Take no further part, and drop the messages of others."""
        self._brief.box.fail(self._tag)
        self._talk.close()

    def takes_long(self) -> None:
        """Let the guard find out why."""
        self.guard.takes_long(self._turn)

    def describe(self) -> str:
        """Describe what is waited for."""
        names = ", ".join(map(self._brief.engine.name_of, self._missing()))
        return f"a message of the {self.kind} from {names}"

    def awaited(self) -> Sequence[int]:
        """Return the ranks without which it cannot complete."""
        return sorted({*self._missing(), *self.guard.leaders})

    def _missing(self) -> list[int]:
        box, group = self._brief.box, self._brief.members.group
        wanted = self._wanted or ()
        return [group[rank] for rank in wanted if not box.is_here(rank, self._tag)]
