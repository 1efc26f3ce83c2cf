"""The library that lets code in C see all clusters, compiled for the MPI of this machine.

What a compiler made is kept below the user's cache folder by the digest of its source, so that it
compiles once for each MPI and version of this package.
"""

from __future__ import annotations

import fcntl
import glob
import hashlib
import os
import platform
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Mapping

from runtime.launchers.errors import LaunchError
from runtime.shim import source

CACHE = os.path.join("gcm", "shim")

_INCLUDE = """#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
gcm_family OMPI_MAJOR_VERSION MPICH_NUMVERSION
"""
_FAMILY = "gcm_family "
_FLAGS = ("-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,--as-needed")
_LIBRARIES = ("-ldl", "-lpthread")
_OPEN_MPI = "libmpi.so.40"
_WORK = "compiling-"
_SEPARATORS = ": \t\n"  # of LD_PRELOAD, where nothing can escape them
_ROOT = 0, 65534  # the second is how root is seen in a container that has another one
_PATIENCE = 300.0  # seconds; compilers may start slowly from a network


class NoSharedWorld(LaunchError):
    """A native program cannot have one COMM_WORLD over several clusters."""


class OfAnotherMpi(NoSharedWorld):
    """It is of another MPI than its cluster: each of its ranks would be a world of its own."""


def refused(
    program: str, cause: str, cure: str, kind: type[NoSharedWorld] = NoSharedWorld
) -> NoSharedWorld:
    """Return the error for a program that cannot see all clusters."""
    return kind(
        f"{program} cannot have one MPI_COMM_WORLD over several clusters: {cause}",
        cure=f'{cure}; comm-world="cluster" gives each cluster a world of its own',
    )


def find_compiler(mpiexec: str, python: str, environment: Mapping[str, str]) -> str:
    """Return the `mpicc` beside an `mpiexec`, or a Python, else on the search path; "" if none."""
    search = environment.get("PATH", os.defpath)
    started = shutil.which(mpiexec, path=search) or ""
    folders = [os.path.dirname(os.path.realpath(started))] if started else []
    folders += [os.path.dirname(started), os.path.dirname(python)]
    return shutil.which("mpicc", path=os.pathsep.join((*filter(None, folders), search))) or ""


def compiled_shim(
    program: str,
    compiler: str,
    library: str,
    environment: Mapping[str, str],
    *,
    compiles: Callable[[], None] = lambda: None,
) -> str:
    """Return the compiled library for the MPI that is called `library`, from before if it is there.

    Else the compiler takes some seconds; it is told by `compiles` that they begin.

    Raises NoSharedWorld, which says that `program` cannot see all clusters, and what to do.
    """
    header = _run([compiler, "-E", "-x", "c", "-"], program, environment, _INCLUDE)
    family = header.rpartition(_FAMILY)[2].split()
    is_open_mpi = bool(family) and family[0].isdigit()
    if is_open_mpi != library.startswith(_OPEN_MPI) and library.startswith("libmpi."):
        other = "Open MPI" if is_open_mpi else "MPICH"
        raise refused(
            program,
            f"it is built for another MPI ({library}) than the one that its cluster starts "
            f"({compiler} is that of {other})",
            "Build it with this mpicc, or name the mpiexec of its MPI in <mpi command-path=...>",
            OfAnotherMpi,
        )
    try:
        folder = _folder()
    except OSError as fault:
        raise refused(
            program,
            f"the library for its MPI cannot be kept: {fault}",
            "Name a folder in XDG_CACHE_HOME that only you can write, without blanks and colons",
        ) from fault
    text = source(header)
    target = os.path.join(folder, f"{_digest(compiler, header, text)}.so")
    try:
        # All front-ends of a machine would compile it at once.
        with open(os.path.join(folder, "lock"), "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not _is_ours(target):
                compiles()
                _compile(text, target, compiler, program, environment)
    except OSError as fault:
        raise refused(
            program,
            f"the library for its MPI cannot be kept: {fault}",
            f"Make room in {folder}, or name another folder in XDG_CACHE_HOME",
        ) from fault
    return target


def _digest(compiler: str, header: str, text: str) -> str:
    """Return what libraries that differ do not share.

    Machines of other kinds may have the same home, and the same compiler by its path.
    """
    kind = f"{platform.machine()} {platform.libc_ver()[1]}"
    told = "\n".join((os.path.realpath(compiler), kind, header, text))
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def _compile(
    text: str, target: str, compiler: str, program: str, environment: Mapping[str, str]
) -> None:
    folder = os.path.dirname(target)
    for left in glob.glob(os.path.join(glob.escape(folder), f"{_WORK}*")):
        shutil.rmtree(left, ignore_errors=True)  # by one that was killed: this one has the lock
    with tempfile.TemporaryDirectory(dir=folder, prefix=_WORK) as work:
        written, made = os.path.join(work, "shim.c"), os.path.join(work, "shim.so")
        with open(written, "w") as file:
            file.write(text)
        # a compiler that is killed leaves its own files where they are found and removed
        words = [compiler, *_FLAGS, "-o", made, written, *_LIBRARIES]
        _run(words, program, {**environment, "TMPDIR": work})
        os.replace(made, target)


def _folder() -> str:
    """Return where libraries are kept; raises OSError if that cannot be made.

    Nobody else may write there: what lies there is loaded. Links are followed now, and not again.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.realpath(os.path.join(cache, CACHE))
    if any(one in _SEPARATORS for one in folder):
        raise OSError(f"LD_PRELOAD cannot name a file in {folder!r}")
    for one in (os.path.dirname(folder), folder):
        os.makedirs(one, mode=0o700, exist_ok=True)
    _refuse_what_others_change(folder)
    return folder


def _refuse_what_others_change(folder: str) -> None:
    """Raise PermissionError if another account can put something in the place of a file in there.

    Whoever may write above it could exchange whole folders, but for those in a sticky one such as
    `/tmp`. Groups may write there: what they share has the program in it, too.
    """
    found = os.stat(folder)
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise PermissionError(f"others can write into {folder}")
    while (above := os.path.dirname(folder)) != folder:
        folder, found = above, os.stat(above)
        is_open = found.st_mode & 0o002 and not found.st_mode & stat.S_ISVTX
        if is_open or found.st_uid not in (os.getuid(), *_ROOT):
            raise PermissionError(f"others can exchange what is in {folder}")


def _is_ours(library: str) -> bool:
    """Tell whether a library is there that this account has made, and no link to another one."""
    try:
        found = os.lstat(library)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid()


def _run(command: list[str], program: str, environment: Mapping[str, str], given: str = "") -> str:
    """Return what a compiler writes; raises NoSharedWorld if it fails."""
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, errors="replace",
            env=environment, timeout=_PATIENCE, check=False,
        )  # fmt: skip
        if done.returncode == 0:
            return done.stdout
        said = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        why = next((line for line in said if "error" in line), said[-1])
    except (OSError, subprocess.SubprocessError) as fault:
        why = str(fault)
    raise refused(
        program,
        f"{command[0]} could not compile the library for its MPI: {why}",
        "Install a C compiler on the host of the front-end, with the headers of this MPI",
    )
