"""What a folder holds, what is new in it, and sending that; runs where the folder is.

Needs nothing but the standard library: it travels to hosts where this package is not installed.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time

TYPE_CHECKING = False  # known to type checkers; a guard, for which every run waits, has it too
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import IO

    Entry = tuple[str, int, int, int, str]
    """Kind, size, mtime in ns, mode; and a note.

    That is the target of a link, why something cannot be sent or looked at, or of a file with holes
    how many bytes it takes.
    """
    Rule = tuple[bool, str]
    """Whether paths that match are ignored (or not after all), and a regular expression."""
    Sealed = tuple[dict[str, Entry], list[Rule]]
    """What a folder held once, and what counts for nothing in it."""

FILE, FOLDER, LINK, OTHER, UNREAD = "file", "folder", "link", "other", "unread"
"""What something is: OTHER is what cannot be sent, UNREAD what the host cannot look at."""
_KINDS = (FILE, FOLDER, LINK, OTHER, UNREAD)
CHUNK = 1 << 16
MOST_ENTRIES = 500_000
"""How many files and folders a folder may have; the memory for more is not given away."""
MOST_TEXT = 1 << 27
"""Bytes of a list of files, unpacked."""
LONGEST_PATH = 4096
"""Bytes of a path: no system opens a longer one."""
_BLOCK = 512
_LOOK = 1024
"""After how many lines of a list somebody is asked whether it is still wanted."""
HEAD, DATA, HOLE, DONE, CHANGED, FAILED = b"H", b"D", b"Z", b"E", b"C", b"F"
_ODD = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def ignores(rules: Iterable[Rule]) -> Callable[[str], bool]:
    """Return whether a path is ignored: the last rule that matches it decides.

    >>> ignored = ignores([(True, r"^[^/]*\\.pyc$")])
    >>> ignored("a.pyc"), ignored("a.py")
    (True, False)
    """
    import re

    compiled = [(ignored, re.compile(text)) for ignored, text in reversed(list(rules))]

    def is_ignored(path: str) -> bool:
        return next((ignored for ignored, rule in compiled if rule.match(path)), False)

    return is_ignored


def scan(
    folder: str, ignored: Callable[[str], bool] = lambda _: False, most: int = sys.maxsize
) -> dict[str, Entry]:
    """Return all that is below a folder by its path in it; raises OSError for the folder itself.

    What is ignored is left out, with all that is in it. Links that stay inside are links, others
    count as the file they lead to. Who has more than he can use stops at one more than `most`.
    """
    return dict(entries_of(folder, ignored, most))


def entries_of(
    folder: str, ignored: Callable[[str], bool] = lambda _: False, most: int = sys.maxsize
) -> Iterator[tuple[str, Entry]]:
    """Yield the same one after the other; that of a folder comes before what is in it."""
    count = 0
    top, ahead = os.path.realpath(folder), [""]
    while ahead:
        below = ahead.pop()
        try:
            entries = sorted(os.scandir(os.path.join(folder, below)), key=lambda one: one.name)
        except OSError as fault:
            if not below:
                raise
            unread = (UNREAD, 0, 0, 0, f"a folder that cannot be read: {fault.strerror}")
            yield below, unread
            continue
        for entry in entries:
            if count > most:
                return
            path = f"{below}/{entry.name}" if below else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if ignored(f"{path}/" if is_folder else path):
                continue
            count += 1
            try:
                made = _entry(entry, top)
            except FileNotFoundError:
                continue  # it has gone meanwhile
            except OSError as fault:
                is_long = len(os.fsencode(path)) > LONGEST_PATH
                unread = (UNREAD, 0, 0, 0, str(fault.strerror))
                yield (f"{below}/..." if is_long else path), unread
                continue
            yield path, made
            if is_folder:
                ahead.append(path)


def _entry(entry: os.DirEntry[str], top: str) -> Entry:
    known = entry.stat(follow_symlinks=False)
    if stat.S_ISLNK(known.st_mode):
        return _link(entry, top)
    mode = stat.S_IMODE(known.st_mode)
    if stat.S_ISDIR(known.st_mode):
        return FOLDER, 0, 0, mode, ""
    if not stat.S_ISREG(known.st_mode):
        return OTHER, 0, 0, mode, _ODD.get(stat.S_IFMT(known.st_mode), "not a file")
    return FILE, known.st_size, known.st_mtime_ns, mode, _taken(known)


def _taken(known: os.stat_result) -> str:
    """Return how many bytes a file takes if it has holes, else nothing."""
    taken = known.st_blocks * _BLOCK
    return str(taken) if taken < known.st_size else ""


def _link(entry: os.DirEntry[str], top: str) -> Entry:
    target, real = os.readlink(entry.path), os.path.realpath(entry.path)
    try:
        known = os.stat(entry.path)
    except OSError:
        return OTHER, 0, 0, 0, f"a link to {target}, which is not there"
    mode, is_folder = stat.S_IMODE(known.st_mode), stat.S_ISDIR(known.st_mode)
    is_inside = real.startswith(f"{top}/")
    if not stat.S_ISREG(known.st_mode) and not (is_folder and is_inside):
        odd = _ODD.get(stat.S_IFMT(known.st_mode), "not a file inside")
        return OTHER, 0, 0, mode, f"a link to {target}, which is {odd}"
    if is_inside:
        above = os.path.realpath(os.path.dirname(entry.path))
        size, changed = (-1, 0) if is_folder else (known.st_size, known.st_mtime_ns)
        return LINK, size, changed, mode, os.path.relpath(real, above)
    return FILE, known.st_size, known.st_mtime_ns, mode, _taken(known)


def new_in(found: dict[str, Entry], sealed: dict[str, Entry]) -> dict[str, Entry]:
    """Return what was not there when the folder was sealed, or was another then.

    How much room a file takes does not count: some file systems find holes later.

    >>> new_in({"a": (FILE, 1, 7, 0, ""), "b": (FILE, 1, 8, 0, "")}, {"a": (FILE, 1, 7, 0, "0")})
    {'b': ('file', 1, 8, 0, '')}
    """
    return {path: one for path, one in found.items() if not _is_same(one, sealed.get(path))}


def _is_same(one: Entry, other: Entry | None) -> bool:
    return one == other or (other is not None and one[0] == FILE and one[:4] == other[:4])


def keeps_results(folder: str, sealed: dict[str, Entry], rules: Iterable[Rule]) -> bool:
    """Tell whether a folder has files that nobody else may have; also where that is not known.

    Then what was in it before is removed: who fetches all of it shall not fetch old copies of what
    another folder has the new ones of.
    """
    try:
        found = scan(folder, ignores(rules))
    except OSError:
        return os.path.exists(folder)
    new = new_in(found, sealed)
    if all(one[0] == FOLDER for one in new.values()):
        return False
    for path in sorted(found.keys() - new.keys(), reverse=True):  # what is in a folder comes first
        try:
            full = os.path.join(folder, path)
            if found[path][0] == FOLDER:
                os.rmdir(full)
            else:
                os.unlink(full)
        except OSError:
            continue  # a folder with something new in it
    return True


def packed(found: dict[str, Entry] | None) -> bytes:
    """Return this host's name and what a folder of it holds as few bytes, for `unpacked`."""
    return b"".join(packing(None if found is None else found.items()))


