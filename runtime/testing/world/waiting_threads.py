"""A process whose threads wait in system calls: each runs until it waits, one at a time.

Production's code that blocks (a rank's connection to its front-end, a call of a lab) gets sockets
and locks of this process; what they wait for, and for how long, its actor knows.
"""

from __future__ import annotations

import errno
import os
import select
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.testing.world.engine import Actor, Effect, Event, WakeAt
from runtime.testing.world.guard import GUARD
from runtime.testing.world.network import EndLife, HungUp, WorldConnection
from runtime.testing.world.program_thread import ProgramThread
from runtime.testing.world.sockets import ANSWERS, Buffer, WorldListener, WorldSocket
from runtime.testing.world.sockets import WorldProcess as System

_IN, _OUT = select.EPOLLIN, select.EPOLLOUT
_A_LOOK = 1e-7
"""Seconds that a thread needs to ask for the time: who spins comes to an end."""


class WaitingThread:
    """One thread of a process: what it waits for, and until when."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self.name = name
        self.turns = ProgramThread(work)
        self.until: float | None = None
        self.happens: Callable[[], bool] | None = None

    def may_go_on(self, now: float) -> bool:
        """Tell whether what it waits for has happened, or its time is over."""
        if self.turns.is_over:
            return False
        is_late = self.until is not None and now >= self.until
        return self.happens is None or is_late or self.happens()


class ThreadedProcess(Actor):
    """A process with a few threads, of which one at a time has the turn."""

    def __init__(self, system: System) -> None:
        super().__init__(system.name)
        self.system = system
        self.threads: list[WaitingThread] = []
        self._present: WaitingThread | None = None
        self._looks = 0

    def start(self, name: str, work: Callable[[], None]) -> None:
        """Let another thread begin, at the next turn."""
        self.threads.append(WaitingThread(name, work))

    @property
    def present(self) -> WaitingThread:
        """The thread that has the turn."""
        assert self._present is not None, "only a thread of this process may wait"
        return self._present

    @property
    def now(self) -> float:
        """The time of the world, which goes on a little with each look."""
        self._looks += 1
        return self.system.now + self._looks * _A_LOOK

    def wait(self, happens: Callable[[], bool], timeout: float | None) -> bool:
        """Give the turn back until something happens; return whether it has, or time is over."""
        if happens():
            return True
        me = self.present
        me.happens, me.until = happens, None if timeout is None else self.system.now + timeout
        me.turns.sleep()
        return happens()

    def sleep(self, seconds: float) -> None:
        """Let the present thread sleep."""
        self.wait(lambda: False, seconds)

    def leave(self) -> None:
        """Leave no thread behind."""
        with GUARD.offering(self._offers):
            for one in self.threads:
                self._present = one
                one.turns.leave()

    @property
    def is_over(self) -> bool:
        """Whether all threads have ended."""
        return all(one.turns.is_over for one in self.threads)

    def waits_for(self) -> str:
        """Say which threads wait."""
        return "in " + ", ".join(one.name for one in self.threads if not one.turns.is_over)

    @property
    def _offers(self) -> Mapping[str, Callable[..., Any]]:
        return {
            "time.monotonic": lambda: self.now, "time.sleep": self.sleep,
            "os.urandom": self.system.random,
            "threading.RLock": lambda: WorldLock(self, is_reentrant=True),
            "threading.Lock": lambda: WorldLock(self),
            "threading._allocate_lock": lambda: WorldLock(self),  # of conditions and events
            "_thread.allocate_lock": lambda: WorldLock(self),
        }  # fmt: skip

    def handle(self, event: Event, now: float) -> Sequence[Effect]:  # noqa: ARG002 - threads look
        """Let each thread go on for which something has happened, until none can."""
        self.system.now, self._looks = now, 0
        with GUARD.offering(self._offers):
            while ready := [one for one in self.threads if one.may_go_on(now)]:
                self._present = ready[0]
                ready[0].until = None
                ready[0].turns.go_on()
        self._present = None
        times = [one.until for one in self.threads if not one.turns.is_over]
        wake = min((one for one in times if one is not None), default=None)
        return [*self.system.effects(), WakeAt(wake)]


class WorldLock:
    """A lock between the threads of one process, as the standard library has both kinds.

    Only the owner of a reentrant one takes it again; who takes another one twice waits for ever.
    """

    def __init__(self, process: ThreadedProcess, *, is_reentrant: bool = False) -> None:
        self._process = process
        self._is_reentrant = is_reentrant
        self._owner: WaitingThread | None = None
        self._depth = 0

    def acquire(self, blocking: bool = True, timeout: float = -1.0) -> bool:
        """Take it, once nobody has it."""
        if not self._is_own() and self._depth:
            patience = None if timeout < 0 else timeout
            if not (blocking and self._process.wait(lambda: not self._depth, patience)):
                return False
        self._owner = self._process.present
        self._depth += 1
        return True

    def release(self) -> None:
        """Give it back: any thread may, unless it is reentrant."""
        if not self._depth or (self._is_reentrant and not self._is_own()):
            raise RuntimeError("a lock is released that this thread has not taken")
        self._depth -= 1
        if not self._depth:
            self._owner = None

    def locked(self) -> bool:
        """Tell whether somebody has it."""
        return self._depth > 0

    def _is_own(self) -> bool:
        return self._is_reentrant and self._depth > 0 and self._owner is self._process.present

    def _is_owned(self) -> bool:
        """Tell a condition whether this thread has it; of the other kind it cannot know that."""
        return self._is_own() if self._is_reentrant else self.locked()

    def _release_save(self) -> int:
        """Give it back for as long as a condition waits."""
        depth, self._depth, self._owner = self._depth, 0, None
        return depth

    def _acquire_restore(self, depth: int) -> None:
        """Take it as often as before."""
        self.acquire()
        self._depth = depth

    def __enter__(self) -> bool:
        """Take it."""
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        self.release()


class BlockingSocket(WorldSocket):
    """One end of a connection, as a socket whose calls wait for as long as its time limit says."""

    principal: Any = None
    """Who is at the other end, where a member of a lab asks."""

    def __init__(self, process: ThreadedProcess, connection: WorldConnection, at: int) -> None:
        super().__init__(process.system, connection, at)
        self._threads = process
        self._timeout: float | None = None
        self._is_shut = False
        self._waiting = 0

    def settimeout(self, seconds: float | None) -> None:
        """Wait for at most so many seconds in each call, or for ever."""
        self._timeout = seconds

    def pending(self) -> int:
        """Return 0: nothing was decrypted and not read."""
        return 0

    def connect(self, address: str) -> None:
        """Connect; raises OSError."""
        self.connect_ex(address)
        self._wait(lambda: self._end.life is not EndLife.CONNECTING)
        if self._end.life is EndLife.BROKEN:
            raise OSError(self._end.error, os.strerror(self._end.error))

    def setsockopt(self, level: int = 0, option: int = 0, value: Any = 0, *_: Any) -> None:
        """Take note of when the system gives the connection up."""
        if (level, option) == (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT):
            self._end.user_timeout = value / 1000
        elif (level, option) == (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE):
            self._end.keepalive = 3.0 * value  # as `end_when_silent` has the other two
        elif (level, option) == (socket.SOL_SOCKET, socket.SO_KEEPALIVE):
            self._process.network.look_after(self._connection, self._at)

    def getsockopt(self, level: int, option: int, size: int = 0) -> Any:
        """Return what the system knows of the answers of the other host, too."""
        if size == ANSWERS.size and not self._connection.is_on_host:
            return ANSWERS.pack(*self._process.network.answers(self._connection, self._at))
        return super().getsockopt(level, option, size)

    def ready(self) -> int:
        """Return the events that are true."""
        return _IN | _OUT if self._is_shut else super().ready()

    def _wait(self, happens: Callable[[], bool]) -> None:
        if self._timeout == 0:
            if not happens():
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            return
        self._waiting += 1
        try:
            if not self._threads.wait(happens, self._timeout):
                raise TimeoutError("timed out")
        finally:
            self._waiting -= 1
            self._hang_up_if_left()

    def _receive(self, spaces: list[memoryview]) -> int:
        self._check()
        self._wait(lambda: bool(self.ready() & _IN))
        if self._is_shut:
            return 0
        return super()._receive(spaces)

    def sendmsg(self, pieces: Any) -> int:
        """Write what finds room of several pieces, once some does."""
        self._check()
        self._wait(lambda: bool(self.ready() & _OUT))
        if self._is_shut:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        return super().sendmsg(pieces)

    def sendall(self, data: Buffer) -> None:
        """Write all of it."""
        view = memoryview(data)
        while view:
            view = view[self.send(view) :]

    def shutdown(self, _: int) -> None:
        """Say that nothing more comes or is read, to who waits here, too; raises OSError."""
        self._check()
        if not self._is_shut:
            self._is_shut = True
            self._process.do(HungUp(self._connection.number, self._at))

    def close(self) -> None:
        """Give the descriptor back: who waits for the connection goes on waiting, as on Linux."""
        if self._number >= 0:
            self._process.descriptors.remove(self._number)
            self._number = -1
            self._hang_up_if_left()

    def _hang_up_if_left(self) -> None:
        if self._number < 0 and not (self._waiting or self._is_shut):
            self._is_shut = True
            self._process.do(HungUp(self._connection.number, self._at))


class BlockingListener(WorldListener):
    """A listening socket whose `accept` waits."""

    def __init__(self, process: ThreadedProcess, address: str) -> None:
        system = process.system
        super().__init__(system, system.network.listen(system.name, system.host, address))
        self._threads = process

    def accept(self) -> tuple[BlockingSocket, str]:
        """Return the connection of who has waited longest, once somebody has come."""
        self._threads.wait(lambda: bool(self._listener.waiting), None)
        connection = self._listener.waiting.pop(0)
        return BlockingSocket(self._threads, connection, 1), connection.ends[0].host


def dialled(process: ThreadedProcess, address: str) -> tuple[BlockingSocket, str]:
    """Return an unconnected socket of a process, and what to connect it to."""
    system = process.system
    connection = system.network.connection(system.name, system.host, address)
    return BlockingSocket(process, connection, 0), address


__all__ = ["BlockingListener", "BlockingSocket", "ThreadedProcess", "WorldLock", "dialled"]
