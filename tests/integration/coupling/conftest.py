"""What the tests of coupled codes share: descriptors of several codes, and a machine for them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import DeploymentPlan, make_plan, read_descriptor
from runtime.deployment.checker import surroundings_of
from runtime.lifecycle.walltimes import RunTimeouts
from runtime.processes.launcher.machine import Machine

Plan = Callable[..., DeploymentPlan]
Steer = Callable[..., Machine]


@pytest.fixture(autouse=True)
def mpiexec_beside_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")


@pytest.fixture
def descriptor(tmp_path: Path) -> Callable[..., Path]:
    """Write a descriptor with one cluster for each code: a program in Python, or an executable."""

    def write(ranks: int = 1, mpiexec: str = "mpiexec", **codes: str | tuple[str, ...]) -> Path:
        applications, clusters = [], []
        words: tuple[str, ...]
        for name, program in codes.items():
            if isinstance(program, str):
                (tmp_path / f"{name}.py").write_text(program, encoding="utf-8")
                what, words = f'script="{name}.py"', ()
            else:
                what, words = f'executable="{program[0]}"', program[1:]
            arguments = "".join(f'<argument value="{word}"/>' for word in words)
            applications.append(
                f'<application name="{name}" {what} clusters="here/{name}">{arguments}'
                f"</application>"
            )
            mpi = f'<mpi command-path="{mpiexec}" ranks="{ranks}"/>'
            clusters.append(f'<cluster name="{name}">{mpi}</cluster>')
        path = tmp_path / "codes.xml"
        path.write_text(
            f'<deployment name="codes">{"".join(applications)}<grid><site name="here">'
            f"{''.join(clusters)}</site></grid></deployment>",
            encoding="utf-8",
        )
        return path

    return write


@pytest.fixture
def plan(descriptor: Callable[..., Path]) -> Plan:
    def make(ranks: int = 1, **codes: str | tuple[str, ...]) -> DeploymentPlan:
        path, faults = str(descriptor(ranks, **codes)), Diagnostics()
        around = surroundings_of(path, python=sys.executable)
        read = read_descriptor(path, surroundings=around, diagnostics=faults)
        assert read is not None, list(map(str, faults))
        return make_plan(read)

    return make


@pytest.fixture
def steer(plan: Plan) -> Iterator[Steer]:
    """Run codes in a machine that goes on until the test ends; it is stopped then."""
    machines: list[Machine] = []

    def begin(
        ranks: int = 1,
        *,
        idle: bool = False,
        settle: float = 5.0,
        **codes: str | tuple[str, ...],
    ) -> Machine:
        timeouts = RunTimeouts(settle=settle)
        machines.append(Machine(plan(ranks, **codes), timeouts=timeouts, steered=True, idle=idle))
        return machines[-1].start()

    yield begin
    for machine in machines:
        machine.__exit__()
