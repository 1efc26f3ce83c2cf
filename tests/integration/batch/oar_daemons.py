"""The daemons of a real OAR on the hosts of a site: database, server, and the sshd of each node."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.grid import EmulatedGrid
from tests.integration.batch.site import ACCOUNT, PATIENCE, Recorded, Site, wait_until

SQL = Path("/usr/lib/oar/database")
GROUPS = ("cpuset", "cpu", "cpuacct", "devices", "freezer")
TASKS = 2
"""Cores of each node."""
_HOST = """\
mkdir {own}; mount -t tmpfs -o mode=755 tmpfs {own}
for one in null zero full random urandom tty; do cp -a /dev/$one {own}/; done
for one in pts shm; do mkdir {own}/$one; mount --rbind /dev/$one {own}/$one; done
ln -s /proc/self/fd {own}/fd; ln -s pts/ptmx {own}/ptmx
mount --move {own} /dev
mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
for one in {groups}; do  # a group for each host, which are all on one system
    mkdir -p /sys/fs/cgroup/$one {own}.groups/$one
    mount -t cgroup -o $one none {own}.groups/$one
    group={own}.groups/$one/{name}; mkdir $group
    for file in cpuset.cpus cpuset.mems; do
        [ ! -e $group/$file ] || cat {own}.groups/$one/$file >$group/$file
    done
    mount --bind $group /sys/fs/cgroup/$one
done
cp -a /var/lib/oar {own}.lib; touch {own}.lib/.ssh/known_hosts
chown oar:oar {own}.lib/.ssh/known_hosts
mount --bind {own}.lib /var/lib/oar; mount --bind {etc} /etc/oar
"""
_DATABASE = """\
psql="psql --quiet -h {login}"
$psql -U postgres -c "create role oar login" -c "create role oar_ro login" \\
    -c "create database oar owner oar"
for one in pg_structure pg_default_admission_rules default_data; do
    $psql -U oar -d oar -f {sql}/$one.sql
