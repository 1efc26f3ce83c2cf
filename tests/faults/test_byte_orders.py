"""Hosts that disagree about the order of bytes: refused at the handshake, before numbers arrive."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.commands import gcm_deploy

pytestmark = pytest.mark.mpi


def test_clusters_with_other_orders_of_bytes_are_refused(tmp_path: Path) -> None:
    """No such host is here, but a Python that takes itself for one."""
    other = tmp_path / "other"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(other)], check=True)
    (packages,) = other.glob("lib/python*/site-packages")
    (packages / "ours.pth").write_text(
        f"{sysconfig.get_path('purelib')}\nimport sys; sys.byteorder = 'big'\n"
    )
    (tmp_path / "program.py").write_text("from mpi4py import MPI\nprint(MPI.COMM_WORLD.size)\n")
    mpi = f'<mpi ranks="1" command-path="{Path(sys.executable).with_name("mpiexec")}"/>'
    (tmp_path / "grid.xml").write_text(
        '<deployment><application script="program.py"/><grid><site name="s">'
        f'<cluster name="a">{mpi}</cluster>'
        f'<cluster name="b"><front-end python="{other}/bin/python"/>{mpi}</cluster>'
        "</site></grid></deployment>"
    )
    library = Path(sys.prefix, "lib", "libmpi.so.12")  # it is looked for beside the Python
    named = str(library) if library.exists() else ""
    done = gcm_deploy("grid.xml", cwd=tmp_path, MPI4PY_LIBMPI=named)
    assert (done.returncode, done.stdout) == (203, "")
    first = done.stderr.splitlines()[0]
    assert re.search(r"rank [01] .* on \S+ has numbers in the order (big|little)-endian", first)
    assert "what they send each other would arrive as other numbers" in first
