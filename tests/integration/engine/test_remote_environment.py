"""A virtual environment on another machine needs no more than its Python in the descriptor.

The login there knows nothing of it: no `mpiexec` is on its search path.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import DescriptorContext, make_plan, read_descriptor
from runtime.processes.launcher.machine import Machine
from runtime.testing.sshd import running_sshd
from tests.integration.engine.recorder import Recorder

pytestmark = [pytest.mark.mpi, pytest.mark.needs_sshd]

WHERE = "import sys\nfrom mpi4py import MPI\nprint(sys.prefix, MPI.COMM_WORLD.size)\n"


@dataclass(frozen=True)
class Account:
    """A login on another machine: the way to it, its home, and the virtual environment in that."""

    way: str
    home: Path

    @property
    def environment(self) -> Path:
        return self.home / "my venv"


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    folder = tmp_path_factory.mktemp("account")
    home = folder / "home"
    make_environment(home / "my venv")
    with running_sshd(folder, PATH="/usr/bin:/bin", HOME=home) as server:
        yield Account(server.hop, home)


def make_environment(folder: Path) -> None:
    """Make a virtual environment with what this one has, and its MPI."""
    mpiexec = Path(sys.executable).with_name("mpiexec")
    if not mpiexec.exists():
        pytest.skip("needs an mpiexec beside this Python: pip install mpich")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = folder / "lib" / version / "site-packages"
    (packages / "also.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    for name in ("mpiexec", "hydra_pmi_proxy"):
        (folder / "bin" / name).symlink_to(mpiexec.with_name(name))
    for library in Path(sys.prefix, "lib").iterdir():
        if not library.name.startswith("python"):
            (folder / "lib" / library.name).symlink_to(library)


def run(folder: Path, machine: str) -> tuple[tuple[str, ...], list[str]]:
    """Return the errors of a run, and what its ranks say."""
    (folder / "where.py").write_text(WHERE)
    text = (
        '<deployment name="t"><application script="where.py" comm-world="cluster"/><grid><site>'
        f"{machine}</site></grid></deployment>"
    )
    found = Diagnostics()
    surroundings = DescriptorContext(str(folder), python=sys.executable)
    deployment = read_descriptor(
        text.encode(), surroundings=surroundings, diagnostics=found, name="t.xml"
    )
    assert deployment is not None, [str(one) for one in found]
    recorder = Recorder()
    outcome = Machine(make_plan(deployment), recorder).run()
    return outcome.errors, [line for _, stream, line in recorder.lines if stream == "stdout"]


@pytest.mark.parametrize("python", ["{venv}/bin/python", "~/my venv/bin/python", "~/its-python"])
def test_the_mpiexec_of_an_environment_on_another_machine_is_found(
    account: Account, tmp_path: Path, python: str
) -> None:
    link = account.home / "its-python"
    if not link.is_symlink():
        link.symlink_to(account.environment / "bin" / "python")
    written = python.format(venv=account.environment)
    errors, said = run(
        tmp_path, f'<cluster>{account.way}<front-end python="{written}"/><mpi ranks="2"/></cluster>'
    )
    assert errors == ()
    assert said == [f"{account.environment} 2"] * 2


def test_a_cluster_here_with_another_environment_uses_the_mpiexec_of_that_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_environment(tmp_path / "venv")
    (tmp_path / "its-python").symlink_to("venv/bin/python")
    called = tmp_path / "called"
    own = tmp_path / "venv" / "bin" / "mpiexec"
    real = own.resolve()
    own.unlink()
    own.write_text(f'#!/bin/sh\ntouch "{called}"\nexec "{real}" "$@"\n')
    own.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    errors, said = run(
        tmp_path, '<cluster><front-end python="~/its-python"/><mpi ranks="2"/></cluster>'
    )
    assert errors == ()
    assert said == [f"{tmp_path}/venv 2"] * 2
    assert called.exists()


def test_helpers_on_another_machine_are_found_in_its_environment(
    account: Account, tmp_path: Path
) -> None:
    tool = account.environment / "bin" / "count-us"
    tool.write_text("#!/bin/sh\necho counted\n")
    tool.chmod(0o755)
    (tmp_path / "where.py").write_text(WHERE)
    text = (
        '<deployment name="t"><application script="where.py"/>'
        '<process id="p" program="count-us" on="s/c" ready="finished"/>'
        '<process id="q" kind="mpi" number="2" program="count-us" on="s/c" ready="finished"/>'
        '<dependent-sequence><process-reference refid="p"/><process-reference refid="q"/>'
        '<process-reference refid="application"/></dependent-sequence>'
        f'<grid><site name="s"><cluster name="c">{account.way}'
        f'<front-end python="{account.environment}/bin/python"/><mpi ranks="1"/>'
        "</cluster></site></grid></deployment>"
    )
    found = Diagnostics()
    deployment = read_descriptor(
        text.encode(),
        surroundings=DescriptorContext(str(tmp_path)),
        diagnostics=found,
        name="t.xml",
    )
    assert deployment is not None, [str(one) for one in found]
    recorder = Recorder()
    outcome = Machine(make_plan(deployment), recorder).run()
    assert outcome.errors == ()
    assert [line for *_, line in recorder.lines].count("counted") == 3
