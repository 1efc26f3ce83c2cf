"""What is told of a job that seems to end: batch systems end its processes before they tell."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from runtime.allocations import BatchSystem, JobRequest
from runtime.allocations.oar import Oar
from runtime.launchers import allocation
from runtime.launchers.allocation import JobAllocation
from runtime.launchers.job_queue import JobQueue
from runtime.launchers.local import LocalLauncher

_NEXT = """\
n=$(cat asked 2>/dev/null || echo 0); echo $((n + 1)) >asked
[ -f "answer.$n" ] || n=last
cat "answer.$n"
"""


class AnswersOf(Oar):
    """An OAR whose answers are files, one for each question, then the last one."""

    def __init__(self, folder: Path, answers: Sequence[str]) -> None:
        self._folder = folder
        for number, state in enumerate(answers):
            last = "last" if number == len(answers) - 1 else str(number)
            text = f"Job_Id: 17\n    state = {state}\n    assigned_hostnames = a+b\n"
            (folder / f"answer.{last}").write_text(text)

    def status(self, jobs: Sequence[str]) -> Sequence[str]:
        """Return what prints the next answer."""
        assert jobs == ["17"]
        return ("/bin/sh", "-c", f"cd '{self._folder}'; {_NEXT}")


def told(system: BatchSystem, given_up: threading.Event) -> str:
    with LocalLauncher() as login:
        queue = JobQueue(login, system, is_own=False)
        job = JobAllocation(queue, JobRequest("oar", job="17"), place="lyon/rhone")
        job.submit()
        return job.state_at_end(given_up)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (("Terminated",), "job 17 is Terminated"),
        (("Running", "Running", "Error"), "job 17 is Error"),
    ],
)
def test_a_job_that_is_told_to_run_while_it_is_ended_is_asked_for_again(
    tmp_path: Path, answers: tuple[str, ...], expected: str
) -> None:
    assert told(AnswersOf(tmp_path, answers), threading.Event()) == expected


def test_one_that_runs_on_is_no_reason_and_is_not_waited_for_by_who_has_given_it_up(
    tmp_path: Path,
) -> None:
    given_up = threading.Event()
    given_up.set()
    assert told(AnswersOf(tmp_path, ["Running"]), given_up) == ""
    assert (tmp_path / "asked").read_text() == "1\n"


def test_the_wait_for_one_that_runs_on_has_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allocation, "FIRST_WORD", 0.1)
    assert told(AnswersOf(tmp_path, ["Running"]), threading.Event()) == ""
