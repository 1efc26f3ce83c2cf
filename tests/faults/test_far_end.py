"""What goes wrong behind a real ssh: one message that helps, and the clusters that work end too.

In every run there is a good cluster on this machine beside the bad one.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from glob import glob
from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runtime.launchers.family import processes
from runtime.processes.configuration import PROTOCOL
from runtime.testing.sshd import Sshd, running_sshd
from tools.on_grids import ROOT

if TYPE_CHECKING:
    from runtime.lifecycle.outcome import Outcome
    from tests.faults.conftest import Bench

pytestmark = [pytest.mark.mpi, pytest.mark.needs_sshd]

HELLO = "from mpi4py import MPI\nprint('rank', MPI.COMM_WORLD.rank)\n"
WAITS = (
    "import os, signal\nfrom mpi4py import MPI\n"
    "for number in (signal.SIGTERM, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)\n"
    "print('up', os.getpid(), flush=True)\nwhile True: signal.pause()\n"
)
PATH = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
BOUND = 20.0
"""In how many seconds everything has to have ended; most take one or two."""


@contextmanager
def far_sshd(bench: Bench, command: str = "") -> Iterator[Sshd]:
    """An sshd whose every process carries the mark of the bench, and temporary files too."""
    folder = bench.folder / "sshd"
    folder.mkdir()
    clean = {name: value for name, value in os.environ.items() if name != "GCM_TEST_RUN"}
    with running_sshd(
        folder,
        popen=partial(subprocess.Popen, env=clean),
        more=[f"ForceCommand {command}\n"] if command else (),
        PATH=PATH,
        GCM_TEST_RUN=bench.mark,
        TMPDIR=bench.temporary,
    ) as server:
        yield server


def grid_with(far: Sshd, way: str = "", front_end: str = "") -> str:
    """Return a good cluster here, and one over ssh."""
    asked = front_end or f'<front-end python="{sys.executable}"/>'
    return (
        '<site name="here"><cluster name="good">{mpi}</cluster></site>'
        f'<site name="far"><cluster name="bad">{way or far.hop}{asked}'
        "{mpi}</cluster></site>"
    )


@pytest.fixture
def far(bench: Bench) -> Iterator[Sshd]:
    with far_sshd(bench) as server:
        yield server


def failed(bench: Bench, grid: str, program: str = HELLO) -> Outcome:
    """Deploy, and check what holds for every deployment that fails."""
    began = time.monotonic()
    outcome = bench.deploy(bench.plan(program, grid=grid), start=BOUND)
    assert time.monotonic() - began < BOUND
    assert outcome.exit_code == 203
    assert len(outcome.errors) == 1
    assert outcome.errors[0].startswith("far/bad")
    assert [one for one in bench.recorder.lines if one[1] == "stdout"] == []
    assert bench.wait_until_gone() == []
    return outcome


def old_pythons() -> list[Path]:
    """Return Pythons of this machine that are too old, newest first."""
    places = ("~/.pyenv/versions/*/bin", "/usr/bin", "/usr/local/bin", "/opt/*/bin")
    pattern = "python[23].[0-9]*"
    found = [path for place in places for path in map(Path, glob(expanduser(f"{place}/{pattern}")))]
    numbers = {path: path.name.removeprefix("python").split(".") for path in found}
    old = [
        path
        for path, words in numbers.items()
        if all(word.isdigit() for word in words) and tuple(map(int, words)) < (3, 11)
    ]
    return sorted(old, key=lambda path: tuple(map(int, numbers[path])), reverse=True)


@pytest.fixture
def old_python() -> Path:
    found = old_pythons()
    if not found:
        pytest.skip("needs a Python before 3.11, such as 'pyenv install 3.9'")
    return found[0]


def test_a_far_end_with_nothing_but_old_pythons_tells_all_of_them(
    bench: Bench, old_python: Path, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("sh", "head"):
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    (tools / "python3").symlink_to(old_python)
    command = tmp_path / "command"
    command.write_text(f'#!/bin/sh\nPATH={tools} exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n')
    command.chmod(0o755)
    with far_sshd(bench, command=str(command)) as far:
        outcome = failed(bench, grid_with(far, front_end="<front-end/>"))
    version = old_python.name.removeprefix("python")
    assert f"the newest Python found is too old (python3: Python {version}." in outcome.errors[0]


def test_every_old_python_of_this_machine_is_named_with_its_version(
    bench: Bench, old_python: Path
) -> None:
    for python in {old_python, old_pythons()[-1]}:
        grid = (
            f'<site name="far"><cluster name="bad"><front-end python="{python}"/>'
            "{mpi}</cluster></site>"
        )
        outcome = failed(bench, grid)
        version = python.name.removeprefix("python")
        assert re.fullmatch(
            rf"far/bad: {re.escape(str(python))} is Python {re.escape(version)}[.\d]*, which is too"
            r" old\. Name a Python from 3\.11 on: --python PATH, in a descriptor <front-end"
            r" python='\.\.\.'/>",
            outcome.errors[0],
        ), outcome.errors[0]


def other_version(bench: Bench, *, first: bool) -> Path:
    """Return a Python that has another version of the package, and prefers it when `first`."""
    other = bench.folder / "other"
    for name in ("gcm", "runtime"):
        shutil.copytree(ROOT / name, other / name, ignore=shutil.ignore_patterns("__pycache__"))
    module = other / "runtime" / "processes" / "configuration.py"
    text = module.read_text()
    ours = f"PROTOCOL = {PROTOCOL}\n"
    assert ours in text
    module.write_text(text.replace(ours, f"PROTOCOL = {PROTOCOL + 1}\n"))
    python = bench.folder / "bin" / "python"
    python.parent.mkdir()
    path = f"{other}:$PYTHONPATH" if first else f"$PYTHONPATH:{other}"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{path}" exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return python


def test_another_version_at_the_far_end_does_no_harm_since_ours_is_brought_along(
    bench: Bench, far: Sshd
) -> None:
    python = other_version(bench, first=False)
    grid = grid_with(far, front_end=f'<front-end python="{python}"/>')
    outcome = bench.deploy(bench.plan(HELLO, grid=grid))
    assert (outcome.exit_code, outcome.errors) == (0, ())
    assert bench.recorder.said_by("1:0:1") == ["rank 3"]


@pytest.mark.parametrize("where", ["far", "here"])
def test_another_version_that_cannot_be_put_aside_is_named(
    bench: Bench, far: Sshd, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bench.folder)  # Python looks for modules there, before PYTHONPATH
    python = other_version(bench, first=True)
    grid = grid_with(far, front_end=f'<front-end python="{python}"/>')
    if where == "here":
        grid = grid.replace(far.hop, "")
    outcome = failed(bench, grid)
    assert (
        f"another version of this package, in {bench.folder}/other, than gcm-deploy"
        in (outcome.errors[0])
    )
    assert "Install the same version, or take that folder off its PYTHONPATH" in outcome.errors[0]


def test_a_killed_launcher_takes_the_far_end_along(bench: Bench, far: Sshd) -> None:
    with bench.running(WAITS, grid=grid_with(far)) as run:
        had = bench.belongings()
        assert len(had.processes) >= 1 + 2 + 4
        run.process.kill()
        run.process.communicate()
        assert bench.wait_until_gone() == []
        assert had.left() == []


def test_an_interrupted_run_leaves_nothing_at_the_far_end(bench: Bench, far: Sshd) -> None:
    with bench.running(WAITS, grid=grid_with(far)) as run:
        had = bench.belongings()
        run.process.send_signal(signal.SIGINT)
        _, errors = run.process.communicate(timeout=BOUND)
        assert run.process.returncode == 130, errors
        assert bench.wait_until_gone() == []
        assert had.left() == []


def test_a_front_end_that_is_killed_at_the_far_end_is_told_with_its_place(
    bench: Bench, far: Sshd
) -> None:
    patient = '<failure-detector timeout="60s"/>'  # a busy machine may say nothing for a while
    with bench.running(WAITS, grid=grid_with(far), detector=patient) as run:
        had = bench.belongings()
        front_end = min(  # its guard parts from it, later
            pid for pid, line in bench.processes().items() if "runtime.frontend --cluster" in line
        )
        os.kill(front_end, signal.SIGKILL)
        _, errors = run.process.communicate(timeout=BOUND)
        assert run.process.returncode == 204
        assert re.search("far/bad: .* has ended", errors)
        assert "killed by SIGKILL" in errors
        assert bench.wait_until_gone() == []
        assert had.left() == []


def test_a_guard_that_is_killed_at_the_far_end_leaves_nothing_there_either(
    bench: Bench, far: Sshd
) -> None:
    with bench.running(WAITS, grid=grid_with(far)) as run:
        had = bench.belongings()
        front_end = min(
            pid for pid, line in bench.processes().items() if "runtime.frontend --cluster" in line
        )
        guard, _ = processes()[front_end]
        os.kill(guard, signal.SIGKILL)
        _, errors = run.process.communicate(timeout=BOUND)
        assert run.process.returncode == 204
        assert re.search("far/bad: .* has ended", errors)
        assert bench.wait_until_gone() == []
        assert had.left() == []


@pytest.mark.needs_root
def test_a_reset_connection_of_ssh_is_told_with_its_place(bench: Bench, far: Sshd) -> None:
    with bench.running(WAITS, grid=grid_with(far)) as run:
        had = bench.belongings()
        words = ("--kill", "--tcp", "state", "established", "sport", "=", f":{far.port}")
        reset = subprocess.run(["ss", *words], capture_output=True, text=True, check=False)
        if "not supported" in reset.stderr:
            pytest.skip("the kernel cannot reset connections (CONFIG_INET_DIAG_DESTROY)")
        assert str(far.port) in reset.stdout, reset.stderr
        _, errors = run.process.communicate(timeout=BOUND)
        assert run.process.returncode == 204
        assert "Everything else was ended" in errors
        assert f"far/bad (127.0.0.1:{far.port}): the connection ended (exit code 255)" in errors
        assert bench.wait_until_gone() == []
        assert had.left() == []


def test_a_killed_launcher_takes_open_mpi_along(bench: Bench, open_mpi: Path) -> None:
    python, mpiexec = open_mpi / "python", open_mpi / "mpiexec"
    cluster = f'<front-end python="{python}"/><mpi ranks="2" command-path="{mpiexec}"/>'
    grid = "".join(
        f'<site name="{name}"><cluster name="{name}">{cluster}</cluster></site>' for name in "ab"
    )
    with bench.running(WAITS, grid=grid) as run:
        had = bench.belongings()
        run.process.kill()
        run.process.communicate()
        assert bench.wait_until_gone() == []
        assert had.left() == []
