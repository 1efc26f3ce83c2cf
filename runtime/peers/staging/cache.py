"""Contents of files at a peer, by their SHA-256: whole ones, and those that still arrive."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.peers.errors import Refused
from runtime.peers.model import Reason

if TYPE_CHECKING:
    from hashlib import _Hash

DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
SLACK = 16 << 20  # bytes of the disk that are left to others
MOST_REFUSED = 1000
ABANDONED = 60.0  # seconds without a piece after which what has come in part may go
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_PIECE = 1 << 20


def path_in(folder: str, digest: str) -> str:
    """Return where a content that is whole lies in a cache."""
    return f"{folder}/whole/{digest}"


class ContentCache:
    """A folder with at most `limit` bytes of contents; those not used for the longest time go.

    A content becomes visible as a whole, after its digest has been compared; what has arrived of
    one stays when the connection breaks, also while the daemon does not run, so that a transfer
    goes on where it ended. Who brings a content has a part of their own: nobody can spoil that of
    another with a false size or false bytes. Any thread may call.

    >>> cache = ContentCache(Path("/var/tmp/gcm-cache"), 1 << 30)       # doctest: +SKIP
    >>> cache.append(digest, size=5, offset=0, data=b"hello")           # doctest: +SKIP
    5
    """

    def __init__(
        self, folder: Path, limit: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self.folder = folder
        self.limit = limit
        self._whole, self._partial = folder / "whole", folder / "partial"
        self._lock = threading.Lock()
        self._hashes: dict[str, _Hash] = {}
        self._sizes: dict[str, int] = {}
        self._promised: dict[str, int] = {}  # what has begun to arrive: how long it becomes
        self._heard: dict[str, float] = {}  # and when its last piece came
        self._refused: dict[str, Refused] = {}
        for one in (self._whole, self._partial):
            one.mkdir(mode=0o700, parents=True, exist_ok=True)

    def held(self, digest: str, who: str = "") -> int:
        """Return how many bytes there are of a content: of the whole, or of what `who` brings.

        Raises Refused for what is no digest.
        """
        _check(digest)
        for path in (self._whole / digest, self._partial / _part(digest, who)):
            with suppress(FileNotFoundError):
                return path.stat().st_size
        return 0

    def path(self, digest: str) -> Path | None:
        """Return the file of a content that is whole, and note that it was used."""
        _check(digest)
        path = self._whole / digest
        try:
            os.utime(path)
        except FileNotFoundError:
            return None
        return path

    def read(self, digest: str, offset: int, most: int) -> bytes:
        """Return a piece of what there is of a content, b"" behind it; of parts, of the longest.

        Raises Refused where there is no room for it, so that nobody waits for more.
        """
        _check(digest)
        whole = self._whole / digest
        for path in (whole, self._longest(digest), whole):  # it may become whole meanwhile
            with suppress(FileNotFoundError), path.open("rb") as file:
                file.seek(offset)
                return file.read(most)
        if digest in self._refused:
            raise self._refused[digest]
        return b""

    def append(self, digest: str, size: int, offset: int, data: bytes, who: str = "") -> int:
        """Add a piece to a content of so many bytes; return how many there are now.

        A piece that does not begin where the last one ended changes nothing: the answer says where
        to go on. Raises Refused: for lack of room, or because the whole has another digest.
        """
        _check(digest)
        part = _part(digest, who)
        with self._lock:
            there = self.held(digest, who)
            if offset != there or (self._whole / digest).exists():
                return there
            if not data and size:
                return there
            if self._promised.get(part, size) != size:
                raise Refused(
                    f"the content {digest[:12]} was said to have {self._promised[part]} bytes "
                    f"before, and {size} now",
                    reason=Reason.BAD_REQUEST,
                )
            if there + len(data) > size:
                raise Refused(
                    f"the content {digest[:12]} is longer than its {size} bytes",
                    reason=Reason.BAD_REQUEST,
                )
            try:
                self._make_room(part, size)
                hashed = self._hash_of(part, there)
                self._write(part, there, data)
            except Refused as fault:
                self._refused[digest] = fault
                if len(self._refused) > MOST_REFUSED:
                    del self._refused[next(iter(self._refused))]
                raise
            self._refused.pop(digest, None)
            self._heard[part] = self._clock()
            hashed.update(data)
            self._sizes[part] = there + len(data)
            if there + len(data) == size:
                self._complete(part, digest, hashed)
            return there + len(data)

    def _parts(self, digest: str) -> list[Path]:
        return list(self._partial.glob(f"{digest}*"))

    def _longest(self, digest: str) -> Path:
        """Return the longest part of a content, or where one would be."""
        found: list[tuple[int, Path]] = []
        for path in self._parts(digest):
            with suppress(FileNotFoundError):
                found.append((path.stat().st_size, path))
        return max(found)[1] if found else self._partial / digest

    # --- with the lock ------------------------------------------------------------------------

    def _write(self, part: str, there: int, data: bytes) -> None:
        path = self._partial / part
        try:
            with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0) as file:
                file.seek(there)
                view = memoryview(data)
                while view:
                    view = view[file.write(view) :]
        except OSError as fault:
            self._drop(part)
            if fault.errno in FULL:
                raise _full(self.folder, str(fault)) from None
            raise

    def _hash_of(self, part: str, there: int) -> _Hash:
        """Return the hash of what there is, read again if another process has written it."""
        found = self._hashes.get(part)
        if found is None or self._sizes.get(part) != there:
            found = hashlib.sha256()
            with suppress(FileNotFoundError), (self._partial / part).open("rb") as file:
                while piece := file.read(_PIECE):
                    found.update(piece)
            self._hashes[part] = found
        return found

    def _complete(self, part: str, digest: str, hashed: _Hash) -> None:
        path = self._partial / part
        if hashed.hexdigest() != digest:
            self._drop(part)
            raise Refused(
                f"what arrived as {digest[:12]} has another SHA-256, so nothing of it was kept",
                reason=Reason.BAD_REQUEST,
                cure="Send it again; if that happens twice, look at the disk of the sender",
            )
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        path.chmod(0o400)
        os.replace(path, self._whole / digest)
        self._forget(part)
        for other in self._parts(digest):
            self._remove(other)

    def _make_room(self, part: str, size: int) -> None:
        """Remove what was not used for the longest time until there is room; raises Refused.

        What arrives just now stays, or two that have no room together would remove each other.
        """
        if size > self.limit:
            raise _full(self.folder, f"{size} bytes are more than its limit of {self.limit}")
        if part in self._promised:
            return  # there was room when it began, and it is kept
        others = sorted(self._others(part))
        total = sum(length for _, length, _ in others)
        others = [one for one in others if not self._arrives(one[2].name)]
        while others and total + size > self.limit:
            _, length, path = others.pop(0)
            self._remove(path)
            total -= length
        free = shutil.disk_usage(self.folder).free
        while others and free < size + SLACK:
            _, length, path = others.pop(0)
            self._remove(path)
            free = shutil.disk_usage(self.folder).free
        if total + size > self.limit:
            raise _full(self.folder, "others that arrive now take all of it")
        if free < size + SLACK:
            raise _full(self.folder, f"{size} bytes are needed, {free} are free")
        self._promised[part] = size

    def _others(self, part: str) -> list[tuple[float, int, Path]]:
        found = []
        for folder in (self._whole, self._partial):
            for path in folder.iterdir():
                with suppress(FileNotFoundError):
                    facts = path.stat()
                    length = self._promised.get(path.name, facts.st_size)
                    found.append((facts.st_mtime, length, path))
        return [one for one in found if one[2].name != part]

    def _arrives(self, part: str) -> bool:
        heard = self._heard.get(part)
        return heard is not None and self._clock() - heard < ABANDONED

    def _remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        if path.parent == self._partial:
            self._forget(path.name)

    def _drop(self, part: str) -> None:
        self._remove(self._partial / part)

    def _forget(self, part: str) -> None:
        self._hashes.pop(part, None)
        self._sizes.pop(part, None)
        self._promised.pop(part, None)
        self._heard.pop(part, None)


def _part(digest: str, who: str) -> str:
    """Return the name of what somebody has brought of a content."""
    return f"{digest}.{hashlib.sha256(who.encode()).hexdigest()[:32]}" if who else digest


def _check(digest: str) -> None:
    if not DIGEST.fullmatch(digest):
        raise Refused(f"{digest!r:.80} is not a SHA-256", reason=Reason.BAD_REQUEST)


def _full(folder: Path, why: str) -> Refused:
    return Refused(
        f"no room for files in {folder}: {why}",
        reason=Reason.DISK,
        cure="Make room on its disk, or let the peer's configuration name another cache",
    )
