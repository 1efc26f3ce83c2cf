"""Front-ends that are given up while they start: the more there are, the more that has to spare."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import DeploymentPlan, DescriptorContext, make_plan, read_descriptor
from runtime.launchers import wire
from runtime.launchers.base import Command, Sink
from runtime.launchers.errors import LauncherClosed
from runtime.launchers.guarded import GuardedProcess
from runtime.launchers.local import LocalLauncher
from runtime.processes.configuration import Keys
from runtime.processes.launcher.local_front_ends import LocalFrontEnds
from runtime.processes.launcher.place import ClusterPlace, RequestHandler
from runtime.transport.reactor import Reactor

CLUSTERS = 3

TEXT = f"""<deployment name="t"><application executable="/bin/true"/><grid><mpi ranks="1"/>
<site name="s">{"".join(f'<cluster name="c{one}"/>' for one in range(CLUSTERS))}</site></grid>
</deployment>"""


class Overheard(LocalLauncher):
    """Keeps what its guard is asked."""

    def __init__(self) -> None:
        self.asked = bytearray()
        super().__init__()

    def post(self, data: bytes) -> None:
        self.asked += data
        super().post(data)

    def kills(self) -> int:
        """Return how often the guard has been asked to kill a process with all its descendants."""
        killed = wire.TREE + str(int(signal.SIGKILL)).encode()
        asked = [(kind, payload) for kind, _, payload in wire.frames(bytearray(self.asked))]
        return asked.count((wire.SIGNAL, killed))


class GivenUpMeanwhile(Overheard):
    """A launcher whose places are given up just when their front-ends were asked for."""

    def __init__(self) -> None:
        self.places: list[ClusterPlace] = []
        self.started: list[GuardedProcess] = []
        super().__init__()

    def start(self, command: Command, sink: Sink | None = None) -> GuardedProcess:
        process = super().start(command, sink)
        if "runtime.frontend" in command.argv:
            self.started.append(process)
            for place in self.places:
                place.abort()
        return process


@pytest.fixture(scope="module")
def plan() -> DeploymentPlan:
    around = DescriptorContext("/", python=sys.executable)
    read = read_descriptor(TEXT.encode(), surroundings=around, diagnostics=Diagnostics())
    assert read is not None
    return make_plan(read)


@pytest.fixture
def handler() -> Iterator[RequestHandler]:
    def ignore(*_: Any) -> None:
        """Nobody is told anything here."""

    with Reactor("test") as reactor:
        yield RequestHandler(reactor, ignore, ignore, ignore)


def test_no_cluster_is_supplied_any_more(plan: DeploymentPlan, handler: RequestHandler) -> None:
    with LocalLauncher() as local:
        places = [ClusterPlace(one, local) for one in plan.deployment.clusters()]
        places[1].abort()
        with pytest.raises(LauncherClosed, match="ended before the front-end was started"):
            LocalFrontEnds(places, handler).open(plan, Keys(b"secret"), local)
        assert [one.process for one in places] == CLUSTERS * [None]


def test_what_was_just_started_is_killed_with_one_order_for_all_clusters(
    plan: DeploymentPlan, handler: RequestHandler
) -> None:
    with GivenUpMeanwhile() as local:
        places = local.places = [ClusterPlace(one, local) for one in plan.deployment.clusters()]
        LocalFrontEnds(places, handler).open(plan, Keys(b"secret"), local)
        assert local.kills() == 1
        for place in places:
            place.kill()
        (front_ends,) = local.started
        assert front_ends.wait(20).signal == signal.SIGKILL
        assert local.kills() == 1
