"""The services of a run: each effect has an owner, and a death is heard in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import permutations
from queue import SimpleQueue
from typing import Any, get_args

import pytest

from gcm.documents import Diagnostics
from runtime.coupling.deployed_codes import Codes
from runtime.deployment import DescriptorContext, make_plan, read_descriptor
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.launchers.local import LocalLauncher
from runtime.lifecycle.events import Effect, Explain, Finish, Show
from runtime.machine.deaths import Observation, RankDeath, Witness
from runtime.processes.launcher.effects import Executor
from runtime.processes.launcher.services import RunServices
from runtime.rank_name import RankName
from runtime.step_name import StepKind
from runtime.transport.reactor import Reactor
from runtime.views.facts import Fact
from runtime.views.stream import FactStream, nothing

DEATH = RankDeath(
    RankName.parse("0:0:1"),
    Observation(Witness.RANK, 1, exception="OSError: no", traceback="one\ntwo"),
)


@pytest.fixture(scope="module")
def plan() -> DeploymentPlan:
    found = Diagnostics()
    deployment = read_descriptor(
        b'<deployment><application module="m"/><emulate clusters="2" ranks="2"/></deployment>',
        surroundings=DescriptorContext("/"),
        diagnostics=found,
    )
    assert deployment is not None, [str(one) for one in found]
    return make_plan(deployment)


class Heard:
    def __init__(self) -> None:
        self.facts: list[Any] = []

    def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
        self.facts.append((fact.name, fact.record))
        taken()


@contextmanager
def executor(plan: DeploymentPlan) -> Iterator[tuple[Executor, Heard, SimpleQueue[Any]]]:
    heard, queue = Heard(), SimpleQueue[Any]()
    facts = FactStream(heard, lambda: 0.0)
    with (
        LocalLauncher() as local,
        Reactor("services") as reactor,
        Executor(
            plan, local, reactor, facts, queue.put, codes=Codes(plan), start_timeout=1.0
        ) as made,
    ):
        yield made, heard, queue


def test_each_effect_has_one_owner(plan: DeploymentPlan) -> None:
    with executor(plan) as (made, _, _):
        # what is shown and the end itself are for the machine, which has the listeners and the code
        assert made.services.effects == {*get_args(Effect)} - {Show, Finish}


class EndedTunnels:
    def __init__(self, name: str, ended: list[str]) -> None:
        self._name, self._ended = name, ended

    def close(self) -> None:
        self._ended.append(self._name)
        if self._name == "first":
            raise OSError("no such tunnel")


def test_each_service_ends_although_one_before_it_cannot(plan: DeploymentPlan) -> None:
    ended: list[str] = []
    raising = pytest.raises(OSError, match="^no such tunnel$")
    with raising, executor(plan) as (made, _, _):
        tunnels: list[Any] = made._handshakes.tunnels
        tunnels += [EndedTunnels("first", ended), EndedTunnels("second", ended)]
    assert ended == ["first", "second"]


def test_an_effect_with_two_owners_is_a_fault_of_this_package() -> None:
    services = RunServices((), lambda _: None)
    services.add({Explain: print}, {StepKind.FETCH: print})
    with pytest.raises(AssertionError, match="Explain"):
        services.add({Explain: print})
    with pytest.raises(AssertionError, match="FETCH"):
        services.add({}, {StepKind.FETCH: print})


def test_who_hears_of_a_death_does_not_depend_on_who_has_heard_before(plan: DeploymentPlan) -> None:
    seen = []
    for order in permutations(range(4)):
        with executor(plan) as (made, heard, queue):
            made.deaths[:] = [made.deaths[one] for one in order]
            reports = made.calls.dispatch["0:0"]
            reports.call("reports", "rank_ended", ("0:0:1", DEATH.plain))
            posted = []
            while not queue.empty():
                posted.append(queue.get())
            seen.append((heard.facts, posted))
    assert seen[0][1] == [DEATH]
    assert [name for name, _ in seen[0][0]] == ["0:0:1", "0:0:1", "0:0:1"]
    assert all(one == seen[0] for one in seen)
