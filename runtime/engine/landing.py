"""Where results come to lie at home: whole or not at all, and never one over another's."""

from __future__ import annotations

import errno
import filecmp
import os
import shutil
import threading
from collections.abc import Callable

from runtime.deployment.model import DeployedCluster, Position


class Landing:
    """Puts the files of several clusters in their places.

    Where clusters bring different contents for one path, that of the first one in the order of the
    descriptor has it, whichever came first; that of another one has `.site.cluster` behind its
    name. So has a file in whose place there is one that was written here since `begun`, the time
    at which the run began. `warn` is told of each.
    """

    def __init__(self, begun: float, warn: Callable[[str], None]) -> None:
        self._begun = begun
        self._warn = warn
        self._lock = threading.Lock()
        self._holders: dict[str, dict[Position, tuple[DeployedCluster, str]]] = {}
        self._ours: set[str] = set()
        self._warned: set[str] = set()

    def put(self, part: str, target: str, owner: DeployedCluster) -> str:
        """Move a complete file or link to its place; return where that is. Raises OSError."""
        with self._lock:
            target = self._with_folders(target, owner)
            own = _own_name(target, owner)
            holders = self._holders.setdefault(target, {})
            holders.pop(owner.position, None)
            others = [one for one, place in holders.values() if place == target]
            place = target
            if others and _are_equal(part, target):
                _remove(part)
                _remove(own)
                holders[owner.position] = owner, target
                return target
            if others and owner.position > min(one.position for one in others):
                place = own
                self._tell(target, owner, own)
            elif others:
                for one in others:
                    theirs = _own_name(target, one)
                    _copy(target, theirs)
                    holders[one.position] = one, theirs
                    self._tell(target, one, theirs)
            elif target not in self._ours and self._was_written_here(part, target):
                place = own
                self._tell(target, owner, own)
            if place == target:
                self._ours.add(target)
            _move(part, place)
            holders[owner.position] = owner, place
            return place

    def make_folder(self, target: str, owner: DeployedCluster) -> None:
        """Make a folder that may be empty; raises OSError."""
        with self._lock:
            self._with_folders(os.path.join(target, "."), owner)

    def link(self, leads_to: str, target: str, owner: DeployedCluster) -> str:
        """Make a link, as `put` does with a file; raises OSError."""
        with self._lock:
            os.makedirs(os.path.dirname(target), exist_ok=True)
        part = f"{_own_name(target, owner)}.link"
        _remove(part)
        os.symlink(leads_to, part)
        return self.put(part, target, owner)

    def _with_folders(self, target: str, owner: DeployedCluster) -> str:
        """Make the folders above; a file in their way stays, and the folder has another name."""
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            at = os.path.dirname(target)
            while at != os.path.dirname(at) and not os.path.lexists(at):
                at = os.path.dirname(at)
            if os.path.isdir(at) or at == os.path.dirname(at):
                raise
            own = _own_name(at, owner)
            self._tell(at, owner, own)
            target = own + target[len(at) :]
            os.makedirs(os.path.dirname(target), exist_ok=True)
        return target

    def _was_written_here(self, part: str, target: str) -> bool:
        try:
            known = os.lstat(target)
        except OSError:
            return False
        if os.path.isdir(target) and not os.path.islink(target):
            return True
        return known.st_ctime > self._begun and not _are_equal(part, target)

    def _tell(self, target: str, owner: DeployedCluster, place: str) -> None:
        if place not in self._warned:
            self._warned.add(place)
            name = os.path.basename(place)
            self._warn(f"{target}: {owner.path} brought another one, which is kept as {name}")


def _own_name(target: str, owner: DeployedCluster) -> str:
    return f"{target}.{owner.path.replace('/', '.')}"


def _are_equal(one: str, other: str) -> bool:
    if os.path.islink(one) or os.path.islink(other):
        return (
            os.path.islink(one) and os.path.islink(other) and os.readlink(one) == os.readlink(other)
        )
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False


def _copy(source: str, target: str) -> None:
    shutil.copy2(source, target, follow_symlinks=False)


def _move(part: str, target: str) -> None:
    """Replace whatever is there at one stroke, also on another file system."""
    try:
        os.replace(part, target)
    except OSError as fault:
        if fault.errno != errno.EXDEV:
            raise
        beside = f"{target}.part"
        _copy(part, beside)
        os.replace(beside, target)
        _remove(part)


def _remove(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)
