"""A cluster as the launcher sees it: reached, supplied, its front-end started and listened to."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from gcm.records import dataclass
from runtime.deployment.model import DeployedCluster
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.launchers.base import Command, Launcher, Process, last_words
from runtime.launchers.base import OutputStream as Output
from runtime.launchers.command import CommandLauncher
from runtime.launchers.errors import FetchFailed, LauncherClosed, LaunchError, WayFailed
from runtime.launchers.family import is_alive
from runtime.launchers.local import LocalLauncher
from runtime.lifecycle.events import PlaceGranted, PlaceLate, PlaceQueued
from runtime.lifecycle.outcome import HeldNodes
from runtime.machine.calls import stub
from runtime.machine.contracts import Orders
from runtime.processes.configuration import Keys, as_first_input
from runtime.processes.launcher.reaching import SSH_TIMEOUT, Reach
from runtime.processes.launcher.supply import Supplied, supply
from runtime.processes.member_host import FRONT_END
from runtime.transport.channel import Channel, Handler, IncomingCall, Relay
from runtime.transport.errors import ChannelClosed
from runtime.transport.messages import PLAIN_DATA
from runtime.transport.queued import ProcessStream
from runtime.transport.reactor import Reactor
from runtime.transport.streams import ByteStream

SILENT_HOST_TIMEOUT = 8.0
"""Seconds in which a host has to be reached again that was silent for long."""


@dataclass(frozen=True, slots=True)
class RequestHandler:
    """Handles the calls of front-ends on the reactor's thread, and the ends of their processes."""

    reactor: Reactor
    handle_call: Callable[[ClusterPlace, IncomingCall], Future[Any] | IncomingCall | None]
    ended: Callable[[ClusterPlace, str], None]
    notify: Callable[[PlaceQueued | PlaceLate | PlaceGranted], None]


class ClusterPlace:
    """A cluster on this machine; its front-end is started together with others, in one process."""

    def __init__(
        self,
        cluster: DeployedCluster,
        launcher: Launcher,
        relay: Relay | None = None,
        *,
        idle: bool = False,
    ) -> None:
        self.cluster = cluster
        self.launcher = launcher
        self.relay = relay
        self.idle = idle
        self.work = ""  # the copy of the program folder; empty where the cluster works in place
        self.folder = ""  # where the ranks start, and what paths of results begin at
        self.supplied: Supplied | None = None  # once the front-end is started
        self.is_up = False
        self.is_late = False  # the run had begun without it
        self.was_lost = False  # its front-end could not clean up
        self.has_lost_ranks = False  # from outside, as where its job is ended
        self.was_killed = False  # from here, or given up before it was started
        self.hosts: tuple[str, ...] = ()  # those that a batch system has granted
        self.is_silent = False  # it was lost because nothing is heard of its host any more
        self.carried: tuple[int, ...] = ()  # messages, bytes to its ranks, bytes from them
        self.relay_figures: tuple[int, int, int, int] = (0, 0, 0, 0)  # as the front-end tells them
        self.process: Process | None = None
        self.pid = 0  # of its front-end, where `process` is that of others, too
        self.channel: Channel | None = None
        self.orders = stub(Orders, self._send)

    @property
    def identifier(self) -> str:
        """Return `site:cluster`."""
        return self.cluster.identifier

    @property
    def run_directory(self) -> str:
        """The private folder of its front-end; empty before that is started."""
        return "" if self.supplied is None else self.supplied.configuration.run_directory

    def connect(
        self, reactor: Reactor, stream: ByteStream, hear: Handler, received: bytes = b""
    ) -> Channel:
        """Speak over a stream from now on; `hear` serves what the front-end says.

        Plain data is all that is opened of it, but for what components on its nodes say.
        """
        name = f"the front-end of {self.cluster.path}"
        self.channel = Channel(reactor, stream, name, hear, relay=self.relay, codec=PLAIN_DATA)
        self.channel.open(received)
        return self.channel

    def _send(self, interface: str, operation: str, args: tuple[Any, ...]) -> None:
        """Call the front-end, without waiting; nothing happens once it has gone."""
        self.note(Invocation(FRONT_END, interface, operation, args), now=True)

    def note(self, call: Invocation, *, now: bool) -> None:
        """Call a rank behind the front-end; nothing happens once that has gone.

        It may wait for room, but with `now` it does not.
        """
        if self.channel is not None:
            with suppress(ChannelClosed):
                self.channel.note(call, now=now)

    def leading(self, words: Sequence[str]) -> Command:
        """Return the command of this machine that runs a program where the front-end is."""
        return Command(tuple(words))

    def state_of_job(self) -> str:
        """Return what a batch system says of the job, "" where there is none; this may wait."""
        return ""

    def end_of_job(self) -> str:
        """Return the same of a job that seems to end, "" if it still runs; this may wait."""
        return ""

    def held_nodes(self) -> list[HeldNodes]:
        """Return what each job of a batch system has held for it until now."""
        return []

    def reach_again(self) -> None:
        """Connect again once the connection broke; raises LaunchError."""
        raise FetchFailed("the process that started everything on this machine has ended")

    def let_go(self) -> None:
        """Give up the connection, over which nothing comes any more; raises LaunchError."""
        raise FetchFailed("nothing comes any more from the file system of this machine")

    def is_shared(self, folder: str) -> bool:  # noqa: ARG002 - known of login nodes only
        """Tell whether another host that answers now has a folder, too; raises LaunchError."""
        return False

    def abort(self) -> None:
        """Give up a place that is still being opened: `open` raises, or the front-end is ended."""
        self.was_lost = True
        self.kill()

    def check_wanted(self) -> None:
        """Raise LauncherClosed once the place was given up."""
        if self.was_killed:
            raise LauncherClosed("the run ended before the front-end was started")

    def kill(self) -> None:
        """End the front-end and everything below it, at once."""
        self.was_killed = True
        process = self.process
        if process is None or process.exit is not None:
            return
        with suppress(LaunchError):
            process.kill()

    def expel(self) -> None:
        """End the front-end of this cluster alone, and its ranks: the others hold them for lost."""
        if self.pid and self.channel is not None and not self.channel.is_closed:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    @property
    def has_lost_parent(self) -> bool:
        """Whether the process that has forked its front-end was ended by somebody else."""
        process = self.process
        if process is None or self.was_killed or not process.pid or process.pid == self.pid:
            return False
        return process.exit is not None or not is_alive(process.pid)

    def close(self) -> None:
        """Let go of the cluster."""
        if self.channel is not None:
            self.channel.close()


