"""Hands connections at the one port of a daemon over to the processes for which they are.

See `runtime.transport.passage`. Who does not begin with a token of something that runs here is
treated as any connection: a stranger sees no difference.
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
from pathlib import Path

from gcm.records import dataclass
from runtime.transport.passage import NAME, TOKEN

log = logging.getLogger(__name__)

LONGEST_FOLDER = 80
"""Systems allow about 107 bytes for the path of a socket, and names take their part."""

PATIENCE = 10.0
"""Seconds for a connection to begin, and for a process to take it."""

_NAME = re.compile(rb"([a-z0-9-]+) *", re.ASCII)
_LOOK = 0.01  # seconds until more of a beginning is looked for that has come in pieces


@dataclass(frozen=True, slots=True)
class OpenPassage:
    """The way to what one launch has started: `folder` has the sockets of its processes."""

    token: str
    folder: str


class PassedConnections:
    """The passages of a daemon. Any thread may call.

    Their folders are made in `base`, or where temporary files are if its path is too long.
    """

    def __init__(self, base: Path) -> None:
        self._base = base
        self._lock = threading.Lock()
        self._folders: dict[bytes, str] = {}
        shutil.rmtree(base, ignore_errors=True)  # of a daemon that was killed

    def open(self) -> OpenPassage:
        """Open a passage; raises OSError."""
        token = secrets.token_hex(TOKEN // 2)
        base = str(self._base)
        if len(os.fsencode(base)) <= LONGEST_FOLDER:
            os.makedirs(base, 0o700, exist_ok=True)
            folder = tempfile.mkdtemp(prefix="", dir=base)
        else:
            folder = tempfile.mkdtemp(prefix="gcm-doors-")
        with self._lock:
            self._folders[token.encode()] = folder
        return OpenPassage(token, folder)

    def close(self, passage: OpenPassage) -> None:
        """Let nobody through any more; what was handed over goes on."""
        with self._lock:
            self._folders.pop(passage.token.encode(), None)
        shutil.rmtree(passage.folder, ignore_errors=True)

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
        if folder is None or name is None:
            return False
        # It is there already, so it is read at once.
        socket.socket.recv(connected, TOKEN + NAME)
        try:
            _hand_over(connected, f"{folder}/{name[1].decode()}")
        except OSError as error:
            log.info("a connection for %s could not be handed over: %s", name[1].decode(), error)
        return True

    def _begin(self, connected: socket.socket, deadline: float) -> bytes:
        """Return how a connection begins if that is what names a process, or nothing."""
        poll = select.poll()
        poll.register(connected.fileno(), select.POLLIN)
        while (left := deadline - time.monotonic()) > 0:
            with self._lock:
                tokens = list(self._folders)
            if not tokens or not poll.poll(1000 * left):
                return b""
            begin = socket.socket.recv(connected, TOKEN + NAME, socket.MSG_PEEK)
            if not begin or not any(one.startswith(begin[:TOKEN]) for one in tokens):
                return b""
            if len(begin) == TOKEN + NAME:
                return begin
            time.sleep(_LOOK)
        return b""


def _hand_over(connected: socket.socket, path: str) -> None:
    """Give a connection to the process that listens at a path; raises OSError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as way:
        way.settimeout(PATIENCE)
        way.connect(path)
        socket.send_fds(way, [b"."], [connected.fileno()])
