"""Collectives under way: those of one communicator one after the other, others meanwhile."""

from __future__ import annotations

from collections import deque

from runtime.mpi.progress.operations import most_urgent

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from runtime.mpi.progress.membership import Membership
    from runtime.mpi.progress.operations import Task


class Tasks:
    """The queues of all communicators; the engine's lock protects them."""

    def __init__(self) -> None:
        self.queues: dict[Membership, deque[Task]] = {}
        """Of each communicator in which something goes on."""

    def add(self, m: Membership, task: Task, *, has_begun: bool = False) -> None:
        """Begin a collective, or let it wait for those before it, or go on with one."""
        queue = self.queues.setdefault(m, deque())
        if has_begun:
            queue.appendleft(task)
        else:
            queue.append(task)
        self._advance(m, queue)

    def first(self) -> list[Task]:
        """Return those that go on now, one of each communicator."""
        return [queue[0] for queue in tuple(self.queues.values()) if queue]

    def advance(self) -> bool:
        """Go on with all of them as far as possible; return whether anything went on."""
        moved = False
        for m, queue in tuple(self.queues.items()):
            moved |= self._advance(m, queue)
        return moved

    @property
    def urgency(self) -> int:
        """How urgent it is to ask native MPI if one of them can go on."""
        return most_urgent(self.first())

    def _advance(self, m: Membership, queue: deque[Task]) -> bool:
        """Go on with the first task of a communicator, and the next ones when it is done."""
        moved = False
        while queue:
            task = queue[0]
            moved |= task.advance()
            if not task.done:
                return moved
            queue.popleft()
        self.queues.pop(m, None)
        return moved
