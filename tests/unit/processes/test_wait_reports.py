"""Asking ranks why they wait: two questions, whoever ends meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any, cast

import pytest

from runtime.lifecycle.events import Explained, LeftBehind
from runtime.machine.calls import stub
from runtime.machine.contracts import Orders
from runtime.machine.deaths import Observation, RankDeath, Witness
from runtime.machine.rank_states import KnownCommunicator, Part, RankState, Wait
from runtime.processes.launcher.check_reports import CheckReports
from runtime.processes.launcher.place import ClusterPlace
from runtime.processes.launcher.wait_facts import Snapshot
from runtime.processes.launcher.wait_reports import WaitReports
from runtime.processes.rank.waits import UNASKED
from runtime.rank_name import RankName
from runtime.topology import NO_NAMES
from runtime.views.facts import Fact, WaitExplained
from runtime.views.stream import FactStream, nothing
from tests.told_of_waits import NEVER

AT_REST = RankState("", at="program.py:1", may_act=True, host="here", pid=1)


def always(state: RankState) -> Callable[[float], RankState]:
    return lambda _: state


def ended(rank: str) -> RankDeath:
    return RankDeath(RankName.parse(rank), Observation(Witness.RANK, 0))


@dataclass
class OnePlace:
    """The part of a place that is needed to ask its ranks."""

    orders: Orders


@dataclass
class Run:
    """What became known of a run, and when."""

    clock: Callable[[], float] = lambda: 0.0
    left: list[tuple[float, str, bool]] = field(default_factory=list)
    looked: list[float] = field(default_factory=list)
    explained: list[WaitExplained] = field(default_factory=list)

    def post(self, event: object) -> None:
        if isinstance(event, Explained):
            self.looked.append(self.clock())
        if isinstance(event, LeftBehind):
            self.left.append((self.clock(), event.why, event.are_all))

    def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
        taken()
        assert isinstance(fact.record, WaitExplained)
        self.explained.append(fact.record)


def wait_reports(orders: Orders, later: Callable[..., object], run: Run) -> WaitReports:
    place = cast("ClusterPlace", OnePlace(orders))
    facts = FactStream(run, run.clock)
    checks = CheckReports(facts, NO_NAMES)
    return WaitReports([place], later, facts, run.post, checks=checks, names=NO_NAMES)


@dataclass
class Script:
    """What was asked, and what was put off."""

    asked: list[int] = field(default_factory=list)
    later: list[Callable[[], None]] = field(default_factory=list)
    seen: list[Snapshot] = field(default_factory=list)

    def reports(self) -> WaitReports:
        orders = stub(Orders, self._tell)
        return wait_reports(orders, lambda _seconds, call: self.later.append(call), Run())

    def _tell(self, _interface: str, _operation: str, args: tuple[Any, ...]) -> None:
        self.asked.append(args[0])

    def run_later(self) -> None:
        """Do what was put off until nothing more is."""
        while self.later:
            self.later.pop(0)()


def test_ranks_that_all_end_between_the_two_questions_are_told_as_ended() -> None:
    script = Script()
    reports = script.reports()
    for rank in ("0:0:0", "0:1:0"):
        reports.rank_ready(rank)
    reports.ask(script.seen.append)
    for rank in ("0:0:0", "0:1:0"):
        reports.answered(rank, script.asked[-1], AT_REST.plain)
    assert not script.seen  # one question is not enough
    for rank in ("0:0:0", "0:1:0"):
        reports.rank_ended("", ended(rank))
    script.run_later()
    (seen,) = script.seen
    assert seen.ended == {"0:0:0": "exit code 0", "0:1:0": "exit code 0"}
    assert len(script.asked) == 2


RECV = Wait(
    "recv",
    (Part("receive", "0:0:1", 7),),
    KnownCommunicator(name="COMM_WORLD", members=(("0:0", 0, 1),)),
    seconds=0.1,
    serial=1,
)
IN_RECV = replace(AT_REST, may_act=False, waits=(RECV,))


class Simulated:
    """Ranks that answer at once, on a clock that stands still but for what is put off."""

    def __init__(self, doing: Mapping[str, Callable[[float], RankState]]) -> None:
        self.now = 0.0
        self.known = Run(lambda: self.now)
        self.left = self.known.left
        self._doing = doing
        self._serial = count()
        self.put_off: list[tuple[float, int, Callable[[], None]]] = []
        self.reports = wait_reports(stub(Orders, self._ask), self.later, self.known)
        for rank in doing:
            self.reports.rank_ready(rank)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        heappush(self.put_off, (self.now + seconds, next(self._serial), call))

    def _ask(self, _interface: str, _operation: str, args: tuple[Any, ...]) -> None:
        for rank, doing in self._doing.items():
            state = doing(self.now).plain
            self.later(0, partial(self.reports.answered, rank, args[0], state))

    def run(self, until: float) -> None:
        while self.put_off and self.put_off[0][0] <= until and not self.left:
            self.now, _, call = heappop(self.put_off)
            call()
        self.now = max(self.now, until)


def in_recv_from(peer: str) -> RankState:
    return replace(IN_RECV, waits=(replace(RECV, parts=(Part("receive", peer, 7),)),))


@pytest.mark.parametrize("is_wanted", [True, False])
def test_a_glance_tells_once_which_ranks_can_never_go_on_and_no_more(
    caplog: pytest.LogCaptureFixture, is_wanted: bool
) -> None:
    doing = {
        "0:0:0": lambda _: in_recv_from("0:1:0"),
        "0:1:0": lambda _: in_recv_from("0:0:0"),
        "0:1:1": lambda _: in_recv_from("0:1:2"),  # which is at work
        "0:1:2": lambda _: AT_REST,
    }
    simulated = Simulated(doing)
    for until in (1.0, 2.0):
        simulated.reports.glance(lambda: is_wanted)
        simulated.run(until)
    assert len(simulated.known.looked) == 2
    assert len(simulated.known.explained) == is_wanted
    assert [one.getMessage() for one in caplog.records] == is_wanted * [
        f"{NEVER}\n  0:0:0 waits in recv from 0:1:0 tag 7, which waits in recv from 0:0:0 tag 7"
    ]


def test_a_glance_does_not_wait_long_for_ranks_that_say_nothing() -> None:
    simulated = Simulated({"0:0:0": lambda _: AT_REST})
    simulated.reports.rank_ready("0:0:1")
    simulated.reports.glance(lambda: True)
    simulated.run(2.0)
    assert simulated.known.looked == [pytest.approx(0.9)]


def test_a_rank_that_waits_for_one_that_has_ended_is_known_within_two_seconds() -> None:
    ranks = Simulated({"0:0:0": lambda _: IN_RECV})
    ranks.reports.rank_ready("0:0:1")
    ranks.reports.rank_ended("", ended("0:0:1"))
    ranks.run(60)
    ((when, words, are_all),) = ranks.left
    assert when < 2
    assert words == "0:0:0 waits in recv from 0:0:1 tag 7, which has ended (exit code 0)"
    assert are_all


def test_a_rank_that_begins_to_wait_long_after_the_end_of_another_is_known_too() -> None:
    """With one that still computes: not everybody is stuck."""
    ranks = Simulated(
        {"0:0:0": lambda now: IN_RECV if now > 100 else AT_REST, "0:0:2": lambda _: AT_REST}
    )
    ranks.reports.rank_ready("0:0:1")
    ranks.reports.rank_ended("", ended("0:0:1"))
    ranks.run(100)
    assert not ranks.left
    ranks.run(200)
    ((when, _, are_all),) = ranks.left
    assert when < 110
    assert not are_all


def test_how_a_run_ends_in_which_ranks_cannot_go_on_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pairs = [("0:0:0", "0:1:0"), ("0:1:0", "0:0:0")]
    ranks = Simulated({one: always(in_recv_from(other)) for one, other in pairs})
    for _ in range(2):
        ranks.reports.answered("0:0:0", UNASKED, in_recv_from("0:1:0").plain)
        ranks.run(200)
    assert not ranks.left
    assert [one.getMessage() for one in caplog.records] == [
        f"{NEVER}\n  0:0:0 waits in recv from 0:1:0 tag 7, which waits in recv from 0:0:0 tag 7",
        "Ctrl-C or SIGTERM ends the run; with --run-timeout SECONDS it ends by itself",
    ]


WAIT = replace(RECV, call="Wait", began="Irecv", parts=(Part("unknown", is_tag_known=False),))


def test_what_a_rank_tells_while_others_are_asked_is_explained_afterwards(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ranks = Simulated({"0:0:0": lambda _: in_recv_from("0:1:0")})
    ranks.reports.rank_ready("0:1:0")
    ranks.reports.ask(lambda seen: ranks.reports.rank_ended("", ended("0:1:0")))
    for _ in range(2):
        ranks.reports.answered("0:0:0", 0, in_recv_from("0:1:0").plain)
    ranks.run(5)
    assert caplog.records[0].getMessage() == (
        f"{NEVER}\n  0:0:0 waits in recv from 0:1:0 tag 7, which has ended (exit code 0)"
    )


@pytest.mark.parametrize(
    ("seconds", "is_of_mpi", "is_alone", "is_left"),
    [
        (30.0, True, True, True),
        (0.1, True, True, False),
        (30.0, False, True, False),
        (30.0, True, False, False),
    ],
    ids=["for-long", "not-yet", "of-what-is-unknown", "beside-another-thread"],
)
def test_a_native_request_is_believed_to_wait_for_ranks_when_it_was_told_of(
    seconds: float, is_of_mpi: bool, is_alone: bool, is_left: bool
) -> None:
    """It may be for a file, or for another thread: only native MPI knows."""
    long = replace(WAIT, seconds=seconds, is_of_mpi=is_of_mpi)
    state = replace(IN_RECV, waits=(long,), is_alone=is_alone)
    ranks = Simulated({"0:0:0": always(state)})
    ranks.reports.rank_ready("0:0:1")
    ranks.reports.answered("0:0:0", 0, replace(IN_RECV, waits=(replace(WAIT, seconds=20.0),)).plain)
    ranks.reports.rank_ended("", ended("0:0:1"))
    ranks.run(60)
    words = "0:0:0 waits in Wait for Irecv: all others have ended"
    assert [one for _, one, _ in ranks.left] == is_left * [words]


def test_nobody_is_asked_for_those_left_behind_where_nobody_can_be() -> None:
    ranks = Simulated({"0:1:0": lambda _: AT_REST})
    ranks.reports.rank_ready("0:0:1")
    ranks.reports.rank_ended("", ended("0:0:1"))
    assert not ranks.put_off
