"""What moves messages of the grid: it starts operations, drives them, and waits for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mpi4py import MPI

from runtime.mpi.operations import Operation, Steps, Task

if TYPE_CHECKING:
    from runtime.mpi.membership import Membership
    from runtime.wire import Incoming
    from runtime.wire.post import Post


class Engine:
    """All that goes on between this process and others; one per process.

    Its lock protects it and its post. Methods take it themselves. An engine without a post is that
    of a grid of one cluster.

        engine = Engine(me=3, first=2, last=4, name_of=...)
        engine.attach(open_post(link, engine))
    """

    def __init__(
        self, me: int, first: int, last: int, name_of: Callable[[int], str] = "process {}".format
    ) -> None:
        """Make the engine of process `me`; `first` to before `last` are in its cluster.

        `name_of` says who a process is, for errors: `0:1:3 on node7`.
        """
        self.me = me
        self.lock = threading.RLock()
        self.post: Post | None = None
        self.first, self.last, self.name_of = first, last, name_of
        raise NotImplementedError

    def attach(self, post: Post) -> None:
        """Use a post, whose receiver is this engine, and begin to look after it meanwhile."""
        raise NotImplementedError

    def close(self) -> None:
        """Send what is to be sent and hang up; collective over the grid, before MPI's end."""
        raise NotImplementedError

    def is_near(self, index: int) -> bool:
        """Tell whether a process is in this cluster."""
        raise NotImplementedError

    def join(self, m: Membership) -> None:
        """Know a communicator, called by those who make one."""
        raise NotImplementedError

    def leave(self, m: Membership) -> None:
        """Forget a communicator that is freed."""
        raise NotImplementedError

    def send(
        self,
        m: Membership,
        to: int,
        tag: int,
        data: memoryview | bytes | Sequence[memoryview | bytes],
        *,
        inner: bool = False,
        sync: bool = False,
    ) -> Operation:
        """Send bytes, or several pieces of them as one message, to a rank of the peers.

        The memory may be used again when the operation is done. `inner` messages are those of
        collectives; they never meet those of the program. With `sync` it is done when matched.
        """
        raise NotImplementedError

    def receive(
        self, m: Membership, source: int, tag: int, into: memoryview | None, *, inner: bool = False
    ) -> Operation:
        """Receive bytes from a rank of the peers into memory, or into `data` of the operation.

        Messages longer than the memory end with an MPI.Exception of class ERR_TRUNCATE.
        """
        raise NotImplementedError

    def native(self, request: MPI.Request, what: str = "a native operation") -> Operation:
        """Return the operation that is done when a request of native MPI is."""
        raise NotImplementedError

    def start(self, m: Membership, steps: Steps, what: str = "a collective") -> Task:
        """Begin a collective; those of one membership run strictly one after the other.

        `steps` yields operations, or several at once, and goes on when they are done; what fails is
        thrown into it. What it returns is the task's `result`.
        """
        raise NotImplementedError

    def wait(self, *operations: Operation) -> None:
        """Wait until all are done: spins briefly, then sleeps. Raises the first error."""
        raise NotImplementedError

    def wait_until(
        self, ready: Callable[[], bool], operations: Callable[[], Sequence[Operation]]
    ) -> None:
        """Wait until `ready` returns true, which is called with the lock held after each move.

        `operations` says which ones it looks at.
        """
        raise NotImplementedError

    def poll(self) -> bool:
        """Move what can be moved without waiting; return whether anything did."""
        raise NotImplementedError

    def waiting_for(self) -> list[str]:
        """Say what the threads of this process wait for that sleep in `wait` now."""
        raise NotImplementedError

    def arrived(self, incoming: Incoming) -> None:
        """Match a message of another cluster, or keep it (called by the post)."""
        raise NotImplementedError

    def completed(self, incoming: Incoming) -> None:
        """Know that a message is all there (called by the post)."""
        raise NotImplementedError

    def lost(self, peer: int, why: Exception) -> None:
        """Fail what cannot be done any more (called by the post)."""
        raise NotImplementedError
