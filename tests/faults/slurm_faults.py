"""A real Slurm of three nodes, and what befalls its jobs and daemons while a run is in it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from benchmarks.grid.sweeping import inside
from tests.faults.fault_kinds import Fault, Kind, Place, Places, Popen, called
from tests.integration.batch.site import MPIEXEC
from tests.integration.batch.slurm_daemons import Slurm
from tests.integration.batch.two_slurms import hosts_of, near_slurm
from tests.leftovers import in_order_of_start
from tools.on_grids import sizes_of


class SlurmPlace(Place):
    """Runs of an account at the login node: each cluster is a job, but for the last of several."""

    def __init__(self, layout: str, slurm: Slurm, stack: ExitStack) -> None:
        super().__init__(slurm.work, layout)
        self._slurm = slurm
        self._stack = stack

    def descriptor(self, script: str, failures: str) -> str:
        sizes = [size for site in sizes_of(self.layout) for size in site]
        front = f'<front-end python="{sys.executable}" folder="{self._slurm.home}/runs"/>'
        sites = ""
        for number, size in enumerate(sizes):
            nodes = "<batch system='slurm' nodes='{}' tasks-per-node='{}' walltime='5min'/>"
            job = nodes.format(2, size // 2) if size == 4 else nodes.format(1, size)
            mpi = f'<mpi command-path="{MPIEXEC}"/>'
            if number == 2:
                job, mpi = "", f'<mpi command-path="{MPIEXEC}" ranks="{size}"/>'
            sites += f"<site><cluster>{job}{mpi}{front}</cluster></site>"
        return (
            f'<deployment name="try"><application script="{script}" comm-world="grid"'
            f' failures="{failures}"/><grid>{sites}</grid></deployment>'
        )

    def popen(self, command: Sequence[str], env: dict[str, str]) -> Popen:
        pipe = subprocess.PIPE
        marks = {name: value for name, value in env.items() if name.startswith("GCM_TEST")}
        return subprocess.Popen(
            self._slurm.as_user(command), stdout=pipe, stderr=pipe, stdin=subprocess.DEVNULL,
            text=True, env=self._slurm.environment | marks,
        )  # fmt: skip

    def do(self, fault: Fault, run: Popen, dice: random.Random) -> None:
        slurm = self._slurm
        jobs = [name for name in slurm.queue() if name.startswith("gcm-")]
        held = [node for node in slurm.nodes if self._called(node, "slurmstepd")]
        match fault.name:
            case "job cancelled" if jobs:
                slurm.run("scancel", f"--name={dice.choice(sorted(jobs))}")
            case "job suspended":
                numbers = slurm.run("squeue", "-h", "-o", "%i").split()
                for number in numbers:
                    slurm.run("scontrol", "suspend", number)
                time.sleep(dice.uniform(0.5, 1.5))
                for number in numbers:
                    slurm.run("scontrol", "resume", number)
            case "node lost" if held:
                self._stack.enter_context(slurm.lost(dice.choice(held)))
            case "slurmd killed" if held:
                node = dice.choice(held)
                self._kill(self._called(node, "slurmd"), dice)
                self._stack.callback(slurm.boot, node)
            case "stepd killed" if held:
                self._kill(self._called(dice.choice(held), "slurmstepd"), dice)
            case "controller asleep":
                found = self._called(slurm.login, "slurmctld")
                self._send(found, signal.SIGSTOP)
                time.sleep(dice.uniform(0.5, 3.0))
                self._send(found, signal.SIGCONT)
            case "srun killed":
                self._kill(self._called(slurm.login, "srun"), dice)
            case "Ctrl-C":
                run.send_signal(signal.SIGINT)
            case "gcm-deploy":
                run.kill()
            case name:
                everywhere = [pid for host in (slurm.login, *slurm.nodes)
                              for pid in self._called(host, name)]  # fmt: skip
                self._kill(everywhere, dice)

    def _called(self, host: str, name: str) -> list[int]:
        there = inside([self._slurm.grid.holder(host)])
        return in_order_of_start(pid for pid in there if called(pid) == name)

    def _kill(self, pids: Sequence[int], dice: random.Random) -> None:
        if pids:
            self._send([dice.choice(pids)], signal.SIGKILL)

    @staticmethod
    def _send(pids: Sequence[int], number: signal.Signals) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def blames(self, told: str) -> bool:
        return "/cluster0" in told

    def temporary(self) -> list[Path]:
        runs = self._slurm.home / "runs"
        return [*super().temporary(), *([runs] if runs.is_dir() else [])]

    def left(self) -> list[str]:
        slurm = self._slurm
        return [
            *(f"job {one}" for one in slurm.queue()),
            *(f"lease {one.name}" for one in slurm.leases()),
            *(f"process {one}" for one in slurm.processes()),
        ]


@contextmanager
def in_a_slurm(folder: Path, _: dict[str, str]) -> Iterator[Places]:
    """Let all runs take place in one Slurm."""
    with hosts_of(1) as grid, near_slurm(grid) as slurm:

        @contextmanager
        def place(layout: str, _: Fault) -> Iterator[Place]:
            with slurm.fresh(), ExitStack() as stack:
                yield SlurmPlace(layout, slurm, stack)

        yield place


SLURM = Kind(
    "slurm",
    ("2", "4", "1|2", "1|1|1"),
    (
        Fault("none", is_harmless=True),
        Fault("job cancelled", pattern="CANCELLED|cancelled"),
        Fault("job suspended", is_harmless=True),
        Fault("node lost"),
        Fault("slurmd killed", is_harmless=True),
        Fault("stepd killed"),
        Fault("controller asleep", is_harmless=True),
        Fault("srun killed"),
        Fault("gcm-front-end"),
        Fault("gcm-pmi"),
        Fault("gcm-guard"),
        Fault("gcm-deploy", codes=(-9,), can_be_early=True),
        Fault("Ctrl-C", codes=(130, -2), can_be_early=True),
    ),
    in_a_slurm,
)
