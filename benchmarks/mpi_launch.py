"""Runs the measured program over an emulated grid: under `gcm-deploy`, MPICH and Open MPI."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol
from xml.sax.saxutils import quoteattr

from benchmarks.grid import SSH, EmulatedGrid
from benchmarks.grid.networks import ROOT

RANKS_PROGRAM = Path(__file__).with_name("mpi_ranks.py")

Figures = list[dict[str, Any]]
"""What the first rank told, in its order."""


class RunFailed(Exception):
    """A measured program did not get to its end: why, and the figures it had by then."""

    def __init__(self, why: str, figures: Figures) -> None:
        super().__init__(why)
        self.figures = figures


class Launch(Protocol):
    """A way to start ranks in the clusters of a grid."""

    @property
    def name(self) -> str:
        """What its column is called."""

    def command(
        self, grid: EmulatedGrid, ranks: Mapping[str, int], folder: Path, script: Path
    ) -> list[str]:
        """Return what to run in the first cluster, without the arguments of the script."""

    @property
    def environment(self) -> Mapping[str, str]:
        """What to add to the environment."""


def run(
    grid: EmulatedGrid,
    launch: Launch,
    ranks: Mapping[str, int],
    arguments: Sequence[str],
    *,
    timeout: float,
) -> Figures:
    """Run the measured program and return its figures; raises `RunFailed`."""
    words = [*arguments, "--ranks", str(sum(ranks.values()))]
    return told(output_of(grid, launch, ranks, RANKS_PROGRAM, words, timeout=timeout))


def output_of(
    grid: EmulatedGrid,
    launch: Launch,
    ranks: Mapping[str, int],
    script: Path,
    arguments: Sequence[str],
    *,
    timeout: float,
) -> str:
    """Run a script and return what it printed; raises `RunFailed`. Nothing of it stays behind."""
    with tempfile.TemporaryDirectory(prefix="gcm-bench-") as folder:
        command = [*launch.command(grid, ranks, Path(folder), script), *arguments]
        environment = {**os.environ, **launch.environment}
        if needs_package(script):
            environment["PYTHONPATH"] = str(ROOT)
        first = next(name for name, count in ranks.items() if count)
        try:
            done = grid.run(first, command, timeout=timeout, env=environment, cwd=folder)
        except subprocess.TimeoutExpired as error:
            said = error.output.decode(errors="replace") if error.output else ""
            raise RunFailed(f"no end within {timeout:.0f} s", told(said)) from None
        finally:
            grid.clear()
    if done.returncode:
        why = (done.stderr or done.stdout).strip()[-600:]
        raise RunFailed(f"exit code {done.returncode}: {why}", told(done.stdout))
    return done.stdout


def needs_package(script: Path) -> bool:
    """Return whether a program names communicators of ours, so that flat MPI loads us too."""
    return "from runtime import MPI" in script.read_text("utf-8")


def told(output: str) -> Figures:
    """Return the figures among the lines of a program; the last line may be cut off.

    >>> told('warning\\n{"what": "bcast"}\\n')
    [{'what': 'bcast'}]
    """
    return [json.loads(line) for line in output.splitlines() if line[:7] + line[-1:] == '{"what"}']


@dataclass(frozen=True, slots=True)
class Mpich:
    """Flat MPICH over all clusters, with one of its network modules."""

    module: str
    python: str = sys.executable

    @property
    def name(self) -> str:
        """What its column is called."""
        return f"MPICH {self.module.upper()}"

    @property
    def environment(self) -> Mapping[str, str]:
        """What to add to the environment."""
        return {"MPIR_CVAR_CH4_NETMOD": self.module}

    def command(
        self, grid: EmulatedGrid, ranks: Mapping[str, int], _folder: Path, script: Path
    ) -> list[str]:
        """Return what to run in the first cluster, without the arguments of the script."""
        held = {grid.clusters[name].address: count for name, count in ranks.items() if count}
        hosts = ",".join(f"{address}:{count}" for address, count in held.items())
        mpiexec = str(Path(self.python).with_name("mpiexec"))
        reach = ["-localhost", next(iter(held)), "-launcher", "ssh", "-launcher-exec", SSH]
        total = str(sum(held.values()))
        return [
            *(mpiexec, *reach, "-hosts", hosts, "-n", total),
            *(self.python, str(script)),
        ]


@dataclass(frozen=True, slots=True)
class OpenMpi:
    """Flat Open MPI over all clusters, from an environment of its own."""

    python: str
    name: str = "Open MPI"

    @property
    def environment(self) -> Mapping[str, str]:
        """What to add to the environment."""
        allowed = ("ALLOW_RUN_AS_ROOT", "ALLOW_RUN_AS_ROOT_CONFIRM")
        return {f"{program}_{what}": "1" for program in ("OMPI", "PRTE") for what in allowed}

    def command(
        self, _grid: EmulatedGrid, ranks: Mapping[str, int], _folder: Path, script: Path
    ) -> list[str]:
        """Return what to run in the first cluster, without the arguments of the script."""
        held = {name: count for name, count in ranks.items() if count}
        hosts = ",".join(f"{name}:{count}" for name, count in held.items())
        mpiexec = str(Path(self.python).with_name("mpiexec"))
        ways = ["--prtemca", "plm_ssh_agent", SSH, "--prtemca", "prte_if_include", "wan0"]
        ways += ["--mca", "btl_tcp_if_include", "wan0", "--map-by", "slot:oversubscribe"]
        total = str(sum(held.values()))
        return [mpiexec, "--host", hosts, *ways, "-n", total, self.python, str(script)]


@dataclass(frozen=True, slots=True)
class Ours:
    """The machine of `gcm-deploy`: the world is the grid, or the cluster."""

    python: str = sys.executable
    name: str = "ours"
    encryption: str = "none"
    """Of connections between hosts; the other ways, and the floor, do not encrypt."""
    reachability: str = "direct"
    elements: str = ""
    """Of the grid in the descriptor, such as a controller."""
    options: tuple[str, ...] = ()
    """Of `gcm-deploy`."""

    @property
    def environment(self) -> Mapping[str, str]:
        """What to add to the environment."""
        return {"PYTHONPATH": str(ROOT)}

    def command(
        self, grid: EmulatedGrid, ranks: Mapping[str, int], folder: Path, script: Path
    ) -> list[str]:
        """Return what to run in the first cluster, without the arguments of the script."""
        file = folder / "bench.xml"
        file.write_text(self.descriptor(grid, ranks, script), "utf-8")
        return [self.python, "-m", "runtime.cli", "--quiet", *self.options, str(file), "--"]

    def descriptor(self, grid: EmulatedGrid, ranks: Mapping[str, int], script: Path) -> str:
        """Return the deployment of these ranks on these clusters."""
        held = [grid.clusters[name] for name, count in ranks.items() if count]
        mpiexec = quoteattr(str(Path(self.python).with_name("mpiexec")))
        lines = [
            f'<deployment name="bench"><application script={quoteattr(str(script))}/>',
            f"<grid encryption={quoteattr(self.encryption)}>{self.elements}",
        ]
        for site, clusters in groupby(held, key=lambda one: one.site):
            lines.append(f'<site name="s{site}">')
            lines += [
                f'<cluster name="{one.name}" reachability="{self.reachability}">'
                f'<ssh host="{one.address}" command-path="{SSH}"/>'
                f"<front-end python={quoteattr(self.python)}/>"
                f'<mpi ranks="{ranks[one.name]}" command-path={mpiexec}/></cluster>'
                for one in clusters
            ]
            lines.append("</site>")
        return "\n".join([*lines, "</grid></deployment>"])
