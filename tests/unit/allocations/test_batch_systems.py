"""Every batch system as a file of testdata: what it is told, and how its answers are read.

`> script` and `> commands` ask for our own words. Below any other line with `>` stands what the
system prints, each line with `|`, and then what is read of that.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from os import defpath
from pathlib import Path

import pytest

from runtime.allocations import (
    SYSTEMS,
    BatchJob,
    BatchSystem,
    GrantedJob,
    JobPhase,
    JobRequest,
    batch_system,
)
from runtime.allocations.contract import Unreadable
from runtime.allocations.written import written_places
from tests.scripts import Script, same, scripts
from tools.batch_table import CELLS

FULL = {
    "nodes": 2, "tasks_per_node": 8, "walltime": 7230.0, "queue": "short", "account": "physics",
    "qos": "high", "constraint": "ib", "reservation": "course", "options": ("--own", "words"),
}  # fmt: skip
SHOWN = {
    "> script": ("script",),
    "> commands": ("submit", "cancel"),
    "> jobs": ("queue reason", "nodes"),
}
"""The cells of the table of tools.batch_table for which a line stands, beside its title."""
TESTDATA = Path(__file__).parent / "testdata"


def commands(system: BatchSystem) -> Iterator[str]:
    """Yield the commands of a system."""
    job = BatchJob("17", JobPhase.RUNNING, "R", nodes="n1")
    for name, words in {
        "submit": system.submit(),
        "check": system.check(),
        "status": system.status(["17", "18"]),
        "cancel": system.cancel("gcm-1"),
        "inside": system.inside(GrantedJob(job, ("n1", "n2"), (8, 8))),
    }.items():
        yield f"{name}: {shlex.join(words)}"


def told(system: BatchSystem, printed: str) -> Iterator[str]:
    """Yield what is read of the answer about jobs."""
    for job in system.jobs(printed).values():
        left = "" if job.left is None else f", {job.left:g} s left"
        cores = f", {job.cores} cores" if job.cores else ""
        yield f"{job}: {job.phase}{cores}{left}"
        if job.phase is JobPhase.RUNNING:
            yield f"on: {shlex.join(system.host_names(job.nodes))}"


def present(system: BatchSystem, printed: str) -> str:
    """Return the job of a process with some variables, and places in a file of one of these."""
    lines = printed.splitlines()
    environment = dict(line.split("=", 1) for line in lines if "=" in line)
    job = system.present(environment, [line for line in lines if "=" not in line])
    return (
        f"job {job.job}: {job.nodes} nodes, places {written_places(job.slots)}" if job else "none"
    )


def answers(system: BatchSystem, line: str, printed: str) -> Iterator[str]:
    try:
        match line:
            case "> script":
                request = JobRequest(system.name, **FULL)  # type: ignore[arg-type]
                yield from system.directives(request, "gcm-1")
            case "> commands":
                yield from commands(system)
            case "> reserve":
                named = {key: FULL[key] for key in ("nodes", "walltime", "queue", "constraint")}
                request = JobRequest(system.name, **named)  # type: ignore[arg-type]
                yield shlex.join(system.reserve(request, "gcm-1", 60.0))
            case "> earliest":
                yield str(system.earliest(printed))
            case "> number":
                yield system.number(printed)
            case "> jobs":
                yield from told(system, printed)
            case "> forgotten":
                yield str(system.is_forgotten(printed))
            case "> inside":
                yield present(system, printed)
    except Unreadable as fault:
        yield f"refused: {fault}"


@pytest.mark.parametrize("script", scripts(TESTDATA))
def test_a_system_is_told_and_read_as_its_file_says(
    script: Script, request: pytest.FixtureRequest
) -> None:
    system = batch_system(script.file.stem)
    lines = script.text.splitlines()
    trace: list[str] = []
    for number, line in enumerate(lines):
        if line.startswith(">"):
            printed = []
            for one in lines[number + 1 :]:
                if not one.startswith("|"):
                    break
                printed.append(one)
            text = "".join(f"{one.removeprefix('|').removeprefix(' ')}\n" for one in printed)
            said = "\n".join(answers(system, line, text))
            trace += [line, *printed, *said.splitlines()]
            cells = {*SHOWN.get(line, ()), script.title} & {*CELLS}
            shown = (("recorded", f"{system.name}: {cell}") for cell in sorted(cells))
            request.node.user_properties.extend(shown)
    same(script, trace, request)


def test_each_system_has_a_file() -> None:
    assert {file.stem for file in TESTDATA.glob("*.txt")} == set(SYSTEMS)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_script_of_each_system_holds_the_nodes_by_its_lease(name: str) -> None:
    script = batch_system(name).script(JobRequest(name, lease=10.0), "gcm-1", ".cache/lease")
    assert script.startswith("#!/bin/sh\n#")
    assert 'lease="$HOME/.cache/lease"\n' in script
    assert '    [ "$same" -lt 2 ]\n' in script


def test_a_job_removes_a_lease_that_nobody_writes_any_more(tmp_path: Path) -> None:
    script = batch_system("slurm").script(JobRequest("slurm", lease=10.0), "gcm-1", ".cache/lease")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache/lease").write_text("7\n")  # by somebody who was killed
    hurried = script.replace("sleep 5", "sleep 0")
    subprocess.run(["sh", "-c", hurried], env={"HOME": str(tmp_path), "PATH": defpath}, check=True)
    assert list((tmp_path / ".cache").iterdir()) == []
