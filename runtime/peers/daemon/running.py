"""The daemon that runs in a folder: a file it holds locked, with its process and its port."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import time
from contextlib import suppress
from typing import IO

from gcm.records import dataclass
from runtime.peers.configuration.folder import PeerFolder
from runtime.peers.errors import PeerError, of_file
from runtime.peers.model import Address

HALT_TIMEOUT = 30.0
_LOOK = 0.02
LOCK_TIMEOUT = 0.5
"""Who only looks whether a daemon runs holds the lock for a moment, too."""


@dataclass(frozen=True, slots=True)
class RunningDaemon:
    """A daemon that runs now."""

    folder: PeerFolder
    pid: int
    address: Address

    def halt(self, timeout: float = HALT_TIMEOUT) -> None:
        """Ask it to end and wait until it has; raises PeerError if it has not in time."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            signal.pidfd_send_signal(handle, signal.SIGTERM)
            has_ended = bool(select.select([handle], [], [], timeout)[0])
        except ProcessLookupError:
            return
        except PermissionError as error:
            raise PeerError(
                f"the daemon {self.pid} is that of another user", place=str(self.folder.path)
            ) from error
        finally:
            os.close(handle)
        if has_ended:
            return
        raise PeerError(
            f"the daemon {self.pid} has not ended within {timeout:g} s",
            place=str(self.folder.path),
            cure=f"Look at {self.folder.log}; kill -9 {self.pid} ends it, and all it has started",
        )


def find_running(folder: PeerFolder) -> RunningDaemon | None:
    """Return the daemon that runs in a folder, if one does; raises PeerError."""
    written = b""
    with (
        of_file("cannot be read", folder.running),
        suppress(FileNotFoundError),
        folder.running.open("rb") as opened,
    ):
        if _locked(opened, fcntl.LOCK_SH, 0.0):
            return None
        written = opened.read()
    try:
        record = json.loads(written)
        return RunningDaemon(folder, int(record["pid"]), Address.parse(record["address"]))
    except (ValueError, KeyError, TypeError, PeerError):
        return None  # it has just begun, and has not written yet


class RunningFile:
    """The file, locked by this process as long as it is open."""

    def __init__(self, folder: PeerFolder) -> None:
        folder.make()
        self._folder = folder
        with of_file("cannot be made", folder.running):
            # Never replaced: the lock is that of the file which all others open, too.
            descriptor = os.open(folder.running, os.O_RDWR | os.O_CREAT, 0o600)
        self._opened = os.fdopen(descriptor, "r+b")
        if not _locked(self._opened, fcntl.LOCK_EX, LOCK_TIMEOUT):
            self._opened.close()
            found = find_running(folder)
            raise PeerError(
                f"a daemon runs here already{f', process {found.pid}' if found else ''}",
                place=str(folder.path),
                cure="End it first (gcm-peer halt), or name another folder (--folder)",
            )
        self._opened.truncate(0)

    def write(self, address: Address) -> None:
        """Tell where the daemon is."""
        record = {"pid": os.getpid(), "address": str(address)}
        self._opened.seek(0)
        self._opened.write(json.dumps(record).encode())
        self._opened.flush()

    def close(self) -> None:
        """Tell that there is no daemon any more."""
        self._opened.truncate(0)
        self._opened.close()


def _locked(opened: IO[bytes], kind: int, timeout: float) -> bool:
    """Lock a file, as long as it is open; return whether nobody else has within the time."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(opened, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK)
        else:
            return True
