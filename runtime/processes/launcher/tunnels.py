"""The tunnels of a run: the hub on this machine, and the commands that lead to their ends."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from runtime.errors import GridError
from runtime.home import python_path
from runtime.launchers.base import Command, OutputStream, Process
from runtime.launchers.bootstrap import new_marker
from runtime.launchers.errors import LaunchError
from runtime.launchers.lines import Lines
from runtime.launchers.local import LocalLauncher
from runtime.lazy_import import logger
from runtime.lifecycle.events import Event, StepFailed
from runtime.lifecycle.outcome import TunnelTraffic
from runtime.membership.run_directory import address_in
from runtime.native_mpi import python_module
from runtime.processes.launcher.openings import Post
from runtime.processes.launcher.place import ClusterPlace
from runtime.step_name import StepName
from runtime.transport.transports import UNIX
from runtime.tunnels import end, hub
from runtime.tunnels.frames import FROM_OTHERS, socket_to

END_TIMEOUT = 5.0
"""Seconds for the hub to tell what was carried."""

_log = logger(__name__)


class Tunnels:
    """The tunnels between places, for a step of the plan; `up` is posted once all ends are there.

    With a `new` place only those between that and others are made: there are some already.
    """

    def __init__(
        self,
        local: LocalLauncher,
        post: Post,
        step: StepName,
        places: Sequence[ClusterPlace],
        *,
        up: Event | Callable[[], None],
        new: ClusterPlace | None = None,
    ) -> None:
        self._local = local
        self._post = post
        self._step = step
        self._places = places
        self._up = up
        self._new = new
        self._process: Process | None = None
        self._carried: list[tuple[int, int, int, int, int, float | None]] = []
        self._is_up = self._is_closed = False

    def start(self) -> None:
        """Start the hub, and an end beside the front-end of each place; raises LaunchError."""
        ends = [self._end(number, place) for number, place in enumerate(self._places)]
        command = Command(
            python_module(sys.executable, hub.MODULE),
            python_path(),
            first_input=json.dumps(ends).encode() + b"\n",
        )
        self._process = self._local.start(command, Lines(self._line_read))
        self._process.when_done(self._ended)

    def close(self) -> None:
        """Let the hub end; for any thread, and more than once."""
        self._is_closed = True
        if self._process is not None:
            with suppress(LaunchError):
                self._process.close_input()

    def traffic(self) -> Iterator[TunnelTraffic]:
        """Let the hub end, and yield what was carried."""
        self.close()
        if self._process is None:
            return
        with suppress(LaunchError):
            self._process.wait(END_TIMEOUT)
        for one, two, connections, sent, received, seconds in self._carried:
            first, second = (self._places[at].cluster.path for at in (one, two))
            yield TunnelTraffic(first, second, connections, sent, received, seconds)

    def _end(self, number: int, place: ClusterPlace) -> Mapping[str, object]:
        supplied = place.supplied
        assert supplied is not None
        run_directory, marker = supplied.configuration.run_directory, new_marker()
        sockets = {
            other: _path_of(address_in(run_directory, socket_to(one.identifier)), place)
            for other, one in enumerate(self._places)
            if other != number and self._new in (None, one, place)
        }
        target = _path_of(address_in(run_directory, FROM_OTHERS), place)
        told = end.TunnelEndSettings(number, marker, sockets, target)
        settings = [f"{name}={value}" for name, value in supplied.environment.items()]
        python = python_module(supplied.argv[0], end.MODULE)
        leading = place.leading(("env", *settings, *python, told.text))
        return {
            "argv": leading.argv,
            "environment": dict(leading.environment),
            "marker": marker,
        }

    def _line_read(self, stream: OutputStream, line: str) -> None:
        """Take what the hub says; it, ssh and the ends tell on stderr why they failed."""
        if stream is not OutputStream.OUTPUT:
            _log.info("tunnels: %s", line)
            return
        report = json.loads(line)
        self._carried = report.get("carried", self._carried)
        if "ready" in report:
            self._is_up = True
            self._post(self._up)
        if "gone" in report and not self._is_closed:
            self._gone(self._places[report["gone"]].cluster.path, report["code"])

    def _gone(self, path: str, code: int) -> None:
        what = f"the tunnel to {path} has ended, with exit code {code}"
        if self._is_up:
            _log.warning("%s: its ranks and those of others lose each other", what)
            return
        fault = GridError(
            what,
            place=path,
            cause="\n".join(self._process.tail if self._process is not None else ()),
            cure="The host has to allow one more session; or let the clusters reach each other",
        )
        self._post(StepFailed(self._step, str(fault)))

    def _ended(self) -> None:
        if self._is_closed:
            return
        assert self._process is not None
        tail = "\n".join(self._process.tail)
        if self._is_up:
            _log.warning("the hub of all tunnels has ended: %s", tail)
        else:
            self._post(StepFailed(self._step, f"the hub of the tunnels has ended\n{tail}"))


def _path_of(address: str, place: ClusterPlace) -> str:
    """Return the path of a socket in the private folder of a cluster."""
    if not address.startswith(UNIX):
        raise GridError(
            "the path of the run's folder is too long for the sockets of a tunnel",
            place=place.cluster.path,
            cure="Name a shorter one with <front-end folder=...>",
        )
    return address.removeprefix(UNIX)
