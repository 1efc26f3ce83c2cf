"""`gcm-deploy -H` over a real ssh, with hosts as the user's own ssh configuration knows them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.on_grids import COMMAND, ROOT

pytestmark = [pytest.mark.mpi, pytest.mark.needs_sshd]


PROGRAM = """\
import os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
far = world.gather("SSH_CONNECTION" in os.environ)
total = world.allreduce(world.rank)
if world.rank == 0:
    print(far, total, sys.argv[1:])
"""


@pytest.fixture
def home(sshd: Any, tmp_path: Path) -> Path:
    """The home of a user whose ssh configuration knows the host `far`, and a program in it."""
    config = tmp_path / ".ssh" / "config"
    config.parent.mkdir()
    config.write_text(
        f"Host far farther\n  HostName 127.0.0.1\n  Port {sshd.ports['plain']}\n"
        f"  IdentityFile {sshd.folder}/key\n  UserKnownHostsFile {sshd.folder}/known\n"
    )
    work = tmp_path / "work"
    work.mkdir()
    (work / "program.py").write_text(PROGRAM)
    return tmp_path


def deploy(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT)}
    # whoever logs in on the other host has none of what ssh sets itself
    environment.pop("SSH_CONNECTION", None)
    return subprocess.run(
        [*COMMAND, "--quiet", *words],
        cwd=home / "work", env=environment, capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip


def test_a_host_by_its_name_in_the_ssh_configuration_is_a_cluster_beside_this_machine(
    home: Path,
) -> None:
    far = f"far:2:python={sys.executable}:mpi=mpich-wheel"
    done = deploy(home, "-H", f"localhost:2,{far}", "program.py", "a b", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[False, False, True, True] 6 ['a b', '--quiet']\n"


def test_the_descriptor_of_a_line_with_hosts_runs_the_same(home: Path) -> None:
    written = home / "work" / "hosts.xml"
    done = deploy(
        home, "-H", "far,localhost", "-H", "farther:2", "--python", sys.executable,
        "--write", str(written), "program.py", "x",
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "<ssh host=" in written.read_text()
    done = deploy(home, str(written))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[True, False, True, True] 6 ['x']\n"
