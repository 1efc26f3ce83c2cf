"""The library that makes a C program of this cluster see all clusters, for the job of its ranks."""

from __future__ import annotations

import logging
import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import replace

from runtime.linked_mpi import linked_names
from runtime.native_mpi import Job
from runtime.processes.compiled_shim import (
    NoSharedWorld,
    OfAnotherMpi,
    compiled_shim,
    find_compiler,
    refused,
)
from runtime.processes.rank.c_program import libpython
from runtime.shim import Linked, verdict

__all__ = ["NoSharedWorld", "with_c_library"]

_log = logging.getLogger(__name__)


def with_c_library(job: Job, folder: str, compiles: Callable[[], None] = lambda: None) -> Job:
    """Return a job with the library for its program, if that is linked with an MPI.

    Raises NoSharedWorld if it cannot see all clusters, with what to do; where there is one, its own
    MPI has all ranks, too, unless it is not that of the cluster. `folder` is where it runs. A
    library that is not there yet takes some seconds, and is told of by `compiles`.
    """
    if not job.program.needs_shim:
        return job
    try:
        return _with_library(job, folder, compiles)
    except NoSharedWorld as refusal:
        is_one_world = not job.program.is_joined and not isinstance(refusal, OfAnotherMpi)
        if not is_one_world or job.program.goes_on:
            raise
        _log.info("%s runs with its MPI as it is, on one cluster: %s", job.program.path, refusal)
        return job


def _with_library(job: Job, folder: str, compiles: Callable[[], None]) -> Job:
    program = job.program
    environment = {**os.environ, **job.environment}
    path = _file_of(program.path, folder, environment.get("PATH", os.defpath))
    try:
        needed = linked_names(path, environment)
    except OSError as fault:
        if not isinstance(fault, PermissionError) or not os.access(path, os.X_OK):
            return job  # the rank says so
        raise refused(
            program.path,
            f"it may be run but not read ({fault.strerror}), so nobody knows whether it calls MPI",
            f"Let its users read it: chmod a+r {program.path}",
        ) from fault
    found = verdict(needed)
    if found.linked is Linked.ALONE:
        return job
    if found.linked is Linked.REFUSED:
        raise refused(program.path, found.cause, found.cure)
    if _changes_account(path):
        raise refused(
            program.path,
            "it gets another account, group or capabilities when it starts (setuid), and the "
            "system loads no library into such a program",
            f"Take that away: chmod ug-s {program.path}, or setcap -r {program.path}",
        )
    if not libpython():
        raise refused(
            program.path,
            "the Python of this cluster has no shared library, which would run in the program",
            "Name another one in <front-end python=...>: those of conda and of most distributions "
            "have it",
        )
    compiler = find_compiler(job.mpiexec, program.python, environment)
    if not compiler:
        raise refused(
            program.path,
            "this cluster has no mpicc, which compiles a library for its MPI once",
            "Put the mpicc of the MPI that starts the ranks on the PATH, as `module load` does, or "
            "install its development package",
        )
    library = compiled_shim(program.path, compiler, found.library, environment, compiles=compiles)
    return replace(job, program=replace(program, shim=library))


def _changes_account(path: str) -> bool:
    """Tell whether the dynamic linker ignores LD_PRELOAD for a program.

    One that is gone meanwhile is left to who starts it.
    """
    try:
        found = os.stat(path)
    except OSError:
        return False
    is_of_group = found.st_mode & stat.S_ISGID and found.st_gid != os.getgid()
    is_of_user = found.st_mode & stat.S_ISUID and found.st_uid != os.getuid()
    try:
        capabilities = os.getxattr(path, "security.capability")
    except OSError:  # it has none, or nothing here has
        capabilities = b""
    return bool(is_of_user or is_of_group or capabilities)


def _file_of(path: str, folder: str, search: str) -> str:
    if os.sep in path:
        return os.path.join(folder, path)
    return shutil.which(path, path=search) or path
