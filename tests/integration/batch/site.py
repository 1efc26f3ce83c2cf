"""A site with a batch system: a login node, nodes, and a plain account that runs programs there.

Each host of a site is one of an emulated grid, with a network and a host name of its own. Daemons
run as root; what a user types runs as an account that only these hosts know.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from benchmarks.grid import EmulatedGrid
from benchmarks.grid.sweeping import inside, sweep
from tools.on_grids import COMMAND, ROOT, environment

PYTHON = Path(sys.executable)
MPIEXEC = PYTHON.with_name("mpiexec")
ACCOUNT, NUMBER = "ada", 61815
NODES = 3
CORES = 4
PATIENCE = 30.0
FRONT_END_ENDED = "the front-end has ended"
HELLO = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
print(f"{world.rank} of {world.size} on {os.uname().nodename}", flush=True)
"""
LONG = """
import time
from mpi4py import MPI
print("rank", MPI.COMM_WORLD.rank, flush=True)
time.sleep(300)
"""
WAIT = """
import pathlib, time
while not pathlib.Path("{file}").exists():
    time.sleep(0.1)
"""


@dataclass(frozen=True)
class Recorded:
    """What the daemons of a batch system have recorded of a job: their own word, and its nodes."""

    number: str
    state: str
    nodes: tuple[str, ...]


