"""Bringing an MPI along that pip has installed here: its `mpiexec`, its libraries, nothing else.

All of it finds its other parts beside itself, wherever it is: `mpiexec` its proxies, the libraries
each other (`$ORIGIN`). As any machine code it fits the same system and processor, and a C library
that is not older than the one that the wheel was made for.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from gcm.records import dataclass
from runtime.launchers.base import Launcher
from runtime.launchers.errors import LaunchError, WrongPlatform

FOLDER = "mpi"
"""Where it is in a run directory."""

_STARTER, _LIBRARY = "bin/mpiexec", "lib/libmpi.so."
_PARTS = (_LIBRARY, "bin/hydra_pmi_proxy", "lib/mpich/")
"""How the paths of all else begin that ranks need: no compilers, headers, second library."""

PLATFORM = "import platform; print(platform.system(), platform.machine(), *platform.libc_ver())"
"""A line of Python that prints what machine code for that Python depends on."""

_MADE_FOR = re.compile(r"manylinux_(\d+)_(\d+)_")


@dataclass(frozen=True, slots=True)
class Platform:
    """What machine code depends on; `library` is the C library and its version, as `glibc 2.36`.

    >>> str(Platform("Linux", "x86_64", "glibc 2.36"))
    'Linux x86_64 with glibc 2.36'
    """

    system: str
    machine: str
    library: str = ""

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.system} {self.machine} with {self.library or 'a C library of its own'}"

    @classmethod
    def parse(cls, line: str) -> Platform:
        """Read what `PLATFORM` prints."""
        system, machine, library = [*line.strip().split(" ", 2), "", "", ""][:3]
        return cls(system, machine, library)

    @property
    def glibc(self) -> tuple[int, ...]:
        """The version of the GNU C library, empty for another one."""
        name, _, version = self.library.partition(" ")
        return tuple(map(int, re.findall(r"\d+", version))) if name == "glibc" else ()


def this_platform() -> Platform:
    """Return what machine code that runs here is made for."""
    return Platform(platform.system(), platform.machine(), " ".join(platform.libc_ver()).strip())


def unfit(tags: str, here: Platform, there: Platform) -> str:
    """Return why machine code of a wheel with these tags, which runs here, cannot run there.

    >>> cluster = Platform("Linux", "x86_64", "glibc 2.17")
    >>> unfit("py3-none-manylinux_2_28_x86_64", Platform("Linux", "x86_64", "glibc 2.36"), cluster)
    'it needs glibc 2.28'
    """
    if (there.system, there.machine) != (here.system, here.machine):
        return f"it is for {here.system} {here.machine}"
    if bool(there.glibc) != bool(here.glibc):
        return f"it is for {here}"
    made_for = _MADE_FOR.search(tags)
    if made_for is not None and there.glibc < (least := tuple(map(int, made_for.groups()))):
        return f"it needs glibc {least[0]}.{least[1]}"
    return ""


@dataclass(frozen=True, slots=True)
class BroughtMpi:
    """An MPI at a place: the path of its `mpiexec`, and what its ranks need in the environment."""

    mpiexec: str
    environment: Mapping[str, str]


def bring_mpi(
    launcher: Launcher, distribution: str, there: Platform, run_directory: str
) -> BroughtMpi:
    """Stage what pip has installed here as `distribution` into a run directory.

    Raises:
        WrongPlatform: it does not run there.
        StagingFailed: there is no room for it, or the like.
        LaunchError: it is not installed here.
    """
    tags, files = _installed(distribution)
    if why := unfit(tags, this_platform(), there):
        raise WrongPlatform(
            f"the package '{distribution}' of this machine does not run there: {why}",
            place=launcher.place,
            cause=f"the host is {there}",
            cure="Use an MPI of the host: <mpi command-path=...> names its mpiexec, and"
            " <front-end modules=...> loads it",
        )
    folder = f"{run_directory}/{FOLDER}"
    launcher.stage(files, folder)
    library = min(name for name in files if name.startswith(_LIBRARY))
    return BroughtMpi(f"{folder}/{_STARTER}", {"MPI4PY_LIBMPI": f"{folder}/{library}"})


def _installed(distribution: str) -> tuple[str, dict[str, Path]]:
    """Return the tags of an MPI, and the files that ranks need, by their paths in its folder."""
    from importlib import metadata  # only who brings one waits for its imports

    try:
        wheel = metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        raise _none(distribution) from None
    found = [Path(os.path.normpath(str(wheel.locate_file(one)))) for one in wheel.files or ()]
    above = next((one.parents[1] for one in found if one.match(_STARTER)), None)
    if above is None:  # another system than pip has installed it, elsewhere
        raise _none(distribution)
    named = {one.relative_to(above).as_posix(): one for one in found if one.is_relative_to(above)}
    files = {name: path for name, path in named.items() if name.startswith(_PARTS)}
    return wheel.read_text("WHEEL") or "", {_STARTER: named[_STARTER], **files}


def _none(distribution: str) -> LaunchError:
    return LaunchError(
        f"there is no wheel '{distribution}' here that could be brought along",
        place="this machine",
        cure=f"Install it beside gcm-deploy: pip install {distribution}",
    )
