"""A process as seen from the launcher, at the other end of its guard's messages."""

from __future__ import annotations

import logging
import os
import shlex
import signal as signals
import threading
import time
from collections.abc import Callable

from runtime.launchers import wire
from runtime.launchers.base import Command, Exit, OutputStream, Reach, Sink
from runtime.launchers.errors import InputClosed, LaunchError, StartTimeout, StillRunning
from runtime.launchers.lines import Tail
from runtime.shown_text import shown

_REACH = {Reach.PROCESS: wire.PROCESS, Reach.GROUP: wire.GROUP, Reach.TREE: wire.TREE}
_log = logging.getLogger(__name__)
_LONGEST = 2000
"""Of a command in the log: some carry a program."""


def shielded(call: Callable[[], None]) -> None:
    """Call what belongs to somebody else; its failure must not stop the launcher's thread."""
    try:
        call()
    except Exception:
        _log.exception("a callback of a launcher failed")


class GuardedProcess:
    """One command of a guard session; see `runtime.launchers.base.Process`."""

    def __init__(
        self,
        number: int,
        command: Command,
        place: str,
        send: Callable[[bytes, int, bytes], None],
        sink: Sink | None,
    ) -> None:
        self.command = command
        self._number = number
        self._place = place
        self._send = send
        self._sink = sink
        self._changed = threading.Condition()
        self._tail = Tail()
        self._window = wire.WINDOW
        self._pid: int | None = None
        self._exit: Exit | None = None
        self._fault: LaunchError | None = None
        self._input_open = True
        self._was_killed = False
        self._callbacks: list[Callable[[], None]] = []

    # --- what the launcher's thread reports ---------------------------------------------------

    def has_started(self, pid: int) -> None:
        """Remember the process number."""
        command = shown(shlex.join(self.command.argv), _LONGEST)
        _log.info("%s: process %d is %s", self._place, pid, command)
        with self._changed:
            self._pid = pid
            self._changed.notify_all()

    def has_written(self, stream: OutputStream, data: bytes) -> None:
        """Pass output on; the end of stderr is kept."""
        if stream is OutputStream.ERROR:
            self._tail.feed(data)
        sink = self._sink
        if sink is not None:
            shielded(lambda: sink.received(stream, data))

    def has_read(self, count: int) -> None:
        """Let writers write as much as the command has taken."""
        with self._changed:
            self._window += count
            self._changed.notify_all()

    def is_done(self, how: Exit | LaunchError) -> None:
        """Everything is said: wake those that wait."""
        _log.info("%s: process %s: %s", self._place, self._pid, how)
        self._tail.finish()
        if self._sink is not None:
            shielded(self._sink.finished)
        with self._changed:
            if isinstance(how, Exit):
                self._exit = how
            else:
                self._fault = how
            self._input_open = False
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for call in callbacks:
            shielded(call)

    # --- what its user sees -------------------------------------------------------------------

    @property
    def pid(self) -> int | None:
        """Its number at the place where it runs."""
        return self._pid

    @property
    def exit(self) -> Exit | None:
        """How it ended."""
        return self._exit

    @property
    def tail(self) -> tuple[str, ...]:
        """The last lines of its stderr."""
        return self._tail.lines

    @property
    def _done(self) -> bool:
        return self._exit is not None or self._fault is not None

    def started(self, timeout: float | None = None) -> None:
        """Return once it runs."""
        with self._changed:
            came = self._changed.wait_for(lambda: self._pid is not None or self._done, timeout)
            if self._fault is not None and self._pid is None:
                raise self._fault
        if not came:
            raise StartTimeout(
                f"{self.command.argv[0]!r} was not started within {timeout:g} s",
                place=self._place,
                cause="\n".join(self.tail),
                cure="Check that the host answers and is not overloaded",
            )

    def write(self, data: bytes, timeout: float | None = None) -> None:
        """Write to its stdin, waiting while it does not read."""
        deadline = None if timeout is None else time.monotonic() + timeout
        rest = memoryview(data)
        while rest:
            with self._changed:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                self._changed.wait_for(lambda: self._window > 0 or not self._input_open, left)
                if not self._input_open:
                    raise InputClosed(
                        f"{self.command.argv[0]!r} takes no more input",
                        place=self._place,
                        cause="\n".join(self.tail),
                    )
                if self._window <= 0:
                    raise StillRunning(
                        f"{self.command.argv[0]!r} did not read its input for {timeout:g} s",
                        place=self._place,
                    )
                piece = rest[: min(self._window, wire.CHUNK)]
                self._window -= len(piece)
                self._send(wire.DATA, self._number, bytes(piece))
            rest = rest[len(piece) :]

    def post(self, data: bytes) -> None:
        """Write to its stdin without ever waiting; for messages that bound themselves."""
        with self._changed:
            self._window -= len(data)
            self._send(wire.DATA, self._number, data)

    def repeat(self, seconds: float, data: bytes) -> None:
        """Let the guard write this to its stdin from time to time, also while we are stopped.

        It is a message of its own: never in the middle of another one that was posted.
        """
        self._send(wire.REPEAT, self._number, f"{seconds}\0".encode() + data)

    def close_input(self) -> None:
        """Close its stdin behind all that was written."""
        with self._changed:
            if not self._input_open:
                return
            self._input_open = False
            self._send(wire.CLOSE, self._number, b"")

    def signal(self, number: int, reach: Reach = Reach.GROUP) -> None:
        """Send a signal."""
        if not self._done:
            self._send(wire.SIGNAL, self._number, _REACH[reach] + str(int(number)).encode())

    def kill(self) -> None:
        """End it and all that descends from it, at once; twice is once.

        The guard looks through all processes of its host for that, and many clusters may share one.
        """
        if not self._was_killed:
            self._was_killed = True
            self.signal(signals.SIGKILL, Reach.TREE)

    def stop(self, grace: float = 2.0) -> Exit:
        """Ask it to end, kill what is left after `grace` seconds, and return how it ended."""
        self.signal(signals.SIGTERM)
        try:
            return self.wait(grace)
        except StillRunning:
            self.kill()
            return self.wait()

    def wait(self, timeout: float | None = None) -> Exit:
        """Return how it ended, all its output delivered."""
        with self._changed:
            self._changed.wait_for(lambda: self._done, timeout)
            if self._fault is not None:
                raise self._fault
            if self._exit is not None:
                return self._exit
        raise StillRunning(
            f"{self.command.argv[0]!r} had not ended after {timeout:g} s",
            place=self._place,
            cause="\n".join(self.tail),
            cure="Give it more time, or stop() it",
        )

    def when_done(self, call: Callable[[], None]) -> None:
        """Call once it has ended or was lost."""
        with self._changed:
            if not self._done:
                self._callbacks.append(call)
                return
        call()


def exit_of(status: int, at: float = 0.0) -> Exit:
    """Return what a wait status means that somebody got at a time."""
    if os.WIFSIGNALED(status):
        return Exit(signal=os.WTERMSIG(status), at=at)
    return Exit(code=os.waitstatus_to_exitcode(status), at=at)
