"""A program that begins with clusters whose queues have granted nodes; the others come later."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from runtime.testing.sshd import Sshd
from tests.integration.batch.site import FRONT_END_ENDED, PATIENCE, WAIT, wait_until
from tests.integration.batch.slurm_daemons import Slurm
from tests.integration.batch.two_slurms import descriptor
from tools.on_grids import COMMAND, ROOT

pytestmark = [
    pytest.mark.mpi, pytest.mark.needs_root, pytest.mark.needs_slurm, pytest.mark.needs_sshd,
]  # fmt: skip

BEGIN = """
import time
from mpi4py import MPI
world = MPI.COMM_WORLD
is_first = world.Get_attr(MPI.FT_INCARNATION) == 1
if is_first:
    team = world.Shrink()
    print(f"{world.rank} begins with {team.allreduce(1)} of {world.size}", flush=True)
"""
GROW = """
if is_first:
    while not team.allreduce("Failed" not in world.Get_attr(MPI.FT_PROCESSES), MPI.LAND):
        time.sleep(0.1)
world = world.Dup()
print(f"{world.rank} of {world.size}: {world.allreduce(world.rank)}", flush=True)
"""
REBUILD = """
import time
from mpi4py import MPI
comm = MPI.COMM_WORLD
incarnation = comm.Get_attr(MPI.FT_INCARNATION)
is_whole = incarnation == 1
if is_whole:
    print(f"{comm.rank} begins", flush=True)
open(f"began{comm.rank}-{incarnation}", "w").close()
while is_whole or comm is MPI.COMM_WORLD:
    try:
        if not is_whole:
            comm = comm.Dup()
        comm.barrier()
        time.sleep(0.1)
    except MPI.Exception as error:
        if error.Get_error_class() != MPI.ERR_PROC_FAILED:
            raise
        is_whole = False
