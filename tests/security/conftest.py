"""Real runs for the tests of security: watched while they run, and asked for their results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from benchmarks.grid import EmulatedGrid, Layout, Line, cluster_element, missing
from runtime.transport.credentials import Credentials
from runtime.transport.keys import Keyring
from tools.on_grids import COMMAND, ROOT, environment

MARKER = "what-nobody-may-read-on-its-way"

# The first rank tells the test what all members know, at a place outside of all that is searched.
PROGRAM = f"""
import json, os, sys
from runtime.membership.rank_link import current

link = current()
assert link is not None
listeners = [listener.fileno() for listener in link.listeners]
told = sys.argv[1]

from mpi4py import MPI

comm = MPI.COMM_WORLD
if comm.rank == 0:
    known = link.credentials
    with open(told + "/known", "w") as file:
        rings = [known._keys.checks, known._keys.tickets]
        keys = [{{name: key.hex() for name, key in ring.items()}} for ring in rings]
        json.dump([known.name, *keys, known.certificate.decode()], file)
comm.barrier()
print("up", os.getpid(), *listeners, flush=True)
rounds, wrong = 0, 0
data = bytes(range(256)) * 400 + {MARKER!r}.encode() * 20
while comm.bcast(rounds < 10 or not os.path.exists(told + "/end"), root=0):
    rounds += 1
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    wrong += comm.sendrecv((comm.rank, data), right, source=left) != (left, data)
    wrong += comm.allreduce(rounds) != rounds * comm.size
print("ended", wrong, flush=True)
"""


@dataclass
class Run:
    """A deployment that goes on until it is told to end."""

    folder: Path
    outside: Path
    temporary: Path
    process: subprocess.Popen[str]
    began: float
    ranks: dict[int, list[int]] = field(default_factory=dict)
    """The process numbers of all ranks, and the descriptors at which they listen for others."""

    def begin(self, ranks: int) -> None:
        """Wait until all ranks have begun to talk."""
        assert self.process.stdout is not None
        while len(self.ranks) < ranks:
            line = self.process.stdout.readline()
            if not line:
                pytest.fail(f"it did not start: {self.process.communicate()}", pytrace=False)
            words = line.split()
            if words[0] == "up":
                self.ranks[int(words[1])] = [int(word) for word in words[2:]]

    def known(self) -> Credentials:
        """Return what the first rank has: its keys, and the certificate of the run."""
        name, *rings, certificate = json.loads((self.outside / "known").read_text())
        checks, tickets = ({at: bytes.fromhex(key) for at, key in ring.items()} for ring in rings)
        return Credentials(Keyring(checks, None, tickets), name, certificate.encode())

    def secrets(self) -> tuple[list[bytes], str]:
        """Return all keys of the first rank, and the certificate of the run."""
        known = self.known()
        keys = known._keys
        assert isinstance(keys, Keyring)
        return [*keys.checks.values(), *keys.tickets.values()], known.certificate.decode()

    def end(self) -> tuple[str, str]:
        """Let it end, with right results; return what it wrote to both streams."""
        (self.outside / "end").touch()
        said, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, errors
        ended = [line.split() for line in said.splitlines() if line.startswith("ended")]
        assert ended == [["ended", "0"]] * len(self.ranks), said
        return said, errors

    def processes(self) -> list[int]:
        """Return all processes of the run: the launcher, and whatever descends from it."""
        children: dict[int, list[int]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    told = (entry / "stat").read_text()
                except OSError:
                    continue
                parent = int(told.rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
        found, looked = [], [self.process.pid]
        while looked:
            found.append(looked.pop())
            looked += children.get(found[-1], [])
        return found

    def is_mpis(self, pid: int) -> bool:
        """Whether a process belongs to native MPI: what it listens to is none of ours."""
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return Path(os.fsdecode(words[0])).name in ("mpiexec", "hydra_pmi_proxy")


@contextmanager
def running(
    folder: Path, sites: str, ranks: int, grid: EmulatedGrid | None, *through: str
) -> Iterator[Run]:
    """Deploy the program until the end of the block, `through` another one that starts it."""
    with (
        tempfile.TemporaryDirectory(prefix="gcm-told-", dir="/tmp") as outside,
        tempfile.TemporaryDirectory(prefix="gcm-test-", dir="/tmp") as temporary,
    ):
        (folder / "program.py").write_text(PROGRAM)
        (folder / "grid.xml").write_text(
            '<deployment name="guarded"><application script="program.py" comm-world="grid">'
            f'<argument value="{outside}"/></application>{sites}</deployment>'
        )
        argv = [*through, *COMMAND, str(folder / "grid.xml")]
        known = {**environment(), "PYTHONPATH": str(ROOT), "TMPDIR": temporary}
        pipe = subprocess.PIPE
        began = time.time()
        process = (
            subprocess.Popen(argv, stdout=pipe, stderr=pipe, env=known, cwd=folder, text=True)
            if grid is None
            else grid.popen("c0", argv, stdout=pipe, stderr=pipe, env=known, cwd=str(folder))
        )
        run = Run(folder, Path(outside), Path(temporary), process, began)
        try:
            run.begin(ranks)
            yield run
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture
def local_run(tmp_path: Path) -> Iterator[Run]:
    """Two clusters on this machine, one of which only its front-end reaches."""
    with running(tmp_path, one_machine(), 4, None) as run:
        yield run


@pytest.fixture(scope="module")
def emulated() -> Iterator[EmulatedGrid]:
    """Three hosts in networks of their own; the third one has no part in any run."""
    if lacking := missing():
        pytest.skip(lacking)
    with EmulatedGrid(Layout((1, 1, 1), wan=Line(delay=0.001, rate=1e9))) as grid:
        yield grid


@pytest.fixture
def grid_run(emulated: EmulatedGrid, tmp_path: Path) -> Iterator[Run]:
    """Two clusters on two hosts, encrypted by default."""
    with running(tmp_path, two_hosts(emulated), 4, emulated) as run:
        yield run


def one_machine() -> str:
    """Return a grid of two clusters on this machine."""
    mpiexec = quoteattr(str(Path(sys.executable).with_name("mpiexec")))
    sites = "".join(
        f'<site><cluster reachability="{one}"><mpi ranks="2" command-path={mpiexec}/></cluster>'
        "</site>"
        for one in ("direct", "front-end")
    )
    return f"<grid>{sites}</grid>"


def two_hosts(grid: EmulatedGrid, encryption: str = "") -> str:
    """Return the grid of the first two clusters of an emulated one."""
    sites = "".join(
        f"<site>{cluster_element(one, 2)}</site>" for one in list(grid.clusters.values())[:2]
    )
    return f"<grid{encryption and f' encryption={quoteattr(encryption)}'}>{sites}</grid>"
