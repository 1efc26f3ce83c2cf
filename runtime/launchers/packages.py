"""This package and others as one archive, for a place where they are not installed."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from importlib import resources
from importlib.resources.abc import Traversable

_BEGINNING_OF_TIME = (1980, 1, 1, 0, 0, 0)  # the same sources give the same archive, byte by byte


def packages_archive(names: Sequence[str]) -> bytes:
    """Return a zip archive with all files of importable packages, to be put on PYTHONPATH.

    Packages that hold compiled code cannot be imported from an archive, nor would it fit another
    kind of machine: what these are needed for has to be installed there. Raises
    ModuleNotFoundError.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            for path, file in _files(resources.files(name), name.replace(".", "/")):
                entry = zipfile.ZipInfo(path, _BEGINNING_OF_TIME)
                entry.external_attr = 0o644 << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, file.read_bytes())
    return buffer.getvalue()


def _files(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    for one in sorted(folder.iterdir(), key=lambda found: found.name):
        if one.is_file():
            yield f"{path}/{one.name}", one
        elif one.is_dir() and one.name != "__pycache__":
            yield from _files(one, f"{path}/{one.name}")
