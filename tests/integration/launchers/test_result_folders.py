"""The folder of a place from which results come: that it goes, stays, or is not reached."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from runtime.launchers.base import Command
from runtime.launchers.errors import FetchFailed
from runtime.launchers.local import LocalLauncher
from runtime.processes.launcher.place import ClusterPlace
from runtime.results.result_folders import FolderAtPlace, FolderGone
from tests.planned_cluster import planned_cluster

CLUSTER = planned_cluster()


def never() -> bool:
    return False


@pytest.fixture
def place(local: LocalLauncher) -> ClusterPlace:
    """A cluster on this machine that works in a copy."""
    made = ClusterPlace(CLUSTER, local)
    made.work = made.folder = local.make_folder()
    local.seal(made.work)
    return made


def test_a_work_folder_that_somebody_removed_is_an_error_and_not_one_without_results(
    place: ClusterPlace,
) -> None:
    folder = FolderAtPlace(place)
    assert folder.list(never) == {}
    shutil.rmtree(place.work)
    with pytest.raises(FolderGone, match=f"{place.work} has been removed, with all results"):
        folder.list(never)


def test_a_file_system_here_from_which_nothing_comes_is_no_reason_to_end_the_run(
    place: ClusterPlace, local: LocalLauncher
) -> None:
    with pytest.raises(FetchFailed, match="nothing comes any more"):
        FolderAtPlace(place).let_go()
    assert local.start(Command(("true",))).wait(20).ok


def test_the_command_that_is_named_brings_results_to_a_folder_that_is_not_there_yet(
    place: ClusterPlace, tmp_path: Path
) -> None:
    Path(place.work, "result").write_text("1")
    kept = FolderAtPlace(place).kept(str(tmp_path / "not there" / "yet"))
    subprocess.run(kept.command, shell=True, check=True)
    (found,) = (tmp_path / "not there" / "yet").iterdir()
    assert found.name.startswith("kept.")
    assert (found / "result").read_text() == "1"
