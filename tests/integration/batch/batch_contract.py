"""What a run in a job promises with every batch system, as tests with its real daemons.

Each compares what ranks on two nodes print with what the daemons have recorded of the job, which is
submitted from a plain account.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterable

import pytest

from tests.integration.batch.site import (
    FRONT_END_ENDED,
    HELLO,
    WAIT,
    Recorded,
    Site,
    end_of,
    wait_until,
)
from tools.on_grids import COMMAND

HOLDS = f"{HELLO}\nimport time\ntime.sleep(300)\n"
MAKES = 'open("made.txt", "w").write("before")'
SAVES = f"""{HELLO}
import signal, time
from pathlib import Path

def save(*_):
    if world.rank == 0:
        Path("saved.txt").write_text("by rank 0")

signal.signal(signal.SIGUSR1, save)
while True:
    time.sleep(1)
"""
BESIDE = '<cluster name="here"><mpi ranks="1"/></cluster>'
TWO = 'nodes="2"'


def job_of(site: Site, said: Iterable[str], size: int = 4) -> Recorded:
    """Compare what four ranks have printed with what is recorded of their job; return that."""
    job = site.record()
    assert (job.state, len(job.nodes)) == (site.running, 2)
    assert sorted(said) == [f"{rank} of {size} on {job.nodes[rank // 2]}" for rank in range(4)]
    return job


def begun(site: Site, run: subprocess.Popen[str]) -> Recorded:
    """Await the four ranks of a run; return what is recorded of their job."""
    assert run.stdout is not None
    said = [run.stdout.readline().rstrip() for _ in range(4)]
    assert all(said), end_of(run)
    return job_of(site, said)


def await_end(site: Site, job: Recorded) -> None:
    """Wait until a run has left nothing, and the end of its job is recorded."""
    wait_until(site.is_given_back)
    wait_until(lambda: site.record(job.number).state in site.ended)


class BatchSystemContract:
    """The tests; a subclass has the fixture `site`.

    `waits` is a pattern for what is told of a job while others have all nodes, `refuses` what its
    batch system says of a queue that is not there, `warns` a pattern for what it says in good runs.
    """

    waits = ""
    refuses = ""
    warns = ""

    @pytest.mark.shows("script", "submit", "nodes", "start", "output")
    def test_a_program_runs_on_the_nodes_that_are_granted_with_a_cluster_beside_them(
        self, site: Site
    ) -> None:
        run = site.start(site.descriptor(HELLO + WAIT.format(file=site.work / "go"), TWO, BESIDE))
        assert run.stdout is not None
        said = sorted(run.stdout.readline().rstrip() for _ in range(5))
        assert all(said), end_of(run)
        job = job_of(site, said[:4], size=5)
        assert said[4] == f"4 of 5 on {site.login}"
        (site.work / "go").touch()
        code, rest, errors = end_of(run)
        assert (code, rest) == (0, ""), errors
        assert re.fullmatch(self.warns, errors)
        await_end(site, job)

    @pytest.mark.shows("queue reason", "launcher killed")
    def test_the_queue_is_told_in_words_and_left_when_the_launcher_is_killed(
        self, site: Site
    ) -> None:
        other = site.hold_all()
        run = site.start(site.descriptor(HELLO, TWO), "--verbose")
        assert run.stderr is not None
        words = re.compile(rf"lyon/rhone: job \d+ is {self.waits}")
        assert any(map(words.search, run.stderr))
        os.kill(run.pid, signal.SIGKILL)
        end_of(run)
        wait_until(lambda: len(site.queue()) == 1)
        site.cancel(other)
        wait_until(site.is_given_back)

    @pytest.mark.shows("rejected option")
    def test_what_is_refused_is_told_in_the_words_of_the_batch_system(self, site: Site) -> None:
        code, said, errors = end_of(site.start(site.descriptor(HELLO, f'{TWO} queue="nowhere"')))
        assert (code, said) == (203, "")
        refused = f"gcm-deploy: lyon/rhone: {site.system} refused the job. Correct <batch>; a dry"
        assert errors.startswith(refused)
        assert self.refuses in errors
        assert site.is_given_back()

    @pytest.mark.shows("cancel")
    @pytest.mark.parametrize("by", ["user", "administrator"])
    def test_a_job_that_is_cancelled_ends_the_run(self, site: Site, by: str) -> None:
        run = site.start(site.descriptor(HOLDS, TWO))
        job = begun(site, run)
        if by == "user":
            run.send_signal(signal.SIGINT)
        else:
            site.cancel(job.number)
        code, _, errors = end_of(run)
        assert code == (130 if by == "user" else 204), errors
        reason = f"lyon/rhone: {FRONT_END_ENDED}; job {job.number} is "
        assert (reason in errors) is (by == "administrator"), errors
        await_end(site, job)

    @pytest.mark.shows("walltime")
    def test_ranks_get_a_signal_and_results_come_home_before_the_walltime_is_over(
        self, site: Site
    ) -> None:
        batch = f'{TWO} signal="USR1" signal-before="46s" reserve="40s"'
        run = site.start(site.descriptor(SAVES, batch, walltime="00:01:00"), "--summary")
        job = begun(site, run)
        _, shown, _ = site.call(*COMMAND, "ps", str(run.pid))
        assert re.search(r"\n  lyon/rhone: 0:00:[45]\d of walltime left\n", shown)
        code, _, errors = end_of(run)
        assert code == 207, errors
        assert re.search(r"lyon/rhone: its job has (40|39) s left, so the run was", errors)
        assert re.search(rf"\nlyon +{job.number} +2 +4 +\d+\.\d +0\.0\d\d +0\.000\n", errors)
        assert (site.work / "saved.txt").read_text() == "by rank 0"
        await_end(site, job)

    leaves_no_folder = False
    """Whether a job has the time to tidy up when its launcher was killed."""

    @pytest.mark.shows("launcher killed")
    def test_the_job_of_a_launcher_that_was_killed_is_gone(self, site: Site) -> None:
        run = site.start(site.descriptor(HOLDS, TWO))
        job, runs = begun(site, run), site.home / "runs"
        assert list(runs.glob("gcm-*"))
        os.kill(run.pid, signal.SIGKILL)
        end_of(run)
        await_end(site, job)
        if self.leaves_no_folder:
            wait_until(lambda: not list(runs.glob("gcm-*")))  # nothing new was in them

    @pytest.mark.shows("detached")
    def test_a_detached_run_is_followed_and_ended_from_elsewhere(self, site: Site) -> None:
        code, said, _ = site.call(*COMMAND, "--detach", str(site.descriptor(HOLDS, TWO)))
        assert code == 0
        name = said.split()[0]
        wait_until(lambda: site.call(*COMMAND, "logs", name)[1].count("of 4 on") == 4, 60)
        assert re.search(rf"^{name} +running ", site.call(*COMMAND, "list")[1], re.MULTILINE)
        job = job_of(site, site.call(*COMMAND, "logs", name)[1].splitlines())
        assert site.call(*COMMAND, "stop", name)[0] == 0
        code, said, _ = site.call(*COMMAND, "attach", name)
        assert (code, len(said.splitlines())) == (143, 4)
        await_end(site, job)

    @pytest.mark.shows("node lost")
    def test_a_node_that_is_lost_is_the_reason_and_the_others_are_given_back(
        self, site: Site
    ) -> None:
        run = site.start(site.descriptor(f"{MAKES}{HOLDS}", TWO))
        job = begun(site, run)
        with site.lost(job.nodes[1]):
            code, _, errors = end_of(run, 90)
            assert code == 204, errors
            by_system = f"gcm-deploy: lyon/rhone: {FRONT_END_ENDED}; job {job.number} is "
            assert by_system in errors or "its host has not answered for 20 s" in errors, errors
        wait_until(site.is_given_back)
        assert (site.work / "made.txt").read_text() == "before"
        wait_until(lambda: site.record(job.number).state in (*site.ended, "NODE_FAIL"))
