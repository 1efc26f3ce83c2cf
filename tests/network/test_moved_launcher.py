"""A detached run whose launcher moves to a host that stays, while the laptop has no network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from benchmarks.grid import EmulatedGrid, Layout, Line, missing
from runtime.testing.sshd import Sshd, running_sshd
from tools.on_grids import COMMAND, ROOT

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_sshd, pytest.mark.mpi]

LAPTOP, STAYS, OTHER = "c0", "c1", "c2"
PATIENCE = 60.0

PROGRAM = """\
import os, sys, time
from mpi4py import MPI
world = MPI.COMM_WORLD
print("begun", world.rank, flush=True)
open(f"{sys.argv[1]}/here{world.rank}", "w").close()
while not os.path.exists(f"{sys.argv[1]}/end"):
    time.sleep(0.05)
total = world.allreduce(world.rank + 1)
for line in range(500):
    print(world.rank, line, total, "x" * 60)
with open(f"result{world.rank}", "w") as file:
    file.write(str(total))
"""


class Hosts:
    """A laptop and two hosts with an sshd each, which have home folders of their own."""

    def __init__(self, grid: EmulatedGrid, folder: Path, servers: dict[str, Sshd]) -> None:
        self.grid = grid
        self.folder = folder
        self.servers = servers

    def home(self, host: str) -> Path:
        """The home folder of the user at a host."""
        return self.folder / f"home-{host}"

    def runs(self, host: str) -> Path:
        """Where detached runs of a host are."""
        return self.home(host) / ".local" / "state" / "gcm" / "runs"

    def descriptor(self, *, other: str) -> Path:
        """Write a program and the descriptor that runs it at both hosts; `other` leads to one."""
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        (work / "program.py").write_text(PROGRAM)
        mpiexec = Path(sys.executable).with_name("mpiexec")
        rest = (
            f'<front-end python="{sys.executable}"/>'
            f'<mpi ranks="1" command-path="{mpiexec}"/></cluster></site>'
        )
        path = work / "moved.xml"
        path.write_text(
            '<deployment name="t"><application script="program.py"/><grid>'
            f'<site name="stays"><cluster>{self.servers[STAYS].hop}{rest}'
            f'<site name="other"><cluster>{other}{rest}'
            "</grid></deployment>"
        )
        return path

    def run(self, *words: str) -> tuple[int, str, str]:
        """Run `gcm-deploy` on the laptop."""
        environment = {
            **os.environ, "PYTHONPATH": str(ROOT), "SSH_AUTH_SOCK": "", "XDG_STATE_HOME": "",
            "HOME": str(self.home(LAPTOP)),
        }  # fmt: skip
        done = self.grid.run(
            LAPTOP, (*COMMAND, *words), timeout=PATIENCE, cwd=str(self.folder / "work"),
            env=environment,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr


def _popen(
    grid: EmulatedGrid, host: str, argv: Sequence[str], *, stderr: int, text: bool
) -> subprocess.Popen[str]:
    assert text
    return grid.popen(host, argv, stderr=stderr)


def await_true(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    if lacking := missing():
        pytest.skip(lacking)
    folder = tmp_path_factory.mktemp("hosts")
    layout = Layout((1, 1, 1), wan=Line(delay=0.002, rate=1e9))
    with EmulatedGrid(layout) as grid, ExitStack() as stack:
        made = Hosts(grid, folder, {})
        for host in (LAPTOP, STAYS, OTHER):
            made.home(host).mkdir()
        for host in (STAYS, OTHER):
            own = folder / host
            own.mkdir()
            popen, address = partial(_popen, grid, host), grid.clusters[host].address
            made.servers[host] = stack.enter_context(
                running_sshd(own, address=address, popen=popen, HOME=made.home(host))
            )
        try:
            yield made
        finally:
            grid.clear()


def test_a_run_goes_on_where_its_launcher_moved_while_the_laptop_has_no_network(
    hosts: Hosts, tmp_path: Path
) -> None:
    path = hosts.descriptor(other=hosts.servers[OTHER].hop)
    code, out, errors = hosts.run("--detach=stays", str(path), "--", str(tmp_path))
    assert code == 0, errors
    name = out.split()[0]
    address = hosts.grid.clusters[STAYS].address
    assert f"other/cluster0 are reached from {address} now" in errors
    assert f"{name} " in hosts.run("list")[1]
    for host in (STAYS, OTHER):
        hosts.grid.cut(LAPTOP, host)
    await_true(lambda: (tmp_path / "here0").exists() and (tmp_path / "here1").exists())
    code, out, errors = hosts.run("attach", name)
    assert (code, out) == (203, "")
    assert f"{address}: the connection ended with exit code 255. The run goes on there" in errors
    (tmp_path / "end").touch()
    await_true(lambda: "CommandEnded" in (hosts.runs(STAYS) / name / "run.facts").read_text())
    for host in (STAYS, OTHER):
        hosts.grid.heal(LAPTOP, host)
    code, out, errors = hosts.run("attach")
    assert code == 0, errors
    whole = [f"{rank} {line} 3 {'x' * 60}" for rank in range(2) for line in range(500)]
    assert sorted(out.splitlines()) == sorted(["begun 0", "begun 1", *whole])
    results = hosts.folder / "work" / f"{name}-results"
    assert {one.name: one.read_text() for one in results.iterdir()} == {
        "result0": "3", "result1": "3"
    }  # fmt: skip
    assert [*hosts.runs(STAYS).iterdir(), *hosts.runs(LAPTOP).iterdir()] == []


def test_a_cluster_that_only_the_laptop_can_reach_is_named_and_nothing_begins(
    hosts: Hosts, tmp_path: Path
) -> None:
    server = hosts.servers[OTHER]
    folder = hosts.home(LAPTOP) / ".ssh"
    folder.mkdir(0o700)
    (folder / "config").write_text(
        f"Host {server.address}\n  Port {server.port}\n  IdentityFile {server.folder}/key\n"
        f"  UserKnownHostsFile {server.folder}/known\n"
    )
    path = hosts.descriptor(other=f'<ssh host="{server.address}"/>')
    code, out, errors = hosts.run("--detach=stays", str(path), "--", str(tmp_path))
    assert (code, out) == (203, "")
    assert "the launcher cannot work there (exit code 203)" in errors
    assert "\n    other/cluster0 cannot be reached from here: " in errors
    assert json.dumps(sorted(tmp_path.iterdir())) == "[]"
    assert [*hosts.runs(STAYS).iterdir(), *hosts.runs(LAPTOP).glob("*")] == []


def test_a_run_that_was_moved_is_stopped_from_here(hosts: Hosts, tmp_path: Path) -> None:
    path = hosts.descriptor(other=hosts.servers[OTHER].hop)
    code, out, errors = hosts.run("--detach=stays", str(path), "--", str(tmp_path))
    assert code == 0, errors
    name = out.split()[0]
    await_true(lambda: (tmp_path / "here0").exists() and (tmp_path / "here1").exists())
    await_true(lambda: hosts.run("logs")[1].count("begun") == 2)  # it is on its way to the launcher
    assert sorted(hosts.run("logs")[1].splitlines()) == ["begun 0", "begun 1"]
    code, out, errors = hosts.run("stop", name)
    assert (code, errors) == (0, "")
    assert out.startswith(f"{name} has ended; ")
    code, out, _ = hosts.run("attach", name)
    assert (code, sorted(out.splitlines())) == (143, ["begun 0", "begun 1"])
    assert not (hosts.folder / "work" / f"{name}-results").exists()


def test_what_this_machine_has_to_do_is_named(hosts: Hosts) -> None:
    path = hosts.descriptor(other="")
    code, out, errors = hosts.run("--detach=stays", str(path))
    assert (code, out) == (202, "")
    assert re.search("this machine .* other/cluster0", errors)
