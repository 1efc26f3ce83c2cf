"""Runs in jobs of a real Grid Engine, by the command that a user types; its own record is asked."""

from __future__ import annotations

import os
import re
import signal
import time

import pytest

from tests.integration.batch.grid_engine_daemons import GridEngine
from tests.integration.batch.site import ACCOUNT, HELLO, LONG, WAIT, end_of, wait_until
from tools.on_grids import COMMAND

pytestmark = [pytest.mark.mpi, pytest.mark.needs_root, pytest.mark.needs_grid_engine]

SYSTEM = "grid-engine"


@pytest.mark.shows(SYSTEM, "script", "submit", "nodes", "start", "output")
def test_a_program_runs_on_the_nodes_that_are_granted(grid_engine: GridEngine) -> None:
    program = HELLO + WAIT.format(file=grid_engine.work / "go")
    run = grid_engine.start(grid_engine.descriptor(program, 'nodes="2"'))
    assert run.stdout is not None
    said = sorted(run.stdout.readline() for _ in range(4))
    job = grid_engine.record()
    (grid_engine.work / "go").touch()
    code, _, errors = end_of(run)
    assert (code, errors) == (0, "")
    assert (job.state, len(job.nodes)) == ("r", 2)
    assert said == [f"{rank} of 4 on {job.nodes[rank // 2]}\n" for rank in range(4)]
    wait_until(grid_engine.is_given_back)
    wait_until(lambda: grid_engine.record(job.number).nodes == job.nodes[:1])


@pytest.mark.shows(SYSTEM, "queue reason")
def test_the_queue_is_told_in_words_and_waited_for(grid_engine: GridEngine) -> None:
    other = grid_engine.hold_all()
    run = grid_engine.start(grid_engine.descriptor(HELLO), "--verbose")
    wait_until(lambda: len(grid_engine.queue()) == 2)
    time.sleep(10)  # so that it has asked once after the scheduler has looked
    grid_engine.run("qdel", other)
    code, said, errors = end_of(run)
    assert (code, said.count("of 2")) == (0, 2), errors
    assert re.search(r"lyon/rhone: job \d+ is qw \(All queues dropped because of .*full\)", errors)
    wait_until(grid_engine.is_given_back)


@pytest.mark.shows(SYSTEM, "rejected option")
def test_what_grid_engine_refuses_is_told_in_its_own_words(grid_engine: GridEngine) -> None:
    path = grid_engine.descriptor(HELLO, 'queue="nowhere"')
    code, said, errors = end_of(grid_engine.start(path))
    assert (code, said) == (203, "")
    assert errors.startswith("gcm-deploy: lyon/rhone: grid-engine refused the job.")
    assert 'Unable to run job: Job was rejected because job requests unknown queue "nowh' in errors
    assert grid_engine.is_given_back()


@pytest.mark.shows(SYSTEM, "cancel")
@pytest.mark.parametrize("by", ["user", "administrator"])
def test_a_job_that_is_cancelled_ends_the_run(grid_engine: GridEngine, by: str) -> None:
    run = grid_engine.start(grid_engine.descriptor(LONG, 'nodes="2"'))
    assert run.stdout is not None
    assert run.stdout.readline().startswith("rank")
    if by == "user":
        run.send_signal(signal.SIGINT)
    else:
        grid_engine.run("qdel", "-u", ACCOUNT)
    code, _, errors = end_of(run)
    assert code == (130 if by == "user" else 204)
    if by == "administrator":
        assert re.search(r"lyon/rhone: the front-end has ended; job \d+ is \w+", errors), errors
    wait_until(grid_engine.is_given_back)


@pytest.mark.shows(SYSTEM, "walltime")
def test_the_run_ends_before_the_walltime_of_its_job(grid_engine: GridEngine) -> None:
    path = grid_engine.descriptor(LONG, 'nodes="2" reserve="10s"', walltime="00:00:25")
    code, said, errors = end_of(grid_engine.start(path))
    assert (code, len(said.splitlines())) == (207, 4), errors
    assert re.search(r"lyon/rhone: its job has (10|9) s left, so the run was", errors)
    wait_until(grid_engine.is_given_back)


@pytest.mark.shows(SYSTEM, "launcher killed")
@pytest.mark.parametrize("is_queued", [False, True])
def test_the_job_of_a_launcher_that_was_killed_is_gone(
    grid_engine: GridEngine, is_queued: bool
) -> None:
    other = grid_engine.hold_all() if is_queued else ""
    run = grid_engine.start(grid_engine.descriptor(LONG, 'nodes="2"'))
    if is_queued:
        wait_until(lambda: len(grid_engine.queue()) == 2)
    else:
        assert run.stdout is not None
        assert run.stdout.readline().startswith("rank")
    os.kill(run.pid, signal.SIGKILL)
    end_of(run)
    if is_queued:
        wait_until(lambda: len(grid_engine.queue()) == 1)
        grid_engine.run("qdel", other)
    wait_until(grid_engine.is_given_back)


@pytest.mark.shows(SYSTEM, "inside an allocation")
def test_a_script_of_qsub_runs_a_program_on_all_of_its_nodes(grid_engine: GridEngine) -> None:
    (grid_engine.work / "hello.py").write_text(HELLO)
    options = ("-pe", "mpi", "4", "-cwd", "-V", "-S", "/bin/sh", "-j", "y", "-o", "out.txt")
    command = " ".join(f"'{word}'" for word in (*COMMAND, "hello.py"))
    script = f"cut -d' ' -f1 $PE_HOSTFILE >nodes.txt\n{command}\n"
    code, _, errors = grid_engine.call("qsub", *options, text=script)
    assert (code, errors) == (0, "")
    wait_until(lambda: not grid_engine.queue(), 60)
    said = (grid_engine.work / "out.txt").read_text()
    nodes = (grid_engine.work / "nodes.txt").read_text().split()
    assert sorted(said.splitlines()) == [f"{rank} of 4 on {nodes[rank // 2]}" for rank in range(4)]
    wait_until(grid_engine.is_given_back)


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
