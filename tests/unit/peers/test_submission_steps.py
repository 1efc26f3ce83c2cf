"""The steps of a submission, and the machine that a descriptor with peers stands for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gcm.documents import Diagnostics
from runtime.cli.lab_run import read_line
from runtime.cli.line.document import document_of
from runtime.cli.on_peers import asked_first
from runtime.cli.screens.steps import StepListener
from runtime.deployment import (
    Deployment,
    DescriptorContext,
    make_plan,
    read_descriptor,
    render_plan,
)
from runtime.deployment.language.table import LANGUAGE
from runtime.deployment.model import BookedPeer
from runtime.peers.booking import Demand, Offer
from runtime.peers.staging.broadcast import Shape
from runtime.peers.submission.lab import FAR
from runtime.peers.submission.steps import Steps, StepState, SubmissionStep
from runtime.views.facts import MACHINE, Fact, RunPlanned, StateChanged
from runtime.views.stream import Silent, nothing
from tests.unit.views.told import change

PEERS = '<peers ranks="3" strategy="mixed" wait="2min"/>'
STAGING = LANGUAGE.elements["peers"].attribute("staging")
BOOKED = [[BookedPeer("h1", "10.0.0.1", 2)], [BookedPeer("h2", "10.0.0.2", 1)]]


def read(machine: str, booked: list[list[BookedPeer]] | None = None) -> Deployment | list[str]:
    diagnostics = Diagnostics()
    text = f'<deployment><application script="a.py"/>{machine}</deployment>'
    found = read_descriptor(
        text.encode(),
        name="test.xml",
        surroundings=DescriptorContext("/work", booked=booked or ()),
        diagnostics=diagnostics,
    )
    return found or [str(one) for one in diagnostics.by_location()]


def test_a_descriptor_with_peers_says_what_is_to_be_booked() -> None:
    found = read(PEERS)
    assert isinstance(found, Deployment)
    assert found.peers is not None
    assert (found.peers.ranks, found.peers.strategy, found.peers.wait) == (3, "mixed", 120.0)
    assert found.peers.staging == Shape.AUTO
    assert STAGING is not None
    assert STAGING.choices == tuple(Shape)
    assert sum(one.ranks for one in found.clusters()) == 3


def test_booked_peers_are_clusters_elsewhere_in_the_sites_they_were_put_into() -> None:
    found = read(PEERS, BOOKED)
    assert isinstance(found, Deployment)
    told = [(one.path, one.peer, one.ranks, one.is_local) for one in found.clusters()]
    assert told == [("site0/h1", "h1", 2, False), ("site1/h2", "h2", 1, False)]
    assert [one.front_end.address for one in found.clusters()] == ["10.0.0.1", "10.0.0.2"]
    plan = render_plan(make_plan(found))
    assert "on the peer h1" in plan
    assert "--host" not in plan, "each peer starts its ranks itself"


@pytest.mark.parametrize("other", ["<emulate/>", "<grid><site><cluster/></site></grid>"])
def test_peers_stand_in_the_place_of_every_other_machine(other: str) -> None:
    found = read(PEERS + other)
    assert isinstance(found, list)
    assert "[two-machines]" in found[0]
    assert "<peers>" in found[0]


def test_the_line_of_gcm_run_is_a_descriptor_that_means_the_same(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("work")
    (folder / "a.py").touch()
    monkeypatch.chdir(folder)
    words = ["-n", "3", "-r", "2", "-a", "mixed", "-w", "120", "--staging", "push"]
    words += ["a.py", "-n", "7"]
    options = read_line(words)
    assert options.one_line is not None
    text = document_of(options.one_line, options.arguments, str(folder)).text
    assert '<peers ranks="3" strategy="mixed" wait="120" staging="push"/>' in text
    assert 'replicas="2"' in text
    assert options.arguments == ("-n", "7")


def test_steps_before_the_one_that_begins_are_done() -> None:
    told: list[tuple[str, StateChanged]] = []
    steps = Steps(lambda step, change: told.append((step, change)))
    steps.enter(SubmissionStep.BOOK, "4 places")
    assert [str(step) for step in SubmissionStep][:4] == [step for step, _ in told]
    steps.note("h1: 2 places")
    assert told[-1] == (str(SubmissionStep.BOOK), StateChanged("running", "h1: 2 places"))
    assert steps.states[SubmissionStep.LAB] is StepState.DONE
    assert steps.current is SubmissionStep.BOOK
    steps.enter(SubmissionStep.STAGE)
    steps.enter(SubmissionStep.BOOK, "in the place of one that died")
    assert (str(SubmissionStep.STAGE), StateChanged("planned")) in told
    assert steps.states[SubmissionStep.STAGE] is StepState.PLANNED
    steps.fail("too few")
    assert steps.states[SubmissionStep.BOOK] is StepState.FAILED
    assert len(SubmissionStep) == 11


def test_the_last_steps_follow_from_the_states_of_the_machine() -> None:
    entered: list[SubmissionStep] = []
    heard: list[Fact] = []

    class Screen(Silent):
        def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
            heard.append(fact)

    listener = StepListener(Screen(), 2, entered.append)
    listener.hear(Fact(0.5, MACHINE, RunPlanned("steps", ())))
    for cluster in ("0:0", "0:1"):
        listener.hear(change(cluster, "starting", "front-end"))
    listener.hear(change("0:0", "up", "front-end"))
    assert entered == []
    listener.hear(change("0:1", "up", "front-end", time=1.5))
    assert entered == [SubmissionStep.TABLE]
    assert heard[-2:] == [
        Fact(1.5, str(SubmissionStep.LAUNCH), StateChanged("done")),
        Fact(1.5, str(SubmissionStep.TABLE), StateChanged("running")),
    ]
    listener.hear(change("0:0:0", "running"))
    listener.hear(change("0:0:1", "running"))
    assert entered == [SubmissionStep.TABLE, SubmissionStep.WATCH]


def test_a_dry_run_tells_who_is_asked_first_and_who_is_silent() -> None:
    offers = [Offer("near", 2, 0.001, "near"), Offer("far", 4, 0.02, "x"), Offer("gone", 1, FAR)]
    assert asked_first(offers, Demand(1)) == (
        "1 places are needed; 1 of 3 peers are asked first\n"
        "   1  near     1.0 ms  site0   2 places  first\n"
        "   2  far     20.0 ms  site1   4 places  if others refuse\n"
        "   3  gone  no answer          1 places  if others refuse\n"
    )
