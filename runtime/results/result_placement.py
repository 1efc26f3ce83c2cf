"""Puts results in their final places: only complete ones, and none in place of a user's file."""

from __future__ import annotations

import os
import posixpath
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum

from gcm.records import dataclass
from runtime.deployment.model import DeployedCluster, Position
from runtime.results.instructions import own_name
from runtime.results.known_results import KnownResults
from runtime.results.open_folder import OpenFolder, Version, steps, unused_name, version_of
from runtime.shown_text import LONGEST_CELL, shown


class WhyKept(StrEnum):
    """Why a result was kept under another name than its own."""

    LOADED = "the next run, or a tool, would execute, import or read it as instructions"
    YOURS = "a file of yours has that name"


@dataclass(frozen=True, slots=True)
class PlacedResult:
    """Where a result is; `kept` says why that is another place than the one it was meant for."""

    path: str
    kept: WhyKept | None = None


class ResultPlacement:
    """Puts the files of several clusters in their places below a program folder, their `home`.

    - What a run brought before may be replaced, and its former version is kept once. A file that
      came from no run is the user's, whoever says what it was: it stays, unless the caller says
      that it `is_output`.
    - Where clusters have different contents for one path, that of the first one in the order of the
      descriptor gets it, whichever came first; `.site.cluster` is appended to the name of the
      others, and `warn` is called for each.
    - No link is followed on the way to a place, except those of the user in `named`: folders in
      `home` where the descriptor wants results.
    """

    def __init__(self, home: str, warn: Callable[[str], None], named: Collection[str] = ()) -> None:
        self._home = home
        self._warn = warn
        self._named = named
        self._known = KnownResults(home)
        self._lock = threading.Lock()
        self._holders: dict[str, dict[Position, tuple[DeployedCluster, str]]] = {}
        self._ours: dict[str, Version] = {}
        self._warned: set[str] = set()

    @property
    def is_first(self) -> bool:
        """Whether no earlier run has left word of what it brought, so that all is the user's."""
        return self._known.is_first

    def put(
        self,
        part: str,
        target: str,
        owner: DeployedCluster,
        *,
        harmless: str = "",
        is_output: bool = False,
    ) -> PlacedResult:
        """Move a complete file or link to its place, `target`; raises OSError.

        `harmless` is the place of one that would be loaded at `target`, unless it is there already.
        """
        with self._lock:
            kept = WhyKept.LOADED if harmless not in ("", target) else None
            if kept and self._is_there(part, target):
                os.unlink(part)  # it was only touched
                return PlacedResult(target)
            place = harmless or target
            meant_for = target if kept else ""
            with self._opened(posixpath.dirname(place), owner) as (folder, above):
                path = posixpath.join(above, _name(place))
                found = self._put(
                    part, folder, path, owner, is_output=is_output, meant_for=meant_for
                )
            return PlacedResult(found.path, kept or found.kept)

    def _put(
        self,
        part: str,
        folder: OpenFolder,
        target: str,
        owner: DeployedCluster,
        *,
        is_output: bool,
        meant_for: str,
    ) -> PlacedResult:
        name = _name(target)
        holders = self._holders.setdefault(target, {})
        holders.pop(owner.position, None)
        there = folder.stat(name)
        others = [one for one, place in holders.values() if place == target]
        if others and self._is_ours(folder, target):
            if self._is_equal(part, folder, name):
                self._remove_own(folder, target, owner)
                os.unlink(part)
                holders[owner.position] = owner, target
                return PlacedResult(target)
            if owner.position > min(one.position for one in others):
                place = self._beside(folder, target, owner)
                self._report(target, owner, place)
                self._move(part, folder, place, meant_for)
                holders[owner.position] = owner, place
                return PlacedResult(place)
            for one in others:
                theirs = self._beside(folder, target, one)
                self._copy(folder, target, theirs)
                holders[one.position] = one, theirs
                self._report(target, one, theirs)
        elif there is not None and not self._may_be_replaced(folder, target, is_output=is_output):
            if self._is_equal(part, folder, name):
                os.unlink(part)
                return PlacedResult(target)
            place = self._beside(folder, target, owner)
            self._move(part, folder, place, meant_for or target)
            return PlacedResult(place, WhyKept.YOURS)
        self._move(part, folder, target, meant_for)
        holders[owner.position] = owner, target
        return PlacedResult(target)

    def make_folder(self, target: str, owner: DeployedCluster) -> None:
        """Make a folder that may be empty; raises OSError."""
        with self._lock, self._opened(target, owner):
            pass

    def link(
        self,
        leads_to: str,
        target: str,
        owner: DeployedCluster,
        *,
        room: str,
        harmless: str = "",
        is_output: bool = False,
    ) -> PlacedResult:
        """Make a link in a `room` and `put` it in its place; raises OSError."""
        part = os.path.join(room, unused_name())
        os.symlink(leads_to, part)
        return self.put(part, target, owner, harmless=harmless, is_output=is_output)

    def nearest(self, path: str) -> str:
        """Return a folder in the program folder, or the nearest one above it that exists."""
        while path != self._home:
            try:
                with self._found(path):
                    return path
            except OSError:
                path = posixpath.dirname(path)
        return path

    def holds(self, path: str) -> bool:
        """Tell whether a file or folder is at a path in the program folder, behind no link."""
        try:
            with self._found(posixpath.dirname(path)) as folder:
                known = folder.stat(_name(path))
                return known is not None and folder.link(_name(path)) is None
        except OSError:
            return False

    # --- folders ------------------------------------------------------------------------------

    @contextmanager
    def _opened(self, path: str, owner: DeployedCluster) -> Iterator[tuple[OpenFolder, str]]:
        """Open a folder below `home`, made where there is none, and give its path.

        Where something that is no folder is in the way, another name is used.
        """
        at, folder = self._home, OpenFolder(os.open(self._home, os.O_RDONLY | os.O_DIRECTORY))
        try:
            for name in steps(self._relative(path)):
                inner, at = self._stepped(folder, posixpath.join(at, name), owner)
                folder.close()
                folder = inner
            yield folder, at
        finally:
            folder.close()

    def _stepped(
        self, folder: OpenFolder, path: str, owner: DeployedCluster
    ) -> tuple[OpenFolder, str]:
        name = _name(path)
        if self._is_followed(folder, self._relative(path)):
            return folder.inner(name, follow=True), path
        try:
            return folder.make(name), path
        except NotADirectoryError:
            own = own_name(path, owner)
            self._report(path, owner, own)
            return folder.make(_name(own)), own

    def _found(self, path: str) -> AbstractContextManager[OpenFolder]:
        """Open a folder below `home` if it is there; raises OSError."""
        return OpenFolder.below(self._home, self._relative(path), self._is_followed)

    def _relative(self, path: str) -> str:
        return posixpath.relpath(path, self._home)

    def _is_followed(self, folder: OpenFolder, path: str) -> bool:
        """Tell whether a link, at a path in `home`, is the user's where results are wanted."""
        if path not in self._named or folder.link(_name(path)) is None:
            return False
        known = folder.stat(_name(path))
        return known is not None and not self._known.has(path, known)

    # --- files --------------------------------------------------------------------------------

    def _is_there(self, part: str, target: str) -> bool:
        try:
            with self._found(posixpath.dirname(target)) as folder:
                return self._is_equal(part, folder, _name(target))
        except OSError:
            return False

    def _is_equal(self, part: str, folder: OpenFolder, name: str) -> bool:
        above, part_name = os.path.split(part)
        with OpenFolder.at(above) as room:
            return folder.has_equal(name, room, part_name)

    def _is_ours(self, folder: OpenFolder, path: str) -> bool:
        """Return whether a file is one that this run brought and that nobody has written since."""
        known = folder.stat(_name(path))
        return known is not None and self._ours.get(path) == version_of(known)

    def _may_be_replaced(self, folder: OpenFolder, path: str, *, is_output: bool) -> bool:
        known = folder.stat(_name(path))
        if known is None:
            return True
        return not folder.is_folder(_name(path)) and (
            is_output or self._known.has(self._relative(path), known)
        )

    def _beside(self, folder: OpenFolder, target: str, owner: DeployedCluster) -> str:
        """Return where to put what cannot be at `target`, and is not in place of a user's file."""
        own, number = own_name(target, owner), 0
        while not self._may_be_replaced(folder, own, is_output=False):
            number += 1
            own = f"{own_name(target, owner)}.kept{number}"
        return own

    def _remove_own(self, folder: OpenFolder, target: str, owner: DeployedCluster) -> None:
        own = own_name(target, owner)
        if self._is_ours(folder, own):
            folder.remove(_name(own))

    def _move(self, part: str, folder: OpenFolder, place: str, meant_for: str) -> None:
        name = _name(place)
        if (
            place not in self._ours
            and folder.stat(name) is not None
            and not folder.is_folder(name)
            and not self._is_equal(part, folder, name)
        ):
            folder.keep_former(name)
        self._know(place, version_of(os.lstat(part)), meant_for)
        folder.take(part, name)
        self._came(folder, place, meant_for)

    def _copy(self, folder: OpenFolder, place: str, other: str) -> None:
        folder.copy(folder, _name(place), _name(other))
        self._came(folder, other, "")

    def _came(self, folder: OpenFolder, place: str, meant_for: str) -> None:
        known = folder.stat(_name(place))
        assert known is not None
        self._ours[place] = version_of(known)
        self._know(place, version_of(known), meant_for)

    def _know(self, place: str, version: Version, meant_for: str) -> None:
        meant = self._relative(meant_for) if meant_for else ""
        self._known.add(self._relative(place), version, meant)

    def _report(self, target: str, owner: DeployedCluster, place: str) -> None:
        if place not in self._warned:
            self._warned.add(place)
            there, name = (shown(one, LONGEST_CELL) for one in (target, os.path.basename(place)))
            self._warn(f"{there}: {owner.path} brought another one, which is kept as {name}")


def _name(path: str) -> str:
    return posixpath.basename(path)
