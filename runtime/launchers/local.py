"""Processes on this machine, under a guard that outlives a killed launcher just long enough."""

from __future__ import annotations

import heapq
import os
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from runtime.launchers import bootstrap, family, wire
from runtime.launchers.base import Exit
from runtime.launchers.errors import LauncherClosed
from runtime.launchers.guard import GRACE
from runtime.launchers.guarded import shielded
from runtime.launchers.lines import Tail
from runtime.launchers.session import GuardSession, Marked, broken

if TYPE_CHECKING:
    from runtime.launchers.forked_guard import ForkedGuard

LAST_PATIENCE = 2 * GRACE + 4  # seconds for a guard to end everything, remove folders and go


class LocalLauncher(GuardSession):
    """Start processes on this machine.

    One guard process and one thread serve all commands. `guard` is one that is there already; it
    is this launcher's from now on. Use it as a context manager:

        with LocalLauncher() as launcher:
            process = launcher.start(Command(("hostname",)), Lines(print))
            process.wait()
    """

    def __init__(
        self, place: str = "local", *, timeout: float = 30.0, guard: ForkedGuard | None = None
    ) -> None:
        super().__init__(place, timeout)
        marker = bootstrap.new_marker() if guard is None else guard.marker
        self._guard = _start_guard(marker) if guard is None else guard
        self._marked = Marked(marker)
        self._complaints = Tail()
        self._outgoing: deque[bytes] = deque([bootstrap.local_input()] if guard is None else ())
        self._closing = False
        self._folders: list[str] = []
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        self._thread = threading.Thread(target=self._pump, name=f"launcher {place}", daemon=True)
        self._thread.start()

    def make_folder(
        self, parent: str = "", timeout: float | None = None, *, name: str = "gcm-"
    ) -> str:
        """Make a private folder here, removed when the launcher closes."""
        made = super().make_folder(parent, timeout, name=name)
        self._folders.append(made)
        return made

    def post(self, data: bytes) -> None:
        """Queue bytes for the guard without blocking."""
        self._outgoing.append(data)
        self._stir()

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call from the launcher's thread after some time, unless it is closed before."""
        heapq.heappush(self._timers, (time.monotonic() + seconds, id(call), call))
        self._stir()

    def close(self) -> None:
        """End all commands, remove all folders and end the guard; twice is once."""
        if threading.current_thread() is self._thread:
            raise RuntimeError("a launcher cannot be closed from its own callbacks")
        self._closing = True
        self._stir()
        self._thread.join(LAST_PATIENCE)
        if self._thread.is_alive():
            self._guard.kill()  # it was stopped, or hangs in a file system
            self._thread.join()
        for folder in self._folders:
            if os.path.exists(folder):  # it has results, or the guard was killed
                from runtime.launchers.contents import keeps_results  # hardly ever needed

                if folder not in self.sealed or not keeps_results(folder, *self.sealed[folder]):
                    family.remove_tree(folder)

    def _stir(self) -> None:
        with suppress(OSError):  # full: it is awake anyway; closed: nobody is left to wake
            self._wake.send(b"!")

    # --- the thread ---------------------------------------------------------------------------

    def _pump(self) -> None:
        """Carry bytes between the guard and the session until the guard has gone."""
        guard, selector = self._guard, self._selector
        assert guard.stdin is not None
        assert guard.stdout is not None
        assert guard.stderr is not None
        os.set_blocking(guard.stdin.fileno(), False)
        selector.register(guard.stdin, selectors.EVENT_WRITE, self._write)
        selector.register(guard.stdout, selectors.EVENT_READ, self._read)
        selector.register(guard.stderr, selectors.EVENT_READ, self._read_complaint)
        selector.register(self._woken, selectors.EVENT_READ, self._is_woken)
        try:
            while guard.stdout in selector.get_map():
                for key, _ in selector.select(self._ring()):
                    if key.fileobj in selector.get_map():
                        key.data(key.fd)
        finally:
            self._let_go()

    def _ring(self) -> float | None:
        """Make the calls that are due and return how long the next one has time."""
        while self._timers:
            left = self._timers[0][0] - time.monotonic()
            if left > 0:
                return left
            shielded(heapq.heappop(self._timers)[2])
        return None

    def _write(self, descriptor: int) -> None:
        stdin = self._guard.stdin
        assert stdin is not None
        try:
            while self._outgoing:
                piece = self._outgoing[0]
                written = os.write(descriptor, piece)
                self._outgoing.popleft()
                if written < len(piece):
                    self._outgoing.appendleft(piece[written:])
        except BlockingIOError:
            return
        except OSError:
            self._outgoing.clear()  # the guard has gone; the end of its stdout says the rest
        self._selector.unregister(stdin)
        if self._closing:
            stdin.close()

    def _is_woken(self, descriptor: int) -> None:
        os.read(descriptor, wire.CHUNK)
        stdin = self._guard.stdin
        if stdin is not None and not stdin.closed and stdin not in self._selector.get_map():
            self._selector.register(stdin, selectors.EVENT_WRITE, self._write)

    def _read(self, descriptor: int) -> None:
        data = os.read(descriptor, wire.CHUNK)
        if not data:
            self._selector.unregister(descriptor)
        elif messages := self._marked.take(data):
            self.feed(messages)

    def _read_complaint(self, descriptor: int) -> None:
        data = os.read(descriptor, wire.CHUNK)
        if data:
            self._complaints.feed(data)
        else:
            self._selector.unregister(descriptor)

    def _let_go(self) -> None:
        """Reap the guard and tell those that still wait why there is nothing to wait for."""
        try:
            code = self._guard.wait(LAST_PATIENCE)
        except subprocess.TimeoutExpired:
            self._guard.kill()
            code = self._guard.wait()
        for pipe in (self._guard.stdin, self._guard.stdout, self._guard.stderr):
            if pipe is not None:
                pipe.close()
        for own in (self._selector, self._wake, self._woken):
            own.close()
        if self._closing:
            self.lose(LauncherClosed("the launcher was closed", place=self.place))
        else:
            self._kill_orphans()
            self._complaints.finish()
            cause = "\n".join(self._complaints.lines)
            self.lose(
                broken(self.place, f"the guard ended by itself ({Exit.of_returncode(code)})", cause)
            )

    def _kill_orphans(self) -> None:
        """End the commands a guard left that was killed itself, and all that descends from them."""
        commands = {one.pid for one in self._running() if one.pid is not None}
        if commands:
            below = family.descendants(commands, family.processes())
            for pid in commands:
                with suppress(OSError):
                    os.killpg(pid, signal.SIGKILL)
            family.send_signal(below, family.KILL)


def _start_guard(marker: tuple[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        bootstrap.local_argv(marker),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
