"""A detached run whose launcher moves to a host that stays, as it is begun and attached to here.

The package, the program folders and what is to be run go over ssh to a folder of that host, and a
launcher begins there as `gcm-deploy --detach` would begin it (see `runtime.cli.moved`). Here stays
a note of where it is. Whoever can log in to that host as this user can attach: each command is one
ssh session, which carries the facts of the run, as they are recorded there, or its results.
"""

from __future__ import annotations

import json
import os
import pickle
import posixpath
import secrets
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

from gcm.records import dataclass
from runtime.cli.detached import KEPT_DAYS, runs_folder
from runtime.cli.errors import UsageError
from runtime.cli.line.options import Options
from runtime.cli.run import complain
from runtime.cli.streams import write
from runtime.deployment import Application, DeployedCluster, Deployment
from runtime.deployment.machine_argument import parse_hosts
from runtime.deployment.model import Direction, SshHop
from runtime.deployment.planning.program_files import ProgramFiles
from runtime.exit_codes import NEVER_STARTED
from runtime.launchers.archive import unpack
from runtime.launchers.base import Command, Launcher
from runtime.launchers.errors import LaunchError
from runtime.launchers.hops import NEEDED, aliases, configuration, own_socket, user_files
from runtime.launchers.lines import Collected
from runtime.launchers.local import LocalLauncher
from runtime.launchers.masters import not_ours, readable
from runtime.launchers.ssh import USER_FOLDER, SshLauncher
from runtime.native_mpi import native_mpi
from runtime.processes.launcher import package
from runtime.processes.launcher.reaching import ssh_hops
from runtime.results.work_folder import sources_of
from runtime.web_address import is_web_address

Way = tuple[SshHop, ...]

BEGIN_TIMEOUT = 120.0
"""Seconds in which the launcher has to have begun there, after all clusters were tried."""

_REMOVE_FOLDER = "import shutil, sys; shutil.rmtree(sys.argv[1])"

_NOTE = "moved.json"
_DEFAULT = "  ConnectTimeout 15\n  StrictHostKeyChecking yes\n"

_MAKE_FOLDER = """
import os, sys
state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
folder = os.path.join(state, "gcm", "runs", sys.argv[1])
os.makedirs(os.path.dirname(folder), 0o700, exist_ok=True)
os.mkdir(folder, 0o700)
sys.stdout.write(folder)
"""


@dataclass(frozen=True, slots=True)
class MovedRun:
    """A run whose launcher is on another host, as it is noted here in `note`.

    `way` leads there, where `folder` is that of the run, in which `python` finds the package.
    """

    name: str
    started: float
    work: str
    way: Way
    python: str
    folder: str
    note: Path

    @property
    def host(self) -> str:
        """The host of its launcher, as ssh calls it."""
        return self.way[-1].destination

    @property
    def log(self) -> str:
        """Where its process has written what it had to say beside the run."""
        return f"{self.host}:{self.folder}/log"

    def following(self) -> AbstractContextManager[BinaryIO]:
        """Return a file with its facts, which ends once the run does, or raises LaunchError."""
        return self.reads("follow")

    @classmethod
    def noted(cls, note: Path) -> MovedRun:
        """Read a note; raises OSError, ValueError, KeyError, TypeError if it is none."""
        record = json.loads((note / _NOTE).read_text(encoding="utf-8"))
        way = tuple(
            SshHop(**{**hop, "options": tuple(hop["options"])}) for hop in record.pop("way")
        )
        return cls(name=note.name, way=way, note=note, **record)

    def keep(self) -> None:
        """Write the note."""
        self.note.mkdir(0o700, parents=True)
        hops = [{name: getattr(hop, name) for name in SshHop.__match_args__} for hop in self.way]
        record = {
            "started": self.started, "work": self.work, "way": hops, "python": self.python,
            "folder": self.folder,
        }  # fmt: skip
        (self.note / _NOTE).write_text(json.dumps(record), encoding="utf-8")

    def call(self, *words: str) -> int:
        """Run a command of `gcm-deploy` there, whose output goes here; return its exit code."""
        with self._client("runtime.cli", *words) as argv:
            return subprocess.run(argv, stdin=subprocess.DEVNULL, check=False).returncode

    def begin(self, order: bytes) -> None:
        """Let the launcher begin there; raises LaunchError."""
        with self._client("runtime.cli.moved", "begin", self.folder) as argv:
            try:
                done = subprocess.run(
                    argv, input=order, capture_output=True, timeout=BEGIN_TIMEOUT, check=False
                )
            except subprocess.TimeoutExpired:
                raise LaunchError(
                    f"the launcher has not begun within {BEGIN_TIMEOUT:g} s", place=self.host
                ) from None
        if done.returncode:
            raise LaunchError(
                f"the launcher cannot work there (exit code {done.returncode})",
                place=self.host,
                cause=done.stderr.decode(errors="replace").strip(),
                cure="Name another host in --detach=HOST, or write --detach alone",
            )

    @contextmanager
    def reads(self, verb: str) -> Iterator[BinaryIO]:
        """Yield what the other end sends for a word; raises LaunchError if it was cut off."""
        with (
            self._client("runtime.cli.moved", verb, self.folder) as argv,
            subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process,
        ):
            stdout = cast("BufferedReader", process.stdout)
            if stdout.peek(1) or not process.wait():
                try:
                    yield stdout
                except BaseException:
                    process.kill()  # it may wait for more of the run
                    raise
                stdout.read()
            if code := process.wait():
                raise LaunchError(
                    f"the connection ended with exit code {code}",
                    place=self.host,
                    cure=f"The run goes on there; try again: gcm-deploy attach {self.name}",
                )

    @contextmanager
    def _client(self, module: str, *words: str) -> Iterator[list[str]]:
        """Yield the words of an ssh client that runs a module there."""
        hops = ssh_hops(self.way)
        default = f"{own_socket(USER_FOLDER)}{_DEFAULT}"
        text = configuration(hops, user_files(USER_FOLDER), NEEDED, default)
        ssh = self.way[-1].command_path
        text = not_ours(hops, USER_FOLDER, ssh, text) + text
        path = f"PYTHONPATH={self.folder}/{package.FOLDER}"
        there = shlex.join(["env", path, self.python, "-m", module, *words])
        with readable(text) as config:
            options = ["-T", "-e", "none", "-F", config]
            yield [ssh, *options, aliases(hops)[-1], f"exec {there}"]

    def fetch_results(self) -> str:
        """Bring new files here, into a folder named after the run; "" if there are none.

        Raises:
            LaunchError: not all came.
        """
        folder = f"{self.name}-results"
        with self.reads("results") as stream:
            try:
                unpack(stream, folder)
            except (OSError, ValueError) as fault:
                raise LaunchError(
                    f"results cannot be written to {folder}: {fault}",
                    place=self.host,
                    cure=f"They wait there; try again: gcm-deploy attach {self.name}",
                ) from fault
        for path, _, files in os.walk(folder):
            for file in files:  # they are data
                os.chmod(os.path.join(path, file), 0o644 & ~_umask())
        return folder if os.path.isdir(folder) else ""

    def remove(self) -> None:
        """Forget it, its output and its results, there and here."""
        with suppress(LaunchError), self.reads("forget"):
            pass
        shutil.rmtree(self.note, ignore_errors=True)


