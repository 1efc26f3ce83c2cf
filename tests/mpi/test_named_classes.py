"""Classes that a descriptor names stand between ranks, and choose plans, in whole programs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.commands import gcm_deploy
from tools.on_grids import COMMAND, environment

pytestmark = pytest.mark.mpi

CLASSES = """
import zlib
from collections import Counter

from mpi4py import MPI  # as modules of such a program do

from runtime.machine.interceptors import DROP
from runtime.routing import ReferenceCache, Tension

class Count:
    looks_at = "envelopes"
    sent, received_of = Counter(), Counter()
    def sending(self, envelope):
        self.sent[envelope.target] += 1
    def received(self, envelope):
        self.received_of[envelope.source] += 1

class Compress:
    looks_at = "payloads"
    def sending(self, envelope, payload):
        return zlib.compress(payload, 1)
    def received(self, envelope, payload):
        return zlib.decompress(payload)

class Delay:
    looks_at = "envelopes"
    def sending(self, envelope):
        return 0.02 if envelope.size % 2 else None

class Drop:
    looks_at = "envelopes"
    def sending(self, envelope):
        return DROP

class Break:
    looks_at = "envelopes"
    def received(self, envelope):
        return 1 / (envelope.size - 7)

class Detour(Tension):
    def __init__(self, usual):
        super().__init__()
    def order(self, routes, now):
        return super().order(routes, now)[::-1]

class One(ReferenceCache):
    def __init__(self, usual):
        super().__init__(1)

class Unlike:
    def __init__(self, usual):
        self.usual = usual
    def choose(self, operation, size, sites, plans):
        if operation == "Bcast":
            return "chain" if MPI.COMM_WORLD.rank == 0 else "flat"
        return self.usual.choose(operation, size, sites, plans)
"""

ALL_KINDS = """
import numpy as np
from mpi4py import MPI
from classes import Count

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
left, right = (rank - 1) % size, (rank + 1) % size
for count in (0, 1, 3001, 200_001, 3_000_001):
    sent, got = np.full(count, rank, np.uint8), np.empty(count, np.uint8)
    status = MPI.Status()
    comm.Sendrecv(sent, right, 3, got, left, 3, status)
    assert (got == left).all() and status.Get_count(MPI.BYTE) == count
requests = [comm.isend(number, right, tag=number) for number in range(20)]
assert [comm.recv(source=left, tag=MPI.ANY_TAG) for _ in range(20)] == list(range(20))
MPI.Request.waitall(requests)
begun = comm.issend("late", right)
comm.Probe(left)
assert comm.recv(source=left) == "late"
begun.wait()
total = np.empty(100_000)
comm.Allreduce(np.ones(100_000), total)
assert (total == size).all()
assert comm.alltoall([(rank, to) for to in range(size)]) == [(of, rank) for of in range(size)]
rows = np.empty((size, 50_000))
comm.Allgather(np.full(50_000, float(rank)), rows)
assert (rows[:, 0] == range(size)).all()
assert comm.scan(1) == rank + 1
comm.Barrier()
print(sum(Count.sent.values()) > 0, sorted({one[0] for one in Count.sent} - {"01"[rank > 3]}))
"""


def deployed(
    folder: Path, program: str, machine: str, *options: str, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run a program on a machine."""
    (folder / "classes.py").write_text(CLASSES)
    (folder / "program.py").write_text(program)
    (folder / "grid.xml").write_text(
        f'<deployment><application script="program.py"/>\n{machine}</deployment>'
    )
    return gcm_deploy(*options, folder / "grid.xml", timeout=timeout)


def run(folder: Path, program: str, named: str) -> tuple[str, str]:
    """Return what a program on two sites of two clusters of two ranks writes, and the faults."""
    machine = f'<emulate sites="2" clusters="2" ranks="2">{named}</emulate>'
    done = deployed(folder, program, machine, "--quiet")
    assert (done.returncode == 0) == (not done.stderr), done.stderr
    return done.stdout, done.stderr


def test_messages_and_collectives_pass_through_classes_that_count_delay_and_compress(
    tmp_path: Path,
) -> None:
    named = (
        '<interceptor class="classes.Count" between="sites"/><interceptor class="classes.Delay"/>'
        '<interceptor class="classes.Compress"/>'
    )
    said, faults = run(tmp_path, ALL_KINDS, named)
    assert faults == ""
    # each rank has sent something to the other site alone, or nothing at all
    assert {"True ['1']", "True ['0']"} <= set(said.splitlines()) <= {
        "True ['1']", "True ['0']", "False []",
    }  # fmt: skip


