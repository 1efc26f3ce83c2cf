"""Which files are linked with an MPI: programs and libraries with an MPI_COMM_WORLD of their own.

Reads what the dynamic linker reads, and nothing else of a file, however large that is. It travels
with the doctor's probe to hosts where this package is not installed.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from collections.abc import Mapping, Sequence
from functools import cache

TYPE_CHECKING = False  # known to type checkers
if TYPE_CHECKING:
    import mmap

MOST_LIBRARIES = 200
"""Libraries of a program that are looked into; those of a large one are some dozens."""

_OF_DEBIAN = f"{os.uname().machine}-linux-gnu"
DEFAULT_FOLDERS = (
    *(f"/lib/{_OF_DEBIAN}", f"/usr/lib/{_OF_DEBIAN}"),
    *("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"),
)
"""Where most systems have most of their libraries."""

_LIBRARY = re.compile(r"libmpi(ch\w*|cxx|fort\w*|_\w+)?[-.]")
_NEEDED, _STRINGS, _RPATH, _RUNPATH = 1, 5, 15, 29
_LOADED, _DYNAMIC = 1, 2
_ELF_64 = b"\x7fELF\x02"


def is_mpi_library(name: str) -> bool:
    """Tell whether a file of this name is the library of an MPI.

    >>> [is_mpi_library(f"lib{one}.so.12") for one in ("mpi", "mpi-9f86d0", "mpi_cxx", "mpir")]
    [True, True, True, False]
    """
    return _LIBRARY.match(name) is not None


def needs_mpi(path: str) -> bool:
    """Tell whether a file itself is linked with an MPI; raises OSError."""
    return any(map(is_mpi_library, needed_libraries(path)))


def needed_libraries(path: str) -> tuple[str, ...]:
    """Return which libraries a program or library names; none for other files. Raises OSError.

    >>> import sys
    >>> any(one.startswith("libc.so") for one in needed_libraries(sys.executable))
    True
    >>> needed_libraries(__file__)
    ()
    """
    return _linked(path)[0]


def mpi_library(path: str, environment: Mapping[str, str]) -> str:
    """Return the library of an MPI that the dynamic linker would load for a file, "" for none.

    Libraries of libraries count. Where it is not found, its name is returned. Raises OSError if the
    file itself cannot be read.
    """
    found = all_libraries(path, environment)
    return next((found[one] or one for one in found if is_mpi_library(os.path.basename(one))), "")


def all_libraries(path: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the libraries that a file needs, and those that these need, each with its path or "".

    Nobody looks into the libraries of an MPI. Raises OSError if the file itself cannot be read.
    """
    beside = environment.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    given = [one for one in beside if one]
    waiting, seen = [(path, *_linked(path))], {os.path.realpath(path)}
    libraries: dict[str, str] = {}
    for file, needed, search in waiting:
        origin = os.path.dirname(os.path.realpath(file))
        folders = [re.sub(r"\$ORIGIN|\$\{ORIGIN\}", origin, one) for one in search]
        for name in needed:
            found = find_library(name, [*given, *folders]) or system_library(name)
            libraries.setdefault(name, found)
            real = os.path.realpath(found)
            is_enough = real in seen or len(seen) > MOST_LIBRARIES
            if not found or is_enough or is_mpi_library(os.path.basename(name)):
                continue
            seen.add(real)
            try:
                waiting.append((found, *_linked(found)))
            except OSError:
                continue
    return libraries


STATIC_MPI = "a static MPI"
"""What stands among the names of libraries for an MPI that is part of a program."""


def linked_names(path: str, environment: Mapping[str, str]) -> list[str]:
    """Return the names of the libraries that a program needs, with `STATIC_MPI` if it has one.

    Raises OSError if it cannot be read.
    """
    names = [*map(os.path.basename, all_libraries(path, environment))]
    has_mpi = any(map(is_mpi_library, names))
    return names if has_mpi or not has_static_mpi(path) else [STATIC_MPI, *names]


