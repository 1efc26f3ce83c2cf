"""Two runs side by side."""

from __future__ import annotations

from collections.abc import Callable

from runtime.deployment import DeploymentPlan
from runtime.views.comparison import RunFigures, comparison
from runtime.views.facts import MACHINE, CallsCounted, Fact, RunEnded, RunStarted, StateChanged
from tests.unit.views.told import planned

Plan = Callable[..., DeploymentPlan]
ONE = '<grid><site name="n"><cluster name="a"><mpi ranks="1"/></cluster></site></grid>'


def run(plan: DeploymentPlan, seconds: float, calls: int) -> RunFigures:
    figures = RunFigures()
    figures.take(planned(plan))
    for time, name, record in (
        (1.0, MACHINE, RunStarted()),
        (1.0, "0:0:0", StateChanged("running")),
        (1.0 + seconds, "0:0:0", CallsCounted("Recv", calls, seconds / 2)),
        (1.0 + seconds, "0:0:0", StateChanged("done")),
        (1.0 + seconds, MACHINE, RunEnded(0)),
    ):
        figures.take(Fact(time, name, record))
    return figures


def test_figures_that_differ_are_told_with_their_change(plan: Plan) -> None:
    made = plan(ONE)
    lines = "".join(comparison(run(made, 2.0, 10), run(made, 3.0, 10))).splitlines()
    assert lines == [
        "first:  test: exit code 0; 1 rank in 1 cluster; 3.0 s, of which 1.0 s to start",
        "second: test: exit code 0; 1 rank in 1 cluster; 4.0 s, of which 1.0 s to start",
        "figure                      first  second  change",
        "seconds                     3.000   4.000    +33%",
        "seconds of n/a              2.000   3.000    +50%",
        "seconds in Recv, all ranks  1.000   1.500    +50%",
        "2 more are the same.",
    ]


def test_two_recordings_of_the_same_differ_in_nothing(plan: Plan) -> None:
    made = plan(ONE)
    assert list(comparison(run(made, 2.0, 1), run(made, 2.0, 1)))[-1] == (
        "All figures are the same.\n"
    )
