"""Hands connections at the one port of a daemon over to the processes for which they are.

See `runtime.transport.passage`. Who does not begin with a token of something that runs here, or
comes from an address on the deny list, is treated as any connection: a stranger sees no difference.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import select
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gcm.records import dataclass
from runtime.transport.passage import NAME, TOKEN

log = logging.getLogger(__name__)

LONGEST_FOLDER = 80
"""Systems allow about 107 bytes for the path of a socket, and names take their part."""

PATIENCE = 10.0
"""Seconds for a connection to begin, and for a process to take it."""

_NAME = re.compile(rb"([a-z0-9-]+) *", re.ASCII)
_DIGITS = {b"%x" % digit for digit in range(16)}


@dataclass(frozen=True, slots=True)
class OpenPassage:
    """The way to what one launch has started: `folder` has the sockets of its processes."""

    token: str
    folder: str


class PassedConnections:
    """The passages of a daemon. Any thread may call.

    Their folders are made in `base`. If its path is too long they are made where temporary files
    are, and `base` has links to them: the next daemon removes what a killed one has left.
    """

    def __init__(self, base: Path, is_denied: Callable[[str], bool] = lambda _: False) -> None:
        """`is_denied` says of an address whether nothing that comes from it is handed over."""
        self._base = base
        self._is_denied = is_denied
        self._lock = threading.Lock()
        self._folders: dict[bytes, str] = {}
        for left in base.glob("*"):
            if left.is_symlink():
                shutil.rmtree(left.readlink(), ignore_errors=True)
        shutil.rmtree(base, ignore_errors=True)

    def open(self) -> OpenPassage:
        """Open a passage; raises OSError."""
        token = secrets.token_hex(TOKEN // 2)
        os.makedirs(self._base, 0o700, exist_ok=True)
        if len(os.fsencode(self._base)) <= LONGEST_FOLDER:
            folder = tempfile.mkdtemp(prefix="", dir=self._base)
        else:
            folder = tempfile.mkdtemp(prefix="gcm-doors-")
            self._link_to(folder).symlink_to(folder)
        with self._lock:
            self._folders[token.encode()] = folder
        return OpenPassage(token, folder)

    def close(self, passage: OpenPassage) -> None:
        """Let nobody through any more; what was handed over goes on."""
        with self._lock:
            self._folders.pop(passage.token.encode(), None)
        shutil.rmtree(passage.folder, ignore_errors=True)
        with suppress(OSError):  # where it is the folder itself, it is gone
            self._link_to(passage.folder).unlink()

    def _link_to(self, folder: str) -> Path:
        return self._base / os.path.basename(folder)

    def takes(self, connected: socket.socket) -> bool:
        """Hand a new connection over if it is for a process here; tell whether it was for one.

        Nothing was read from it otherwise. The caller closes it in both cases. Raises OSError.
        """
        deadline = time.monotonic() + PATIENCE
        if not (begin := self._begin(connected, deadline)):
            return False
        with self._lock:
            folder = self._folders.get(begin[:TOKEN])
        name = _NAME.fullmatch(begin[TOKEN:])
        if folder is None or name is None or self._is_denied(connected.getpeername()[0]):
            return False
        # It is there already, so it is read at once.
        socket.socket.recv(connected, TOKEN + NAME)
        try:
            _hand_over(connected, f"{folder}/{name[1].decode()}")
        except OSError as error:
            log.info("a connection for %s could not be handed over: %s", name[1].decode(), error)
        return True

    def _begin(self, connected: socket.socket, deadline: float) -> bytes:
        """Return how a connection begins if that is what names a process, or nothing.

        No TLS message begins with a hexadecimal digit. One that does is waited for as a whole, so
        that nobody learns from the time which digits of a token are right.
        """
        with self._lock:
            if not self._folders:
                return b""
        if self._peeked(connected, 1, deadline)[:1] not in _DIGITS:
            return b""
        begin = self._peeked(connected, TOKEN + NAME, deadline)
        return begin if len(begin) == TOKEN + NAME else b""

    @staticmethod
    def _peeked(connected: socket.socket, size: int, deadline: float) -> bytes:
        """Return so many first bytes, or fewer if no more come."""
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)
        try:
            poll = select.poll()
            poll.register(connected.fileno(), select.POLLIN)
            if not poll.poll(max(0.0, 1000 * (deadline - time.monotonic()))):
                return b""
            return socket.socket.recv(connected, size, socket.MSG_PEEK)
        finally:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)


def _hand_over(connected: socket.socket, path: str) -> None:
    """Give a connection to the process that listens at a path; raises OSError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as way:
        way.settimeout(PATIENCE)
        way.connect(path)
        socket.send_fds(way, [b"."], [connected.fileno()])
