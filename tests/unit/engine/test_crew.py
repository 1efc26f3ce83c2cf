"""Threads of the engine: what is foreseen and what is not is told to whoever waits."""

from __future__ import annotations

import logging
import threading

import pytest

from runtime.errors import GridError
from runtime.processes.launcher.crew import Crew


def test_work_that_goes_well_is_nothing_to_tell(caplog: pytest.LogCaptureFixture) -> None:
    crew, done, faults = Crew(), threading.Event(), list[GridError]()
    crew.do("working", done.set, faults.append)
    crew.join()
    assert done.is_set()
    assert (faults, caplog.records) == ([], [])


def test_a_foreseen_fault_is_told_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    crew, faults = Crew(), list[GridError]()
    raised = GridError("no way", place="s/a")

    def work() -> None:
        raise raised

    crew.do("opening s/a", work, faults.append)
    crew.join()
    assert faults == [raised]
    assert caplog.records == []


def test_an_unforeseen_one_is_told_and_its_traceback_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    crew, faults = Crew(), list[GridError]()

    def work() -> None:
        raise ZeroDivisionError("by nothing")

    crew.do("opening s/a", work, faults.append)
    crew.join()
    assert [str(fault) for fault in faults] == [
        "opening s/a failed: ZeroDivisionError: by nothing. This is a fault of the package itself:"
        " report it with the traceback in the log"
    ]
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (
        logging.ERROR,
        "opening s/a failed unexpectedly",
    )
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError


def test_a_fault_that_nobody_waits_for_is_logged_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    crew = Crew()
    crew.do("closing s/a", {}.popitem)
    crew.join()
    assert [one.getMessage() for one in caplog.records] == ["closing s/a failed unexpectedly"]


def test_everything_is_done_at_the_same_time() -> None:
    crew, both = Crew(), threading.Barrier(3)
    crew.do("one", both.wait)
    crew.do("two", both.wait)
    assert both.wait(5) in range(3)
    crew.join()