def has_static_mpi(path: str) -> bool:
    """Tell whether a function of MPI is part of a file; raises OSError.

    That is known by its table of symbols, which `strip` takes away. Most files do not have the name
    at all, which is found out first.
    """
    import mmap

    if not stat.S_ISREG(os.stat(path).st_mode):
        return False
    with open(path, "rb") as file:
        try:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                is_program = data[:5] == _ELF_64
                return is_program and data.find(_OF_MPI) >= 0 and _defines(data, _OF_MPI)
        except (ValueError, IndexError, struct.error):  # it is empty, breaks off, or is damaged
            return False


_OF_MPI = b"\0PMPI_Init\0"
_SYMBOLS = 2
_SYMBOL = "IBBHQQ"


def _defines(data: mmap.mmap, name: bytes) -> bool:
    order = "<" if data[5] == 1 else ">"
    (table,) = struct.unpack_from(f"{order}Q", data, 40)
    size, count = struct.unpack_from(f"{order}HH", data, 58)
    sections = [
        struct.unpack_from(f"{order}IIQQQQII", data, table + at * size) for at in range(count)
    ]
    for _, kind, _, _, begin, length, strings, _ in sections:
        if kind != _SYMBOLS:
            continue
        texts = sections[strings]
        place = data.find(name, texts[4], texts[4] + texts[5]) + 1 - texts[4]
        rows = struct.iter_unpack(f"{order}{_SYMBOL}", data[begin : begin + length])
        if place > 0 and any(row[0] == place and row[3] for row in rows):
            return True
    return False


_read: dict[tuple[str, int, int], tuple[tuple[str, ...], tuple[str, ...]]] = {}

_NEVER = (
    *("libc.", "libm.", "libdl.", "librt.", "libpthread.", "libutil.", "ld-linux", "libgcc_s."),
    *("libstdc++.", "libz.", "libgfortran", "libquadmath", "libgomp.", "libpython"),
)
"""How libraries of the system and of compilers begin; behind them is no MPI."""


def reaches_mpi(path: str, environment: Mapping[str, str]) -> bool:
    """Tell whether a file is linked with an MPI, directly or not; no process is started for it.

    What was read before is not read again unless it is another file now. Raises OSError if the file
    itself cannot be read.
    """
    waiting, seen = [(path, folders_of_program())], set[str]()
    for file, inherited in waiting:
        real = os.path.realpath(file)
        if real in seen:
            continue
        seen.add(real)
        try:
            needed, search = _linked_as_read(real)
        except OSError:
            if file is path:
                raise
            continue
        if any(map(is_mpi_library, needed)):
            return True
        folders = (*_folders(real, search), *inherited)
        for name in needed:
            if not name.startswith(_NEVER):
                found = find_loaded(name, folders, environment)
                waiting += [(found, folders)] if found else []
    return False


