"""The node processes of a cluster as its front-end sees them: started, listened to, ended."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Any

from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from runtime.errors import GridError
from runtime.hosting.host import Host
from runtime.hosting.other_node import NODE
from runtime.launchers.base import Command, OutputStream, Process, last_words
from runtime.launchers.lines import BlockCutter
from runtime.launchers.local import LocalLauncher
from runtime.machine.contracts import Reports
from runtime.membership.run_directory import address_in, as_others_see
from runtime.processes.configuration import FrontEndSettings, NodeJob, NodeStart, as_first_input
from runtime.processes.front_end.output_credit import OutputCredit
from runtime.step_name import StepKind, StepName
from runtime.transitions import change
from runtime.transport.channel import Channel
from runtime.transport.keys import audience_of
from runtime.transport.listening import Listener
from runtime.transport.streams import SocketStream

LAST_WORDS = 1.0
"""How many seconds to wait for the exit of a process whose channel has ended already."""


class NodeStage(StrEnum):
    """Where the process of a node is; the last two are ends."""

    IDLE = "idle"
    """Nobody has asked for it yet."""
    STARTED = "started"
    CONNECTED = "connected"
    """It serves, as its front-end knows by its connection."""
    FAILED = "failed"
    """It has ended before it had connected."""
    LOST = "lost"
    """It has ended after that; the launcher decides whether it should have."""


class NodeEvent(StrEnum):
    """What happens to the process of a node."""

    STARTED = "it is started"
    CONNECTED = "it has connected"
    ENDED = "it has ended"


_S, _E = NodeStage, NodeEvent
TRANSITIONS: dict[tuple[NodeStage, NodeEvent], NodeStage] = {
    (_S.IDLE, _E.STARTED): _S.STARTED,
    (_S.STARTED, _E.CONNECTED): _S.CONNECTED,
    (_S.STARTED, _E.ENDED): _S.FAILED,
    (_S.CONNECTED, _E.ENDED): _S.LOST,
}
"""What each event leads to in each stage; a pair that has no row changes nothing."""


class NodeKeeper:
    """Starts node processes when it is told to. `over` is called once all of them have ended."""

    def __init__(
        self,
        configuration: FrontEndSettings,
        host: Host,
        launcher: Reports,
        over: Callable[[], None],
        credit: OutputCredit,
    ) -> None:
        self._configuration = configuration
        self._host = host
        self._above = launcher
        self._over = over
        self._credit = credit
        self._nodes = {job.home: _Node(job, self) for job in configuration.nodes}
        self._making = threading.Lock()
        self._launcher: LocalLauncher | None = None
        self._listener: Listener | None = None
        self.is_stopping = False

    def start_node(self, name: str) -> None:
        """Start the process of a node, in a thread of its own; the launcher hears when it is up."""
        node = next(one for one in self._nodes.values() if one.job.name == name)
        threading.Thread(target=self._start, args=(node,), name=name, daemon=True).start()

    def lead(self, path: str, home: str) -> None:
        """Let everything under `path` be found in the node process at `home`."""
        channel = self._nodes[home].channel
        if channel is not None:
            self._host.routes.add(path, channel)

    @property
    def are_over(self) -> bool:
        """Whether no node process runs."""
        return not any(node.runs for node in self._nodes.values())

    def ask_to_end(self) -> None:
        """Let every node process end in order."""
        self.is_stopping = True
        self._credit.wake()
        for node in self._nodes.values():
            if node.channel is not None:
                node.channel.close()
            else:
                node.kill()

    def close(self) -> None:
        """End what is left and let go; waits until that is so."""
        self.is_stopping = True
        self._credit.wake()
        if self._listener is not None:
            self._listener.close()
        with self._making:
            if self._launcher is not None:
                self._launcher.close()

    def _start(self, node: _Node) -> None:
        try:
            with self._making:
                if self.is_stopping:
                    return
                launcher = self._launcher = self._launcher or LocalLauncher(timeout=60.0)
                listener = self._listener = self._listener or self._listen()
            node.start(launcher, as_others_see(listener.address), self._configuration)
        except GridError as fault:
            self.failed(node.job, fault)

    def _listen(self) -> Listener:
        # A node on another host dials a port, all others a socket in the private folder.
        port = 0 if any(node.job.is_elsewhere for node in self._nodes.values()) else None
        address = address_in(self._configuration.run_directory, "nodes", port)
        return Listener(self._host.reactor, address, self._configuration.credentials, self._admit)

    def _admit(self, connected: socket.socket, home: str, received: bytes) -> None:
        node = self._nodes.get(home)
        if node is None or node.channel is not None:
            connected.close()
            return
        channel = self._host.channel(
            SocketStream(connected), f"node {node.job.name}", [home], received
        )
        node.connected(channel)
        facts = self._host.call(Invocation(home, NODE, "facts"))
        facts.add_done_callback(partial(self._is_up, node))

    def _is_up(self, node: _Node, facts: Future[Any]) -> None:
        if facts.exception() is None:  # else it has gone already, which is told by its end
            self._above.node_up(node.job.name, facts.result())

    def soon(self, call: Callable[[], None]) -> None:
        """Call on the reactor's thread."""
        self._host.reactor.soon(call)

    # --- what nodes tell ------------------------------------------------------------------------

    def node_wrote(self, job: NodeJob, stream: OutputStream, block: bytes) -> None:
        """Pass on lines of output, and wait for credit as long as the nodes are wanted."""
        self._credit.put(len(block), lambda: self._above.node_lines(job.name, str(stream), block))
        self._credit.wait(lambda: self.is_stopping)

    def failed(self, job: NodeJob, fault: GridError) -> None:
        """Tell that a process could not be started."""
        if not self.is_stopping:
            fault.place = fault.place if fault.place not in ("", "local") else job.name
            self._above.failed(str(StepName(StepKind.NODE, job.name)), str(fault))

    def ended(self, node: _Node, words: str) -> None:
        """Tell that a process has gone, unless it was asked to."""
        if self.is_stopping:
            if self.are_over:
                self._over()
        elif node.stage is NodeStage.FAILED:
            what = "the process for the components of this node ended before it was ready"
            self.failed(
                node.job,
                GridError(what, cause=words, cure="The last lines of its output are below"),
            )
        else:
            self._above.node_lost(node.job.name, words)

    def hung_up(self, node: _Node) -> None:
        """Give a process whose channel has ended a while to say why."""
        if not self.is_stopping:
            self._host.reactor.later(LAST_WORDS, node.give_up)


