"""The owner of a desktop comes first, where the configuration says so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.peers.configuration.reading import read_text
from runtime.peers.daemon.owner import OwnersWork, idle_seconds, running_below, share_for
from runtime.peers.model import Share

LENT, REDUCED = Share(4, 8), Share(1, 2)


@pytest.mark.parametrize(
    ("thresholds", "measured", "share"),
    [
        ((0.0, 0.0), (99.0, 0.0), LENT),
        ((0.5, 0.0), (0.5, 0.0), REDUCED),
        ((0.5, 0.0), (0.4, 0.0), LENT),
        ((0.0, 60.0), (99.0, 59.0), REDUCED),
        ((0.0, 60.0), (99.0, 60.0), LENT),
        ((0.5, 60.0), (0.4, 60.0), LENT),
        ((0.5, 60.0), (0.5, 60.0), REDUCED),
    ],
)
def test_the_share_is_smaller_while_the_owner_works(
    thresholds: tuple[float, float], measured: tuple[float, float], share: Share
) -> None:
    found, why = share_for(LENT, REDUCED, thresholds, measured)
    assert (found, bool(why)) == (share, share is REDUCED)


def test_nobody_looks_at_the_owner_if_nobody_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "getloadavg")
    found = OwnersWork(read_text("applications = 3\nprocesses = 5"))
    assert found.share() == Share(3, 5)


def test_an_owner_who_was_just_there_lends_what_is_said(tmp_path: Path) -> None:
    (tmp_path / "tty1").touch()
    os.utime(tmp_path / "tty1", (1000.0, 0.0))
    assert idle_seconds(1030.0, [f"{tmp_path}/tty*"]) == 30
    configuration = read_text("owner_idle = 1e6\nowner_applications = 1\nowner_processes = 2")
    owner = OwnersWork(configuration, [f"{tmp_path}/tty*"], now=lambda: 1030.0)
    assert owner.share() == Share(1, 2)
    assert owner.reason == "its owner comes first: somebody was there 30 s ago"


@pytest.fixture
def busy() -> Iterator[int]:
    """Yield the number of a process that computes all the time, below this one."""
    program = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


@pytest.mark.usefixtures("busy")
def test_programs_of_the_lab_are_not_taken_for_the_owners_work() -> None:
    assert running_below(os.getpid()) >= 1
