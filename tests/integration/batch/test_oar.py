"""Runs in jobs of a real OAR, by the command that a user types; its own record is asked."""

from __future__ import annotations

import os
import re
import signal
import time

import pytest

from tests.integration.batch.oar_daemons import Oar
from tests.integration.batch.site import HELLO, LONG, end_of, wait_until
from tools.on_grids import COMMAND

pytestmark = [pytest.mark.mpi, pytest.mark.needs_root, pytest.mark.needs_oar]

NAMED = HELLO.replace("flush=True", "flush=True)\nimport time\ntime.sleep(300", 1)


@pytest.mark.shows("oar", "script", "submit", "nodes", "start", "output", "cancel")
@pytest.mark.parametrize("by", ["user", "administrator"])
def test_a_program_runs_on_the_nodes_that_are_granted_until_it_is_cancelled(
    oar: Oar, by: str
) -> None:
    run = oar.start(oar.descriptor(NAMED, 'nodes="2"'))
    assert run.stdout is not None
    said = sorted(run.stdout.readline() for _ in range(4))
    record = oar.record()
    assert (record.state, len(record.nodes)) == ("Running", 2)
    assert said == [f"{rank} of 4 on {record.nodes[rank // 2]}\n" for rank in range(4)]
    if by == "user":
        run.send_signal(signal.SIGINT)
    else:
        oar.run("oardel", record.number)
    code, _, errors = end_of(run)
    assert code == (130 if by == "user" else 204), errors
    wait_until(oar.is_given_back)
    assert oar.record(record.number).state in ("Error", "Terminated")


@pytest.mark.shows("oar", "queue reason")
def test_the_queue_is_told_in_words_and_waited_for(oar: Oar) -> None:
    other = oar.hold_all()
    run = oar.start(oar.descriptor(HELLO), "--verbose")
    wait_until(lambda: len(oar.queue()) == 2)
    time.sleep(10)  # so that it has asked once after the scheduler has looked
    oar.run("oardel", other)
    code, said, errors = end_of(run)
    assert (code, said.count("of 2")) == (0, 2), errors
    assert re.search(r"lyon/rhone: job \d+ is Waiting \(R=2,W=0:5:0,J=B,N=gcm-", errors), errors
    wait_until(oar.is_given_back)


@pytest.mark.shows("oar", "rejected option")
def test_what_oar_refuses_is_told_in_its_own_words(oar: Oar) -> None:
    code, said, errors = end_of(oar.start(oar.descriptor(HELLO, 'queue="nowhere"')))
    assert (code, said) == (203, "")
    assert errors.startswith("gcm-deploy: lyon/rhone: oar refused the job.")
    assert "The queue nowhere does not exist" in errors
    assert oar.is_given_back()


@pytest.mark.shows("oar", "launcher killed")
def test_the_job_of_a_launcher_that_was_killed_is_gone(oar: Oar) -> None:
    run = oar.start(oar.descriptor(LONG, 'nodes="2"'))
    assert run.stdout is not None
    assert run.stdout.readline().startswith("rank")
    os.kill(run.pid, signal.SIGKILL)
    end_of(run)
    wait_until(oar.is_given_back)


@pytest.mark.shows("oar", "walltime")
def test_the_run_ends_before_the_walltime_of_its_job(oar: Oar) -> None:
    path = oar.descriptor(LONG, 'nodes="2" reserve="20s"', walltime="00:00:45")
    run = oar.start(path)
    assert run.stdout is not None
    assert sorted(run.stdout.readline() for _ in range(4)) == [f"rank {n}\n" for n in range(4)]
    job = oar.record()
    code, _, errors = end_of(run)
    assert (code, len(job.nodes)) == (207, 2), errors
    assert re.search(r"lyon/rhone: its job has (20|19) s left, so the run was", errors)
    wait_until(oar.is_given_back)
    assert oar.record(job.number).state in oar.ended


@pytest.mark.shows("oar", "inside an allocation")
def test_a_script_of_oarsub_runs_a_program_on_all_of_its_nodes(oar: Oar) -> None:
    script = oar.work / "script.sh"
    command = " ".join(f"'{word}'" for word in (*COMMAND, "hello.py"))
    settings = " ".join(f"'{name}={value}'" for name, value in oar.environment.items())
    script.write_text(f"#!/bin/sh\ncd {oar.work}\nenv {settings} {command}\n")
    script.chmod(0o755)
    (oar.work / "hello.py").write_text(HELLO)
    wanted = ("-l", "/nodes=2/core=2,walltime=0:2:0", "-O", "out.txt", "-E", "errors.txt")
    code, said, errors = oar.call("oarsub", *wanted, str(script))
    assert code == 0, errors
    (number,) = re.findall(r"^OAR_JOB_ID=(\d+)$", said, re.MULTILINE)
    wait_until(lambda: not oar.queue(), 60)
    job = oar.record(number)
    printed = sorted((oar.work / "out.txt").read_text().splitlines())
    assert printed == [f"{rank} of 4 on {job.nodes[rank // 2]}" for rank in range(4)], (
        oar.work / "errors.txt"
    ).read_text()
    assert job.state == "Terminated"
    wait_until(oar.is_given_back)


@pytest.mark.timeout(230)
def test_two_clusters_reserve_nodes_from_a_common_start_on(oar: Oar) -> None:
    path = oar.descriptor(HELLO, cluster=oar.cluster("saone"))
    code, said, errors = end_of(oar.start(path, "--verbose", "--summary"), 180)
    assert (code, said.count("of 4")) == (0, 4), errors
    assert "rhone: reserves nodes from a start in 60 s on" in errors
    (row,) = re.findall(r"^lyon +(\d+), (\d+) .* (\S+)$", errors, re.MULTILINE)
    assert float(row[2]) < 0.01, errors
    for number in row[:2]:
        assert "reservation = Scheduled" in oar.run("oarstat", "-f", "-j", number)
    wait_until(oar.is_given_back)
