"""The native MPI of a run on one host listens nowhere, so that other accounts reach none of it."""

from __future__ import annotations

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
