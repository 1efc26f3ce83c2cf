"""Processes on a peer: the guard that its daemon starts, over one authenticated connection."""

from __future__ import annotations

import logging
import os
import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from runtime.launchers import bootstrap, wire
from runtime.launchers.errors import LauncherClosed, LaunchError, PythonMissing, StagingFailed
from runtime.launchers.guard import GRACE
from runtime.launchers.session import GuardSession, Marked, broken

if TYPE_CHECKING:
    from runtime.launchers.base import Source

_log = logging.getLogger(__name__)

Stored = Callable[[Mapping[str, "Source"]], str]
"""Returns the path of a file at the peer in which these files are packed, "" if there is none."""

Here = Callable[[Mapping[str, "Source"]], Mapping[str, "Source"]]
"""Returns files as they can be sent from here, those of web servers too."""

Connect = Callable[[int, tuple[str, str]], tuple[socket.socket, str]]
"""Has a guard started whose source has so many bytes and which begins with a marker.

Returns the connection that leads to its standard input and output, and the passage to what it will
start; raises LaunchError.
"""

LAST_PATIENCE = 2 * GRACE + 1  # seconds for the far end to end everything, once it was asked to


class PeerLauncher(GuardSession):
    """Start processes on a peer.

    `connect` is called in the launcher's own thread, so nothing waits here for the peer: `ready`
    does. The source of the guard goes first through the connection, so that the guard is that of
    this version, whatever the daemon's is. A peer that vanishes without a word is noticed within
    `lease` seconds, by probes of the operating system: they go on while this process is stopped.
    """

    def __init__(
        self,
        connect: Connect,
        *,
        place: str,
        stored: Stored = lambda _: "",
        here: Here = lambda files: files,
        timeout: float = 30.0,
        lease: float = 30.0,
    ) -> None:
        super().__init__(place, timeout)
        self._connect = connect
        self._stored = stored
        self._here = here
        self._lease = lease
        self._closing = False
        self._outgoing: deque[bytes] = deque([bootstrap.source()])
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        self._thread = threading.Thread(target=self._run, name=f"launcher {place}", daemon=True)
        self._thread.start()

    def post(self, data: bytes) -> None:
        """Queue bytes for the guard without blocking."""
        self._outgoing.append(data)
        with suppress(OSError):  # full: it is awake anyway; closed: nobody is left to wake
            self._wake.send(b"!")

    def stage(self, files: Mapping[str, Source], folder: str) -> None:
        """Bring files to `folder`: what the peer has already is unpacked there."""
        from runtime.launchers import staging

        python = self.ready().python
        if packed := self._stored(files):
            try:
                staging.unpack_stored(self, python, packed, files, folder)
                return
            except StagingFailed as fault:  # others may have needed the room meanwhile
                _log.info("%s: %s is sent again: %s", self.place, packed, fault)
        staging.stage(self, python, self._here(files), folder)

    def close(self) -> None:
        """End all commands and remove all folders at the far end, then end the connection."""
        if threading.current_thread() is self._thread:
            raise RuntimeError("a launcher cannot be closed from its own callbacks")
        self._closing = True
        self.post(wire.frame(wire.END, 0))
        self._thread.join(LAST_PATIENCE)
        if self._thread.is_alive():  # the far end hangs, or has not answered yet
            with suppress(OSError):
                self._wake.shutdown(socket.SHUT_WR)
            self._thread.join()

    # --- the thread ---------------------------------------------------------------------------

    def _run(self) -> None:
        marker = bootstrap.new_marker()
        try:
            connection, self.passage = self._connect(len(bootstrap.source()), marker)
        except LaunchError as fault:
            self._let_go(fault)
            return
        cause, marked = "", Marked(marker)
        with connection:
            keep_alive(connection, self._lease)
            try:
                self._pump(connection, marked)
            except OSError as fault:
                cause = fault.strerror or str(fault)
        if marked.is_behind:
            self._let_go(broken(self.place, "the connection to the peer ended", cause))
            return
        self._let_go(
            PythonMissing(
                "the connection to the peer ended before its Python could run anything",
                place=self.place,
                cause=marked.before.decode(errors="replace") or cause,
                cure="If the peer is there, its Python is too old: it has to be 3.11 or newer, and "
                "the owner can name another one, `python` in the configuration of the peer",
            )
        )

    def _pump(self, connection: socket.socket, marked: Marked) -> None:
        """Carry bytes both ways until the far end has gone."""
        connection.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._selector.register(connection, selectors.EVENT_READ)
        while self._read(connection, marked):
            wanted = selectors.EVENT_READ
            if not self._write(connection):
                wanted |= selectors.EVENT_WRITE
            self._selector.modify(connection, wanted)
            for key, _ in self._selector.select():
                if key.fileobj is self._woken and not os.read(key.fd, wire.CHUNK):
                    return  # closed, and the far end has had its time

    def _read(self, connection: socket.socket, marked: Marked) -> bool:
        """Take all that has arrived; tell whether more may come."""
        while True:
            try:
                data = connection.recv(wire.CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.feed(marked.take(data))

    def _write(self, connection: socket.socket) -> bool:
        """Send what can be sent now; tell whether that is all."""
        while self._outgoing:
            piece = self._outgoing[0]
            try:
                written = connection.send(piece[: wire.CHUNK])
            except BlockingIOError:
                return False
            self._outgoing.popleft()
            if written < len(piece):
                self._outgoing.appendleft(piece[written:])
        return True

    def _let_go(self, fault: LaunchError) -> None:
        for own in (self._selector, self._wake, self._woken):
            own.close()
        if self._closing:
            fault = LauncherClosed("the launcher was closed", place=self.place)
        self.lose(fault)


_LONGEST_PAUSE, _LONGEST_TIMEOUT = 32767, 2**31 - 1  # seconds, milliseconds: Linux takes no more


def keep_alive(connection: socket.socket, seconds: float) -> None:
    """Let the operating system end a connection whose other end is silent for so many seconds."""
    probes = 4
    pause = min(max(1, int(seconds / (probes + 1))), _LONGEST_PAUSE)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):  # macOS has other names, and other defaults that do
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, pause)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, pause)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, probes)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        milliseconds = min(int(seconds * 1000), _LONGEST_TIMEOUT)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