print(f"{comm.rank} of {comm.size} goes on: {comm.allgather(incarnation)}", flush=True)
"""
SEQUENCE = """
<process id="first" program="true" ready="finished"/>
<dependent-sequence>
<process-reference refid="first"/><process-reference refid="application"/>
</dependent-sequence>
"""
SILENCE = 8.0
"""Seconds in which a silent front-end is missed: 3 of the detector, and room for a slow machine."""
PAGE = Path(ROOT) / "docs" / "batch.md"


def late(near: Slurm, far: Slurm, server: Sshd, program: str, *, has_third: bool = True) -> Path:
    """Write a descriptor that begins with one of two Slurms, and with a host without a queue."""
    path = descriptor(near, far, server, program=program)
    text = path.read_text().replace("<deployment>", '<deployment start="1 of 2">')
    text = text.replace('script="sum.py"', 'script="sum.py" recovery="rebuild"')
    path.write_text(text)
    if not has_third:
        without_third(path)
    return path


def without_third(path: Path) -> None:
    """Leave the host out that has no queue, so that the Slurms are connected by a tunnel."""
    text = path.read_text()
    begin, end = text.index('<cluster name="host">'), text.rindex("</cluster>")
    path.write_text(text[:begin] + text[end + len("</cluster>") :])


def again(near: Slurm, far: Slurm, server: Sshd, program: str, batch: str) -> Path:
    """Write a descriptor whose cluster behind ssh asks for another job once its own has ended."""
    path = descriptor(near, far, server, program=program)
    text = path.read_text().replace('script="sum.py"', 'script="sum.py" recovery="rebuild"')
    before, site, rest = text.partition('<site name="nice">')
    path.write_text(before + site + rest.replace('walltime="5min"', f'again="1" {batch}'))
    return path


def first_lines(run: subprocess.Popen[str], count: int) -> list[str]:
    assert run.stdout is not None
    lines = sorted(run.stdout.readline().rstrip("\n") for _ in range(count))
    assert any(lines), run.communicate(timeout=PATIENCE)[1]
    return lines


def test_the_ranks_of_a_full_queue_come_later_and_take_the_places_that_were_kept(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd]
) -> None:
    far, server = far_slurm
    other = far.hold_all()
    run = slurm.start(late(slurm, far, server, BEGIN + GROW), "--verbose")
    assert first_lines(run, 3) == [f"{rank} begins with 3 of 5" for rank in (0, 1, 4)]
    _, said, _ = slurm.call(*COMMAND, "ps")
    job = far.run("squeue", "-h", "-t", "PD", "-o", "%i").strip()
    assert re.search(rf"\n  nice/var: job {job} is PENDING .*; not there yet: ranks 2-3\n", said)
    far.run("scancel", other)
    out, errors = run.communicate(timeout=2 * PATIENCE)
    assert run.returncode == 0, errors
    assert sorted(out.splitlines()) == [f"{rank} of 5: 10" for rank in range(5)]
    assert "running: 3 of 5 ranks in 3 clusters" in errors
    assert "has its nodes" not in errors
    assert "nice/var: joins, ranks 2-3\n" in errors
    assert "Traceback" not in errors
    wait_until(lambda: slurm.is_given_back() and far.is_given_back())


def test_the_cluster_that_would_lead_comes_last_over_a_tunnel_and_after_a_process(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd]
) -> None:
    far, server = far_slurm
    other = slurm.hold_all()
    path = late(slurm, far, server, BEGIN + GROW, has_third=False)
    path.write_text(path.read_text().replace("<grid>", f"{SEQUENCE}<grid>"))
    run = slurm.start(path)
    assert first_lines(run, 2) == [f"{rank} begins with 2 of 4" for rank in (2, 3)]
    slurm.run("scancel", other)
    out, errors = run.communicate(timeout=2 * PATIENCE)
    assert run.returncode == 0, errors
    assert sorted(out.splitlines()) == [f"{rank} of 4: 6" for rank in range(4)]
    wait_until(lambda: slurm.is_given_back() and far.is_given_back())


def test_the_program_of_the_page_grows(slurm: Slurm, far_slurm: tuple[Slurm, Sshd]) -> None:
    far, server = far_slurm
    (program,) = re.findall(r"```python\n# grow.py\n(.*?)```", PAGE.read_text(), re.S)
    other = far.hold_all()
    run = slurm.start(late(slurm, far, server, program))
    wait_until(lambda: slurm.run("squeue", "-h", "-t", "R") != "")
    far.run("scancel", other)
    out, errors = run.communicate(timeout=2 * PATIENCE)
    assert run.returncode == 0, errors
    assert sorted(out.splitlines()) == [f"rank {rank} of 5" for rank in range(5)]


def test_a_run_ends_well_without_a_cluster_that_never_comes_and_takes_its_job_out_of_the_queue(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd]
) -> None:
    far, server = far_slurm
    other = far.hold_all()
    path = late(slurm, far, server, BEGIN)
    code, said, errors = slurm.call(*COMMAND, "--summary", str(path))
    assert code == 0, errors
    assert sorted(said.splitlines()) == [f"{rank} begins with 3 of 5" for rank in (0, 1, 4)]
    assert "nice/var: ended, its job was cancelled; not there at the end: ranks 2-3\n" in errors
    assert re.search(r"\n\S+ +nice/var .* 2 +-[ -]+never there\n", errors)
    wait_until(lambda: slurm.is_given_back() and len(far.queue()) == 1)
    far.run("scancel", other)
    wait_until(far.is_given_back)


def test_queues_are_empty_once_the_launcher_was_killed_while_a_cluster_was_late(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd]
) -> None:
    far, server = far_slurm
    other = far.hold_all()
    program = BEGIN + WAIT.format(file=slurm.work / "never")
    run = slurm.start(late(slurm, far, server, program))
    first_lines(run, 3)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate(timeout=PATIENCE)
    wait_until(lambda: slurm.is_given_back() and len(far.queue()) == 1)
    far.run("scancel", other)
    wait_until(far.is_given_back)


def test_a_late_cluster_that_cannot_be_opened_gives_its_nodes_back_while_the_run_goes_on(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd]
) -> None:
    far, server = far_slurm
    other, go_on = far.hold_all(), slurm.work / "go-on"
    path = late(slurm, far, server, BEGIN + WAIT.format(file=go_on), has_third=False)
    path.write_text(path.read_text().replace(f"{far.home}/runs", "/proc/none"))
    run = slurm.start(path)
    assert first_lines(run, 2) == [f"{rank} begins with 2 of 4" for rank in (0, 1)]
    far.run("scancel", other)
    wait_until(lambda: not (far.queue() or far.leases()))
    assert run.poll() is None, run.communicate()
    go_on.touch()
    _, errors = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0, errors
    assert "nice/var: lost" in errors
    wait_until(lambda: slurm.is_given_back() and far.is_given_back())


def test_a_late_cluster_cannot_join_without_the_front_end_that_would_lead_it(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd]
) -> None:
    far, server = far_slurm
    other, go_on = far.hold_all(), slurm.work / "go-on"
    run = slurm.start(late(slurm, far, server, BEGIN + WAIT.format(file=go_on)))
    first_lines(run, 3)
    far.kill_all("runtime.frontend")  # that of nice/host
    far.run("scancel", other)
    wait_until(lambda: not (far.queue() or far.leases()))
    assert run.poll() is None, run.communicate()
    go_on.touch()
    _, errors = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0, errors
    assert "nice/var: lost, it cannot join without nice/host" in errors
    wait_until(lambda: slurm.is_given_back() and far.is_given_back())


def test_a_late_cluster_without_a_tunnel_is_given_up_with_the_reason_while_the_run_goes_on(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd]
) -> None:
    far, server = far_slurm
    other, go_on = far.hold_all(), slurm.work / "go-on"
    path = late(slurm, far, server, BEGIN + WAIT.format(file=go_on), has_third=False)
    path.write_text(path.read_text().replace(f"{far.home}/runs", f"{far.home}/{'long' * 25}"))
    run = slurm.start(path)
    assert first_lines(run, 2) == [f"{rank} begins with 2 of 4" for rank in (0, 1)]
    far.run("scancel", other)
    wait_until(lambda: not (far.queue() or far.leases()))
    assert run.poll() is None, run.communicate()
    go_on.touch()
    _, errors = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0, errors
    assert "nice/var: lost, the path of the run's folder is too long" in errors
    assert "grid: failed" not in errors
    wait_until(lambda: slurm.is_given_back() and far.is_given_back())


def test_a_late_cluster_is_watched_once_it_has_come(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd]
) -> None:
    far, server = far_slurm
    other, go_on = far.hold_all(), slurm.work / "go-on"
    path = late(slurm, far, server, BEGIN + GROW + WAIT.format(file=go_on))
    run = slurm.start(path)
    first_lines(run, 3)
    far.run("scancel", other)
    assert first_lines(run, 5) == [f"{rank} of 5: 10" for rank in range(5)]
    node, *_ = far.record().nodes
    far.kill_all("runtime.frontend", host=node, number=signal.SIGSTOP)
    began = time.monotonic()
    assert run.stderr is not None
    assert any("nice/var: lost" in one for one in run.stderr)
    assert time.monotonic() - began < SILENCE
    go_on.touch()
    _, errors = run.communicate(timeout=2 * PATIENCE)
    assert run.returncode == 0, errors
    wait_until(lambda: slurm.is_given_back() and far.is_given_back())


def test_two_late_clusters_that_come_at_once_both_join(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd]
) -> None:
    far, server = far_slurm
    other = far.hold_all()
    path = late(slurm, far, server, BEGIN + GROW, has_third=False)
    text = path.read_text().replace('start="1 of 2"', 'start="1 of 3"')
    begin, end = text.index('<cluster name="var">'), text.rindex("</cluster>") + len("</cluster>")
    second = text[begin:end].replace('"var"', '"loup"')
    path.write_text(text[:end] + second + text[end:])
    run = slurm.start(path)
    assert first_lines(run, 2) == [f"{rank} begins with 2 of 6" for rank in (0, 1)]
    far.run("scancel", other)
    out, errors = run.communicate(timeout=2 * PATIENCE)
    assert run.returncode == 0, errors
    assert sorted(out.splitlines()) == [f"{rank} of 6: 15" for rank in range(6)]
    wait_until(lambda: slurm.is_given_back() and far.is_given_back())


@pytest.mark.parametrize("ends", ["program", "job", "run"])
def test_a_cluster_whose_job_is_cancelled_asks_for_another_one_once_and_its_ranks_are_rebuilt(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd], ends: str
) -> None:
    far, server = far_slurm
    program = REBUILD + (WAIT.format(file=slurm.work / "never") if ends == "job" else "")
    run = slurm.start(again(slurm, far, server, program, 'walltime="5min"'), "--summary")
    assert first_lines(run, 5) == [f"{rank} begins" for rank in range(5)]
    first, other = far.record(), far.ask_for_all()
    far.cancel(first.number)
    wait_until(lambda: "not there yet: ranks 2-3" in slurm.call(*COMMAND, "ps")[1])
    if ends == "run":
        run.send_signal(signal.SIGINT)
    far.cancel(other)
    if ends != "run":
        goes_on = [f"{rank} of 5 goes on: [1, 1, 2, 2, 1]" for rank in range(5)]
        assert first_lines(run, 5) == goes_on
    if ends == "job":
        far.cancel(far.record().number)
    _, errors = run.communicate(timeout=2 * PATIENCE)
    assert run.returncode == {"program": 0, "job": 204, "run": 130}[ends], errors
    was_cancelled = f"{FRONT_END_ENDED}; job {first.number} is CANCELLED"
    assert f"nice/var: lost, asks for another job (1 of 1): {was_cancelled}" in errors
    second = far.record()
    if ends != "run":
        assert int(second.number) > int(first.number)
        assert "nice/var: joins, ranks 2-3\n" in errors
        assert re.search(rf"\nnice +{first.number}, {second.number} ", errors)
        made = {one.name for one in slurm.work.glob("began[23]-*")}
        assert made == {"began2-1", "began2-2", "began3-1", "began3-2"}
    if ends == "job":
        assert f"nice/var: {FRONT_END_ENDED}; job {second.number} is CANCELLED" in errors
        before = 'again="1", and these jobs were lost before:'
        assert f"    {before}\n        {was_cancelled}" in errors
    wait_until(lambda: slurm.is_given_back() and far.is_given_back())


def test_a_run_outlives_the_walltime_of_a_cluster_that_asks_for_another_job_over_a_tunnel(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd]
) -> None:
    far, server = far_slurm
    path = again(slurm, far, server, REBUILD, 'walltime="1min" reserve="40s"')
    without_third(path)
    code, out, errors = slurm.call(*COMMAND, str(path))
    assert code == 0, errors
    assert out.count(" of 4 goes on: [1, 1, 2, 2]\n") == 4
    assert "nice/var: lost, asks for another job (1 of 1): its job has 40 s left" in errors
    wait_until(lambda: slurm.is_given_back() and far.is_given_back())
