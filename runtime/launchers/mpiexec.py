"""Asks an `mpiexec` which MPI it belongs to, and whether that is the one of a Python."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from types import MappingProxyType

from runtime.launchers import spawning
from runtime.launchers.base import Command, Launcher
from runtime.launchers.errors import CommandNotFound, MissingMpiexec, MpiexecFailed, WrongMpiexec
from runtime.launchers.lines import Collected
from runtime.launchers.mpiexec_choice import PREPARED_PATH, choose_mpiexec
from runtime.native_mpi import (
    KNOWN,
    RANK_VARIABLES,
    ManagedRanks,
    MpiWorld,
    NativeMpi,
    native_mpi_of_version,
    python_module,
)

PROBE_TIMEOUT = 60.0

MANAGER, MANAGER_MODULE = "process-manager", "runtime.manager"
"""What a guard calls our process manager, and the module that it is."""

MANAGER_NAME = "gcm-pmi"
"""What it is called where processes are listed."""

MANAGER_BROKEN = 125
"""Its exit code where it is no rank's: what it needs itself is gone, as its last words tell."""

_NOT_FOR_RANKS = (*RANK_VARIABLES, PREPARED_PATH)

SIZE_PROBE = (
    "import os; from mpi4py import MPI; os.write(1, b'size %d\\n' % MPI.COMM_WORLD.Get_size())"
)
"""A Python program that writes how many ranks there are, in one piece: lines of ranks may mix."""


def mpi_command(
    world: MpiWorld,
    native: NativeMpi,
    *,
    is_root: bool = False,
    cwd: str = "",
    first_input: bytes = b"",
) -> Command:
    """Return the command that starts a world; `is_root` when it runs as user 0.

    >>> mpi_command(MpiWorld(("a.out",), 4), native_mpi_of_version("HYDRA")).argv
    ('mpiexec', '-n', '4', 'a.out')
    """
    environment = {
        **dict.fromkeys(_NOT_FOR_RANKS),
        **native.environment(world, is_root=is_root),
        **world.environment,
    }
    return Command(native.argv(world), MappingProxyType(environment), cwd, first_input)


def manager_command(
    ranks: ManagedRanks,
    environment: Mapping[str, str | None],
    *,
    python: str,
    cwd: str,
    is_loaded: bool,
) -> Command:
    """Return the command that starts ranks on this host without an `mpiexec`.

    What they are is the first line of its input. If it `is_loaded`, the guard has it as a program.
    """
    argv = (MANAGER,) if is_loaded else python_module(python, MANAGER_MODULE)
    return Command(argv, {**dict.fromkeys(_NOT_FOR_RANKS), **environment}, cwd, ranks.line)


def mpiexec_here(name: str, own: Mapping[str, str]) -> str:
    """Return the path of the `mpiexec` for ranks of this Python here; `own` is what they have set.

    It is the name itself where there is none, so that whoever starts it tells where it was sought.
    """
    _, path = spawning.activated(sys.executable, os.environ.get("PATH", os.defpath))
    return choose_mpiexec(name, {**os.environ, "PATH": path, **own})[0] or name


def is_script(program: str, path: str) -> bool:
    """Return whether a program is a script: then a user has put something before an `mpiexec`."""
    try:
        found = spawning.find_program(os.fsencode(program), os.fsencode(path))
        with open(found, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def missing_mpiexec(mpiexec: str, fault: CommandNotFound) -> MissingMpiexec:
    """Return the error that says what to do where there is no `mpiexec` of that name."""
    return MissingMpiexec(
        f"there is no {mpiexec!r}",
        place=fault.place,
        cause=fault.what,
        cure="Bring one along with --mpi mpich-wheel, name a Python there that has one with"
        " --python PATH, or install one ('pip install mpich' will do, in a virtual environment). In"
        " a descriptor that is <mpi flavour='mpich-wheel'/>, <front-end python=...> and <mpi"
        " command-path=...>. gcm-deploy doctor tells more",
    )


class VersionQuestion:
    """Asks the `mpiexec` at a place what it is, without waiting for the answer."""

    def __init__(self, launcher: Launcher, mpiexec: str) -> None:
        self._place, self._mpiexec = launcher.place, mpiexec
        self._version = Collected()
        self._process = launcher.start(Command((mpiexec, "--version")), self._version)
        self._process.close_input()

    def answer(self, timeout: float = PROBE_TIMEOUT) -> NativeMpi:
        """Return which native MPI it belongs to; raises MissingMpiexec, WrongMpiexec."""
        try:
            self._process.wait(timeout)
        except CommandNotFound as fault:
            raise missing_mpiexec(self._mpiexec, fault) from fault
        words = self._version.output + self._version.error
        found = native_mpi_of_version(words)
        if found is None:
            raise WrongMpiexec(
                f"{self._mpiexec!r} belongs to no MPI known here",
                place=self._place,
                cause="\n".join(words.splitlines()[:5]),
                cure="Name the mpiexec of an MPICH or an Open MPI with <mpi command-path=...>",
            )
        return found


def detect_native_mpi(
    launcher: Launcher, mpiexec: str = "mpiexec", *, timeout: float = PROBE_TIMEOUT
) -> NativeMpi:
    """Ask the `mpiexec` at a place what it is; raises MissingMpiexec, WrongMpiexec."""
    return VersionQuestion(launcher, mpiexec).answer(timeout)


def check_mpi_pair(
    launcher: Launcher,
    native: NativeMpi,
    mpiexec: str,
    python: str,
    *,
    environment: Mapping[str, str] = MappingProxyType({}),
    timeout: float = PROBE_TIMEOUT,
) -> None:
    """Return if an `mpiexec` and the mpi4py of a Python belong together, in an environment.

    A job of two ranks tells: with the wrong `mpiexec` every rank believes to be 0 of 1. It takes as
    long as starting MPI does. Raises WrongMpiexec, MpiexecFailed, MissingMpiexec.
    """
    printed = Collected()
    world = MpiWorld((python, "-c", SIZE_PROBE), 2, mpiexec, environment=environment)
    is_root = launcher.ready().user == 0
    process = launcher.start(mpi_command(world, native, is_root=is_root), printed)
    try:
        ended = process.wait(timeout)
    except CommandNotFound as fault:
        raise missing_mpiexec(mpiexec, fault) from fault
    sizes = re.findall(r"size (\d+)", printed.output)
    lonely = sizes == ["1", "1"]
    last_lines = "\n".join(process.tail)
    refusals = (one.refusal for one in KNOWN if one.refusal)
    if lonely or (not ended.ok and any(words in last_lines for words in refusals)):
        why = (
            "and each takes itself for rank 0 of 1" if lonely else "but they refuse to be its ranks"
        )
        raise WrongMpiexec(
            f"{mpiexec!r} started 2 ranks, {why}: the mpi4py of {python} uses another MPI",
            place=launcher.place,
            cause=last_lines,
            cure="Name the mpiexec that belongs to that mpi4py, usually the one beside python",
        )
    if not ended.ok or sizes != ["2", "2"]:
        raise MpiexecFailed(
            f"{mpiexec!r} could not run two ranks of {python} ({ended})",
            place=launcher.place,
            cause=last_lines,
            cure="Run the same command by hand at that place",
        )
