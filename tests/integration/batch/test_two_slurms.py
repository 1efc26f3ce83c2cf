"""One program over two Slurm clusters, one of them behind ssh, and a host without a queue."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from datetime import datetime, timedelta

import pytest

from runtime.testing.sshd import Sshd
from tests.integration.batch.kills import SEED, kill_launchers
from tests.integration.batch.site import PATIENCE, WAIT, end_of, wait_until
from tests.integration.batch.slurm_daemons import Slurm
from tests.integration.batch.two_slurms import AHEAD, SUM, descriptor, wrong_clock
from tools.on_grids import COMMAND

pytestmark = [
    pytest.mark.mpi, pytest.mark.needs_root, pytest.mark.needs_slurm, pytest.mark.needs_sshd,
]  # fmt: skip

SAVES = """
import signal, time
from pathlib import Path
from mpi4py import MPI

world = MPI.COMM_WORLD
signal.signal(signal.SIGUSR1, lambda *_: Path(f"saved{world.rank}.txt").touch())
for rank, clock in enumerate(world.allgather(time.time())):
    if world.rank == 0:
        print(rank, clock, flush=True)
while True:
    time.sleep(1)
"""
WALLTIME = 'walltime="1min" signal="USR1" signal-before="46s" reserve="40s"'


def test_a_program_runs_over_two_slurms_and_a_host_in_one_world(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd]
) -> None:
    far, server = far_slurm
    code, said, errors = slurm.call(*COMMAND, str(descriptor(slurm, far, server)))
    assert (code, errors) == (0, "")
    near_node, far_node = slurm.fields()["NodeList"], far.fields()["NodeList"]
    assert sorted(said.splitlines()) == [
        f"0 of 5: 10 on {near_node} of {slurm.folder}",
        f"1 of 5: 10 on {near_node} of {slurm.folder}",
        f"2 of 5: 10 on {far_node} of {far.folder}",
        f"3 of 5: 10 on {far_node} of {far.folder}",
        f"4 of 5: 10 on {far.login} of {far.folder}",
    ]
    wait_until(lambda: slurm.is_given_back() and far.is_given_back())
    wait_until(lambda: {one.record().state for one in (slurm, far)} == {"CANCELLED"})
    assert [len(one.record().nodes) for one in (slurm, far)] == [1, 1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nodes_of_one_cluster_are_given_back_where_the_run_ends_in_the_queue_of_another(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd], number: signal.Signals
) -> None:
    far, server = far_slurm
    other = far.hold_all()
    run: subprocess.Popen[str] = slurm.start(descriptor(slurm, far, server))
    wait_until(lambda: len(far.queue()) == 2 and slurm.run("squeue", "-h", "-t", "R") != "")
    os.kill(run.pid, number)
    run.communicate(timeout=PATIENCE)
    wait_until(lambda: slurm.is_given_back() and len(far.queue()) == 1)
    far.run("scancel", other)
    wait_until(far.is_given_back)


def test_an_early_grant_is_given_back_and_asked_for_again_until_both_have_their_nodes(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd]
) -> None:
    far, server = far_slurm
    other = far.hold_all()
    path = descriptor(slurm, far, server, idle="4s")
    run: subprocess.Popen[str] = slurm.start(path, "--verbose", "--summary")
    wait_until(lambda: len(slurm.queue()) == 1)
    early = slurm.record().number
    wait_until(lambda: not slurm.queue() and not slurm.leases())  # the other one is still full
    assert len(far.queue()) == 2
    far.run("scancel", other)
    out, errors = run.communicate(timeout=2 * PATIENCE)
    assert (run.returncode, len(out.splitlines())) == (0, 5), errors
    late = slurm.record().number
    assert int(late) > int(early)
    assert (
        f"lyon/rhone: job {early} has its nodes and waits for nice/var, for 4 s at most" in errors
    )
    assert re.search(
        rf"lyon/rhone: job {early} gave its nodes back, 0.0\d core-hours unused;"
        " it asks again",
        errors,
    )
    assert re.search(rf"\nlyon +{early}, {late} +1 +2 .* 0.00\d\n", errors)
    wait_until(lambda: slurm.is_given_back() and far.is_given_back())


def test_a_run_whose_launcher_moved_goes_on_while_the_laptop_is_closed(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd]
) -> None:
    far, server = far_slurm
    file = far.work / "go"
    path = descriptor(slurm, far, server, program=SUM + WAIT.format(file=file))
    text = path.read_text()
    begin, end = text.index('<site name="lyon">'), text.index('<site name="nice">')
    path.write_text((text[:begin] + text[end:]).replace("walltime=", 'lease="5s" walltime='))
    code, said, errors = slurm.call(*COMMAND, "--detach=nice", str(path))
    assert (code, errors) == (0, "")
    name = said.split()[0]
    assert slurm.processes() == []  # so that it may be suspended, too
    wait_until(far.queue)
    for host in (far.login, *far.nodes):
        slurm.grid.cut(slurm.login, host)
    wait_until(lambda: far.record().state == "RUNNING")
    time.sleep(15)  # thrice as long as the lease
    job = far.record()
    assert job.state == "RUNNING"
    file.touch()
    wait_until(lambda: far.record(job.number).state == "CANCELLED")
    for host in (far.login, *far.nodes):
        slurm.grid.heal(slurm.login, host)
    code, said, errors = slurm.call(*COMMAND, "attach", name)
    file.unlink()
    assert (code, errors) == (0, "")
    assert sorted(said.splitlines()) == [
        f"0 of 3: 3 on {job.nodes[0]} of {far.folder}",
        f"1 of 3: 3 on {job.nodes[0]} of {far.folder}",
        f"2 of 3: 3 on {far.login} of {far.folder}",
    ]
    wait_until(far.is_given_back)
    assert list(far.home.glob(".local/state/gcm/runs/*")) == []


@pytest.mark.shows("launcher killed")
def test_launchers_that_are_killed_at_random_times_leave_nothing(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd]
) -> None:
    assert len(list(kill_launchers(slurm, *far_slurm, kills=3, seed=SEED))) == 3
    wait_until(lambda: {one.record().state for one in (slurm, far_slurm[0])} == {"CANCELLED"})


@pytest.mark.parametrize("here", [0, 2 * AHEAD], ids=["behind", "ahead"])
def test_queue_signal_walltime_and_results_do_not_depend_on_the_clock_of_a_site(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd], here: int
) -> None:
    """The clock of the far site is an hour behind that of the launcher, or ahead of it."""
    far, server = far_slurm
    clock = {"LD_PRELOAD": wrong_clock(slurm.folder, here)} if here else {}
    other = far.hold_all()
    path = descriptor(slurm, far, server, program=SAVES)
    before, site, far_site = path.read_text().partition('<site name="nice">')
    path.write_text(before + site + far_site.replace('walltime="5min"', WALLTIME))
    run = slurm.start(path, "--verbose", **clock)
    assert run.stderr is not None
    told = next(line for line in run.stderr if "nice/var" in line and "start expected" in line)
    expected = datetime.fromisoformat(far.fields()["StartTime"]) - timedelta(seconds=AHEAD - here)
    assert told.rstrip().endswith(f"start expected {expected:%Y-%m-%d %H:%M}")
    far.cancel(other)
    assert run.stdout is not None
    said = [run.stdout.readline().split() for _ in range(5)]
    assert all(said), end_of(run)
    ahead = [float(clock) - time.time() for _, clock in said]
    assert [round(one / 60) for one in ahead] == [*[here // 60] * 2, *[AHEAD // 60] * 3]
    code, _, errors = end_of(run)
    assert code == 207, errors
    assert re.search(r"nice/var: its job has (40|39) s left, so the run was", errors)
    assert sorted(one.name for one in slurm.work.glob("saved*")) == ["saved2.txt", "saved3.txt"]
    wait_until(lambda: slurm.is_given_back() and far.is_given_back())
    wait_until(lambda: far.record().state == "CANCELLED")
