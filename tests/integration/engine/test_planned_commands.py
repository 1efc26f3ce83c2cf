"""What a dry run prints is what is run: the command of the ranks, word by word."""

from __future__ import annotations

import shutil
import socket
import sys
from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import DescriptorContext, make_plan, read_descriptor
from runtime.processes.launcher.machine import Machine
from runtime.step_name import StepName
from runtime.views.stream import Silent
from tests.mpi_homes import open_mpi  # noqa: F401 - a fixture

pytestmark = pytest.mark.mpi

PROGRAM = "from mpi4py import MPI\nassert MPI.COMM_WORLD.size == 2\n"
RECORDING = """\
#!/bin/sh
test "$1" = --version || printf '%s\\n' "$0" "$@" > {file}
exec {mpiexec} "$@"
"""


def run_and_planned(
    folder: Path, mpi: Path, rest: str, failures: str = "abort"
) -> tuple[list[str], list[str]]:
    """Return the words with which `mpiexec` was run, and those that the plan has."""
    file, mpiexec = folder / "words", folder / "mpiexec"
    mpiexec.write_text(RECORDING.format(file=file, mpiexec=mpi / "mpiexec"))
    mpiexec.chmod(0o755)
    (folder / "program.py").write_text(PROGRAM)
    path = folder / "test.xml"
    path.write_text(
        f'<deployment name="t"><application script="program.py" failures="{failures}"'
        " arguments=\"a 'b c'\">"
        '<environment name="GREETING" value="hello"/></application><grid><site name="s">'
        f'<cluster name="a"><front-end python="{mpi / "python"}"/>{rest}</cluster></site></grid>'
        "</deployment>".replace("{mpiexec}", str(mpiexec))
    )
    found = Diagnostics()
    deployment = read_descriptor(
        path, surroundings=DescriptorContext(str(folder)), diagnostics=found
    )
    assert deployment is not None, [str(one) for one in found]
    plan = make_plan(deployment)
    outcome = Machine(plan, Silent()).run()
    assert (outcome.exit_code, outcome.errors) == (0, ())
    return file.read_text().splitlines(), list(plan.step(StepName.parse("ranks:0:0")).argv)


def without(words: list[str], option: str) -> list[str]:
    """Return the words without an option and its value."""
    at = words.index(option)
    return words[:at] + words[at + 2 :]


def own_mpi() -> Path:
    found = Path(sys.executable).parent
    if not (found / "mpiexec").exists():
        found = Path(shutil.which("mpiexec") or pytest.skip("needs mpiexec")).parent
    return found


def test_the_command_of_mpich_is_the_planned_one_but_for_the_room(tmp_path: Path) -> None:
    mpi = '<mpi ranks="2" command-path="{mpiexec}" options="-genv GCM_TEST 1"/>'
    run, planned = run_and_planned(tmp_path, own_mpi(), mpi)
    assert "-genv" in planned
    assert without(run, "--room") == planned


def test_hosts_are_named_as_planned(tmp_path: Path) -> None:
    here = socket.gethostname()
    try:
        socket.getaddrinfo(here, None)
    except OSError:
        pytest.skip(f"needs an address for the name of this machine, {here}")
    mpi = f'<mpi ranks="2" command-path="{{mpiexec}}"/><nodes hosts="{here}"/>'
    run, planned = run_and_planned(tmp_path, own_mpi(), mpi)
    assert planned[3:5] == ["--host", f"{here}:2"]
    assert without(run, "--room") == planned


@pytest.mark.parametrize("count", ["", ":2"])
def test_hosts_in_the_options_of_mpiexec_stay_where_losses_are_survived(
    tmp_path: Path, count: str
) -> None:
    options = f"-genv GCM_TEST 1 --host 127.0.0.1{count}"
    mpi = f'<mpi ranks="2" command-path="{{mpiexec}}" options="{options}"/>'
    run, planned = run_and_planned(tmp_path, own_mpi(), mpi, "return")
    assert planned[3:8] == options.split()
    assert without(run, "--room") == planned


@pytest.mark.parametrize("flavour", ["openmpi", "auto"])
def test_the_command_of_open_mpi_tags_the_output_too(
    tmp_path: Path,
    open_mpi: Path,  # noqa: F811 - the fixture
    flavour: str,
) -> None:
    mpi = f'<mpi ranks="2" command-path="{{mpiexec}}" flavour="{flavour}"/>'
    run, planned = run_and_planned(tmp_path, open_mpi, mpi)
    tagged = without(run, "--room")
    assert tagged[3] == "--tag-output"
    assert planned == [one for one in tagged if flavour == "openmpi" or one != "--tag-output"]
