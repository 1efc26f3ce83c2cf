"""Finding, signalling and cleaning up after everything that descends from a process.

Needs nothing but the standard library: it travels to hosts where this package is not installed.
"""

from __future__ import annotations

import os
import sys
import time

TERM, KILL = 15, 9
_DEATH_SIGNAL, _SUBREAPER = 1, 36
ADOPTS = sys.platform == "linux"
"""Whether orphans become children of whoever asks for that, so that who has none has left none."""


def adopt_orphans() -> None:
    """Become the parent of every descendant that loses its own, where the system can do it."""
    _ask_system(_SUBREAPER, 1)  # where it cannot, process groups have to do


def die_with(parent: int) -> None:
    """Let the system kill this process, also if it stands still, once its parent has ended."""
    _ask_system(_DEATH_SIGNAL, KILL)
    if os.getppid() != parent:  # it was too late for that
        os.kill(os.getpid(), KILL)


def _ask_system(what: int, number: int) -> None:
    try:
        import ctypes

        ctypes.CDLL(None).prctl(what, number, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return  # not Linux


def rename(name: str) -> None:
    """Let this process be called `name` where processes are listed, if the system can do it."""
    try:
        with open("/proc/self/comm", "w") as file:
            file.write(name)
    except OSError:
        return


def processes() -> dict[int, tuple[int, int]]:
    """Return parent and session of every living process; empty where there is no /proc."""
    table: dict[int, tuple[int, int]] = {}
    try:
        entries = os.listdir("/proc")
    except OSError:
        return table
    for entry in entries:
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb", 0) as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        if fields[0] not in (b"Z", b"X"):
            table[int(entry)] = int(fields[1]), int(fields[3])
    return table


def descendants(roots: set[int], table: dict[int, tuple[int, int]]) -> set[int]:
    """Return everything below `roots`, without the roots themselves."""
    below: dict[int, list[int]] = {}
    for pid, (parent, _) in table.items():
        below.setdefault(parent, []).append(pid)
    found: set[int] = set()
    ahead = list(roots)
    while ahead:
        fresh = [pid for pid in below.get(ahead.pop(), []) if pid not in found]
        found.update(fresh)
        ahead += fresh
    return found


def send_signal(pids: set[int], number: int) -> None:
    """Signal each process; one that has ended needs no signal."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue


def await_ends(pids: set[int], seconds: float) -> None:
    """Wait until processes that were killed have let go of all that they had.

    One that waits for a disk does not before it has it: after so many seconds it is left alone.
    """
    deadline = time.monotonic() + seconds
    while pids and time.monotonic() < deadline:
        pids = {pid for pid in pids if is_alive(pid)}
        if pids:
            time.sleep(0.001)


def is_alive(pid: int) -> bool:
    """Tell whether a process of this host is there, and is more than the note of its end."""
    return state_of(pid) not in (b"Z", b"X", b"")


def state_of(pid: int) -> bytes:
    """Return the state of a process as a letter, nothing where there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb", 0) as file:
            return file.read().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return b""


def remove_tree(path: str) -> None:
    """Remove a folder with all it holds, as far as the rights go; links are not followed.

    What a folder inside holds moves up before that is removed, so none lies too deep, or at a path
    that is too long to be named.
    """
    try:
        top = os.open(path, _FOLDER)
    except OSError:
        return
    moved, ahead = 0, _without_files(top)
    while ahead:
        folder = ahead.pop()
        try:
            below = os.open(folder, _FOLDER, dir_fd=top)
        except OSError:
            continue
        try:
            for name in _without_files(below):
                moved += 1
                ahead.append(f".gcm-removed-{moved}")
                os.rename(name, ahead[-1], src_dir_fd=below, dst_dir_fd=top)
            os.rmdir(folder, dir_fd=top)
        except OSError:
            continue
        finally:
            os.close(below)
    os.close(top)
    try:
        os.rmdir(path)
    except OSError:
        return


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def _without_files(folder: int) -> list[str]:
    """Remove the files in a folder; return the names of the folders in it."""
    folders = []
    for entry in list(os.scandir(folder)):
        try:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                os.unlink(entry.name, dir_fd=folder)
        except OSError:
            continue
    return folders


def environment_of(pid: int) -> list[bytes]:
    """Return the settings a process was started with; nothing once it has ended."""
    try:
        with open(f"/proc/{pid}/environ", "rb", 0) as file:
            return file.read().split(b"\0")
    except OSError:
        return []


LONGEST_COMMAND = 1 << 12
"""Bytes of a command line that are read: those of others may be as long as they like."""


def holders_of(begin: str) -> dict[int, str]:
    """Return the other processes that have files open whose paths begin so, with their commands."""
    found: dict[int, str] = {}
    for pid in processes().keys() - {os.getpid()}:
        folder = f"/proc/{pid}/fd"
        try:
            if any(os.readlink(f"{folder}/{one}").startswith(begin) for one in os.listdir(folder)):
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    command = file.read(LONGEST_COMMAND).replace(b"\0", b" ")
                    found[pid] = os.fsdecode(command.strip())
        except OSError:
            continue  # it has just ended, or belongs to somebody else
    return found


def has_children() -> bool:
    """Tell whether there are children just now; ended ones count until they are collected."""
    try:
        if ADOPTS:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        else:
            os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def kin(pid: int, mark: bytes) -> set[int]:
    """Return what descends from a process started in its own session, without the process itself.

    A member is found by its parents, by its session, or by `mark` in its environment once it left
    both; it has to be below the calling process, which adopts orphans.
    """
    if ADOPTS and not has_children():
        return set()
    table = processes()
    if not table:
        return {-pid} if _group_lives(pid) else set()
    mine = descendants({os.getpid()}, table)
    roots = {one for one in mine if table[one][1] == pid or mark in environment_of(one)}
    roots |= {pid} & mine  # once it has ended, its number may be that of a stranger
    return (descendants(roots, table) | roots) - {pid}


def everything(groups: set[int]) -> set[int]:
    """Return all that runs below the calling process; the groups where there is no /proc."""
    if ADOPTS and not has_children():
        return set()
    table = processes()
    if table:
        return descendants({os.getpid()}, table)
    return {-pid for pid in groups if _group_lives(pid)}


def _group_lives(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except OSError:
        return False
    return True
