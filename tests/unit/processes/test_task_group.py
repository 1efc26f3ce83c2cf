"""Threads of the engine: what is foreseen and what is not is told to whoever waits."""

from __future__ import annotations

import errno
import logging
import os
import threading

import pytest

from runtime.errors import GridError
from runtime.processes.launcher.task_group import TaskGroup


def test_work_that_goes_well_is_nothing_to_tell(caplog: pytest.LogCaptureFixture) -> None:
    tasks, done, faults = TaskGroup(), threading.Event(), list[GridError]()
    tasks.do("working", done.set, faults.append)
    tasks.join()
    assert done.is_set()
    assert (faults, caplog.records) == ([], [])


def test_a_foreseen_fault_is_told_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    tasks, faults = TaskGroup(), list[GridError]()
    raised = GridError("no way", place="s/a")

    def work() -> None:
        raise raised

    tasks.do("opening s/a", work, faults.append)
    tasks.join()
    assert faults == [raised]
    assert caplog.records == []


def test_an_unforeseen_one_is_told_and_its_traceback_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tasks, faults = TaskGroup(), list[GridError]()

    def work() -> None:
        raise ZeroDivisionError("by nothing")

    tasks.do("opening s/a", work, faults.append)
    tasks.join()
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
    tasks = TaskGroup()
    tasks.do("closing s/a", {}.popitem)
    tasks.join()
    assert [one.getMessage() for one in caplog.records] == ["closing s/a failed unexpectedly"]


def test_everything_is_done_at_the_same_time() -> None:
    tasks, both = TaskGroup(), threading.Barrier(3)
    tasks.do("one", both.wait)
    tasks.do("two", both.wait)
    assert both.wait(5) in range(3)
    tasks.join()


def test_a_machine_without_room_is_no_fault_of_the_package() -> None:
    tasks, faults = TaskGroup(), list[GridError]()

    def work() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/x")

    tasks.do("opening s/a", work, faults.append)
    tasks.join()
    (fault,) = map(str, faults)
    assert fault == (
        f"opening s/a failed on {os.uname().nodename}: [Errno 28] No space left on device:"
        " '/tmp/x'. Make room there, or name another folder for temporary files in TMPDIR"
    )
