"""Runs in jobs of a real Grid Engine, by the command that a user types; its own record is asked."""

from __future__ import annotations

import pytest

from tests.integration.batch.batch_contract import BatchSystemContract
from tests.integration.batch.grid_engine_daemons import GridEngine
from tests.integration.batch.site import (
    ACCOUNT,
    HELLO,
    Recorded,
    end_of,
    wait_until,
    without_who_is_awaited,
)
from tools.on_grids import COMMAND

pytestmark = [pytest.mark.mpi, pytest.mark.needs_root, pytest.mark.needs_grid_engine]


class TestGridEngine(BatchSystemContract):
    waits = r"qw \(All queues dropped because of .*full\)"
    refuses = 'Unable to run job: Job was rejected because job requests unknown queue "nowh'

    @pytest.fixture
    def site(self, grid_engine: GridEngine) -> GridEngine:
        return grid_engine


@pytest.mark.shows("inside an allocation")
def test_a_script_of_qsub_runs_a_program_on_all_of_its_nodes(grid_engine: GridEngine) -> None:
    (grid_engine.work / "hello.py").write_text(HELLO)
    options = ("-pe", "mpi", "4", "-cwd", "-V", "-S", "/bin/sh", "-j", "y", "-o", "out.txt")
    command = " ".join(f"'{word}'" for word in (*COMMAND, "hello.py"))
    script = f"cut -d' ' -f1 $PE_HOSTFILE >nodes.txt\n{command}\n"
    code, number, errors = grid_engine.call("qsub", "-terse", *options, text=script)
    assert (code, errors) == (0, "")
    wait_until(lambda: not grid_engine.queue(), 60)
    said = without_who_is_awaited((grid_engine.work / "out.txt").read_text())
    nodes = (grid_engine.work / "nodes.txt").read_text().split()
    assert sorted(said.splitlines()) == [f"{rank} of 4 on {nodes[rank // 2]}" for rank in range(4)]
    wait_until(grid_engine.is_given_back)
    wait_until(lambda: grid_engine.record() == Recorded(number.strip(), "0", (nodes[0],)))


@pytest.mark.parametrize("may_reserve", [False, True])
def test_two_clusters_reserve_a_common_start_where_the_site_lets_them(
    grid_engine: GridEngine, may_reserve: bool
) -> None:
    grid_engine.run("qconf", "-au" if may_reserve else "-du", ACCOUNT, "arusers")
    path = grid_engine.descriptor(HELLO, cluster=grid_engine.cluster("saone"))
    code, said, errors = end_of(grid_engine.start(path, "--verbose"), 120)
    assert (code, said.count("of 4")) == (0, 4), errors
    assert "rhone: reserves nodes from a start in 60 s on" in errors
    refusal = "no nodes were reserved: denied"
    assert (refusal in errors) is not may_reserve, errors
    wait_until(lambda: grid_engine.is_given_back() and not grid_engine.run("qrstat", "-u", "*"))
