"""The native MPI of a run on one host listens nowhere, so that other accounts reach none of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtime.launchers.family import descendants, processes
from tests.security.test_strangers_at_a_run import listening
from tools.on_grids import COMMAND, environment

pytestmark = pytest.mark.mpi

PROGRAM = """\
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Barrier()
if world.rank == 0:
    print("up", flush=True)
    input()
print("sum", world.allreduce(1), flush=True)
"""

# Another account connects to each listener, says what ends Hydra, and stays until it is cut off.
STRANGER = """\
import os, socket, sys
"".encode("idna")  # loaded while this account can read it
os.setgid(65534); os.setuid(65534)
pairs = [one.rsplit(":", 1) for one in sys.argv[1:]]
held = [socket.create_connection((host, int(port)), timeout=5) for host, port in pairs]
for one in held:
    one.sendall(b"HYD\\0" + bytes(8))
"""

# Another account fills the sockets at which the memory of UCX wakes a rank up: they have no owner.
KNOCKS = """\
import os, socket, sys
os.setgid(65534); os.setuid(65534)
knocking = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
for name in sys.argv[1:] * 300:
    for data in (b"x", bytes(8), b"\\xff" * 4096):
        try:
            knocking.sendto(data, "\\0" + name)
        except BlockingIOError:
            pass
"""


@contextmanager
def running(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Start a run, and wait until its ranks have met."""
    program = folder / "program.py"
    program.write_text(PROGRAM)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*COMMAND, "--quiet", *words, str(program)],
        cwd=folder, env=environment(), stdin=pipe, stdout=pipe, stderr=pipe, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "up\n", process.communicate()
            yield process
        finally:
            process.kill()


def tcp_listeners(process: subprocess.Popen[str]) -> set[str]:
    """Return where the processes of a run listen, in whatever network."""
    found = set()
    for pid in {process.pid} | descendants({process.pid}, processes()):
        found |= {address for _, address in listening(pid) if not address.startswith("unix:")}
    return found


@pytest.mark.parametrize(
    ("words", "ranks"),
    [
        (("-n", "4"), 4),
        (("-n", "2", "-x", "PYTHONHASHSEED=7"), 2),  # not forked
        (("--emulate", "2x1x2"), 4),
        (("-n", "2", "-x", "MPIR_CVAR_CH4_NETMOD=ofi"), 2),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_a_run_on_one_host_listens_nowhere(
    tmp_path: Path, words: tuple[str, ...], ranks: int
) -> None:
    with running(tmp_path, *words) as process:
        assert tcp_listeners(process) == set()
        out, err = process.communicate("\n", timeout=60)
    assert (process.returncode, out.split()) == (0, ["sum", f"{ranks}"] * ranks), err


@pytest.mark.needs_root
def test_another_account_that_says_what_ends_hydra_changes_nothing(tmp_path: Path) -> None:
    with running(tmp_path, "-n", "4") as process:
        subprocess.run(
            [sys.executable, "-c", STRANGER, *tcp_listeners(process)], timeout=60, check=True
        )
        out, err = process.communicate("\n", timeout=60)
    assert (process.returncode, out.split()) == (0, ["sum", "4"] * 4), err


def abstract_datagrams(process: subprocess.Popen[str]) -> set[str]:
    """Return the names without a file to which others can send datagrams."""
    shown = subprocess.run(["ss", "-axpH"], capture_output=True, text=True, check=True).stdout
    mine = {process.pid} | descendants({process.pid}, processes())
    lines = [line for line in shown.splitlines() if line.startswith("u_dgr")]
    lines = [line for line in lines if any(f"pid={pid}," in line for pid in mine)]
    return {word[1:] for line in lines for word in line.split() if word.startswith("@")}


@pytest.mark.needs_root
@pytest.mark.skipif(shutil.which("ss") is None, reason="needs ss (apt install iproute2)")
def test_another_account_that_wakes_ranks_for_nothing_changes_nothing(tmp_path: Path) -> None:
    with running(tmp_path, "-n", "2", "-x", "MPIR_CVAR_CH4_NETMOD=ucx") as process:
        names = abstract_datagrams(process)
        assert names
        subprocess.run([sys.executable, "-c", KNOCKS, *names], timeout=60, check=True)
        out, err = process.communicate("\n", timeout=60)
    assert (process.returncode, out.split()) == (0, ["sum", "2"] * 2), err
