"""A launcher in this process and node processes around it, for the tests of hosting."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from gcm import Component, active, provides
from gcm.adl.plan import ComponentPlan, MembraneKind, MembranePlan
from gcm.components import NO_NOTES
from gcm.components.declarations import declared_type
from gcm.documents import Location
from gcm.invocation import Invocation
from runtime.hosting.host import Host
from runtime.hosting.other_node import NODE, NodeProcess
from runtime.transport.channel import Channel
from runtime.transport.credentials import Credentials
from runtime.transport.reactor import Reactor
from tests.integration.hosting import hosted_parts
from tools.on_grids import ROOT

NODE_PROCESS = "tests.integration.hosting.node_process"
LONG = 20.0


class Roll(Protocol):
    def up(self, home: str, address: str) -> None: ...


@provides("roll", Roll)
class RollCall:
    def __init__(self) -> None:
        self.came: queue.Queue[tuple[str, str]] = queue.Queue()

    def up(self, home: str, address: str) -> None:
        self.came.put((home, address))


@dataclass
class Launcher:
    """This process, and the node processes it has started."""

    host: Host
    roll: RollCall
    address: str
    secret: bytes
    folder: Path
    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    nodes: dict[str, NodeProcess] = field(default_factory=dict)

    def start(self, *homes: str, listening: bool = True) -> list[NodeProcess]:
        for home in homes:
            own = f"unix:{self.folder}/{home.strip('/')}" if listening else "-"
            self.processes[home] = subprocess.Popen(
                [sys.executable, "-m", NODE_PROCESS, home, self.address, own],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.PIPE,
                text=True,
            )
            stdin = self.processes[home].stdin
            assert stdin is not None
            stdin.write(self.secret.hex() + "\n")
            stdin.flush()
        for _ in homes:
            home, address = self.roll.came.get(timeout=LONG)
            way = self.host.routes.find(home)
            assert isinstance(way, Channel)
            self.nodes[home] = NodeProcess(home, way, address)
        return [self.nodes[home] for home in homes]

    def make(
        self,
        node: NodeProcess,
        path: str,
        content: str,
        *,
        kind: str = "primitive",
        **attributes: object,
    ) -> str:
        """Make a primitive in a node process, and let it be found from here."""
        made: Any = getattr(hosted_parts, content)
        plan = ComponentPlan(
            name=path.rpartition("/")[2],
            path=path,
            component_type=declared_type(made),
            membrane=MembranePlan(MembraneKind(kind)),
            content=made,
            attributes=tuple(attributes.items()),
            interceptors=(),
            rounds=(),
            components=(),
            shared=(),
            bindings=(),
            notes=NO_NOTES,
            location=Location(__file__, 0),
        )
        self.ask(node.home, NODE, "make", plan)
        self.host.routes.add(path, node.channel)
        return path

    def ask(self, path: str, interface: str, operation: str, *args: Any) -> Any:
        return self.host.call(Invocation(path, interface, operation, args)).result(LONG)

    def worker(self, node: NodeProcess, path: str) -> Any:
        """Make and start a worker in a node process; return its stub."""
        self.make(node, path, "Worker")
        self.ask(path, "lifecycle-controller", "start")
        return self.stub(path, "work")

    def stub(self, path: str, interface: str) -> Any:
        end: Any = self.host.find(path, interface)
        return end.stub

    def publish(self, path: str, component: Component) -> Component:
        self.host.publish(path, component)
        return component


@contextmanager
def launched(folder: Path) -> Iterator[Launcher]:
    """Let this process be a launcher, for as many node processes as are started."""
    secret = os.urandom(32)
    with ExitStack() as stack:
        reactor = stack.enter_context(Reactor())
        host = Host("/launcher", reactor)
        stack.callback(host.close)
        roll = active(RollCall)
        host.publish("/launcher", roll)
        roll.start()
        stack.callback(roll.terminate)
        stack.callback(roll.stop)
        listener = host.listen("127.0.0.1:0", Credentials(secret, "/launcher"))
        stack.callback(listener.close)
        made = Launcher(host, roll.content, listener.address, secret, folder)
        stack.callback(_reap, made)
        yield made


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[Launcher]:
    with launched(tmp_path) as made:
        yield made


def _reap(launcher: Launcher) -> None:
    launcher.host.close()
    for process in launcher.processes.values():
        assert process.stdin is not None
        process.stdin.close()
        process.wait(LONG)


@pytest.fixture
def nodes(launcher: Launcher) -> Callable[..., list[NodeProcess]]:
    return launcher.start
