"""What of the results of a cluster did not come home is never taken for a success."""

from __future__ import annotations

import errno
import logging
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from runtime.deployment.model import Deployment
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.deployment.planning.steps import FileMove, Step
from runtime.launchers.errors import ConnectionLost, FetchFailed
from runtime.launchers.local import LocalLauncher
from runtime.processes.launcher.place import ClusterPlace
from runtime.processes.launcher.stage_out import StageOut
from runtime.processes.launcher.task_group import TaskGroup
from runtime.results import collecting
from runtime.results.collecting import Fetcher
from runtime.results.result_folders import FolderHere
from runtime.results.result_placement import ResultPlacement
from runtime.step_name import StepKind, StepName
from tests.planned_cluster import planned_cluster

CLUSTER = planned_cluster()
LONG = "x" * 251 + ".txt"
"""A name behind which that of a cluster has no place, where something else has it."""


class OfSomeoneElse(FolderHere):
    """A folder that cannot be removed any more once all is home."""

    is_at_home = False

    def remove(self) -> None:
        raise ConnectionLost("the connection ended")


def fetcher(folder: FolderHere, home: Path, *destinations: str) -> Fetcher:
    def make_room(parent: str) -> str:
        made = Path(parent, ".gcm-room")
        made.mkdir()
        return str(made)

    moves = tuple(FileMove("*.txt", str(home / one)) for one in destinations)
    placement = ResultPlacement(str(home), lambda _: None)
    return Fetcher(folder, str(home), moves, placement, make_room, lambda: False)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_a_file_that_cannot_land_is_an_error_and_the_others_come(home: Path) -> None:
    folder = FolderHere(CLUSTER, CLUSTER, str(home), [str(home / "copy")])
    (home / LONG).write_text("1")
    (home / "y.txt").write_text("2")
    (home / "copy" / LONG).mkdir(parents=True)
    found = fetcher(folder, home, "copy")
    with pytest.raises(FetchFailed, match=r"s/a: results could not be copied to .*/copy\.") as told:
        found.finish()
    assert "x.txt: [Errno 36] File name too long" in told.value.cause
    assert "y.txt" not in told.value.cause
    assert (home / "copy" / "y.txt").read_text() == "2"
    assert (found.results.files, found.results.kept) == (1, None)


def test_a_folder_that_keeps_what_could_not_land_is_named_by_the_error(
    home: Path, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    folder = OfSomeoneElse(CLUSTER, CLUSTER, str(tmp_path / "work"), [])
    (tmp_path / "work" / LONG).write_text("1")
    (home / LONG).mkdir()
    found = fetcher(folder, home, "")
    with pytest.raises(FetchFailed, match="stay in") as told:
        found.finish()
    assert found.results.kept is not None
    assert found.results.kept.where in told.value.what


def test_a_folder_that_cannot_be_removed_once_all_is_home_is_a_warning_that_names_it(
    home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    folder = OfSomeoneElse(CLUSTER, CLUSTER, str(work), [])
    (work / "x.txt").write_text("1")
    found = fetcher(folder, home, "one", "two")
    with caplog.at_level(logging.WARNING):
        found.finish()
    assert [(home / name / "x.txt").read_text() for name in ("one", "two")] == ["1", "1"]
    (told,) = found.results.warnings
    assert told in caplog.text
    assert str(work) in told
    assert "could not be removed: the connection ended" in told


def test_a_file_of_which_no_copy_can_be_made_comes_once_for_each_place(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object, target: int) -> None:
        os.close(target)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "work").mkdir()
    folder = FolderHere(CLUSTER, CLUSTER, str(tmp_path / "work"), [])
    for name in ("x.txt", "y.txt"):
        (tmp_path / "work" / name).write_text("1")
    monkeypatch.setattr(collecting, "copy_file", full)
    fetcher(folder, home, "one", "two").finish()
    for name in ("one", "two"):
        assert sorted(one.name for one in (home / name).iterdir()) == ["x.txt", "y.txt"]


def test_a_folder_that_cannot_be_listed_before_the_start_does_not_end_the_engine(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nowhere: Any = None  # nothing is done there
    gone = str(home / "gone")
    step = Step(
        StepName(StepKind.FETCH, "s:a"), "s/a", files=(FileMove(".", str(home)),), folder=gone
    )
    place = ClusterPlace(CLUSTER, nowhere)
    place.folder = gone
    deployment = Deployment("x", str(home), (), 0, (), (), {}, None, (), (), ())
    plan = DeploymentPlan(deployment, nowhere, (), (step,))
    with caplog.at_level(logging.WARNING):
        StageOut(plan, {"s:a": place}, nowhere, TaskGroup(), nowhere).go(())
    assert "s/a: [Errno 2] No such file or directory" in caplog.text


def test_what_is_written_here_before_a_late_cluster_comes_stays(home: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    nowhere: Any = None
    moves = (FileMove("*.txt", str(home)),)
    step = Step(StepName(StepKind.FETCH, "s:a"), "s/a", files=moves, folder=str(home))
    place = ClusterPlace(CLUSTER, nowhere)
    place.folder = str(tmp_path / "work")
    deployment = Deployment("x", str(home), (), 0, (), (), {}, None, (), (), ())
    plan = DeploymentPlan(deployment, nowhere, (), (step,))
    tasks = TaskGroup()
    with LocalLauncher() as local:
        stage_out = StageOut(plan, {"s:a": place}, local, tasks, lambda _: None)
        stage_out.go(["s:a"])
        (home / "x.txt").write_text("mine")
        stage_out.join("s:a")
        (tmp_path / "work" / "x.txt").write_text("theirs")
        stage_out.fetch(step)
        tasks.join()
    assert (home / "x.txt").read_text() == "mine"
    assert (home / "x.txt.s.a").read_text() == "theirs"


def test_of_files_without_room_the_others_come(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    folder = OfSomeoneElse(CLUSTER, CLUSTER, str(work), [])
    for name, size in (("large.txt", 2000), ("small.txt", 10), ("other.txt", 900)):
        (work / name).write_bytes(b"x" * size)
    usage = shutil._ntuple_diskusage(1 << 20, 0, 1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(FetchFailed) as told:
        fetcher(folder, home, "").finish()
    assert "large.txt: it takes 2,000 bytes, and there is room for" in told.value.cause
    assert {one.name for one in home.glob("*.txt")} == {"small.txt", "other.txt"}


def test_the_results_of_a_former_job_are_waited_for(home: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    nowhere: Any = None
    moves = (FileMove("*.txt", str(home)),)
    step = Step(StepName(StepKind.FETCH, "0:0"), "s/a", files=moves, folder=str(home))
    place = ClusterPlace(CLUSTER, nowhere)
    place.folder = str(tmp_path / "work")
    deployment = Deployment("x", str(home), (), 0, (), (), {}, None, (), (), ())
    plan = DeploymentPlan(deployment, nowhere, (), (step,))
    tasks, told = TaskGroup(), list[object]()
    with LocalLauncher() as local:
        stage_out = StageOut(plan, {"0:0": place}, local, tasks, told.append)
        stage_out.go(())
        (tmp_path / "work" / "x.txt").write_text("of the first job")
        former = stage_out.take_former("0:0")
        stage_out.fetch(step)
        assert told == []
        stage_out.finish_former(former)
        tasks.join()
    assert len(told) == 1
    assert (home / "x.txt").read_text() == "of the first job"
