"""The daemons of a real Slurm on the hosts of a site."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from benchmarks.grid import EmulatedGrid
from tests.integration.batch.site import (
    CORES,
    NUMBER,
    PATIENCE,
    Recorded,
    Site,
    wait_until,
)

_CONFIGURATION = """\
ClusterName=lab
SlurmctldHost={login}({address})
AuthType=auth/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdLogFile={folder}/slurmd.%n.log
SlurmUser=root
SlurmdUser=root
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1
SlurmdTimeout=10
KillWait=2
SlurmdParameters=config_overrides
NodeName={nodes} CPUs={cores} State=UNKNOWN
PartitionName=debug Nodes={nodes} Default=YES MaxTime=INFINITE State=UP
"""
ALIVE = "PENDING,CONFIGURING,RUNNING,SUSPENDED"


class Slurm(Site):
    """A Slurm whose controller is on the login node."""

    system = "slurm"
    running, ended = "RUNNING", ("CANCELLED",)

    def __init__(
        self, grid: EmulatedGrid, hosts: Sequence[str], folder: Path, **settings: str
    ) -> None:
        super().__init__(grid, hosts, folder)
        self.environment |= settings
        (folder / "state").mkdir()
        self.keep(self._munge())
        self.configuration = folder / "slurm.conf"
        self.configuration.write_text(
            _CONFIGURATION.format(
                login=self.login,
                address=grid.clusters[self.login].address,
                folder=folder,
                nodes=",".join(self.nodes),
                cores=CORES,
            )
        )
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")  # hosts of a grid have none
        self.environment["SLURM_CONF"] = str(self.configuration)
        self.keep(self._controller())
        for one in self.nodes:
            self.boot(one)
        try:
            self.await_nodes()
        except AssertionError:
            self.end()
            raise

    def _munge(self) -> subprocess.Popen[str]:
        """Let processes prove who they are to this Slurm, by a daemon for all of its hosts."""
        socket = self.folder / "munge"
        socket.mkdir()
        shutil.chown(socket, "munge", "munge")
        socket.chmod(0o755)
        for host in (self.login, *self.nodes):
            order = f"mkdir -p /run/munge; mount --bind {socket} /run/munge"
            self.grid.run(host, ["sh", "-ec", order], timeout=PATIENCE)
        become = ("setpriv", "--reuid=munge", "--regid=munge", "--clear-groups")
        return self._daemon((*become, "/usr/sbin/munged", "--foreground"))

    def boot(self, node: str) -> None:
        """Start the daemon of a node."""
        self.detach(node, "/usr/sbin/slurmd", "-f", str(self.configuration), "-N", node)

    def _controller(self) -> subprocess.Popen[str]:
        command = ("/usr/sbin/slurmctld", "-f", str(self.configuration), "-D", "-c")
        return self._daemon(command)

    def _daemon(self, command: Sequence[str]) -> subprocess.Popen[str]:
        with (self.folder / "daemons.log").open("ab") as log:
            return self.grid.popen(
                self.login, command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self.environment,
            )  # fmt: skip

    def await_nodes(self) -> None:
        """Wait until no node has anything to do."""
        wait_until(lambda: self.run("sinfo", "-h", "-o", "%T").split() == ["idle"])

    def queue(self) -> list[str]:
        """Return the names of all jobs that hold nodes or wait for them."""
        return self.run("squeue", "-h", "-o", "%j", f"--states={ALIVE}").split()

    def fields(self, number: str = "") -> dict[str, str]:
        """Return what Slurm has recorded of a job, by its own names; by default of the last one."""
        asked = ("scontrol", "show", "job", *filter(None, [number]), "--oneliner")
        lines = self.run(*asked).strip().splitlines()
        jobs = [dict(word.split("=", 1) for word in one.split() if "=" in word) for one in lines]
        return max(jobs, key=lambda job: int(job["JobId"]))

    def record(self, number: str = "") -> Recorded:
        """Return what Slurm has recorded of a job, which has to be the account's."""
        told = self.fields(number)
        assert told["UserId"].endswith(f"({NUMBER})"), told
        nodes = self.run("scontrol", "show", "hostnames", told["NodeList"]).split()
        return Recorded(told["JobId"], told["JobState"], tuple(nodes))

    def hold_all(self) -> str:
        """Let another job have all nodes; return its number."""
        number = self.ask_for_all()
        wait_until(lambda: "R" in self.run("squeue", "-h", "-j", number, "-o", "%t"))
        return number

    def ask_for_all(self) -> str:
        """Put another job into the queue that needs all nodes; return its number."""
        script = "#!/bin/sh\nsleep 300\n"
        where = (f"--nodes={len(self.nodes)}", "--exclusive", "--output=/dev/null", "--time=10")
        return self.run("sbatch", "--parsable", *where, text=script).strip()

    def cancel(self, number: str) -> None:
        """End a job, as the administrator of the site."""
        self.run("scancel", number)

    def close(self) -> None:
        """End all jobs, then the daemons."""
        for user in ("root", "ada"):
            self.run("scancel", f"--user={user}")
        wait_until(lambda: not self.run("squeue", "-h"))
        self.end()

    def end(self) -> None:
        """End the daemons."""
        for node in self.nodes:
            with suppress(OSError):
                os.kill(int((self.folder / f"slurmd.{node}.pid").read_text()), signal.SIGTERM)
        super().end()
