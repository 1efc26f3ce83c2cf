"""Surveys program folders that are to be copied; `program_files` explains the rules."""

from __future__ import annotations

import itertools
import os
import posixpath
import stat
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from runtime.deployment.model import Application, Deployment
from runtime.deployment.planning.program_files import (
    BUILT_IN,
    IGNORE_FILE,
    EntryKind,
    FolderEntry,
    ProgramFiles,
    choose,
    kept_here,
)
from runtime.launchers.errors import StagingFailed
from runtime.results.secrets import is_record, secret_in

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from runtime.launchers.contents import Rule


MOST_ENTRIES = 1_000_000
"""More files than anybody wants to copy; programs in `/` or in a home folder exceed it."""


def survey(
    application: Application, deployment: Deployment, most: int = MOST_ENTRIES
) -> ProgramFiles:
    """Return what of a program folder is copied.

    Raises:
        StagingFailed: the folder or its ignore file cannot be read, or that has a bad pattern.
    """
    folder = os.path.realpath(os.path.expanduser(application.folder))
    kept = frozenset(os.path.realpath(os.path.expanduser(one)) for one in kept_here(deployment))
    is_ignored = ignore_spec(folder).match_file
    try:
        entries = _entries(folder, "", kept - {folder}, is_ignored)
        found = choose(
            itertools.islice(entries, most),
            is_ignored,
            lambda path: secret_in(os.path.join(folder, path), path),
        )
        is_more = next(entries, None) is not None
    except OSError as fault:
        raise StagingFailed(
            f"the program folder of application '{application.name}' cannot be read: {fault}",
            place=str(application.location),
            cure="Check the rights of the folder, or name another one in folder=...",
        ) from fault
    if is_more:
        raise StagingFailed(
            f"the program folder of application '{application.name}', {application.folder}, holds "
            f"more than {most:,} files and folders, and all of it would be copied",
            place=str(application.location),
            cure=f"Put the program into a folder of its own, or leave things out in {IGNORE_FILE}",
        )
    return found


def built_in_rules() -> list[Rule]:
    """Return what is never a result of a program, such as bytecode, as regular expressions."""
    from pathspec import GitIgnoreSpec  # only where something is copied

    spec = GitIgnoreSpec.from_lines(BUILT_IN)
    return [
        (bool(one.include), one.regex.pattern) for one in spec.patterns if one.regex is not None
    ]


def ignore_spec(folder: str) -> GitIgnoreSpec:
    """Return what is left out of copies of a folder: built-in rules, and its ignore file.

    Raises:
        StagingFailed: the ignore file cannot be read, or has a bad pattern.
    """
    from pathspec import GitIgnoreSpec  # only where something is copied

    path = os.path.join(folder, IGNORE_FILE)
    own: list[str] = []
    try:
        with open(path, encoding="utf-8") as file:
            own = file.read().splitlines()
    except FileNotFoundError:
        pass  # most folders have none
    except (OSError, ValueError) as fault:
        raise StagingFailed(
            f"the ignore file cannot be read: {fault}",
            place=path,
            cure="Make it a text file, with one pattern in each line",
        ) from fault
    try:
        return GitIgnoreSpec.from_lines([*BUILT_IN, *own])
    except ValueError as fault:
        bad = next(number for number, line in enumerate(own, 1) if not _is_pattern(line))
        raise StagingFailed(
            f"the ignore file has a bad pattern in line {bad}: {own[bad - 1]}",
            place=path,
            cure="Patterns are those of a .gitignore",
        ) from fault


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _entries(
    root: str, below: str, kept: frozenset[str], is_ignored: Callable[[str], bool]
) -> Iterator[FolderEntry]:
    """Yield the entries of a folder, without those in folders that are not copied."""
    with os.scandir(os.path.join(root, below)) as found:
        entries = sorted(found, key=lambda one: one.name)
    for one in entries:
        entry = _entry(root, posixpath.join(below, one.name), one, kept)
        yield entry
        is_open = entry.kind is EntryKind.FOLDER and not entry.is_kept and entry.is_readable
        if is_open and not is_ignored(f"{entry.path}/"):
            yield from _entries(root, entry.path, kept, is_ignored)


def _entry(root: str, path: str, found: os.DirEntry[str], kept: frozenset[str]) -> FolderEntry:
    real = os.path.realpath(found.path) if found.is_symlink() else os.path.join(root, path)
    is_kept = real in kept
    if found.is_symlink():
        return _link(root, path, real, is_kept)
    facts = found.stat(follow_symlinks=False)
    if stat.S_ISDIR(facts.st_mode):
        return FolderEntry(path, EntryKind.FOLDER, is_readable=_can_enter(real), is_kept=is_kept)
    if not stat.S_ISREG(facts.st_mode):
        return FolderEntry(path, EntryKind.SPECIAL, is_kept=is_kept)
    return FolderEntry(
        path, EntryKind.FILE, facts.st_size,
        is_readable=os.access(real, os.R_OK), is_kept=is_kept or is_record(real),
    )  # fmt: skip


def _link(root: str, path: str, real: str, is_kept: bool) -> FolderEntry:
    """Return a link with its final target, however many links are on the way."""
    inside = os.path.relpath(real, root)
    target = "" if inside.split("/")[0] == ".." else inside
    if os.path.isdir(real):
        return FolderEntry(path, EntryKind.LINK, 0, target, EntryKind.FOLDER, is_kept=is_kept)
    if os.path.isfile(real):
        size, readable = os.path.getsize(real), os.access(real, os.R_OK)
        return FolderEntry(path, EntryKind.LINK, size, target, EntryKind.FILE, readable, is_kept)
    leads_to = EntryKind.SPECIAL if os.path.exists(real) else ""
    return FolderEntry(path, EntryKind.LINK, 0, "", leads_to, is_kept=is_kept)


def _can_enter(folder: str) -> bool:
    return os.access(folder, os.R_OK | os.X_OK)
