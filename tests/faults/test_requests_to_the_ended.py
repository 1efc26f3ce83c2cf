"""Requests of native MPI for ranks that have ended: each such wait is explained, and ends the run.

Beside them are programs that look alike and end well: no run may be ended too early.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.commands import gcm_deploy
from tests.told_of_waits import LEFT, stray

pytestmark = pytest.mark.mpi

AT_A_TIME = 8
AT_THE_END = f"gcm-deploy: {LEFT}"

BEGIN = """\
import os, sys, threading, time
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
me, size = world.rank, world.size
one, much = np.zeros(1), np.zeros(4_000_000)
world.Barrier()
"""

IN_VAIN = {
    "direct": "if me == 0: world.Irecv(one, 1, tag=6).Wait()",
    "variable": "if me == 0:\n    request = world.Irecv(one, 1, tag=6)\n    request.Wait()",
    "function": (
        "def step():\n    request = world.Irecv(one, 1, tag=6)\n    request.Wait()\n"
        "if me == 0: step()"
    ),
    "object": "if me == 0:\n    request = world.irecv(source=1, tag=6)\n    request.wait()",
    "attribute": (
        "class Halo:\n    def begin(self): self.request = world.irecv(source=1, tag=6)\n"
        "    def end(self): self.request.wait()\nhalo = Halo()\n"
        "if me == 0:\n    halo.begin()\n    halo.end()"
    ),
    "dictionary": (
        "requests = {}\nif me == 0:\n    requests['left'] = world.irecv(source=1, tag=6)\n"
        "    requests['left'].wait()"
    ),
    "element": (
        "requests = [world.irecv(source=1, tag=6)] if me == 0 else []\n"
        "if me == 0: requests[0].wait()"
    ),
    "loop": (
        "requests = [world.irecv(source=1, tag=tag) for tag in range(3) if me == 0]\n"
        "for request in requests: request.wait()"
    ),
    "all": "if me == 0: MPI.Request.Waitall([world.Irecv(one, 1, tag=6)])",
    "all objects": "if me == 0: MPI.Request.waitall([world.irecv(source=1, tag=6)])",
    "any": "if me == 0: MPI.Request.Waitany([world.Irecv(one, 1, tag=6)])",
    "some": "if me == 0: MPI.Request.Waitsome([world.Irecv(one, 1, tag=6)])",
    "any source": "if me == 0: world.Irecv(one, MPI.ANY_SOURCE, tag=6).Wait()",
    "other tag": ("if me == 1: world.Send(one, 0, tag=5)\nelse: world.Irecv(one, 1, tag=6).Wait()"),
    "own communicator": "twin = world.Dup()\nif me == 0: twin.Irecv(one, 1, tag=6).Wait()",
    "persistent": (
        "request = world.Recv_init(one, 1, tag=6)\n"
        "if me == 0:\n    request.Start()\n    request.Wait()"
    ),
    "third in a barrier": (
        "if me == 0: world.Irecv(one, 1, tag=6).Wait()\nif me != 1: world.Barrier()"
    ),
    "third alike": "if me != 1: world.Irecv(one, 1, tag=6).Wait()",
    "third computes": (
        "if me == 0: world.Irecv(one, 1, tag=6).Wait()\nif me == 2: time.sleep(1.5)"
    ),
    "large send": "if me == 0: world.Isend(much, 1, tag=6).Wait()",
    "synchronous send": "if me == 0: world.Issend(one, 1, tag=6).Wait()",
    "barrier": "if me == 0: world.Ibarrier().Wait()",
    "pair": "if me == 0: MPI.Request.Waitall([world.Irecv(one, 1), world.Isend(one, 1)])",
    "one round short": (
        "for turn in range(3):\n    if me == 0:\n        request = world.Irecv(one, 1, tag=turn)\n"
        "        request.Wait()\n    elif turn < 2:\n        world.Send(one, 0, tag=turn)"
    ),
}
"""Rank 1 has ended where rank 0 waits for it, in other ways for each program."""

ENDS_WELL = {
    "a child": (
        "if me == 0:\n    if os.fork() == 0:\n        time.sleep(2.5)\n        os._exit(0)\n"
        "    os.wait()"
    ),
    "another thread": (
        "if me == 0:\n    request = world.Irecv(one, 0, tag=6)\n"
        "    threading.Timer(2.5, world.Send, [one, 0, 6]).start()\n    request.Wait()"
    ),
    "a slow file": (
        "file = MPI.File.Open(MPI.COMM_SELF, f'{me}.data', MPI.MODE_CREATE | MPI.MODE_RDWR)\n"
        "if me == 0: file.Iwrite(one).Wait()\nfile.Close()"
    ),
    "ranks that end late": (
        "if me == 0: world.Irecv(one, 1, tag=6).Wait()\n"
        "if me == 1:\n    time.sleep(2.5)\n    world.Send(one, 0, tag=6)"
    ),
}


ALONE = {"any source", "other tag", "own communicator", "barrier", "one round short"}
"""Programs in which other ranks than 0 have a part; the rest run at once, each at a rank."""

TOGETHER = [name for name in IN_VAIN if name not in ALONE and not name.startswith("third")]

EACH = """\
for name, rank in zip({files}, [0, *range(2, size)]):
    if me == rank:
        exec(compile(open(name).read(), name, "exec"), {{**globals(), "me": 0}})
"""


def file_of(name: str) -> str:
    return f"{name.replace(' ', '_')}.py"


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """What became of each program: its exit code, and what `gcm-deploy` has said."""
    folder = tmp_path_factory.mktemp("programs")

    def run(name: str, text: str, ranks: int) -> tuple[int, str]:
        (folder / file_of(name)).write_text(f"{BEGIN}{text}\n", encoding="utf-8")
        words = "--quiet", "--explain-waits", "0.5", "--run-timeout", "60", "--emulate"
        done = gcm_deploy(*words, f"1x{ranks}", file_of(name), cwd=folder)
        return done.returncode, done.stderr

    for name in TOGETHER:
        (folder / file_of(name)).write_text(IN_VAIN[name] + "\n", encoding="utf-8")
    files = [str(folder / file_of(name)) for name in TOGETHER]
    alone = {name: text for name, text in (IN_VAIN | ENDS_WELL).items() if name not in TOGETHER}
    with ThreadPoolExecutor(AT_A_TIME) as threads:
        begun = {
            name: threads.submit(run, name, text, 3 if name.startswith("third") else 2)
            for name, text in alone.items()
        }
        together = run("together", EACH.format(files=files), len(TOGETHER) + 1)
        return dict.fromkeys(TOGETHER, together) | {
            name: one.result() for name, one in begun.items()
        }


@pytest.mark.parametrize("name", IN_VAIN)
def test_a_wait_for_a_rank_that_has_ended_is_explained_and_ends_the_run(
    ended: dict[str, tuple[int, str]], name: str
) -> None:
    code, said = ended[name]
    assert code == 204, said
    head, *why = said.splitlines()[said.splitlines().index(AT_THE_END) :]
    assert head == AT_THE_END
    assert any(file_of(name) in one and "ended" in one for one in why), said
    assert (stray(5, 8) in said) == (name == "other tag")


@pytest.mark.parametrize("name", ENDS_WELL)
def test_a_wait_that_something_else_ends_does_not_end_the_run(
    ended: dict[str, tuple[int, str]], name: str
) -> None:
    code, said = ended[name]
    assert code == 0, said
    assert AT_THE_END not in said
