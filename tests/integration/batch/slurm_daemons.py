"""The daemons of a real Slurm on the hosts of a site."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.grid import EmulatedGrid
from benchmarks.grid.sweeping import sweep
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

    def __init__(self, grid: EmulatedGrid, hosts: Sequence[str], folder: Path) -> None:
        super().__init__(grid, hosts, folder)
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
        """Start the daemon of a node, which is nobody's child."""
        command = ("/usr/sbin/slurmd", "-f", str(self.configuration), "-N", node)
        done = self.grid.run(node, command, timeout=PATIENCE, env=self.environment)
        assert done.returncode == 0, done.stderr

    @contextmanager
    def lost(self, node: str) -> Iterator[None]:
        """Let a node fail, with all that runs there: nobody hears anything of it until the end."""
        others = [one for one in (self.login, *self.nodes) if one != node]
        for other in others:
            self.grid.cut(node, other)
        sweep([self.grid.holder(node)])
        try:
            yield
        finally:
            for other in others:
                self.grid.heal(node, other)
            self.boot(node)

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

    def fields(self) -> dict[str, str]:
        """Return what Slurm has recorded of the last job, by its own names."""
        lines = self.run("scontrol", "show", "job", "--oneliner").strip().splitlines()
        jobs = [dict(word.split("=", 1) for word in one.split() if "=" in word) for one in lines]
        return max(jobs, key=lambda job: int(job["JobId"]))

    def record(self) -> Recorded:
        """Return what Slurm has recorded of the last job, which has to be the account's."""
        last = self.fields()
        assert last["UserId"].endswith(f"({NUMBER})"), last
        nodes = self.run("scontrol", "show", "hostnames", last["NodeList"]).split()
        return Recorded(last["JobId"], last["JobState"], tuple(nodes))

    def hold_all(self) -> str:
        """Let another job have all nodes; return its number."""
        script = "#!/bin/sh\nsleep 300\n"
        options = (f"--nodes={len(self.nodes)}", "--exclusive", "--output=/dev/null")
        number = self.run("sbatch", "--parsable", *options, text=script).strip()
        wait_until(lambda: "R" in self.run("squeue", "-h", "-j", number, "-o", "%t"))
        return number

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
