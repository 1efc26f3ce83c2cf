"""`running`: a component runs for the length of a block, and has ended after it."""

from __future__ import annotations

import pytest

from gcm import Runnable, primitive, provides, running
from gcm.errors import IllegalLifeCycleError


@provides("run", Runnable)
class Program:
    def __init__(self) -> None:
        self.told: list[str] = []

    def on_start(self) -> None:
        self.told.append("start")

    def on_stop(self) -> None:
        self.told.append("stop")

    def on_terminate(self) -> None:
        self.told.append("terminate")

    def run(self) -> int:
        self.told.append("run")
        return 3


def test_a_component_is_started_for_the_block_and_ends_after_it() -> None:
    program = primitive(Program)
    with running(program) as same:
        assert same is program
        assert program.stub("run", Runnable).run() == 3
    assert program.content.told == ["start", "run", "stop", "terminate"]
    assert program.state == "terminated"


def test_a_block_that_fails_ends_the_component_too() -> None:
    program = primitive(Program)
    with pytest.raises(ValueError, match="in the block"), running(program):
        raise ValueError("in the block")
    assert program.state == "terminated"


def test_what_cannot_start_does_not_enter_the_block() -> None:
    program = primitive(Program)
    program.terminate()
    with pytest.raises(IllegalLifeCycleError, match="cannot start"), running(program):
        pytest.fail("the block was entered")
