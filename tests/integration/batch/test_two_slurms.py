"""One program over two Slurm clusters, one of them behind ssh, and a host without a queue."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.batch.site import MPIEXEC, PATIENCE, wait_until
from tests.integration.batch.slurm_daemons import Slurm
from tests.sshd import Sshd
from tools.on_grids import COMMAND

pytestmark = [
    pytest.mark.mpi, pytest.mark.needs_root, pytest.mark.needs_slurm, pytest.mark.needs_sshd,
]  # fmt: skip

SUM = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.rank)
node, home = os.uname().nodename, os.path.dirname(os.environ["HOME"])
print(f"{world.rank} of {world.size}: {total} on {node} of {home}", flush=True)
"""


def descriptor(near: Slurm, far: Slurm, server: Sshd, idle: str = "1min") -> Path:
    (near.work / "sum.py").write_text(SUM)
    mpi = f'<mpi command-path="{MPIEXEC}"/>'
    front = f'<front-end python="{sys.executable}" folder="{{}}/runs"/>'
    path = near.work / "two.xml"
    path.write_text(
        f"""<deployment>
  <application script="sum.py"/>
  <grid>
    <site name="lyon">
      <cluster name="rhone">
        <batch system="slurm" tasks-per-node="2" walltime="5min" idle="{idle}"/>
        {mpi}{front.format(near.home)}
      </cluster>
    </site>
    <site name="nice">
      {server.hop}
      <cluster name="var">
        <batch system="slurm" tasks-per-node="2" walltime="5min"/>
        {mpi}{front.format(far.home)}
      </cluster>
      <cluster name="host">
        <mpi command-path="{MPIEXEC}" ranks="1"/>{front.format(far.home)}
      </cluster>
    </site>
  </grid>
</deployment>
"""
    )
    return path


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
        " it asks again when the others have their nodes",
        errors,
    )
    assert re.search(rf"\nlyon +{early}, {late} +1 +2 .* 0.00\d\n", errors)
    wait_until(lambda: slurm.is_given_back() and far.is_given_back())


def test_the_launcher_moves_to_the_login_node_and_its_run_is_attached_to(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd]
) -> None:
    far, server = far_slurm
    path = descriptor(slurm, far, server)
    text = path.read_text()
    begin, end = text.index('<site name="lyon">'), text.index('<site name="nice">')
    path.write_text(text[:begin] + text[end:])
    code, said, errors = slurm.call(*COMMAND, "--detach=nice", str(path))
    assert (code, errors) == (0, "")
    code, said, errors = slurm.call(*COMMAND, "attach", said.split()[0])
    assert (code, errors) == (0, "")
    node = far.fields()["NodeList"]
    assert sorted(said.splitlines()) == [
        f"0 of 3: 3 on {node} of {far.folder}",
        f"1 of 3: 3 on {node} of {far.folder}",
        f"2 of 3: 3 on {far.login} of {far.folder}",
    ]
    wait_until(far.is_given_back)
    assert list(far.home.glob(".local/state/gcm/runs/*")) == []
