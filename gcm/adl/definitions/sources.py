"""Where definitions come from: files in folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from gcm.records import dataclass

SUFFIX = ".fractal"
_KNOWN_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Source:
    """A document: its file name, and its bytes if they need not be read from there."""

    file: str
    data: bytes | None = None


class FileLoader:
    """Searches the including file's folder and the roots.

    The definition `a.b.C` is the file `a/b/C.fractal` in one of them, or else `C.fractal`: a nearer
    file does not take precedence for a full name. The including file's folder comes first.
    """

    def __init__(self, roots: Sequence[str | os.PathLike[str]] = ()) -> None:
        self._roots = [Path(root) for root in roots]
        self._found: dict[tuple[str, Path], Sequence[Source]] = {}

    def add_roots(self, roots: Iterable[str | os.PathLike[str]]) -> None:
        """Search these folders too, after the others."""
        self._roots += map(Path, roots)
        self._found.clear()

    def candidates(self, name: str, including: str) -> Sequence[Source]:
        """Return the existing files of that name."""
        key = name, Path(including).parent
        if key not in self._found:
            there = filter(_is_file, self._files(*key))
            self._found[key] = tuple([Source(str(path)) for path in there])
        return self._found[key]

    def looked_at(self, name: str, including: str) -> Sequence[str]:
        """Return every file that is looked at for that name."""
        return [str(path) for path in self._files(name, Path(including).parent)]

    def known(self, including: str) -> Iterable[str]:
        """Return the names of the files directly in a searched folder."""
        names: list[str] = []
        for folder in (Path(including).parent, *self._roots):
            if folder.is_dir():
                names += [path.stem for path in folder.glob(f"*{SUFFIX}")]
        return sorted(set(names))[:_KNOWN_LIMIT]

    def _files(self, name: str, nearby: Path) -> Sequence[Path]:
        parts = name.split(".")
        if not all(part and "\0" not in part for part in parts):
            return ()
        *packages, last = parts
        folders = (nearby, *self._roots)
        full = [folder.joinpath(*packages, last + SUFFIX) for folder in folders]
        short = [folder / (last + SUFFIX) for folder in folders]
        found: dict[Path, Path] = {}
        for path in (*full, *short):
            found.setdefault(path.absolute(), path)
        return tuple(found.values())


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the name is too long for any file
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
