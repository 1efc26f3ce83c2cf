"""Puts results in their final places: only complete ones, never one over another's."""

from __future__ import annotations

import errno
import filecmp
import os
import shutil
import threading
from collections.abc import Callable

from runtime.clocks import clock
from runtime.deployment.model import DeployedCluster, Position
from runtime.results.instructions import own_name
from runtime.shown_text import LONGEST_CELL, shown

FORMER = ".gcm-former"
"""The folder beside results that has the versions from before the latest run that replaced them."""

_Version = tuple[int, int, int]
"""Inode, mtime in ns and size: these change when somebody writes to a path."""


class ResultPlacement:
    """Puts the files of several clusters in their places.

    Where clusters have different contents for one path, that of the first one in the order of the
    descriptor gets it, whichever came first; `.site.cluster` is appended to the name of the others.
    The same is done if a file at the path was written here since this was made, as the run began,
    which `clock` tells however long this host slept.
    `warn` is called for each. What was at a path before the run is kept once, in `FORMER`.
    """

    def __init__(self, warn: Callable[[str], None], clock: Callable[[], float] = clock) -> None:
        self._warn = warn
        self._clock = clock
        self._begun = clock()
        self._lock = threading.Lock()
        self._holders: dict[str, dict[Position, tuple[DeployedCluster, str]]] = {}
        self._ours: dict[str, _Version] = {}
        self._warned: set[str] = set()

    def put(self, part: str, target: str, owner: DeployedCluster) -> str:
        """Move a complete file or link to its place; return where that is. Raises OSError."""
        with self._lock:
            target = self._with_folders(target, owner)
            own = own_name(target, owner)
            holders = self._holders.setdefault(target, {})
            holders.pop(owner.position, None)
            is_ours = self._is_ours(target)
            others = [one for one, place in holders.values() if place == target and is_ours]
            place = target
            if others and are_equal(part, target):
                remove(part)
                if self._is_ours(own):
                    remove(own)
                holders[owner.position] = owner, target
                return target
            if others and owner.position > min(one.position for one in others):
                place = own
                self._report(target, owner, own)
            elif others:
                for one in others:
                    theirs = own_name(target, one)
                    _copy(target, theirs)
                    self._ours[theirs] = _version(theirs)
                    holders[one.position] = one, theirs
                    self._report(target, one, theirs)
            elif not is_ours and self._was_written_here(part, target):
                place = own
                self._report(target, owner, own)
            if place not in self._ours:
                _keep_former(part, place)
            _move(part, place)
            self._ours[place] = _version(place)
            holders[owner.position] = owner, place
            return place

    def make_folder(self, target: str, owner: DeployedCluster) -> None:
        """Make a folder that may be empty; raises OSError."""
        with self._lock:
            self._with_folders(os.path.join(target, "."), owner)

    def link(self, leads_to: str, target: str, owner: DeployedCluster) -> str:
        """Make a link, as `put` does with a file; raises OSError."""
        with self._lock:
            part = _beside(self._with_folders(target, owner))
        os.symlink(leads_to, part)
        try:
            return self.put(part, target, owner)
        finally:
            remove(part)

    def _is_ours(self, path: str) -> bool:
        """Return whether a file is one that this run brought and that nobody has written since."""
        known = self._ours.get(path)
        return known is not None and os.path.lexists(path) and _version(path) == known

    def _with_folders(self, target: str, owner: DeployedCluster) -> str:
        """Make the parent folders; where something is in their way, use another name."""
        if at := self._in_the_way(target):
            own = own_name(at, owner)
            self._report(at, owner, own)
            target = own + target[len(at) :]
            if at := self._in_the_way(target):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), at)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        return target

    def _in_the_way(self, target: str) -> str:
        """Return what among the parents of a path is not a folder, or None.

        A link that this run has made counts as in the way: the far end chose its target.
        """
        at, found = os.path.dirname(target), ""
        while at != os.path.dirname(at):
            is_link_of_ours = os.path.islink(at) and self._is_ours(at)
            if is_link_of_ours or (os.path.lexists(at) and not os.path.isdir(at)):
                found = at
            at = os.path.dirname(at)
        return found

    def _was_written_here(self, part: str, target: str) -> bool:
        try:
            known = os.lstat(target)
        except OSError:
            return False
        if os.path.isdir(target) and not os.path.islink(target):
            return True
        # a file server has a clock of its own: it dates a file now, and our clock tells how long
        # ago the run began
        came = os.lstat(part)
        os.utime(part, ns=(came.st_atime_ns, came.st_mtime_ns), follow_symlinks=False)
        begun = os.lstat(part).st_ctime - (self._clock() - self._begun)
        return known.st_ctime > begun and not are_equal(part, target)

    def _report(self, target: str, owner: DeployedCluster, place: str) -> None:
        if place not in self._warned:
            self._warned.add(place)
            there, name = (shown(one, LONGEST_CELL) for one in (target, os.path.basename(place)))
            self._warn(f"{there}: {owner.path} brought another one, which is kept as {name}")


def _keep_former(part: str, place: str) -> None:
    """Keep what is at a place, unless the same comes to it; only one former version is kept."""
    if not os.path.lexists(place) or are_equal(part, place):
        return
    if os.path.isdir(place) and not os.path.islink(place):
        return  # nothing replaces a folder
    above, name = os.path.split(place)
    former = os.path.join(above, FORMER, name)
    os.makedirs(os.path.dirname(former), exist_ok=True)
    link = _beside(former)
    try:
        os.link(place, link, follow_symlinks=False)
    except OSError:  # not every file system has them
        _copy(place, former)
    else:
        os.replace(link, former)


def are_equal(one: str, other: str) -> bool:
    """Tell whether two files, or two links, have the same content."""
    if os.path.islink(one) or os.path.islink(other):
        return (
            os.path.islink(one) and os.path.islink(other) and os.readlink(one) == os.readlink(other)
        )
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False


def _version(path: str) -> _Version:
    known = os.lstat(path)
    return known.st_ino, known.st_mtime_ns, known.st_size


def _beside(target: str) -> str:
    """Return an unused path next to another one."""
    return os.path.join(os.path.dirname(target), f".gcm-{os.urandom(8).hex()}")


def _copy(source: str, target: str) -> None:
    """Replace whatever is there by a copy, atomically."""
    part = _beside(target)
    try:
        shutil.copy2(source, part, follow_symlinks=False)
        os.replace(part, target)
    finally:
        remove(part)


def _move(part: str, target: str) -> None:
    """Replace whatever is there atomically, also across file systems."""
    try:
        os.replace(part, target)
    except OSError as fault:
        if fault.errno != errno.EXDEV:
            raise
        _copy(part, target)
        remove(part)


def remove(path: str) -> None:
    """Remove a file or link if it is there."""
    if os.path.lexists(path):
        os.unlink(path)
