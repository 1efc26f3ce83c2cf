"""One cluster as the launcher sees it: reached, supplied, its front-end started and listened to."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from gcm.invocation import Invocation
from runtime.deployment.commands import RANK_MODULE, front_end_command
from runtime.deployment.model import DeployedCluster, SshHop
from runtime.deployment.opening import levels_at
from runtime.deployment.plan import DeploymentPlan
from runtime.deployment.steps import FileMove, Step
from runtime.engine import package
from runtime.engine.configuration import Configuration, Job, as_first_input
from runtime.engine.folders import make_path
from runtime.errors import GridError
from runtime.launchers.base import Command, Launcher, Process, Stream
from runtime.launchers.errors import LauncherClosed, LaunchError
from runtime.launchers.hops import Hop
from runtime.launchers.local import LocalLauncher
from runtime.launchers.ssh import SshLauncher
from runtime.transport.channel import Channel, Handler
from runtime.transport.errors import ChannelClosed
from runtime.transport.queued import ProcessStream
from runtime.transport.reactor import Reactor

FRONT_END = "/front-end"
CONTROL = "control"
PYTHON = "python3"


class Place:
    """A cluster that can be opened, spoken to and closed. `open` and `close` wait."""

    def __init__(
        self, plan: DeploymentPlan, cluster: DeployedCluster, local: LocalLauncher, reactor: Reactor
    ) -> None:
        self.cluster = cluster
        self._plan = plan
        self._local = local
        self._reactor = reactor
        self._launcher: Launcher = local
        self.given_up = threading.Event()
        self._process: Process | None = None
        self._folder = ""
        self.channel: Channel | None = None
        self.is_up = False

    @property
    def launcher(self) -> Launcher:
        """Return where processes of this cluster are started."""
        return self._launcher

    @property
    def identifier(self) -> str:
        """Return `site:cluster`."""
        return self.cluster.identifier

    # --- opening, in a thread of its own ----------------------------------------------------------

    def open(self, secret: bytes, hear: Handler, gone: Callable[[str], None]) -> None:
        """Reach the cluster, bring files, start its front-end; raises GridError.

        `hear` serves what the front-end says, `gone` is called with its last words once it ended.
        """
        try:
            self._open(secret, hear, gone)
        except GridError as fault:
            fault.place = f"{self.cluster.path} ({fault.place})" if fault.place else ""
            raise

    def _open(self, secret: bytes, hear: Handler, gone: Callable[[str], None]) -> None:
        cluster = self.cluster
        if cluster.hops:
            self._launcher = self._reach(cluster)
        facts = self._launcher.ready()
        asked = cluster.front_end.folder
        folder = make_path(self._launcher, facts.python, asked) if asked else ""
        room = self._launcher.make_folder(folder)
        python = cluster.front_end.python
        if cluster.hops and python == PYTHON:
            python = facts.python
        step = self._plan.step(f"front-end:{cluster.identifier}")
        self._folder = folder or (room if cluster.hops or step.files else str(Path.cwd()))
        self._stage(step.files)
        library = self._library(python, room)
        environment = {"PYTHONPATH": self._python_path(library)} if library else {}
        told = self._configuration(secret, room, python, library)
        levels = levels_at(self._plan.deployment, cluster.position)
        plain = replace(cluster, hops=(), front_end=replace(cluster.front_end, python=python))
        command = Command(
            front_end_command(plain, levels),
            environment,
            self._folder,
            as_first_input(told),
        )
        self._start(command, hear, gone)

    def _reach(self, cluster: DeployedCluster) -> SshLauncher:
        python = cluster.front_end.python
        return SshLauncher(
            [_hop(hop) for hop in cluster.hops],
            self._local,
            place=cluster.path,
            python="" if python == PYTHON else python,
            ssh=cluster.hops[-1].command_path,
        )

    def _stage(self, moves: Iterable[FileMove]) -> None:
        files = {move.destination: Path(move.source).expanduser() for move in moves}
        if files:
            self._launcher.stage(files, self._folder)

    def _library(self, python: str, room: str) -> str:
        """Return the folder or archive that has to be on the Python path, or nothing."""
        on_this_machine = not self.cluster.hops
        if on_this_machine and package.is_checkout():
            return str(package.HOME)
        if on_this_machine and python == sys.executable:
            return ""
        if package.has_package(self._launcher, python):
            return ""
        return package.bring(self._launcher, room)

    def _python_path(self, library: str) -> str:
        found = "" if self.cluster.hops else os.environ.get("PYTHONPATH", "")
        return f"{library}:{found}" if found else library

    def _configuration(self, secret: bytes, room: str, python: str, library: str) -> Configuration:
        cluster, job, at_once = self.cluster, None, False
        if cluster.ranks:
            step = self._plan.step(f"ranks:{cluster.identifier}")
            at_once = step.depends_on == (f"front-end:{cluster.identifier}",)
            job = _job(cluster, step, room, python, library)
        remote_ranks = job is not None and bool(job.hosts)
        return Configuration(
            cluster=cluster.identifier,
            path=cluster.path,
            levels=levels_at(self._plan.deployment, cluster.position),
            room=room,
            folder=self._folder,
            port=cluster.front_end.port if remote_ranks or cluster.front_end.port else None,
            job=job,
            at_once=at_once,
            secret=secret,
        )

    def _start(self, command: Command, hear: Handler, gone: Callable[[str], None]) -> None:
        stream = ProcessStream()
        if self.given_up.is_set():
            raise LauncherClosed("the run ended before the front-end was started")
        process = self._process = self._launcher.start(command, _Sink(stream))
        stream.connect(process, self.cluster.path)
        name = f"the front-end of {self.cluster.path}"
        self.channel = Channel(self._reactor, stream, name, hear).open()
        process.when_done(lambda: gone(_last_words(process)))
        if self.given_up.is_set():
            self.kill()

    # --- afterwards -------------------------------------------------------------------------------

    def tell(self, operation: str, *args: Any) -> None:
        """Tell the front-end something; nothing happens once it has gone."""
        if self.channel is not None:
            with suppress(ChannelClosed):
                self.channel.note(Invocation(FRONT_END, CONTROL, operation, args))

    def fetch(self, moves: Iterable[FileMove]) -> None:
        """Bring files home; raises FetchFailed."""
        for move in moves:
            target = Path(move.destination).expanduser()
            target.parent.mkdir(parents=True, exist_ok=True)
            self._launcher.fetch([move.source], self._folder, target)

    def abort(self) -> None:
        """Give up a place that is being opened; `open` then raises, or `gone` is called."""
        self.given_up.set()
        self.kill()
        if self._launcher is not self._local:
            self._launcher.close()

    def kill(self) -> None:
        """End the front-end and everything below it, at once."""
        if self._process is not None:
            with suppress(LaunchError):
                self._process.kill()

    def close(self) -> None:
        """Let go of the cluster; whatever still runs there is ended."""
        if self.channel is not None:
            self.channel.close()
        if self._launcher is not self._local:
            self._launcher.close()


class _Sink:
    """Takes what a front-end writes to its stdout as bytes of the channel."""

    def __init__(self, stream: ProcessStream) -> None:
        self._stream = stream

    def received(self, stream: Stream, data: bytes) -> None:
        """Pass messages on; the process keeps the end of stderr."""
        if stream is Stream.OUTPUT:
            self._stream.received(data)

    def finished(self) -> None:
        """Know that no more will come."""
        self._stream.finished()


def _job(cluster: DeployedCluster, step: Step, room: str, python: str, library: str) -> Job:
    """Return the MPI job of a ranks step, whose command line says all but where the room is."""
    at = step.argv.index(RANK_MODULE)
    argv = (python, *step.argv[at - 1 : at + 1], "--room", room, *step.argv[at + 1 :])
    hosts: tuple[tuple[str, int], ...] = ()
    if "--host" in step.argv[:at]:
        written = step.argv[step.argv.index("--host") + 1]
        pairs = (one.rpartition(":") for one in written.split(","))
        hosts = tuple((host, int(count)) for host, _, count in pairs)
    environment = dict(step.environment)
    if library:
        found = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = f"{library}:{found}" if found else library
    return Job(
        argv=argv,
        ranks=cluster.ranks,
        mpiexec=cluster.mpi.command_path,
        flavour=str(cluster.mpi.flavour),
        hosts=hosts,
        options=cluster.mpi.options,
        environment=environment,
    )


def _hop(hop: SshHop) -> Hop:
    if hop.options:
        raise LaunchError(
            f"the ssh options {' '.join(hop.options)} cannot be used",
            place=hop.host,
            cure="Write them into your ssh configuration, under the name of the host",
        )
    return Hop(
        hop.host,
        user=hop.user,
        port=hop.port,
        key=Path(hop.key).expanduser() if hop.key else None,
        known_hosts=Path(hop.known_hosts).expanduser() if hop.known_hosts else None,
    )


def _last_words(process: Process) -> str:
    try:
        said = str(process.wait(0))
    except LaunchError as fault:
        return str(fault)
    return "\n".join([said, *process.tail])