class RemotePlace(ClusterPlace):
    """A cluster on another host, to which `reach` leads. `open`, `abort` and `close` wait."""

    has_lost_parent = False

    def __init__(
        self,
        cluster: DeployedCluster,
        local: LocalLauncher,
        relay: Relay | None = None,
        *,
        reach: Reach,
        idle: bool = False,
    ) -> None:
        super().__init__(cluster, local, relay, idle=idle)
        self._local = local
        self._reach = reach

    @property
    def _has_own_launcher(self) -> bool:
        """Whether the launcher ends with the place."""
        return self.launcher is not self._local

    def open(self, plan: DeploymentPlan, keys: Keys, handler: RequestHandler) -> None:
        """Reach the cluster, bring files, start its front-end; raises LaunchError."""
        self.launcher = self._reach(self.cluster, self._local, SSH_TIMEOUT)
        self.check_wanted()
        given = supply(
            plan, self.cluster, self.launcher, keys,
            idle=self.idle, granted=self.hosts, is_late=self.is_late,
        )  # fmt: skip
        self.work, self.folder, self.supplied = given.work, given.folder, given
        first = as_first_input([given.configuration])
        self.check_wanted()
        stream = ProcessStream()
        command = Command(given.argv, given.environment, given.configuration.run_directory, first)
        process = self.process = self.launcher.start(command, _Sink(stream))
        stream.connect(process, self.cluster.path)
        self.connect(handler.reactor, stream, partial(handler.handle_call, self))
        process.when_done(lambda: handler.ended(self, last_words(process)))

    def leading(self, words: Sequence[str]) -> Command:
        """Return the command of this machine that runs a program where the front-end is.

        Raises:
            WayFailed: no command leads there.
        """
        if not isinstance(self.launcher, CommandLauncher):
            raise WayFailed("no command leads there", place=self.cluster.path)
        return self.launcher.leading(words)

    def reach_again(self) -> None:
        """Connect again once the connection broke; raises LaunchError."""
        if self.cluster.peer:  # its places were reserved for one launch
            raise FetchFailed("the peer has ended, and takes nobody in again for this run")
        timeout = SILENT_HOST_TIMEOUT if self.is_silent else SSH_TIMEOUT
        self.let_go()
        self.launcher = self._reach(self.cluster, self._local, timeout)
        self.launcher.ready()

    def let_go(self) -> None:
        """Give up the connection, so that there will be another one."""
        if self._has_own_launcher:
            self.launcher.abandon()

    def abort(self) -> None:
        """Give up a place that is still being opened: `open` raises, or the front-end is ended."""
        self.close()

    def expel(self) -> None:
        """End the front-end and its ranks, if they can be reached."""
        self.kill()

    def close(self) -> None:
        """Let go of the cluster; whatever still runs there is ended."""
        self.was_killed = True
        super().close()
        if self._has_own_launcher:
            self.launcher.close()

    def check_wanted(self) -> None:
        """Raise LauncherClosed once the place was given up, and let go of its host."""
        if self.was_killed and self._has_own_launcher:
            self.launcher.close()
        super().check_wanted()


class _Sink:
    """Takes what a front-end writes to its stdout as bytes of the channel."""

    def __init__(self, stream: ProcessStream) -> None:
        self._stream = stream

    def received(self, stream: Output, data: bytes) -> None:
        """Pass messages on; the process keeps the end of stderr."""
        if stream is Output.OUTPUT:
            self._stream.received(data)

    def finished(self) -> None:
        """Record that no more will come."""
        self._stream.finished()