def moved_runs() -> Iterator[MovedRun]:
    """Yield the runs whose launchers were moved from this machine, the oldest first."""
    found = []
    for note in runs_folder().glob(f"*/{_NOTE}"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            found.append(MovedRun.noted(note.parent))
    yield from sorted(found, key=lambda run: run.started)


def move(deployment: Deployment, options: Options, programs: Mapping[str, ProgramFiles]) -> int:
    """Begin a run on the host of `--detach=HOST`; return the exit code.

    Raises:
        UsageError: something of the run needs this machine.
    """
    way, python = way_to(deployment, options.detach)
    check_movable(deployment, way)
    name = f"{deployment.name}-{secrets.token_hex(2)}"
    try:
        with LocalLauncher() as local, _launcher(way, python, local) as there:
            python = there.ready().python
            folder = _printed_by(there, python, _MAKE_FOLDER, name)
            note, work = runs_folder() / name, os.getcwd()
            run = MovedRun(name, time.time(), work, way, python, folder, note)
            try:
                moved = _brought(deployment, programs, there, run)
                run.begin(pickle.dumps((moved, options, programs), protocol=5))
            except LaunchError:
                _printed_by(there, python, _REMOVE_FOLDER, folder)
                raise
    except LaunchError as fault:
        complain(str(fault))
        return NEVER_STARTED
    run.keep()
    for line in _notes(moved, run.host):
        print(f"gcm-deploy: {line}", file=sys.stderr)
    write(
        f"{name} goes on at {run.host}, without this machine\n"
        f"  gcm-deploy attach {name}    its output from the beginning, then its results: they wait "
        f"{KEPT_DAYS} days\n"
        f"  gcm-deploy stop {name}      end it\n"
    )
    return 0


def _launcher(way: Way, python: str, local: LocalLauncher) -> SshLauncher:
    host = way[-1].destination
    return SshLauncher(
        ssh_hops(way), local, place=host, python=python, ssh=way[-1].command_path,
        login=f"gcm-deploy login {host}",
    )  # fmt: skip


def _brought(
    deployment: Deployment, programs: Mapping[str, ProgramFiles], there: Launcher, run: MovedRun
) -> Deployment:
    """Bring the package and the files of a run; return the run as it is seen from there."""
    missing = package.python_at(there, run.python).missing()
    names = [*package.PACKAGES, "pathspec"]
    names += [package.MPI4PY] if package.MPI4PY in missing else []
    package.bring(there, run.python, run.folder, names)
    return seen_from(run.way, _staged(deployment, programs, there, run.folder), run.python)


def way_to(deployment: Deployment, host: str) -> tuple[Way, str]:
    """Return the way to a host, and the Python there if a cluster names one.

    `host` is a site, a cluster, a host on the way to one, or any other that ssh knows.
    """
    for cluster in deployment.clusters():
        for length in range(1, len(cluster.hops) + 1):
            way = cluster.hops[:length]
            names = {way[-1].host, way[-1].destination}
            if length == len(cluster.hops):
                names |= {cluster.path, cluster.path.partition("/")[0]}
            if host in names:
                python = cluster.front_end.python if length == len(cluster.hops) else ""
                return way, "" if python == "python3" else python
    try:
        (named,) = parse_hosts(host)
    except ValueError as fault:
        raise UsageError(
            f"--detach={host}: {fault}", cure="Name a site, a cluster or a host of the run"
        ) from fault
    if named.is_local:
        raise UsageError(f"--detach={host} is this machine", cure="Write --detach alone")
    if named.mpi:
        raise UsageError(f"--detach={host}: mpi= is for a host that has ranks")
    return (SshHop(named.name, user=named.user),), named.python


def check_movable(deployment: Deployment, way: Way) -> None:
    """Raise UsageError, with the names of all that cannot move."""
    here = [one.path for one in deployment.clusters() if not one.hops]
    if deployment.assembly is not None:
        here.append("the assembly")
    here += [f"the process {one.name}" for one in deployment.processes]
    if here:
        raise UsageError(
            f"this machine is needed for {', '.join(here)}, so the launcher cannot leave it",
            cure="Write --detach alone, or leave these out",
        )
    for one in deployment.clusters():
        if native_mpi(one.mpi.flavour).brings:
            raise UsageError(
                f"the MPI that is brought to {one.path} is this machine's",
                cure=f"Write --detach alone, or leave out flavour='{one.mpi.flavour}'",
            )
        front = one.front_end
        is_prepared = front.modules or front.before or front.container
        if one.hops == way and one.batch is None and is_prepared:
            raise UsageError(
                f"{one.path} has modules, before or container, which a cluster on the launcher's"
                " own host cannot have",
                cure="Name another host in --detach=HOST",
            )
    for code in deployment.applications:
        if code.is_file and not code.is_inside:
            raise UsageError(
                f"{code.path} is outside of its program folder, which alone is copied",
                cure="Name another folder of the application",
            )


def _staged(
    deployment: Deployment, programs: Mapping[str, ProgramFiles], there: Launcher, folder: str
) -> Deployment:
    """Bring the files of a run to its folder; return the run with their paths there."""
    codes = []
    for number, code in enumerate(deployment.applications):
        home = f"{folder}/program{number or ''}"
        sources = sources_of(programs.get(code.name, ProgramFiles()), code.folder)
        if code.staged:
            there.stage(sources, home)
        codes.append(_below(code, home) if code.staged else code)
    transfers = []
    for number, one in enumerate(deployment.transfers):
        if one.direction is Direction.IN and not is_web_address(one.source):
            source = Path(one.source).expanduser()
            there.stage({source.name: source}, f"{folder}/input{number}")
            transfers.append(replace(one, source=f"{folder}/input{number}/{source.name}"))
        else:
            transfers.append(one)
    home = codes[0].folder if codes else folder
    return replace(deployment, folder=home, applications=tuple(codes), transfers=tuple(transfers))


def _below(code: Application, home: str) -> Application:
    path = code.path
    if code.is_inside:
        path = posixpath.join(home, posixpath.relpath(path, code.folder))
    return replace(code, folder=home, path=path)


def seen_from(way: Way, deployment: Deployment, python: str) -> Deployment:
    """Return a run with the ways to its clusters from the host to which `way` leads."""

    def seen(cluster: DeployedCluster) -> DeployedCluster:
        if cluster.hops[: len(way)] != way:
            return cluster
        hops, front = cluster.hops[len(way) :], cluster.front_end
        if hops:
            return replace(cluster, hops=hops)
        if cluster.batch is None:
            front = replace(front, python=python)
        nodes = (
            replace(node, host="localhost") if node.host == cluster.host else node
            for node in cluster.nodes
        )
        return replace(cluster, hops=(), front_end=front, nodes=tuple(nodes))

    sites = (replace(site, clusters=tuple(map(seen, site.clusters))) for site in deployment.sites)
    return replace(deployment, sites=tuple(sites))


def _printed_by(there: Launcher, python: str, program: str, *words: str) -> str:
    """Return what a small program prints there; raises LaunchError."""
    printed = Collected()
    process = there.start(Command((python, "-I", "-S", "-c", program, *words)), printed)
    process.close_input()
    if not process.wait(BEGIN_TIMEOUT).ok:
        raise LaunchError(
            "the folder of the run cannot be made", place=there.place, cause=printed.error.strip()
        )
    return printed.output


def _notes(moved: Deployment, host: str) -> Iterator[str]:
    """Yield what is another thing now than from here."""
    away = [cluster.path for cluster in moved.clusters() if cluster.hops]
    if away:
        yield (
            f"{', '.join(away)} are reached from {host} now, with the ssh configuration and keys "
            "there: nothing goes through this machine, its agent or its shared connections"
        )


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