class _Node:
    """One node process."""

    def __init__(self, job: NodeJob, keeper: NodeKeeper) -> None:
        self.job = job
        self.channel: Channel | None = None
        self.stage = NodeStage.IDLE
        self._keeper = keeper
        self._process: Process | None = None
        self._cutters = {stream: BlockCutter() for stream in OutputStream}

    def start(
        self, launcher: LocalLauncher, front_end: str, configuration: FrontEndSettings
    ) -> None:
        """Start it; raises LaunchError."""
        home = self.job.home
        keys = configuration.keys.of(
            home, (audience_of(home),), (audience_of(configuration.cluster), "nodes ")
        )
        start = NodeStart(
            self.job, configuration.cluster, front_end, keys, configuration.certificate(home)
        )
        first = as_first_input([start])
        command = Command(self.job.argv, self.job.environment, configuration.folder, first)
        self._advance(NodeEvent.STARTED)
        process = self._process = launcher.start(command, self)
        process.close_input()
        process.when_done(lambda: self._keeper.soon(self._process_ended))

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()

    def connected(self, channel: Channel) -> None:
        """Record that it has come."""
        self.channel = channel
        self._advance(NodeEvent.CONNECTED)
        channel.when_closed(lambda _: self._keeper.hung_up(self))

    def give_up(self) -> None:
        """Take it for gone, although nobody saw its end."""
        self._end("its connection ended, but not the process")

    def _process_ended(self) -> None:
        assert self._process is not None
        self._end(last_words(self._process))

    def _end(self, words: str) -> None:
        if self.runs:
            self._advance(NodeEvent.ENDED, words)
            self._keeper.ended(self, words)

    @property
    def runs(self) -> bool:
        """Whether it was started, and has not ended."""
        return self.stage in (NodeStage.STARTED, NodeStage.CONNECTED)

    def _advance(self, event: NodeEvent, why: str = "") -> None:
        self.stage = change(TRANSITIONS, self.stage, event, f"node {self.job.name}", why)

    # --- what it prints, from the launcher's thread ---------------------------------------------

    def received(self, stream: OutputStream, data: bytes) -> None:
        """Pass on the lines that are complete."""
        self._pass_on(stream, self._cutters[stream].feed(data))

    def finished(self) -> None:
        """Pass on what never got its newline."""
        for stream, cutter in self._cutters.items():
            self._pass_on(stream, cutter.finish())

    def _pass_on(self, stream: OutputStream, block: bytes) -> None:
        if block:
            self._keeper.node_wrote(self.job, stream, block)
