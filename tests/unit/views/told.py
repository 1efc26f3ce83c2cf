"""Facts as a run tells them, for tests of the folds over them."""

from __future__ import annotations

from runtime.deployment import DeploymentPlan
from runtime.views.facts import MACHINE, Fact, OutputWritten, Record, RunPlanned, StateChanged


def fact(name: str, record: Record, time: float = 0.0) -> Fact:
    return Fact(time, name, record)


def planned(plan: DeploymentPlan) -> Fact:
    return fact(MACHINE, RunPlanned.of(plan))


def change(name: str, state: str, detail: str = "", *, time: float = 0.0) -> Fact:
    return fact(name, StateChanged(state, detail), time)


def said(rank: str, stream: str, text: str) -> Fact:
    return fact(rank, OutputWritten(stream, f"{text}\n".encode()))
