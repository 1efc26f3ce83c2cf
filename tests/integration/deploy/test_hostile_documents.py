"""Documents that grow or mislead, given to `gcm-deploy` with little memory: refused with a place.

Each names a cluster on this machine too, or one behind a real sshd that it could reach.
"""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest

from runtime.exit_codes import FAULTS
from tests.commands import gcm_deploy
from tests.far_host import NEAR_AND_FAR
from tools.on_grids import COMMAND, ROOT

pytestmark = pytest.mark.mpi

MOST_MEMORY = 1 << 30

NESTED = "".join(
    f'<variable name="v{number}" value="{f"${{v{number - 1}}}" * 8 if number else "x" * 10}"/>'
    for number in range(13)
)
OPTIONS = ("KnownHostsCommand", "PKCS11Provider", "SecurityKeyProvider", "ProxyCommand")
"""Options of ssh that would run a program or load code."""

# What stands before the machine, what stands in a cluster of it, and the code of the fault.
DOCUMENTS = {
    "variables that multiply": (NESTED, '<mpi ranks="${v12}"/>', "too-long"),
    "a long value": (f'<variable name="v" value="{"x" * 30_000_000}"/>', "", "too-long"),
    "ranks that multiply": ("", '<mpi ranks="1000000"/>', "too-large"),
    "a long list": ("", '<nodes hosts="n[1-1000000]"/>', "bad-host-list"),
    "a node that is an option": ("", '<nodes hosts="-oProxyCommand=x"/>', "bad-host"),
    "a node that is a command": ("", '<nodes hosts="a;touch"/>', "bad-host"),
    "a host that is an option": ("", '<ssh host="-oProxyCommand=touch here"/>', "bad-host"),
    "a host that is a command": ("", '<ssh host="a;touch here"/>', "bad-host"),
    **{
        name: ("", f'<ssh host="h" options="-o {name}=/bin/touch"/>', "bad-ssh-option")
        for name in OPTIONS
    },
}


FAR = {"a node that is a command", "a host that is an option"}
"""Tried with another cluster behind ssh, too: neither that nor the others must be reached."""


@pytest.mark.parametrize(
    ("way", "name"),
    [
        *(("local", name) for name in DOCUMENTS),
        *(
            pytest.param("sshd", name, marks=pytest.mark.needs_sshd)
            for name in DOCUMENTS
            if name in FAR
        ),
    ],
    indirect=["way"],
)
def test_a_document_that_grows_or_misleads_is_refused_before_anything_is_done(
    tmp_path: Path,
    way: str,
    name: str,
) -> None:
    before, inside, fault = DOCUMENTS[name]
    (tmp_path / "program.py").touch()
    (tmp_path / "grid.xml").write_text(
        f'<deployment><application script="program.py"/>{before}<grid><site>'
        f'<cluster>{way}<mpi ranks="2"/></cluster><cluster>{inside}</cluster></site></grid>'
        "</deployment>"
    )
    for words in (["--dry-run"], []):
        done = subprocess.run(
            [*COMMAND, *words, "grid.xml"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY)),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout) == (FAULTS, "")
        assert done.stderr.startswith(f"grid.xml:1: error[{fault}]: ")
        assert len(done.stderr) < 1000
    assert sorted(os.listdir(tmp_path)) == ["grid.xml", "program.py"]


@NEAR_AND_FAR
def test_a_dry_run_imports_no_module_of_an_assembly(
    tmp_path: Path,
    way: str,
) -> None:
    (tmp_path / "parts.py").write_text("open('imported', 'w')\n")
    (tmp_path / "app.fractal").write_text(
        '<definition name="app"><component name="part"><content class="parts.Part"/>'
        '<virtual-node name="node"/></component></definition>'
    )
    (tmp_path / "grid.xml").write_text(
        '<deployment><assembly file="app.fractal"/><virtual-node name="node" nodes="s/c"/>'
        f'<grid><site name="s"><cluster name="c">{way}</cluster></site></grid></deployment>'
    )
    done = gcm_deploy("--dry-run", "grid.xml", cwd=tmp_path, PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "imported").exists()
