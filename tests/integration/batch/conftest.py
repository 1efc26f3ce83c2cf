"""A real Slurm of several nodes on this machine, and runs in its jobs."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.mpi_homes import open_mpi  # noqa: F401 - a fixture
from tests.sshd import Sshd, running_sshd
from tools.on_grids import COMMAND, ROOT, environment

PYTHON = Path(sys.executable)
MPIEXEC = PYTHON.with_name("mpiexec")
NODES = 3
CORES = 4
PATIENCE = 30.0
HELLO = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
print(f"{world.rank} of {world.size} on {os.environ.get('SLURMD_NODENAME')}", flush=True)
"""

_CONFIGURATION = """\
ClusterName=lab{number}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmUser=root
SlurmdUser=root
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1
KillWait=2
SlurmdParameters=config_overrides
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 \\
    Port=[{first}-{last}] CPUs={cores} State=UNKNOWN
PartitionName=debug Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """The daemons of a Slurm; its commands and runs of `gcm-deploy` in a folder."""

    def __init__(self, folder: Path, number: int = 0) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self.work = folder
        """Where runs are started; each test has its own folder."""
        (folder / "state").mkdir()
        port = 16000 + os.getpid() % 1000 * 10 + number * (NODES + 1)
        self.configuration = folder / "slurm.conf"
        self.configuration.write_text(
            _CONFIGURATION.format(
                host=os.uname().nodename.partition(".")[0],
                number=number,
                port=port,
                folder=folder,
                nodes=NODES,
                first=port + 1,
                last=port + NODES,
                cores=CORES,
            )
        )
        self.environment = {
            **environment(),
            "PYTHONPATH": str(ROOT),
            "SLURM_CONF": str(self.configuration),
            "HOME": str(self.home),
        }
        self._daemons = [self._daemon("slurmctld", "-D", "-c")]
        self._daemons += [self._daemon("slurmd", "-D", "-N", f"n{one + 1}") for one in range(NODES)]
        try:
            wait_until(lambda: self.run("sinfo", "-h", "-o", "%T").split() == ["idle"])
        except AssertionError:
            self.end()
            raise

    def _daemon(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{name}.log").open("ab")
        command = [f"/usr/sbin/{name}", "-f", str(self.configuration), *options]
        with log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def run(self, *command: str, text: str = "") -> str:
        """Return what a command of Slurm prints."""
        done = subprocess.run(
            command, input=text, env=self.environment, capture_output=True, text=True, check=False
        )
        return done.stdout

    def queue(self) -> list[str]:
        """Return the names of all jobs that hold nodes or wait for them."""
        states = "PENDING,CONFIGURING,RUNNING,SUSPENDED"
        return self.run("squeue", "-h", "-o", "%j", f"--states={states}").split()

    def record(self) -> dict[str, str]:
        """Return what Slurm has recorded of the last job."""
        lines = self.run("scontrol", "show", "job", "--oneliner").strip().splitlines()
        jobs = [dict(word.split("=", 1) for word in one.split() if "=" in word) for one in lines]
        return max(jobs, key=lambda job: int(job["JobId"]))

    def hold_all(self) -> str:
        """Let another job have all nodes; return its number."""
        script = "#!/bin/sh\nsleep 300\n"
        options = (f"--nodes={NODES}", "--exclusive", "--output=/dev/null")
        number = self.run("sbatch", "--parsable", *options, text=script).strip()
        wait_until(lambda: "R" in self.run("squeue", "-h", "-j", number, "-o", "%t"))
        return number

    def leases(self) -> list[Path]:
        """Return the leases of runs that hold nodes, or are asking for some."""
        return list(self.home.glob(".cache/gcm/leases/*"))

    def descriptor(
        self,
        program: str,
        batch: str = "",
        cluster: str = "",
        *,
        walltime: str = "00:05:00",
        python: Path = PYTHON,
        mpiexec: Path = MPIEXEC,
    ) -> Path:
        """Write a program, and the descriptor that runs it in a job; return that one's path."""
        (self.work / "program.py").write_text(program)
        path = self.work / "batched.xml"
        path.write_text(
            f"""<deployment>
  <application script="program.py"/>
  <grid>
    <site name="lyon">
      <cluster name="rhone">
        <batch system="slurm" tasks-per-node="2" walltime="{walltime}" {batch}/>
        <mpi command-path="{mpiexec}"/>
        <front-end python="{python}" folder="{self.folder}/runs"/>
      </cluster>{cluster}
    </site>
  </grid>
</deployment>
"""
        )
        return path

    def start(self, path: Path, *options: str) -> subprocess.Popen[str]:
        """Run `gcm-deploy` on a descriptor."""
        return subprocess.Popen(
            [*COMMAND, *options, str(path)],
            env=self.environment,
            cwd=self.work,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def call(self, *command: str, text: str = "") -> tuple[int, str, str]:
        """Run a command in the working folder; return its exit code and what it prints."""
        done = subprocess.run(
            command, input=text, env=self.environment, cwd=self.work,
            capture_output=True, text=True, check=False, timeout=2 * PATIENCE,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    def close(self) -> None:
        """End all jobs, then the daemons."""
        self.run("scancel", "--user=root")
        wait_until(lambda: not self.run("squeue", "-h"))
        self.end()

    def end(self) -> None:
        """End the daemons."""
        for daemon in self._daemons:
            daemon.terminate()
        for daemon in self._daemons:
            daemon.wait(PATIENCE)


def is_given_back(slurm: Slurm) -> bool:
    """Return whether a run has left nothing in the queue, and no lease."""
    return not slurm.queue() and not slurm.leases()


def processes_with(*words: str) -> list[int]:
    """Return the processes in whose command lines all of these are."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                line = (entry / "cmdline").read_bytes().decode(errors="replace")
                if all(word in line for word in words):
                    found.append(int(entry.name))
    return found


def wait_until(is_so: object, seconds: float = PATIENCE) -> None:
    """Wait until something is so."""
    assert callable(is_so)
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, "it has not become so"
        time.sleep(0.1)


@pytest.fixture(scope="session")
def munge() -> Iterator[None]:
    """Let processes prove who they are to Slurm."""
    if subprocess.run(["munge", "-n"], capture_output=True, check=False).returncode == 0:
        yield
        return
    owner = pwd.getpwnam("munge")
    Path("/run/munge").mkdir(exist_ok=True)
    shutil.chown("/run/munge", owner.pw_uid, owner.pw_gid)
    daemon = subprocess.Popen(
        ["/usr/sbin/munged", "--foreground"],
        user=owner.pw_uid,
        group=owner.pw_gid,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(
        lambda: subprocess.run(["munge", "-n"], capture_output=True, check=False).returncode == 0
    )
    yield
    daemon.terminate()
    daemon.wait(PATIENCE)


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory, munge: None) -> Iterator[Slurm]:
    """A Slurm of three nodes."""
    made = Slurm(tmp_path_factory.mktemp("slurm"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def far_slurm(
    tmp_path_factory: pytest.TempPathFactory, munge: None
) -> Iterator[tuple[Slurm, Sshd]]:
    """Another Slurm, whose commands are only found behind an sshd."""
    made = Slurm(tmp_path_factory.mktemp("far-slurm"), number=1)
    folder = tmp_path_factory.mktemp("sshd")
    with running_sshd(
        folder, SLURM_CONF=made.configuration, HOME=made.home, PYTHONPATH=ROOT
    ) as server:
        yield made, server
    made.close()


@pytest.fixture(autouse=True)
def fresh(slurm: Slurm, tmp_path: Path) -> None:
    """Let each test begin in an empty folder, with nodes that hold nothing of the one before."""
    slurm.work = tmp_path
    wait_until(lambda: slurm.run("sinfo", "-h", "-o", "%T").split() == ["idle"])
