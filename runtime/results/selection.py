"""Selects which files of a work folder come home, and where to, from a listing. Pure."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gcm.records import dataclass
from runtime.deployment.patterns import Pick, picking
from runtime.deployment.planning.steps import EVERYTHING, REST, FileMove
from runtime.launchers.contents import FILE, FOLDER, LINK, OTHER, UNREAD, ignores, new_in

if TYPE_CHECKING:
    from runtime.launchers.contents import Entry, Sealed


_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class ArrivingFile:
    """One result: its path in the work folder, and its place at home.

    `leads_to` is the target to write into a link; `is_named` says that the descriptor names it,
    `is_output` that it may replace a file of the user.
    """

    path: str
    target: str
    entry: Entry
    leads_to: str = ""
    is_named: bool = False
    is_output: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """What comes home of a work folder.

    `skipped` names what was requested and cannot be sent, and why; `unread` is what the far end
    cannot look at, where there may be files; `others` counts new files that nobody requested.
    """

    files: tuple[ArrivingFile, ...] = ()
    links: tuple[ArrivingFile, ...] = ()
    folders: tuple[ArrivingFile, ...] = ()
    skipped: tuple[str, ...] = ()
    unread: tuple[ArrivingFile, ...] = ()
    others: int = 0

    @property
    def has_any(self) -> bool:
        """Whether anything requested exists."""
        return bool(self.files or self.links or self.folders or self.skipped or self.unread)


def select(
    found: Mapping[str, Entry],
    sealed: Sealed,
    moves: Iterable[FileMove],
    is_at_home: Callable[[str], bool],
) -> Selection:
    """Return what comes home of all that is `found` in a folder that was `sealed` before.

    `is_at_home` tells whether a file or folder is at a path here. What the far end says of what was
    there before decides only what it sends.
    """
    before, rules = sealed
    new = new_in(dict(found), before)
    left_out = _ignored(found, ignores(rules))
    wanted = {path: entry for path, entry in new.items() if path not in left_out}
    arrivals: dict[tuple[str, str], ArrivingFile] = {}
    named, outputs = set[tuple[str, str]](), set[tuple[str, str]]()
    asked = set[str]()
    for move in moves:
        if move.source in (EVERYTHING, REST):
            chosen = dict(wanted)
        else:
            meant = picking(move.source)
            chosen = {path: entry for path, entry in new.items() if meant and meant(path)}
        if move.source == REST:
            before_it = asked | _folders_above(asked)
            chosen = {path: entry for path, entry in chosen.items() if path not in before_it}
        for path, entry in chosen.items():
            target = posixpath.join(move.destination, path)
            is_named = path == move.source or (path, target) in named
            is_output = move.replaces or (path, target) in outputs
            named |= {(path, target)} if is_named else set()
            outputs |= {(path, target)} if is_output else set()
            arrivals[path, target] = ArrivingFile(
                path, target, entry, is_named=is_named, is_output=is_output
            )
        asked |= chosen.keys()
    by_kind: dict[str, list[ArrivingFile]] = {
        kind: [] for kind in (FILE, FOLDER, LINK, OTHER, UNREAD)
    }
    for one in arrivals.values():
        kind = _kind_at_home(one, arrivals, is_at_home)
        by_kind[kind].append(replace(one, leads_to=_leads_to(one)))
    return Selection(
        files=tuple(by_kind[FILE]),
        links=tuple(by_kind[LINK]),
        folders=tuple(by_kind[FOLDER]),
        skipped=tuple(dict.fromkeys(f"{one.path}: {_why(one)}" for one in by_kind[OTHER])),
        unread=tuple(by_kind[UNREAD]),
        others=_count({path: one for path, one in wanted.items() if path not in asked}),
    )


def named_folders(moves: Iterable[FileMove], home: str) -> frozenset[str]:
    """Return the folders in a program folder that moves name, and those on the way to them.

    >>> sorted(named_folders([FileMove("out/*.npy", "/home/results")], "/home"))
    ['results', 'results/out']
    """
    found = set[str]()
    for move in moves:
        literal = itertools.takewhile(lambda one: not _GLOB.search(one), move.source.split("/"))
        path = posixpath.relpath(posixpath.join(move.destination, *literal), home)
        found |= {path} | _folders_above([path])
    return frozenset(found - {"."})


def _count(entries: Mapping[str, Entry]) -> int:
    return sum(1 for one in entries.values() if one[0] in (FILE, LINK))


def _folders_above(paths: Iterable[str]) -> set[str]:
    found = set[str]()
    for path in paths:
        above = posixpath.dirname(path)
        while above and above not in found:
            found.add(above)
            above = posixpath.dirname(above)
    return found


def _ignored(entries: Mapping[str, Entry], is_ignored: Pick) -> set[str]:
    """Return which paths are ignored; each folder comes before what is in it."""
    found = set[str]()
    for path, entry in entries.items():
        above = path.rpartition("/")[0]
        if above in found or is_ignored(f"{path}/" if entry[0] == FOLDER else path):
            found.add(path)
    return found


def _kind_at_home(
    one: ArrivingFile, arrivals: Container[tuple[str, str]], is_at_home: Callable[[str], bool]
) -> str:
    """Return what an arrival becomes: a link whose target is not there becomes that file."""
    kind, size = one.entry[0], one.entry[1]
    if kind != LINK:
        return kind
    path = _target_of(one)
    destination = one.target.removesuffix(one.path)
    if (path, destination + path) in arrivals or is_at_home(destination + path):
        return LINK
    return FILE if size >= 0 else OTHER


def _target_of(link: ArrivingFile) -> str:
    """Return the target of a link, as a path in the work folder."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(link.path), link.entry[4]))


def _leads_to(one: ArrivingFile) -> str:
    """Return the target to write into a link; it is not what the far end says."""
    if one.entry[0] != LINK:
        return ""
    return posixpath.relpath(f"/{_target_of(one)}", posixpath.dirname(f"/{one.path}"))


def _why(one: ArrivingFile) -> str:
    """Return why something cannot be sent."""
    kind, *_, note = one.entry
    return f"a link to the folder {note}, which does not come home" if kind == LINK else note
