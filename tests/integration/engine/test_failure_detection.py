"""Failure detection in running machines: who is stopped, and what is silent."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.detectors.times import (
    Running,
    cut_link,
    deployment,
    freeze_rank,
    front_end_of,
    lose_host,
    started,
    two_hosts,
)
from benchmarks.grid import missing
from runtime.testing.sshd import SSHD

pytestmark = pytest.mark.mpi

EMULATED = (
    '<failure-detector protocol="{protocol}" timeout="1.5s" frozen="{frozen}"/>'
    '<emulate sites="{sites}" clusters="{clusters}" ranks="1"/>'
)
PROTOCOLS = pytest.mark.parametrize("protocol", ["dbrr", "hierarchical"])


@contextmanager
def running(
    folder: Path, frozen: str, protocol: str = "dbrr", sites: int = 2, clusters: int = 1
) -> Iterator[Running]:
    text = EMULATED.format(frozen=frozen, protocol=protocol, sites=sites, clusters=clusters)
    with started(folder, deployment(folder, text)) as run:
        yield run


def test_a_rank_that_a_signal_has_stopped_is_only_suspected_and_goes_on(tmp_path: Path) -> None:
    with running(tmp_path, "suspect") as run:
        freeze_rank(run)
        _, line = run.seen.wait("rank 1 (site1/cluster0 0) has been stopped for")
        assert "by a signal or a debugger" in line
        os.kill(run.victim, signal.SIGCONT)
        run.seen.wait("rank 1 (site1/cluster0 0) continues")
        assert run.process.poll() is None


@PROTOCOLS
def test_a_rank_that_stands_still_is_ended_where_that_is_asked_for(
    tmp_path: Path, protocol: str
) -> None:
    with running(tmp_path, "lost", protocol) as run:
        freeze_rank(run)
        run.seen.wait("rank 1 (site1/cluster0 0) has been stopped for")
        assert run.process.wait(30) == 128 + signal.SIGKILL
        run.seen.wait("rank 1 (site1/cluster0 0)", "SIGKILL")


@pytest.mark.parametrize(
    ("protocol", "sites", "clusters"), [("dbrr", 2, 1), ("hierarchical", 1, 2)]
)
def test_a_front_end_that_stands_still_is_lost_where_that_is_asked_for(
    tmp_path: Path, protocol: str, sites: int, clusters: int
) -> None:
    with running(tmp_path, "lost", protocol, sites, clusters) as run:
        os.kill(front_end_of(run.process.pid), signal.SIGSTOP)
        run.seen.wait(f"site{sites - 1}/cluster{clusters - 1}: lost")
        run.seen.wait("its host or the way to it is lost")
        run.seen.wait("and a ping was not answered")


def test_a_launcher_that_was_stopped_for_longer_than_the_timeout_accuses_nobody(
    tmp_path: Path,
) -> None:
    with running(tmp_path, "lost") as run:
        run.process.send_signal(signal.SIGSTOP)
        with pytest.raises(subprocess.TimeoutExpired):
            run.process.wait(2.5)
        run.process.send_signal(signal.SIGCONT)
        with pytest.raises(subprocess.TimeoutExpired):
            run.process.wait(2.0)
        assert not [line for _, line in run.seen.lines if "lost" in line]


@pytest.mark.needs_root
@pytest.mark.skipif(SSHD is None, reason="there is no sshd")
@pytest.mark.parametrize(("protocol", "fault"), [("dbrr", cut_link), ("hierarchical", lose_host)])
def test_a_host_whose_network_is_cut_is_lost_within_the_timeout_and_the_run_says_so(
    tmp_path: Path, protocol: str, fault: Callable[[Running], None]
) -> None:
    if lacking := missing():
        pytest.skip(lacking)
    chosen = f'<failure-detector protocol="{protocol}"/>'
    with (
        two_hosts(tmp_path) as (grid, text),
        started(tmp_path, deployment(tmp_path, chosen + text), grid) as run,
    ):
        fault(run)
        run.seen.wait("site1/cluster0: lost", timeout=12.0)  # that of ssh is 15 seconds
        address = grid.layout.clusters[1].address
        run.seen.wait(f"site1/cluster0, {address}: the front-end, its host or the way")
        run.seen.wait("the host was lost, and cannot be reached")  # told once, not tried again
