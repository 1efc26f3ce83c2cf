"""`gcm-deploy` within an allocation of Slurm, which it finds by itself, with MPICH and Open MPI."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.batch.site import HELLO, MPIEXEC, wait_until, without_who_is_awaited
from tests.integration.batch.slurm_daemons import Slurm
from tools.on_grids import COMMAND

pytestmark = [pytest.mark.mpi, pytest.mark.needs_root, pytest.mark.needs_slurm]

FOUR = ["0 of 4 on c1", "1 of 4 on c1", "2 of 4 on c2", "3 of 4 on c2"]


@pytest.mark.shows("inside an allocation")
def test_a_program_within_salloc_runs_on_all_of_its_nodes(slurm: Slurm) -> None:
    (slurm.work / "hello.py").write_text(HELLO)
    asked = ("salloc", "--quiet", "--nodes=2", "--ntasks-per-node=2")
    code, said, errors = slurm.call(*asked, *COMMAND, "hello.py")
    assert (code, sorted(said.splitlines()), errors) == (0, FOUR, "")
    wait_until(slurm.is_given_back)
    job = slurm.record()
    assert (job.state, job.nodes) == ("COMPLETED", ("c1", "c2"))


@pytest.mark.parametrize("tasks", [4, 6])
def test_every_task_is_a_rank_where_nodes_have_different_numbers(slurm: Slurm, tasks: int) -> None:
    (slurm.work / "hello.py").write_text(HELLO)
    asked = ("salloc", "--quiet", "--nodes=2", f"--ntasks={tasks}", "--distribution=pack")
    plain = slurm.call(*asked, "srun", "hostname")[1].split()
    code, said, errors = slurm.call(*asked, *COMMAND, "hello.py")
    assert (code, errors) == (0, "")
    assert sorted(said.splitlines()) == [
        f"{rank} of {tasks} on {host}" for rank, host in enumerate(sorted(plain))
    ]
    assert len({plain.count(host) for host in plain}) == 2
    wait_until(slurm.is_given_back)


def test_a_script_of_sbatch_says_how_many_ranks_it_wants(slurm: Slurm) -> None:
    (slurm.work / "hello.py").write_text(HELLO)
    command = " ".join(f"'{word}'" for word in (*COMMAND, "-n", "3", "hello.py"))
    script = f"#!/bin/sh\n#SBATCH -N2 --ntasks-per-node=2 --output=out.txt\n{command}\n"
    code, _, errors = slurm.call("sbatch", text=script)
    assert (code, errors) == (0, "")
    wait_until(lambda: not slurm.queue(), 60)
    said = sorted(without_who_is_awaited((slurm.work / "out.txt").read_text()).splitlines())
    assert said == ["0 of 3 on c1", "1 of 3 on c1", "2 of 3 on c2"]


def test_ranks_of_open_mpi_run_on_the_nodes_that_are_granted(slurm: Slurm, open_mpi: Path) -> None:
    python, mpiexec = open_mpi / "python", open_mpi / "mpiexec"
    path = slurm.descriptor(HELLO, 'nodes="2"', python=python, mpiexec=mpiexec)
    code, said, errors = slurm.call(*COMMAND, str(path))
    assert (code, sorted(said.splitlines()), errors) == (0, FOUR, "")
    wait_until(slurm.is_given_back)


def test_a_job_has_the_environment_that_is_active_on_the_login_node(slurm: Slurm) -> None:
    """Behind what is loaded there. Neither a Python nor an mpiexec is named, nor in a profile."""
    (slurm.work / "hello.py").write_text(HELLO)
    (slurm.work / "job.xml").write_text(
        '<deployment><application script="hello.py"/><grid><site><cluster>'
        f'<batch system="slurm" nodes="1" tasks-per-node="2" walltime="2min"/>'
        f'<front-end folder="{slurm.home}/runs"/></cluster></site></grid></deployment>'
    )
    path = f"{MPIEXEC.parent}:/usr/bin:/bin"
    code, said, errors = slurm.call("env", f"PATH={path}", *COMMAND, "job.xml")
    assert (code, errors) == (0, "")
    assert sorted(said.splitlines()) == ["0 of 2 on c1", "1 of 2 on c1"]
    module = slurm.work / "module"
    module.mkdir()
    (module / "mpiexec").write_text('#!/bin/sh\necho "that of the module"; exit 1\n')
    (module / "mpiexec").chmod(0o755)
    text = (slurm.work / "job.xml").read_text()
    loaded = text.replace("<front-end", f"<front-end before='PATH={module}:$PATH'")
    (slurm.work / "job.xml").write_text(loaded)
    code, _, errors = slurm.call("env", f"PATH={path}", *COMMAND, "job.xml")
    assert (code, "that of the module" in errors) == (203, True), errors