def packing(found: Iterable[tuple[str, Entry]] | None) -> Iterator[bytes]:
    """Yield the same in pieces, as it is found: who waits for it sees that it moves."""
    import json
    import zlib

    squeeze = zlib.compressobj(1)
    yield squeeze.compress(json.dumps([os.uname().nodename, found is not None]).encode() + b"\n")
    for number, (path, entry) in enumerate(found or (), 1):
        yield squeeze.compress(json.dumps([path, *entry]).encode() + b"\n")
        if number % _LOOK == 0:
            yield squeeze.flush(zlib.Z_SYNC_FLUSH)
    yield squeeze.flush()


def unpacked(
    data: bytes, given_up: Callable[[], bool] = lambda: False
) -> tuple[str, dict[str, Entry] | None]:
    """Return host and content of a folder, None if there is none; raises ValueError.

    Whoever sent it may lie, so each line is judged before the next one is unpacked. Each folder
    comes before what is in it, and nothing else has anything in it.
    """
    import json
    import zlib

    found: dict[str, Entry] = {}
    lines = _lines(data)
    try:
        host, is_there = json.loads(next(lines, b""))
        for number, line in enumerate(lines, 1):
            if number > MOST_ENTRIES:
                raise ValueError(f"it has more than {MOST_ENTRIES:,} files and folders")
            if number % _LOOK == 0 and given_up():
                raise ValueError("it was given up")
            path, *entry = json.loads(line)
            found[path] = _checked(path, entry)
            above = path.rpartition("/")[0]
            if above and found.get(above, _NOTHING)[0] != FOLDER:
                raise ValueError(f"{path!r:.99} is in no folder of it")
    except (zlib.error, TypeError, RecursionError) as fault:
        raise ValueError(str(fault)) from fault
    return str(host), found if is_there else None


