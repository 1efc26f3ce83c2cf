"""Asking ranks why they wait: two questions, whoever ends meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from runtime.machine.calls import stub
from runtime.machine.contracts import ClusterControl
from runtime.processes.launcher.place import Place
from runtime.processes.launcher.wait_reports import Snapshot, WaitReports

AT_REST: dict[str, Any] = {
    "waits": (),
    "at": "program.py:1",
    "may_act": True,
    "turns": {},
    "unreceived": (),
    "stacks": (),
    "host": "here",
    "pid": 1,
}


@dataclass
class OnePlace:
    """The part of a place that is needed to ask its ranks."""

    control: ClusterControl


@dataclass
class Script:
    """What was asked, and what was put off."""

    asked: list[int] = field(default_factory=list)
    later: list[Callable[[], None]] = field(default_factory=list)
    seen: list[Snapshot] = field(default_factory=list)

    def reports(self) -> WaitReports:
        control = stub(ClusterControl, self._tell)
        place = cast("Place", OnePlace(control))
        return WaitReports(
            [place], lambda _seconds, call: self.later.append(call), lambda _words: None
        )

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
    reports.look(script.seen.append)
    for rank in ("0:0:0", "0:1:0"):
        reports.told(rank, script.asked[-1], AT_REST)
    assert not script.seen  # one question is not enough
    for rank in ("0:0:0", "0:1:0"):
        reports.rank_ended(rank, "exit code 0")
    script.run_later()
    (seen,) = script.seen
    assert seen.ended == {"0:0:0": "exit code 0", "0:1:0": "exit code 0"}
    assert len(script.asked) == 2
