"""Where definitions come from: the contract of a loader, and the one that searches folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from gcm.records import dataclass

SUFFIX = ".fractal"
_KNOWN_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Source:
    """A document: the file it is known as, and its bytes if they need not be read from there."""

    file: str
    data: bytes | None = None


class Loader(Protocol):
    """Finds definitions by name."""

    def find(self, name: str, including: str) -> Source | None:
        """Return the definition of that name as seen from the including file, or `None`."""
        ...

    def known(self, including: str) -> Iterable[str]:
        """Return names that can be found from there, for hints; it need not be all of them."""
        ...


class FileLoader:
    """Searches the including file's folder, then each root.

    In each of them the definition `a.b.C` is the file `a/b/C.fractal`, or else `C.fractal`.
    """

    def __init__(self, roots: Sequence[str | os.PathLike[str]] = ()) -> None:
        self._roots = [Path(root) for root in roots]
        self._found: dict[tuple[str, Path], Source | None] = {}

    def add_roots(self, roots: Iterable[str | os.PathLike[str]]) -> None:
        """Search these folders too, after the ones that are searched already."""
        self._roots += map(Path, roots)
        self._found.clear()

    def find(self, name: str, including: str) -> Source | None:
        """Return the first file of that name."""
        key = name, Path(including).parent
        if key not in self._found:
            self._found[key] = self._search(name, key[1])
        return self._found[key]

    def known(self, including: str) -> Iterable[str]:
        """Return the names of the files that lie directly in a searched folder."""
        names: list[str] = []
        for folder in (Path(including).parent, *self._roots):
            if folder.is_dir():
                names += [path.stem for path in folder.glob(f"*{SUFFIX}")]
        return sorted(set(names))[:_KNOWN_LIMIT]

    def _search(self, name: str, nearby: Path) -> Source | None:
        parts = name.split(".")
        if not all(part and "\0" not in part for part in parts):
            return None
        for folder in (nearby, *self._roots):
            for path in (folder.joinpath(*parts), folder / parts[-1]):
                candidate = path.with_name(path.name + SUFFIX)
                if _is_file(candidate):
                    return Source(str(candidate))
        return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long for any file
        return False


def implied_root(path: Path, name: str) -> Path:
    """Return the folder from which the definition `name` in the file `path` has that name.

    For `src/a/b/C.fractal` that holds `a.b.C` this is `src`; where the folders do not follow the
    name it is the file's own folder.
    """
    folder = path.parent
    packages = name.split(".")[:-1]
    below = folder.absolute().parts
    if packages and below[-len(packages) :] == tuple(packages):
        return folder.absolute().parents[len(packages) - 1]
    return folder
