"""Collectives in progress: one after the other per communicator, in parallel otherwise."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from runtime.mpi.progress.operations import most_urgent

if TYPE_CHECKING:
    from runtime.mpi.progress.operations import Task
    from runtime.mpi.progress.ranks import CommunicatorRanks


class Tasks:
    """The queues of all communicators; the engine's lock protects them."""

    def __init__(self) -> None:
        self.queues: dict[CommunicatorRanks, deque[Task]] = {}
        """Per communicator with collectives in progress."""

    def add(self, m: CommunicatorRanks, task: Task, *, has_begun: bool = False) -> None:
        """Begin a collective, queue it behind those before it, or resume one."""
        queue = self.queues.setdefault(m, deque())
        if has_begun:
            queue.appendleft(task)
        else:
            queue.append(task)
        self._advance(m, queue)

    def first(self) -> list[Task]:
        """Return the collectives in progress, one of each communicator."""
        return [queue[0] for queue in tuple(self.queues.values()) if queue]

    def advance(self) -> bool:
        """Resume all of them as far as possible; return whether there was any progress."""
        moved = False
        for m, queue in tuple(self.queues.items()):
            moved |= self._advance(m, queue)
        return moved

    @property
    def urgency(self) -> int:
        """How urgent it is to poll native MPI for one of them."""
        return most_urgent(self.first())

    def _advance(self, m: CommunicatorRanks, queue: deque[Task]) -> bool:
        """Resume the first task of a communicator, and the next ones when it is done."""
        moved = False
        while queue:
            task = queue[0]
            moved |= task.advance()
            if not task.done:
                return moved
            queue.popleft()
        self.queues.pop(m, None)
        return moved