done
$psql -U oar -d oar -c "grant select on all tables in schema public to oar_ro"
"""
_CHANGED = {
    "DB_HOSTNAME": "{login}",
    "SERVER_HOSTNAME": "{login}",
    "LOG_FILE": "/var/lib/oar/oar.log",
    "SCHEDULER_JOB_SECURITY_TIME": "1",
}


def missing_cpusets() -> str:
    """Return why this machine has no cpusets as OAR 2.5 wants them, "" where it has."""
    known = [line.split()[0] for line in Path("/proc/cgroups").read_text().splitlines()]
    mounted = Path("/proc/mounts").read_text()
    is_second = " cgroup2 " in mounted and " cgroup " not in mounted
    return "oarsh needs cpusets of cgroup v1" if is_second or "cpuset" not in known else ""


class Oar(Site):
    """An OAR whose server and database are on the login node."""

    system = "oar"
    running, ended = "Running", ("Error", "Terminated")

    def __init__(self, grid: EmulatedGrid, hosts: Sequence[str], folder: Path) -> None:
        super().__init__(grid, hosts, folder)
        self._configure()
        for host in hosts:
            own, name = folder / host, f"{folder.name}-{host}"
            told = _HOST.format(own=own, name=name, groups=" ".join(GROUPS), etc=folder / "etc")
            self._order(host, told)
        self._start_database()
        for node in self.nodes:
            self.boot(node)
        self._start_server()
        orders = ["oarproperty -a core", "oarproperty -a cpu", "oarproperty -c -a host"]
        for number, node in enumerate(self.nodes):
            orders += [
                f"oarnodesetting -a -h {node} -p cpuset={core} -p core={number * TASKS + core + 1}"
                f" -p cpu={number + 1} -p host={node}"
                for core in range(TASKS)
            ]
        self._order(self.login, "\n".join(orders))

    def boot(self, node: str) -> None:
        """Start the sshd of a node, which is all that OAR needs there."""
        log = str(self.folder / f"sshd.{node}.log")
        self.detach(node, "/usr/sbin/sshd", "-E", log, "-f", "/etc/oar/sshd_config")

    def _configure(self) -> None:
        etc = self.folder / "etc"
        shutil.copytree("/etc/oar", etc)
        text = (etc / "oar.conf").read_text()
        for name, value in _CHANGED.items():
            line = f'{name}="{value.format(login=self.login)}"'
            text = re.sub(rf'^{name}=".*"$', line, text, flags=re.MULTILINE)
        (etc / "oar.conf").write_text(f'{text}\nSCHEDULER_MIN_TIME_BETWEEN_2_CALLS="1"\n')
        for name in ("oar.conf", "sshd_config"):
            shutil.copystat(f"/etc/oar/{name}", etc / name)
            shutil.chown(etc / name, "oar", "root")
        # at the end of a job it would remove all files of the account below /tmp
        manager = etc / "job_resource_manager_cgroups.pl"
        kept, found = re.subn(r"(?<=@Tmp_dir_to_clear = )\(.*\)", "()", manager.read_text())
        assert found == 1
        manager.write_text(kept)

    def _start_database(self) -> None:
        database = self.folder / "database"
        database.mkdir(mode=0o700)
        shutil.chown(database, "postgres", "postgres")
        (newest,) = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1:]
        become = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        made = [*become, f"{newest}/initdb", "-A", "trust", "-D", str(database)]
        self._order(self.login, " ".join([*made, ">/dev/null"]))
        with (database / "pg_hba.conf").open("a") as file:
            file.write("host all all 10.0.0.0/8 trust\n")
        command = [
            *become, f"{newest}/postgres", "-D", str(database), "-k", str(database),
            "-c", "listen_addresses=*", "-c", "fsync=off",
        ]  # fmt: skip
        self.keep(self._daemon(command))
        wait_until(
            lambda: "1" in self.run("psql", "-h", self.login, "-U", "postgres", "-c", "select 1")
        )
        self._order(self.login, _DATABASE.format(login=self.login, sql=SQL))

    def _start_server(self) -> None:
        settings = {
            "HOME": "/var/lib/oar", "OARDIR": "/usr/lib/oar", "OARUSER": "oar",
            "OARCONFFILE": "/etc/oar/oar.conf", "PERL5LIB": "/usr/share/oar",
            "PATH": "/usr/lib/oar/oardodo:/usr/bin:/bin:/usr/sbin",
        }  # fmt: skip
        become = ("setpriv", "--reuid=oar", "--regid=oar", "--clear-groups", "env")
        words = [f"{name}={value}" for name, value in settings.items()]
        self.keep(self._daemon([*become, *words, "/usr/lib/oar/Almighty"]))

    def _daemon(self, command: Sequence[str]) -> subprocess.Popen[str]:
        with (self.folder / "daemons.log").open("ab") as log:
            return self.grid.popen(
                self.login, command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _order(self, host: str, orders: str) -> None:
        done = self.grid.run(host, ["sh", "-ec", orders], timeout=2 * PATIENCE, cwd="/")
        assert done.returncode == 0, (orders, done.stdout, done.stderr)

    def await_nodes(self) -> None:
        """Wait until no node has anything to do."""
        wait_until(lambda: not self.queue())
        wait_until(lambda: self.run("oarnodes", "-s").count("Alive") == TASKS * len(self.nodes))

    def _told(self, *options: str) -> dict[str, str]:
        printed = self.run("oarstat", "-f", *options)
        return dict(re.findall(r"^ +(\w+) = (.*?) *$", printed, re.MULTILINE))

    def queue(self) -> list[str]:
        """Return the names of all jobs that hold nodes or wait for them."""
        return re.findall(r"^ +name = (.*)$", self.run("oarstat", "-f"), re.MULTILINE)

    def record(self, number: str = "") -> Recorded:
        """Return what OAR has recorded of a job, by default of the only one that is there."""
        if not number:
            (number,) = re.findall(r"^Job_Id: (\d+)$", self.run("oarstat", "-f"), re.MULTILINE)
        told = self._told("-j", number)
        assert told["owner"] == ACCOUNT
        return Recorded(number, told["state"], tuple(told["assigned_hostnames"].split("+")))

    def hold_all(self) -> str:
        """Let another job of the account have all nodes; return its number."""
        wanted = ("-l", f"/nodes={len(self.nodes)}", "-O", "/dev/null", "-E", "/dev/null")
        _, said, _ = self.call("oarsub", "-n", "other", *wanted, "sleep 300")
        (number,) = re.findall(r"OAR_JOB_ID=(\d+)", said)
        wait_until(lambda: self.record(number).state == "Running")
        return str(number)

    def cancel(self, number: str) -> None:
        """End a job, as the administrator of the site."""
        self.run("oardel", number)

    def close(self) -> None:
        """End all jobs, then the daemons."""
        self.run("oardel", "--sql", "true")
        wait_until(lambda: not self.queue())
        self.end()
        for host in (self.login, *self.nodes):
            groups = f"{self.folder}/{host}.groups/*/{self.folder.name}-{host}"
            self._order(host, f"find {groups} -depth -type d -exec rmdir {{}} +")