def test_a_class_that_raises_for_a_message_ends_the_wait_with_its_traceback(tmp_path: Path) -> None:
    program = (
        "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\n"
        "if comm.rank == 0: comm.Send(bytes(7), 4)\n"
        "if comm.rank == 4: comm.Recv(bytearray(7), 0)\n"
    )
    said, faults = run(tmp_path, program, '<interceptor class="classes.Break"/>')
    assert said == ""
    assert "site1/cluster0/wrapper0: interceptor classes.Break" in faults
    assert "raised ZeroDivisionError: division by zero" in faults
    assert "return 1 / (envelope.size - 7)" in faults


def test_a_class_that_drops_messages_is_named_when_ranks_wait_for_them(tmp_path: Path) -> None:
    program = (
        "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\n"
        "if comm.rank == 0: comm.send(1, 1)\n"
        "comm.recv(source=1 - comm.rank)\n"
    )
    machine = '<emulate sites="2" ranks="1"><interceptor class="classes.Drop"/></emulate>'
    done = deployed(tmp_path, program, machine, "--quiet", "--run-timeout", "3")
    assert done.returncode == 124
    assert "interceptors have held up or dropped messages:" in done.stderr
    told = r"rank 0 \(site0/cluster0 0\): interceptor classes.Drop"
    assert re.search(
        rf"^  {told} \(.*grid\.xml:2\) has dropped 1 message for rank 1 \(site1/cluster0 0\)$",
        done.stderr,
        re.M,
    )


def test_a_class_decides_by_which_route_a_cluster_reaches_others_and_how_many_stay(
    tmp_path: Path,
) -> None:
    program = (
        "from mpi4py import MPI\n"
        "comm = MPI.COMM_WORLD\n"
        "if comm.rank == 0:\n"
        "    [comm.ssend(1, peer) for peer in (1, 2, 1, 2)]\n"
        "else:\n"
        "    comm.recv(), comm.recv()\n"
    )
    named = '<controller role="reference-cache" class="classes.One"/>'
    detour = '<controller role="tensioning" class="classes.Detour"/>'
    machine = (
        f"<grid>{named}"
        f'<site><cluster><mpi ranks="1"/>{detour}</cluster></site>'
        '<site><cluster reachability="front-end"><mpi ranks="1"/></cluster></site>'
        '<site><cluster><mpi ranks="1"/></cluster></site></grid>'
    )
    done = deployed(tmp_path, program, machine, "--verbose")
    assert done.returncode == 0, done.stderr
    ways = re.findall(
        r"^ranks of site0/cluster0 - (\S+), through (.*?)  ", done.stderr, re.MULTILINE
    )
    assert [(to, len(way.split(", "))) for to, way in ways] == [
        ("site1/cluster0", 3),
        ("site2/cluster0", 3),
    ]
    figures = re.search(r"^between ranks +(.*)", done.stderr, re.MULTILINE)
    assert figures is not None
    misses, evictions = figures[1].split()[3:5]
    # Each message finds the connection before it closed; what is still in use cannot be evicted.
    assert misses == "4"
    assert int(evictions) >= 2


def test_ranks_that_choose_different_plans_are_told_so(tmp_path: Path) -> None:
    program = (
        "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\ncomm.Bcast(bytearray(8))\ncomm.Barrier()\n"
    )
    named = '<controller role="plan-choice" class="classes.Unlike"/>'
    _, faults = run(tmp_path, program, named)
    assert "Bcast by chain" in faults
    assert "Bcast by flat" in faults
    assert "The plan-choice has to answer alike at all ranks" in faults


EVERY_PLAN = """
import numpy as np
from mpi4py import MPI

from runtime.mpi.collectives.asking import plan_of

comm = MPI.COMM_WORLD
rank, size, root = comm.rank, comm.size, 1
for count in (1, 30_000):
    mine, got, rows = np.full(count, 1.0 * rank), np.empty(count), np.empty((size, count))
    total, ranks = sum(range(size)), np.arange(size)[:, None]
    at_root = rank == root
    comm.Barrier()
    comm.Bcast(data := mine.copy(), root)
    assert (data == root).all() and comm.bcast("x" * count if at_root else None, root)[-1] == "x"
    comm.Reduce(mine, got if at_root else None, root=root)
    assert not at_root or (got == total).all()
    comm.Allreduce(mine, got)
    assert (got == total).all()
    comm.Gather(mine, rows if at_root else None, root)
    assert not at_root or (rows == ranks).all()
    comm.Scatter(rows if at_root else None, got, root)
    assert (got == rank).all()
    comm.Allgather(mine, rows)
    assert (rows == ranks).all()
    comm.Alltoall(rows, back := np.empty((size, count)))
    assert (back == rank).all()
if rank == 0:
    print(*(plan_of(comm, name, 8) for name in ("Barrier", "Bcast", "Allreduce", "Alltoall")))
"""


def without_note(said: str) -> str:
    """Return what a run says but for what does not go through components, its first line."""
    return re.sub(r"\Agcm-deploy: plans: through components go .*; all else goes .*\n", "", said)


