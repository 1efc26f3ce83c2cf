"""An emulated grid for Python programs: `with EmulatedGrid(Layout((2, 2))) as grid: ...`."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import IO, Any, Self

from benchmarks.grid.errors import EmulationError
from benchmarks.grid.layout import Cluster, Layout
from benchmarks.grid.lines import Line
from benchmarks.grid.networks import PATIENCE, ROOT, missing, patience
from benchmarks.grid.orders import ask, public_address
from benchmarks.grid.standin import IF_OPEN, entering
from benchmarks.grid.sweeping import sweep
from benchmarks.grid.switch import Counted

_IN_FOLDER = f'{IF_OPEN}; cd "$0" && exec "$@"'

File = IO[Any] | int | None


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a grid has carried: by line, refused by firewalls, lost at full receivers.

    `late` is by how many seconds packets were late on average: what the emulation adds.
    """

    lines: tuple[Counted, ...]
    refused: int
    lost: int
    late: float


class Control:
    """Speaks with the forwarder of a grid, and starts programs in its clusters."""

    def __init__(self, forwarder: socket.socket) -> None:
        self._forwarder = forwarder
        self._started: list[subprocess.Popen[str]] = []
        forwarder.settimeout(2 * PATIENCE)
        told = self._ask("tell")
        self.layout = Layout.from_dict(told["layout"])
        self._holders: dict[str, int] = told["holders"]
        self.forwarder: int = told["forwarder"]
        self.clusters: Mapping[str, Cluster] = {one.name: one for one in self.layout.clusters}

    def __enter__(self) -> Self:
        """Return it, to be closed at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Speak no more; a grid without a name ends with this."""
        self._forwarder.close()

    def end(self) -> None:
        """End the grid and every process in it, whoever made it; returns when all are gone."""
        self._ask("end")
        # the forwarder closes its end when nothing is left
        with contextlib.suppress(OSError):
            self._forwarder.recv(1)

    def inside(self, cluster: str, argv: Sequence[str], folder: str | None = None) -> list[str]:
        """Return the command that runs `argv` in a cluster: its network, host name and /dev/shm."""
        if cluster not in self._holders:
            names = ", ".join(self._holders)
            raise ValueError(f"there is no cluster '{cluster}'; there are {names}")
        start = ["/bin/sh", "-c", _IN_FOLDER, folder or os.getcwd()]
        return [*entering(self._holders[cluster]), *start, *argv]

    def holder(self, cluster: str) -> int:
        """Return the process that holds the network of a cluster, in which all others are, too."""
        return self._holders[cluster]

    def popen(
        self,
        cluster: str,
        argv: Sequence[str],
        *,
        stdin: File = None,
        stdout: File = None,
        stderr: File = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> subprocess.Popen[str]:
        """Start a program in a cluster; it is ended with the grid if it has not ended before."""
        command = self.inside(cluster, argv, cwd)
        process = subprocess.Popen(
            command, stdin=stdin, stdout=stdout, stderr=stderr, env=env, text=True
        )
        self._started.append(process)
        return process

    def run(
        self,
        cluster: str,
        argv: Sequence[str],
        *,
        timeout: float,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in a cluster to its end and return what it printed."""
        command = self.inside(cluster, argv, cwd)
        return subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env=env, check=False
        )

    def clear(self) -> None:
        """End all programs that run in the clusters, wherever they were started."""
        sweep(self._holders.values())

    def cut(self, source: str, target: str, *, one_way: bool = False) -> None:
        """Lose all packets between two clusters from now on; nobody is told, as in real life."""
        self._both("cut", source, target, one_way)

    def heal(self, source: str, target: str, *, one_way: bool = False) -> None:
        """Take back a cut."""
        self._both("heal", source, target, one_way)

    def _both(self, what: str, source: str, target: str, one_way: bool) -> None:
        self._ask(what, source=source, target=target)
        if not one_way:
            self._ask(what, source=target, target=source)

    def firewall(self, cluster: str, open_ports: Iterable[int] = ()) -> None:
        """Drop what tries to connect to a cluster from outside, except to these ports.

        Without ports the cluster can only connect outwards; with the port of its front-end only
        that one can be reached.
        """
        self._ask("protect", cluster=cluster, ports=list(open_ports))

    def open(self, cluster: str) -> None:
        """Take the firewall of a cluster away."""
        self._ask("open", cluster=cluster)

    def lan(self, line: Line) -> None:
        """Change the lines inside all sites."""
        self._ask("lan", line=asdict(line))

    def wan(self, line: Line) -> None:
        """Change the lines between all sites."""
        self._ask("wan", line=asdict(line))

    def statistics(self) -> Statistics:
        """Return what the grid has carried so far."""
        told = self._ask("count")
        lines = tuple(Counted(*line) for line in told["lines"])
        return Statistics(lines, told["refused"], told["lost"], told["late"])

    def publish(self, name: str) -> None:
        """Give the grid a name; it then outlives this process, until `end`."""
        self._ask("publish", name=name)

    def _ask(self, what: str, **details: Any) -> dict[str, Any]:
        return ask(self._forwarder, {"do": what, **details})


def attach(name: str) -> Control:
    """Return the control of a grid that was given a name."""
    forwarder = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        forwarder.connect(public_address(name))
    except OSError:
        forwarder.close()
        raise EmulationError(f"there is no grid named '{name}'") from None
    return Control(forwarder)


class EmulatedGrid(Control):
    """A grid that this process owns, from construction to `close`.

    `private` are addresses that every cluster has for itself, such as `192.168.1.1/24`: the same in
    all of them, and none can be reached from another one. Raises `EmulationError` where this
    machine cannot do it.

        with EmulatedGrid(Layout((1, 1))) as grid:
            server = grid.popen("c0", [sys.executable, "server.py"])
            grid.run("c1", [sys.executable, "client.py", grid.clusters["c0"].address], timeout=60)
    """

    def __init__(self, layout: Layout = Layout(), private: Sequence[str] = ()) -> None:  # noqa: B008 (frozen)
        if lacking := missing():
            raise EmulationError(lacking)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "benchmarks.grid.forwarder", str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd=ROOT,
                start_new_session=True,
            )
        try:
            ours.settimeout(2 * patience(layout))
            ask(ours, {"layout": layout.as_dict(), "private": list(private)})
            super().__init__(ours)
        except BaseException:
            ours.close()
            self._process.wait()
            raise
        self._has_name = False

    def publish(self, name: str) -> None:
        """Give the grid a name; it then outlives this process, until `end`."""
        super().publish(name)
        self._has_name = True

    def close(self) -> None:
        """End the grid and everything in it, unless it was given a name."""
        super().close()
        if self._has_name:
            self._process.returncode = 0  # nobody waits for it any more, and it is meant to last
        else:
            self._process.wait()
            for process in self._started:
                process.wait()