_NOTHING = (OTHER, 0, 0, 0, "")


def _lines(data: bytes) -> Iterator[bytes]:
    """Yield lines as they are unpacked: a few bytes may become very many."""
    import zlib

    squeeze, rest, total = zlib.decompressobj(), b"", 0
    for start in range(0, len(data), CHUNK):
        piece = data[start : start + CHUNK]
        while piece:
            unpacked_piece = squeeze.decompress(piece, CHUNK)
            total += len(unpacked_piece)
            if total > MOST_TEXT:
                raise ValueError(f"the list of its files has more than {MOST_TEXT:,} bytes")
            *whole, rest = (rest + unpacked_piece).split(b"\n")
            yield from whole
            if len(rest) > CHUNK:
                raise ValueError("it is no list of files")
            piece = squeeze.unconsumed_tail
    *whole, rest = (rest + squeeze.flush()).split(b"\n")
    yield from whole
    if rest or not squeeze.eof:
        raise ValueError("it is cut off")


def _checked(path: object, entry: list[object]) -> Entry:
    """Return what a host says of a file if it can be so; raises ValueError, TypeError."""
    kind, size, mtime, mode, note = entry
    if not (isinstance(path, str) and isinstance(note, str)) or kind not in _KINDS:
        raise ValueError(f"{entry!r:.99} is not a file or folder")
    encoded = os.fsencode(path)
    if max(len(encoded), len(os.fsencode(note))) > LONGEST_PATH:
        raise ValueError(f"{path!r:.99} has more than {LONGEST_PATH:,} bytes")
    if path.startswith("/") or not {"", ".", ".."}.isdisjoint(path.split("/")):
        raise ValueError(f"{path!r:.99} is not a path inside it")
    if b"\0" in encoded + os.fsencode(note):  # or cannot be a name at all
        raise ValueError(f"{path!r:.99} cannot be the name of a file")
    if kind == FILE and note and not note.isdecimal():
        raise ValueError(f"{note!r:.99} is not the room that a file takes")
    return str(kind), whole(size), whole(mtime), whole(mode), note


def taken(entry: Entry) -> int:
    """Return how many bytes of room a file needs, as far as its host knows."""
    return max(min(entry[1], int(entry[4])) if entry[0] == FILE and entry[4] else entry[1], 0)


def whole(number: object) -> int:
    """Return a number that a host sent if it is a whole one a file may have; raises ValueError."""
    if type(number) is not int or abs(number) >= 1 << 63:
        raise ValueError(f"{number!r:.99} is no size, time or mode")
    return number


