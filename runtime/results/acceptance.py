"""Gives results that were kept under other names the names that they were meant for."""

from __future__ import annotations

import difflib
import os
import posixpath
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager

from runtime.results.known_results import KeptResult, KnownResults, has_record
from runtime.results.open_folder import OpenFolder

MOST_COMPARED = 1 << 20
"""Bytes of a file of which the lines are compared."""


def folder_with_record(path: str) -> str | None:
    """Return the program folder that a path is, or is in, if results were brought to one there.

    Above the path a record of another account counts for nothing: it may be a stranger's, in /tmp.
    """
    at = os.path.abspath(path)
    if has_record(at, own=False):
        return at
    while not has_record(at, own=True):
        if at == os.path.dirname(at):
            return None
        at = os.path.dirname(at)
    return at


class Acceptance:
    """The results in a program folder that wait to be accepted."""

    def __init__(self, home: str) -> None:
        self.home = home
        self._known = KnownResults(home)

    def waiting(self) -> list[KeptResult]:
        """Return what was kept, in the order of the names that it was meant for."""
        return self._known.kept()

    def difference(self, one: KeptResult) -> Iterator[str]:
        """Yield lines that show what accepting a result would change; raises OSError."""
        with self._folder(one.path) as folder:
            new = _text(folder, posixpath.basename(one.path))
        try:
            with self._folder(one.meant_for) as folder:
                old = _text(folder, posixpath.basename(one.meant_for))
        except FileNotFoundError:
            old = []
        if isinstance(old, str) or isinstance(new, str):
            yield f"{one.meant_for}: {_in_words(old)} would become {_in_words(new)}"
            return
        yield from difflib.unified_diff(old, new, one.meant_for, one.path, lineterm="")

    def accept(self, one: KeptResult) -> None:
        """Move a result to the name that it was meant for, and keep what was there.

        From then on it is the user's, as what was there was. Raises OSError.
        """
        name = posixpath.basename(one.meant_for)
        with self._folder(one.path) as source:
            kept = posixpath.basename(one.path)
            target = self._made(posixpath.dirname(one.meant_for))
            try:
                there = target.stat(name)
                if there is not None and not target.is_folder(name):
                    target.keep_former(name)
                    if stat.S_ISREG(there.st_mode) and source.link(kept) is None:
                        os.chmod(kept, stat.S_IMODE(there.st_mode), dir_fd=source.descriptor)
                os.replace(kept, name, src_dir_fd=source.descriptor, dst_dir_fd=target.descriptor)
            finally:
                target.close()
        self._known.forget(one.path, one.meant_for)

    def reject(self, one: KeptResult) -> None:
        """Remove a result, and leave what it was meant for as it is. Raises OSError."""
        with self._folder(one.path) as folder:
            folder.remove(posixpath.basename(one.path))
        self._known.forget(one.path)

    def _folder(self, path: str) -> AbstractContextManager[OpenFolder]:
        return OpenFolder.below(self.home, posixpath.dirname(path), self._is_users)

    def _made(self, path: str) -> OpenFolder:
        """Open the folder that a result was meant for, made where there is none."""
        above, name = posixpath.split(path)
        if not name:
            return OpenFolder(os.open(self.home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        folder = self._made(above)
        try:
            if self._is_users(folder, path):
                return folder.inner(name, follow=True)
            return folder.make(name)
        finally:
            folder.close()

    def _is_users(self, folder: OpenFolder, path: str) -> bool:
        """Tell whether a link did not come with results."""
        name = posixpath.basename(path)
        known = folder.stat(name)
        return (
            known is not None
            and folder.link(name) is not None
            and (not self._known.has(path, known))
        )


def _text(folder: OpenFolder, name: str) -> list[str] | str:
    """Return the lines of a text, none where nothing is, and what it is in words if it is none."""
    known, leads_to = folder.stat(name), folder.link(name)
    if known is None:
        return []
    if leads_to is not None:
        return f"a link to {leads_to}"
    if not stat.S_ISREG(known.st_mode) or known.st_size > MOST_COMPARED:
        return "a folder" if stat.S_ISDIR(known.st_mode) else f"a file of {known.st_size:,} bytes"
    with open(folder.open(name), "rb") as file:
        data = file.read(MOST_COMPARED)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return f"a file of {known.st_size:,} bytes"
    return text.splitlines() if "\0" not in text else f"a file of {known.st_size:,} bytes"


def _in_words(what: list[str] | str) -> str:
    if isinstance(what, str):
        return what
    return f"a text of {len(what):,} lines" if what else "nothing"