@pytest.mark.parametrize(
    ("plans", "said"),
    [
        ("flat", "flat flat flat short"),
        (
            "binomial butterfly rotation barrier=4-ary bcast:8=chain/8192",
            "4-ary chain/8192 butterfly rotation",
        ),
        ("components", "components components components short"),
    ],
)
def test_every_plan_that_is_named_carries_its_collectives_out(
    tmp_path: Path, plans: str, said: str
) -> None:
    machine = '<emulate sites="2" clusters="1" ranks="3"/>'
    done = deployed(tmp_path, EVERY_PLAN, machine, "--quiet", "--plans", plans)
    assert (done.stdout, without_note(done.stderr)) == (said + "\n", "")


@pytest.mark.parametrize(
    ("call", "named"),
    [
        ("Allreduce(one, two, MPI.MAX if comm.rank else MPI.SUM)", "(MAX float64)"),
        ("Reduce(one, two, root=comm.rank)", "Reduce by components of rank 1"),
    ],
)
def test_components_merge_no_calls_that_do_not_fit(tmp_path: Path, call: str, named: str) -> None:
    program = (
        "import numpy as np\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\n"
        f"one, two = np.ones(4), np.ones(4)\ncomm.{call}\n"
    )
    machine = '<emulate sites="2" ranks="1"/>'
    done = deployed(tmp_path, program, machine, "--quiet", "--plans", "components")
    assert (done.returncode, done.stdout) == (1, "")
    assert named in done.stderr
    assert "are out of step" in done.stderr


MANY_CALLS = """
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
data = np.full(1 << 22, comm.rank, np.uint8)
rows = np.empty((2, data.size), np.uint8) if comm.rank else None
others = [comm.Dup() for _ in range(66)]
if comm.rank == 0:
    begun = [one.Igather(data, None, root=1) for one in others]
    comm.send("all have begun", 1)
else:
    comm.recv(source=0)
    begun = [one.Igather(data, rows, root=1) for one in others]
faults = []
for which, one in enumerate(begun):
    try:
        one.Wait()
    except Exception as fault:
        faults.append((which, type(fault).__name__, fault.cause, fault.cure))
print(faults, flush=True)
others[-1].Barrier()
"""


def test_calls_for_which_components_have_no_room_fail_and_the_others_are_carried_out(
    tmp_path: Path,
) -> None:
    machine = '<emulate sites="2" ranks="1"/>'
    done = deployed(tmp_path, MANY_CALLS, machine, "--quiet", "--plans", "components")
    assert "Allgather (of reductions SUM, PROD, MAX and MIN), in order of ranks" in done.stderr
    assert (done.returncode, without_note(done.stderr)) == (0, "")
    one, other = done.stdout.splitlines()
    assert one == other
    assert "256 MiB already wait" in one


def test_tuning_stores_rules_beside_the_descriptor_which_runs_of_it_use(tmp_path: Path) -> None:
    machine = '<emulate sites="2" ranks="1"/>'
    deployed(tmp_path, "", machine, "--dry-run")
    tune = [*COMMAND, "tune", "--rounds", "1", str(tmp_path / "grid.xml")]
    done = subprocess.run(
        tune, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    measured = {line.split()[0] for line in done.stdout.splitlines()[1:]}
    assert measured == {
        "Allgather", "Allreduce", "Alltoall", "Barrier", "Bcast", "Gather", "Reduce", "Scatter",
    }  # fmt: skip
    stored = tmp_path / "grid.plans"
    with stored.open("a") as file:
        file.write("barrier@1|1=butterfly  # a rule of our own\n")
    program = (
        "from mpi4py import MPI\nfrom runtime.mpi.collectives.asking import plan_of\n"
        "print(plan_of(MPI.COMM_WORLD, 'Barrier', 0))\n"
    )
    assert deployed(tmp_path, program, machine, "--quiet").stdout == "butterfly\n" * 2
    assert "barrier@1|1=butterfly" in deployed(tmp_path, program, machine, "--dry-run").stdout
    stored.write_text("barier=flat")
    assert "did you mean 'barrier'?" in deployed(tmp_path, program, machine).stderr


@pytest.mark.parametrize(
    ("named", "fault"),
    [
        ('<interceptor class="classes.Cuont"/>', "has no class 'Cuont'; did you mean 'Count'?"),
        ('<controller role="plan-choice" class="classes.Count"/>', "has a method 'choose'"),
    ],
)
def test_a_class_that_cannot_be_used_is_a_fault_before_anything_starts(
    tmp_path: Path, named: str, fault: str
) -> None:
    said, faults = run(tmp_path, "print('started')", named)
    assert said == ""
    assert "grid.xml:2: error[bad-class]" in faults
    assert fault in faults
