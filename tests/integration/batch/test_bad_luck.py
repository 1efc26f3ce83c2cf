"""Runs in jobs of a real Slurm whose site has bad luck: each says where, and leaves nothing.

What goes wrong is the world around a run, on the login node or for the account there: its profile,
commands that stand before those of Slurm, its home.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.batch.site import HELLO, end_of, wait_until
from tests.integration.batch.slurm_daemons import Slurm

pytestmark = [pytest.mark.mpi, pytest.mark.needs_root, pytest.mark.needs_slurm]

SILENT = """#!/bin/sh
[ -e {flag} ] || exec /usr/bin/squeue "$@"
echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2
exit 1
"""
FULL = "mount -t tmpfs -o size=64k,mode=777 tmpfs {home}; cat /dev/zero >{home}/data || true"


@contextmanager
def profile(slurm: Slurm, text: str, **commands: str) -> Iterator[None]:
    """Give the account a profile, and commands in a folder that is searched first."""
    file, folder = slurm.home / ".profile", slurm.home / "bin"
    folder.mkdir()
    for name, script in commands.items():
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    file.write_text(f'PATH="$HOME/bin:$PATH"\n{text}\n')
    try:
        yield
    finally:
        file.unlink()
        subprocess.run(["rm", "-r", str(folder)], check=True)


def ends_well(slurm: Slurm, run: subprocess.Popen[str]) -> str:
    """Await the good end of a run of two ranks; return what it says beside."""
    code, said, errors = end_of(run)
    assert (code, said.count("of 2 on c")) == (0, 2), errors
    wait_until(slurm.is_given_back)
    return errors


def test_a_banner_and_a_prolog_that_print_do_not_matter(slurm: Slurm) -> None:
    prolog = slurm.work / "prolog.sh"
    prolog.write_text("#!/bin/sh\necho print Welcome to this node\necho Welcome >&2\n")
    prolog.chmod(0o755)
    with profile(slurm, f"echo Welcome; echo News >&2; export SLURM_TASK_PROLOG={prolog}"):
        ends_well(slurm, slurm.start(slurm.descriptor(HELLO)))


def test_a_queue_that_does_not_answer_for_a_while_is_waited_for(slurm: Slurm) -> None:
    flag, other = slurm.home / "bin" / "silent", slurm.hold_all()
    with profile(slurm, "", squeue=SILENT.format(flag=flag)):
        flag.touch()
        run = slurm.start(slurm.descriptor(HELLO), "--verbose")
        assert run.stderr is not None
        told = next(line for line in run.stderr if "UNKNOWN" in line)
        flag.unlink()
        slurm.run("scancel", other)
        ends_well(slurm, run)
    assert re.search(r"lyon/rhone: job \d+ is UNKNOWN \(slurm_load_jobs error: Unable to c", told)


def test_a_job_that_is_held_is_told_and_waited_for(slurm: Slurm) -> None:
    run = slurm.start(slurm.descriptor(HELLO, 'options="--hold"'), "--verbose")
    assert run.stderr is not None
    told = next(line for line in run.stderr if "PENDING" in line)
    assert re.search(r"lyon/rhone: job \d+ is PENDING \(JobHeldUser\)", told)
    slurm.run("scontrol", "release", slurm.record().number)
    ends_well(slurm, run)


def test_a_submission_that_hangs_is_named_and_its_job_is_cancelled(slurm: Slurm) -> None:
    with profile(slurm, "", sbatch='#!/bin/sh\n/usr/bin/sbatch "$@" >/dev/null; exec sleep 600\n'):
        code, said, errors = end_of(slurm.start(slurm.descriptor(HELLO), "--timeout", "12"))
    assert (code, said) == (203, "")
    assert "lyon/rhone: sbatch has not answered within 9 s" in errors
    wait_until(slurm.is_given_back)
    wait_until(lambda: slurm.record().state == "CANCELLED")


def test_a_login_node_without_srun_is_named(slurm: Slurm) -> None:
    with profile(slurm, 'PATH="$HOME/bin"'):
        for path in Path("/usr/bin").iterdir():
            if path.name != "srun":
                (slurm.home / "bin" / path.name).symlink_to(path)
        code, said, errors = end_of(slurm.start(slurm.descriptor(HELLO)))
    assert (code, said) == (203, "")
    assert "srun: not found" in errors
    wait_until(slurm.is_given_back)


def test_a_python_on_the_nodes_that_is_too_old_is_named(slurm: Slurm) -> None:
    old = slurm.work / "python3.9"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo Python 3.9.18\nexit 1\n')
    old.chmod(0o755)
    code, said, errors = end_of(slurm.start(slurm.descriptor(HELLO, python=old)))
    assert (code, said) == (203, "")
    assert f"too old ({old}: Python 3.9.18)" in errors
    wait_until(slurm.is_given_back)


def test_a_home_that_is_full_is_named(slurm: Slurm) -> None:
    hosts = (slurm.login, *slurm.nodes)
    for host in hosts:
        order = ["sh", "-c", FULL.format(home=slurm.home)]
        assert slurm.grid.run(host, order, timeout=30).returncode == 0
    try:
        code, said, errors = end_of(slurm.start(slurm.descriptor(HELLO)))
        assert (code, said) == (203, "")
        assert "No space left on device" in errors
        wait_until(slurm.is_given_back)
    finally:
        for host in hosts:
            slurm.grid.run(host, ["umount", str(slurm.home)], timeout=30)