# --- the program at the far end ---------------------------------------------------------------


def _frame(kind: bytes, number: int, payload: bytes = b"") -> bytes:
    """Return one message, cut as those of the guard are."""
    return kind + number.to_bytes(4, "big") + len(payload).to_bytes(4, "big") + payload


def messages(folder: str, wanted: Iterable[tuple[str, int]]) -> Iterator[bytes]:
    """Yield the content of files below a folder, each from an offset on.

    For each there is a head with size, mtime and mode, data and holes, and how it went: done,
    changed while it was read, or failed and why.
    """
    for number, (path, offset) in enumerate(wanted):
        try:
            with open(os.path.join(folder, path), "rb", 0, opener=_open) as file:
                yield from _file(file, number, offset)
        except OSError as fault:
            yield _frame(FAILED, number, (fault.strerror or str(fault)).encode())


def _open(path: str, flags: int) -> int:
    """Open what may have become a FIFO meanwhile, on which that would wait for ever."""
    return os.open(path, flags | os.O_NONBLOCK)


def _file(file: IO[bytes], number: int, offset: int) -> Iterator[bytes]:
    before = os.fstat(file.fileno())
    if not stat.S_ISREG(before.st_mode):
        raise OSError(0, "it is not a file")
    mode = stat.S_IMODE(before.st_mode)
    yield _frame(HEAD, number, f"{before.st_size} {before.st_mtime_ns} {mode}".encode())
    left = before.st_size - offset
    for is_data, start, end in regions(file.fileno(), offset, before.st_size):
        if not is_data:
            left -= end - start
            yield _frame(HOLE, number, str(end - start).encode())
            continue
        at = file.seek(start)
        while at < end and (data := file.read(min(CHUNK, end - at))):
            at += len(data)
            left -= len(data)
            yield _frame(DATA, number, data)
        if at < end:
            break  # it was cut off meanwhile
    after = os.fstat(file.fileno())
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    yield _frame(DONE if same and left == 0 else CHANGED, number)


def regions(file: int, start: int, end: int) -> Iterator[tuple[bool, int, int]]:
    """Yield the parts of an open file: whether each is data or a hole, its beginning and end."""
    while start < end:
        try:
            data = min(os.lseek(file, start, os.SEEK_DATA), end)
            hole = min(os.lseek(file, data, os.SEEK_HOLE), end) if data < end else end
        except OSError as fault:  # behind the last data, or a file system that does not know
            data, hole = (end if fault.errno == errno.ENXIO else start), end
        if data > start:
            yield False, start, data
        if hole > data:
            yield True, data, hole
        start = hole


def end_guard(pid: int, seconds: float) -> None:
    """Let a guard that lost its launcher end what it started, and wait until it has gone."""
    deadline = time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            with open(f"/proc/{pid}/comm") as file:
                if file.read().strip() != "gcm-guard":
                    return
            os.kill(pid, 15)
            time.sleep(0.1)
    except OSError:
        return  # it has gone


def main(action: str, folder: str, *words: str) -> None:
    """List a folder, send files of it that stdin names, or remove it.

    To list it, the guard that looked after it has to end before: its process number, and for how
    many seconds to wait.
    """
    import json

    out = sys.stdout.buffer
    try:
        if action == "list":
            if words:
                end_guard(int(words[0]), float(words[1]))
            is_there = os.path.isdir(folder)
            for piece in packing(entries_of(folder, most=MOST_ENTRIES) if is_there else None):
                out.write(piece)
                if piece:
                    out.flush()
        elif action == "send":
            for message in messages(folder, json.load(sys.stdin)):
                out.write(message)
        elif action == "remove":
            import shutil

            shutil.rmtree(folder, ignore_errors=True)
        out.flush()
    except (OSError, ValueError) as fault:
        sys.exit(f"{type(fault).__name__}: {fault}")


if __name__ == "__main__":
    main(*sys.argv[1:])
