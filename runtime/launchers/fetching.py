"""What a folder at a place holds, and its files sent home: the half of `contents` at home."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from runtime.launchers import bootstrap, contents, wire
from runtime.launchers.base import Command, Launcher, OutputStream, Process
from runtime.launchers.errors import FetchFailed, StillRunning

if TYPE_CHECKING:
    from runtime.launchers.contents import Entry

STALL_TIMEOUT = 60.0
"""How many seconds may pass without a byte; as long as some come, there is no limit."""

_LOOK_AGAIN = 0.1


class Stalled(FetchFailed):
    """Nothing came any more, although the way was not known to be broken."""


class FileReceiver(Protocol):
    """Who takes the files, by their number in what was asked for; called from one thread."""

    def begins(self, number: int, size: int, mtime: int, mode: int) -> None:
        """Begin a file with what its place says of it."""

    def goes_on(self, number: int, data: bytes) -> None:
        """Take the next bytes."""

    def skips(self, number: int, size: int) -> None:
        """Leave a hole."""

    def ends(self, number: int, fault: str) -> None:
        """End a file; `fault` is empty if all of it came, and it did not change meanwhile."""


class _Incoming:
    """A sink for what the far end sends, which notes when something came."""

    def __init__(self, receiver: FileReceiver | None = None) -> None:
        self.moved = time.monotonic()
        self.text = bytearray()
        self.fault: Exception | None = None
        self._receiver = receiver

    def received(self, stream: OutputStream, data: bytes) -> None:
        """Take what comes."""
        self.moved = time.monotonic()
        if stream is not OutputStream.OUTPUT or self.fault is not None:
            return
        try:
            self.text += data
            if self._receiver is not None:
                for kind, number, payload in wire.frames(self.text, contents.CHUNK):
                    pass_on(self._receiver, kind, number, payload)
            elif len(self.text) > wire.MOST:
                raise ValueError(f"what it holds has more than {wire.MOST:,} bytes")
        except (OSError, ValueError) as fault:
            self._end(fault)
        except LookupError:
            self._end(ValueError("what was not asked for came"))

    def finished(self) -> None:
        """Need nothing."""

    def _end(self, fault: Exception) -> None:
        """Take nothing more."""
        self.text.clear()
        self.fault = fault


def pass_on(receiver: FileReceiver, kind: bytes, number: int, payload: bytes) -> None:
    """Tell a receiver what a message of the far end says."""
    if kind == contents.HEAD:
        size, mtime, mode = (contents.whole(int(word)) for word in payload.split())
        receiver.begins(number, size, mtime, mode)
    elif kind == contents.DATA:
        receiver.goes_on(number, payload)
    elif kind == contents.HOLE:
        receiver.skips(number, contents.whole(int(payload)))
    elif kind == contents.CHANGED:
        receiver.ends(number, "it changed while it was read")
    else:
        receiver.ends(number, payload.decode(errors="replace"))


def list_folder(
    launcher: Launcher, folder: str, guard: int = 0, *, given_up: Callable[[], bool]
) -> tuple[str, dict[str, Entry] | None]:
    """Return the host of a folder and what the folder holds, None if there is no such folder.

    `guard` is a guard there that has lost its launcher: it ends before. Raises LaunchError.
    """
    listing = _Incoming()
    words = (str(guard), str(STALL_TIMEOUT / 2)) if guard else ()
    process = launcher.start(_far_end(launcher, "list", folder, *words), listing)
    process.close_input()
    _await(launcher, process, listing, folder, given_up)
    try:
        return contents.unpacked(bytes(listing.text), given_up)
    except ValueError as fault:
        raise FetchFailed(f"{folder} could not be read: {fault}", place=launcher.place) from fault


def receive(
    launcher: Launcher,
    folder: str,
    wanted: Sequence[tuple[str, int]],
    receiver: FileReceiver,
    *,
    given_up: Callable[[], bool],
) -> None:
    """Have files sent, each from an offset on; raises LaunchError."""
    incoming = _Incoming(receiver)
    process = launcher.start(_far_end(launcher, "send", folder), incoming)
    process.write(json.dumps(wanted).encode())
    process.close_input()
    _await(launcher, process, incoming, folder, given_up)


def remove(launcher: Launcher, folder: str) -> None:
    """Remove a folder that no guard looks after; raises LaunchError."""
    process = launcher.start(_far_end(launcher, "remove", folder))
    process.close_input()
    process.wait(STALL_TIMEOUT)


def _await(
    launcher: Launcher,
    process: Process,
    incoming: _Incoming,
    folder: str,
    given_up: Callable[[], bool],
) -> None:
    """Wait for the end of what the far end sends, as long as something moves."""
    why, kind = "", FetchFailed
    while not why:
        try:
            ended = process.wait(_LOOK_AGAIN)
        except StillRunning:
            if given_up():
                why = "it was given up"
            elif incoming.fault is not None:
                why = str(incoming.fault)
            elif time.monotonic() > incoming.moved + STALL_TIMEOUT:
                why, kind = f"nothing was received for {STALL_TIMEOUT:g} s", Stalled
            continue
        if ended.ok and incoming.fault is None:
            return
        why = str(incoming.fault or "\n".join(process.tail) or ended)
    process.kill()
    raise kind(f"{folder} could not be read: {why}", place=launcher.place)


def _far_end(launcher: Launcher, *words: str) -> Command:
    python = launcher.ready().python
    return Command((python, "-I", "-S", "-c", bootstrap.read_source("contents"), *words))
