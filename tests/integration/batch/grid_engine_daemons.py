"""The daemons of a real Grid Engine on the hosts of a site."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.grid import EmulatedGrid
from tests.integration.batch.site import ACCOUNT, PATIENCE, Recorded, Site, wait_until

PROGRAMS = Path("/usr/lib/gridengine")
INSTALLED = Path("/var/lib/gridengine")
DEFAULTS = Path("/usr/share/gridengine")
TASKS = 2
"""Slots of each node."""
_BOOTSTRAP = """\
admin_user sgeadmin
default_domain none
ignore_fqdn true
spooling_method berkeleydb
spooling_lib libspoolb
spooling_params {folder}/spool/database
binary_path /usr/sbin
qmaster_spool_dir {folder}/spool/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
"""
_HOSTS = "group_name @allhosts\nhostlist {nodes}\n"
_PLACES = """\
pe_name mpi
slots 999
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule {each}
control_slaves TRUE
job_is_first_task TRUE
urgency_slots min
accounting_summary FALSE
qsort_args NONE
"""


class GridEngine(Site):
    """A Grid Engine whose master is on the login node; its user reaches nodes by ssh."""

    system = "grid-engine"
    running, ended = "r", ("100",)

    def __init__(self, grid: EmulatedGrid, hosts: Sequence[str], folder: Path) -> None:
        super().__init__(grid, hosts, folder)
        self.root = folder / "sge"
        settings = {"SGE_ROOT": str(self.root), "SGE_CELL": "default", "SGE_ND": "1"}
        self.environment |= settings
        self._install()
        self.let_in()
        self._start_master()
        wait_until(lambda: self.run("qconf", "-sm"))
        for one in self.nodes:
            self.run("qconf", "-ah", one)
            self.run("qconf", "-as", one)
        self.run("qconf", "-as", self.login)
        for one in self.nodes:
            self.boot(one)
        self._configure("-Ahgrp", _HOSTS.format(nodes=" ".join(self.nodes)))
        self._configure("-Ap", _PLACES.format(each=TASKS))
        self._change(
            "-sq", "-Aq", qname="all.q", hostlist="@allhosts", slots=str(TASKS), pe_list="mpi",
            load_thresholds="NONE", shell="/bin/sh", notify="00:00:05",
        )  # fmt: skip
        self._change(
            "-ssconf", "-Msconf", schedule_interval="0:0:2", flush_submit_sec="1",
            flush_finish_sec="1",
        )  # fmt: skip
        self.await_nodes()

    def _install(self) -> None:
        common, spool = self.root / "default" / "common", self.folder / "spool"
        common.mkdir(parents=True)
        for name in ("bin", "lib", "util", "utilbin"):
            (self.root / name).symlink_to(INSTALLED / name)
        for name in ("qmaster/job_scripts", "database", "execd"):
            (spool / name).mkdir(parents=True)
        (common / "bootstrap").write_text(_BOOTSTRAP.format(folder=self.folder))
        (common / "act_qmaster").write_text(f"{self.login}\n")
        configuration = (DEFAULTS / "default-configuration").read_text()
        found = configuration.replace("/var/spool/gridengine", str(spool))
        found = found.replace("flush_time=00:00:15", "flush_time=00:00:01")
        # so that a node that is lost is noticed soon
        found = re.sub(r"(?m)^(load_report_time +)\S+$", r"\g<1>00:00:02", found)
        found = re.sub(r"(?m)^(max_unheard +)\S+$", r"\g<1>00:00:10", found)
        (self.folder / "configuration").write_text(found)
        for top in (self.root, spool):
            for path in (top, *top.rglob("*")):
                shutil.chown(path, "sgeadmin", "sgeadmin")
        become = ("setpriv", "--reuid=sgeadmin", "--regid=sgeadmin", "--clear-groups")
        database = f"{spool}/database"
        for words in (
            ("spoolinit", "berkeleydb", "libspoolb", database, "init"),
            ("spooldefaults", "configuration", f"{self.folder}/configuration"),
            ("spooldefaults", "complexes", f"{DEFAULTS}/util/resources/centry"),
            ("spooldefaults", "usersets", f"{DEFAULTS}/util/resources/usersets"),
            ("spooldefaults", "managers", "sgeadmin", "root"),
        ):
            command = [*become, str(PROGRAMS / words[0]), *words[1:]]
            done = self.grid.run(self.login, command, timeout=PATIENCE, env=self.environment)
            assert done.returncode == 0, done.stderr

    def _start_master(self) -> None:
        with (self.folder / "master.log").open("ab") as log:
            master = self.grid.popen(
                self.login, [str(PROGRAMS / "sge_qmaster")], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=self.environment,
            )  # fmt: skip
        self.keep(master)

    def boot(self, node: str) -> None:
        """Start the daemons of a node."""
        # the master refuses a node whose connection from before it still has
        self.run("ss", "-K", "dst", self.grid.clusters[node].address)
        self.start_sshd(node)
        self.detach(node, "env", "-u", "SGE_ND", str(PROGRAMS / "sge_execd"))

    def _configure(self, option: str, text: str) -> None:
        file = self.folder / "told"
        file.write_text(text)
        self.run("qconf", option, str(file))

    def _change(self, ask: str, option: str, **changed: str) -> None:
        """Configure what is there, or the default, but for some lines."""
        lines = [line.split(maxsplit=1) for line in self.run("qconf", ask).splitlines()]
        found = {name: value for name, value in lines if name not in changed} | changed
        self._configure(option, "".join(f"{name} {value}\n" for name, value in found.items()))

    def queue(self) -> list[str]:
        """Return the names of all jobs that hold nodes or wait for them."""
        return re.findall(r"<JB_name>(.*)</JB_name>", self.run("qstat", "-u", "*", "-xml"))

    def record(self, number: str = "") -> Recorded:
        """Return what Grid Engine has recorded of a job; of one that has ended only its first node.

        That one's state is how it `failed`: 0 if it has not, 100 if it was killed.
        """
        rows = self.run("qstat", "-u", ACCOUNT, "-g", "t", "-xml").split("</job_list>")
        mine = sorted((row for row in rows if f"{number}</JB_job_number>" in row), key=_is_slave)
        if told := "".join(mine):
            nodes = dict.fromkeys(re.findall(r"<queue_name>all.q@(.*)</", told))
            (found,) = {*re.findall(r"<JB_job_number>(\d+)<", told)}
            (state,) = {*re.findall(r"<state>(\w+)<", told)}
            return Recorded(found, state, tuple(nodes))
        asked = ("-j", number) if number else ("-o", ACCOUNT, "-j")
        lines = map(str.split, self.run("qacct", *asked).splitlines())
        ended = {line[0]: line[1] for line in lines if len(line) > 1}
        words = ("jobnumber", "failed", "hostname")
        found, state, node = (ended.get(word, "") for word in words)
        return Recorded(found, state, (node,))

    def hold_all(self) -> str:
        """Let another job have all nodes, also of the account, for root may have none."""
        slots = str(TASKS * len(self.nodes))
        wanted = ("-terse", "-pe", "mpi", slots, "-j", "y", "-o", "/dev/null")
        number = self.call("qsub", *wanted, text="#!/bin/sh\nsleep 300\n")[1].strip()
        wait_until(lambda: f"{number} " in self.run("qstat", "-s", "r", "-u", "*"))
        return number

    def cancel(self, number: str) -> None:
        """End a job, as the administrator of the site."""
        self.run("qdel", number)

    def close(self) -> None:
        """End all jobs, then the daemons."""
        self.run("qdel", "-u", "*")
        wait_until(lambda: not self.queue())
        self.end()

    def await_nodes(self) -> None:
        """Wait until no node has anything to do."""
        free = f" 0/0/{TASKS} "
        wait_until(lambda: self.run("qstat", "-f", "-u", "*").count(free) == len(self.nodes))


def _is_slave(row: str) -> bool:
    return "MASTER" not in row