def find_loaded(name: str, folders: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the file that the dynamic linker takes for a name, or "".

    `folders` are those in which the files name that ask for it (RPATH and RUNPATH).
    """
    beside = filter(None, environment.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    return find_library(name, [*folders, *beside, *DEFAULT_FOLDERS]) or system_library(name)


@cache
def folders_of_program() -> tuple[str, ...]:
    """Return the folders in which this process has libraries looked for that it loads later."""
    try:
        program = os.path.realpath("/proc/self/exe")
        return _folders(program, _linked(program)[1])
    except OSError:
        return ()


def folders_of(path: str) -> tuple[str, ...]:
    """Return the folders in which a file has libraries looked for; none if it cannot be read."""
    try:
        return _folders(os.path.realpath(path), _linked_as_read(os.path.realpath(path))[1])
    except OSError:
        return ()


def _folders(real: str, search: Sequence[str]) -> tuple[str, ...]:
    origin = os.path.dirname(real)
    return tuple(re.sub(r"\$ORIGIN|\$\{ORIGIN\}", lambda _: origin, one) for one in search)


_CACHE = "/etc/ld.so.cache"
_HEAD, _ROW = struct.Struct("=20s2I20x"), struct.Struct("=i2I12x")
_FORMAT = b"glibc-ld.so.cache1.1"


def _linked_as_read(real: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    about = os.stat(real)
    key = (real, about.st_mtime_ns, about.st_ino)
    if key not in _read:
        _read[key] = _linked(real)
    return _read[key]


def libraries_of_program(path: str) -> list[str] | None:
    """Return the names of the libraries that a program of this machine needs; None if not here.

    Without a `/` it is looked up as a shell does.
    """
    import shutil

    found = os.path.expanduser(path) if os.sep in path else shutil.which(path) or path
    try:
        return linked_names(found, os.environ)
    except OSError:
        return None


def find_library(name: str, folders: Sequence[str]) -> str:
    """Return the path of a library in the first of some folders that has it, or "".

    One of another architecture, such as of 32 bits, is passed by, as the dynamic linker does.
    """
    if os.sep in name:
        return name if os.path.isfile(name) else ""
    return next(filter(_is_of_64_bits, (os.path.join(one, name) for one in folders)), "")


def system_library(name: str, path: str = _CACHE) -> str:
    """Return where the dynamic linker finds a library without being told, or "".

    That is what `ldconfig` has found in the folders of `ld.so.conf`, as <dl-cache.h> of glibc says:
    a head, rows, and the strings that rows point to; an older format may stand before. A name has
    rows for other architectures, too. There is nothing in a file that cannot be read.
    """
    try:
        known = _known_libraries(path, os.stat(path).st_mtime_ns)
    except (OSError, struct.error):
        return ""
    return next(filter(_is_of_64_bits, known.get(name, ())), "")


def _is_of_64_bits(path: str) -> bool:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(len(_ELF_64)) == _ELF_64
    except OSError:
        return False


@cache
def _known_libraries(path: str, changed: int) -> dict[str, list[str]]:
    del changed  # a file that is written again is another one
    with open(path, "rb") as file:
        data = file.read()
    begin = data.find(_FORMAT)
    if begin < 0:
        return {}
    _, rows, _ = _HEAD.unpack_from(data, begin)
    found: dict[str, list[str]] = {}
    for row in range(rows):
        _, *places = _ROW.unpack_from(data, begin + _HEAD.size + row * _ROW.size)
        texts = (data[begin + at : data.find(b"\0", begin + at)] for at in places)
        name, where = (one.decode(errors="replace") for one in texts)
        found.setdefault(name, []).append(where)
    return found


def _linked(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the libraries of a file, and the folders in which it has them looked for.

    What is no file is not opened: that of a pipe would wait for somebody who writes.
    """
    import mmap

    if not stat.S_ISREG(os.stat(path).st_mode):
        return (), ()
    with open(path, "rb") as file:
        try:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _dynamic_section(data) if data[:5] == _ELF_64 else ((), ())
        except (ValueError, struct.error):  # it is empty, or breaks off
            return (), ()


def _dynamic_section(data: mmap.mmap) -> tuple[tuple[str, ...], tuple[str, ...]]:
    unpack_from = struct.unpack_from
    order = "<" if data[5] == 1 else ">"
    (table,) = unpack_from(f"{order}Q", data, 32)
    size, count = unpack_from(f"{order}HH", data, 54)
    segments = [unpack_from(f"{order}IIQQQQ", data, table + at * size) for at in range(count)]
    dynamic = next((one for one in segments if one[0] == _DYNAMIC), None)
    if dynamic is None:
        return (), ()
    names: list[int] = []
    search: list[int] = []
    strings = 0
    for at in range(dynamic[2], dynamic[2] + dynamic[5], 16):
        tag, value = unpack_from(f"{order}QQ", data, at)
        if tag == _NEEDED:
            names.append(value)
        elif tag in (_RPATH, _RUNPATH):
            search.append(value)
        elif tag == _STRINGS:
            strings = value
    for one in segments:
        if one[0] == _LOADED and one[3] <= strings < one[3] + one[5]:
            strings += one[2] - one[3]
            break

    def text(at: int) -> str:
        begin = strings + at
        return data[begin : data.find(b"\0", begin)].decode(errors="replace")

    folders = (folder for at in search for folder in text(at).split(":") if folder)
    return tuple(map(text, names)), tuple(folders)