class Site:
    """Runs of an account at the login node of a site; a subclass has the daemons."""

    system = ""
    batch = ""
    """Attributes that each `<batch>` needs at this site."""
    running = ""
    ended: tuple[str, ...] = ()
    """The states that are recorded of a job of a run, while it goes on and after that."""

    def __init__(self, grid: EmulatedGrid, hosts: Sequence[str], folder: Path) -> None:
        self.grid = grid
        self.login, *self.nodes = hosts
        self.folder = folder
        self.home = folder / "home"
        self.work = folder
        """Where runs are started; each test has its own folder."""
        self._daemons: list[subprocess.Popen[str]] = []
        self.home.mkdir()
        os.chown(self.home, NUMBER, NUMBER)
        kept = ("PATH", "LANG", "CI")
        self.environment = {
            **{name: value for name, value in environment().items() if name in kept},
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.home),
            "USER": ACCOUNT,
            "LOGNAME": ACCOUNT,
        }
        for host in hosts:
            admit(grid, host, self.home)

    @contextmanager
    def fresh(self) -> Iterator[None]:
        """Work in an empty folder, once no node has anything to do."""
        with folder_of_account("work", self.folder) as self.work:
            self.await_nodes()
            yield

    def await_nodes(self) -> None:
        """Wait until no node has anything to do."""
        raise NotImplementedError

    def as_user(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs another as the account at the login node."""
        become = ("setpriv", f"--reuid={NUMBER}", f"--regid={NUMBER}", "--clear-groups")
        return self.grid.inside(self.login, [*become, *command], str(self.work))

    def run(self, *command: str, text: str = "") -> str:
        """Return what a command prints that root types at the login node."""
        done = subprocess.run(
            self.grid.inside(self.login, command), input=text, env=self.environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.stdout

    def call(self, *command: str, text: str = "", **settings: str) -> tuple[int, str, str]:
        """Run a command of the user in the working folder; return its exit code and output."""
        done = subprocess.run(
            self.as_user(command), input=text, env={**self.environment, **settings},
            capture_output=True, text=True, check=False, timeout=3 * PATIENCE,
        )  # fmt: skip
        return done.returncode, done.stdout, without_who_is_awaited(done.stderr)

    def start(self, path: Path, *options: str, **settings: str) -> subprocess.Popen[str]:
        """Run `gcm-deploy` on a descriptor."""
        return subprocess.Popen(
            self.as_user([*COMMAND, *options, str(path)]),
            env={**self.environment, **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

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
    <site name="lyon">{self.cluster("rhone", batch, walltime, python, mpiexec)}{cluster}
    </site>
  </grid>
</deployment>
"""
        )
        return path

    def cluster(
        self,
        name: str,
        batch: str = "",
        walltime: str = "00:05:00",
        python: Path = PYTHON,
        mpiexec: Path = MPIEXEC,
    ) -> str:
        """Return a cluster of a descriptor, in a job."""
        return f"""
      <cluster name="{name}">
        <batch system="{self.system}" tasks-per-node="2" walltime="{walltime}"
               {self.batch} {batch}/>
        <mpi command-path="{mpiexec}"/>
        <front-end python="{python}" folder="{self.home}/runs"/>
      </cluster>"""

    def let_in(self) -> None:
        """Make the keys with which the account gets from node to node."""
        keys, host_key = self.home / ".ssh", self.folder / "host_key"
        keys.mkdir(mode=0o700)
        for key in (host_key, keys / "id_ed25519"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
            subprocess.run(command, check=True)
        known = f"{','.join(self.nodes)} {host_key.with_suffix('.pub').read_text()}"
        (keys / "known_hosts").write_text(known)
        (keys / "authorized_keys").write_text((keys / "id_ed25519.pub").read_text())
        for path in (keys, *keys.iterdir()):
            os.chown(path, NUMBER, NUMBER)
        Path("/run/sshd").mkdir(exist_ok=True)

    def start_sshd(self, node: str) -> None:
        """Start the sshd of a node into which the account is let."""
        options = ("UsePAM=no", "PidFile=none", "StrictModes=no", "MaxStartups=100")
        words = [word for one in options for word in ("-o", one)]
        key = str(self.folder / "host_key")
        self.detach(node, "/usr/sbin/sshd", "-f", "/dev/null", "-h", key, *words)

    def detach(self, node: str, *command: str) -> None:
        """Run what starts a daemon, which is nobody's child then and ends with the grid."""
        done = self.grid.run(node, command, timeout=PATIENCE, env=self.environment)
        assert done.returncode == 0, done.stderr

    def keep(self, daemon: subprocess.Popen[str]) -> None:
        """Let a daemon be ended with the site, the last one first."""
        self._daemons.append(daemon)

    def end(self) -> None:
        """End the daemons."""
        for daemon in reversed(self._daemons):
            daemon.terminate()
            daemon.wait(PATIENCE)

    def queue(self) -> list[str]:
        """Return the names of all jobs that hold nodes or wait for them."""
        raise NotImplementedError

    def record(self, number: str = "") -> Recorded:
        """Return what the daemons have recorded of a job of the account, by default of the last."""
        raise NotImplementedError

    def hold_all(self) -> str:
        """Let another job have all nodes; return its number."""
        raise NotImplementedError

    def cancel(self, number: str) -> None:
        """End a job, as the administrator of the site."""
        raise NotImplementedError

    def boot(self, node: str) -> None:
        """Start the daemons of a node."""
        raise NotImplementedError

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

    def leases(self) -> list[Path]:
        """Return the leases of runs that hold nodes, or are asking for some."""
        return list(self.home.glob(".cache/gcm/leases/*"))

    def processes(self) -> list[str]:
        """Return the command lines of the account's processes, on all hosts of the site."""
        found = []
        for process in inside([self.grid.holder(one) for one in (self.login, *self.nodes)]):
            with suppress(OSError):
                if os.stat(f"/proc/{process}").st_uid == NUMBER:
                    line = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ")
                    found.append(line.decode(errors="replace"))
        return found

    def is_given_back(self) -> bool:
        """Return whether runs have left nothing: no job, no lease, no process on any host."""
        return not self.queue() and not self.leases() and not self.processes()

    def kill_all(self, *words: str, host: str = "", number: int = signal.SIGKILL) -> None:
        """Send processes a signal in whose command lines all of these are, at the login node."""
        for process in inside([self.grid.holder(host or self.login)]):
            with suppress(OSError):
                line = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
                if all(word in line for word in words):
                    os.kill(process, number)


def admit(grid: EmulatedGrid, host: str, home: Path) -> None:
    """Let a host know the account, which may read this project and its Python there."""
    accounts = home.parent / "accounts"
    accounts.mkdir(exist_ok=True)
    line = f"{ACCOUNT}:*:{NUMBER}:{NUMBER}:Ada:{home}:/bin/sh\n"
    (accounts / "passwd").write_text(Path("/etc/passwd").read_text() + line)
    (accounts / "group").write_text(Path("/etc/group").read_text() + f"{ACCOUNT}:*:{NUMBER}:\n")
    orders = [f"mount --bind {accounts}/{name} /etc/{name}" for name in ("passwd", "group")]
    for private, paths in _behind_private(sys.base_prefix, sys.prefix, ROOT).items():
        kept = [(f"/dev/shm/kept{number}", path) for number, path in enumerate(sorted(paths))]
        orders += [f"mkdir -p {mark}; mount --bind {path} {mark}" for mark, path in kept]
        orders.append(f"mount -t tmpfs -o mode=755 tmpfs {private}")
        orders += [f"mkdir -p {path}; mount --move {mark} {path}" for mark, path in kept]
    done = grid.run(host, ["sh", "-ec", "\n".join(orders)], timeout=PATIENCE, cwd="/")
    assert done.returncode == 0, done.stderr


def _behind_private(*paths: str | Path) -> dict[str, set[str]]:
    """Return folders that are closed to others, each with those of the paths that lie in it."""
    found: dict[str, set[str]] = {}
    for path in paths:
        closed = [one for one in Path(path).parents if not one.stat().st_mode & 0o001]
        if closed:
            found.setdefault(shlex.quote(str(closed[-1])), set()).add(shlex.quote(str(path)))
    return found


@contextmanager
def folder_of_account(name: str, within: Path | None = None) -> Iterator[Path]:
    """Make a folder that the account can reach, and owns where it lies in another one."""
    path = Path(tempfile.mkdtemp(prefix=f"gcm-{name}-", dir=within))
    path.chmod(0o755)
    if within is not None:
        os.chown(path, NUMBER, NUMBER)
    yield path
    rmtree(path, ignore_errors=True)


def wait_until(is_so: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait until something is so."""
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, "it has not become so"
        time.sleep(0.1)


def end_of(run: subprocess.Popen[str], patience: float = 2 * PATIENCE) -> tuple[int, str, str]:
    """Return the exit code of a run, and what it has printed."""
    said, errors = run.communicate(timeout=patience)
    return run.returncode, said, without_who_is_awaited(errors)


def without_who_is_awaited(text: str) -> str:
    """Return what a run has printed but the line that comes where its start takes five seconds."""
    return re.sub(r"^gcm-deploy: after \d+ s still waiting for .*\n", "", text, flags=re.MULTILINE)
