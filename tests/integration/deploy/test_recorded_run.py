"""A run that is recorded, and shown again from the file by the same folds."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import DescriptorContext, make_plan, read_descriptor
from runtime.processes.launcher.machine import Machine
from runtime.processes.launcher.samples import Sampling
from runtime.views.facts import Fact, MessagesCounted
from runtime.views.stream import nothing
from tests.integration.deploy.conftest import Describe, Start

pytestmark = pytest.mark.mpi

CRASH = """\
from mpi4py import MPI
world = MPI.COMM_WORLD
world.send(b"x" * 1000, (world.rank + 1) % world.size)
world.recv()
print("hello", world.rank, flush=True)
if world.rank == 3:
    raise ValueError("no good")
world.Barrier()
"""


def answer(start: Start, *words: str | Path) -> tuple[int, str, str]:
    process = start(*words)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_what_is_shown_of_a_recorded_crash_is_what_the_run_showed(
    start: Start, describe: Describe, tmp_path: Path
) -> None:
    facts, grid = tmp_path / "run.facts", describe(CRASH, sites=2, clusters=2)
    facts.touch(mode=0o644)
    code, out, err = answer(start, "--record", facts, "--summary", "--tag-output", grid)
    assert (code, sorted(out.splitlines())) == (1, [f"[{n}] hello {n}" for n in range(4)])
    assert "rank 3 (site1/cluster1 0) on " in err
    assert stat.S_IMODE(facts.stat().st_mode) == 0o600

    code, shown, errors = answer(start, "view", facts)
    assert (code, f"{errors}{shown}gcm-deploy: wrote {facts}\n") == (0, err)
    code, story, _ = answer(start, "view", "--rank", "3", facts)
    assert re.search(r"^ +\d+\.\d\d  writes to traceback: ValueError: no good$", story, re.M)
    assert "computed for" in story
    code, figures, _ = answer(start, "view", "--show", "figures", facts)
    assert figures.startswith(shown)
    assert "\nroute " in figures
    code, tree, _ = answer(start, "view", "--show", "tree", facts)
    assert tree.splitlines()[0].startswith("try  ended, exit code 1  ")
    assert "1 failed" in tree
    code, lines, news = answer(start, "view", "--show", "lines", facts)
    assert (code, sorted(lines.splitlines())) == (0, sorted(out.splitlines()))
    assert "gcm-deploy: running: 4 ranks in 4 clusters\n" in news
    assert "[3] ValueError: no good\n" in news


def test_the_summary_for_programs_is_the_same_from_the_file(
    start: Start, describe: Describe, tmp_path: Path
) -> None:
    facts, grid = tmp_path / "run.facts", describe(CRASH, ranks=4)
    code, out, _ = answer(start, "--record", facts, "--format", "json", grid)
    assert code == 1
    live = out.splitlines()[-1]
    assert answer(start, "view", "--format", "json", facts) == (0, live + "\n", "")
    assert json.loads(live)["first_cause"]["exception"] == "ValueError: no good"


def test_a_record_without_an_end_is_shown_as_far_as_it_goes(
    start: Start, describe: Describe, tmp_path: Path
) -> None:
    facts, grid = tmp_path / "run.facts", describe("print('hello')")
    assert answer(start, "--record", facts, grid)[0] == 0
    lines = facts.read_bytes().splitlines(keepends=True)
    facts.write_bytes(b"".join(lines[:-3]) + lines[-3][:10])
    code, out, err = answer(start, "view", facts)
    assert code == 0
    assert out.startswith("try: 1 rank in 1 cluster; nothing is known after ")
    assert err == f"gcm-deploy: {facts}: the record has no end: the run was killed, or goes on\n"


def test_a_run_is_not_begun_that_cannot_be_recorded_and_others_are_no_records(
    start: Start, describe: Describe, tmp_path: Path
) -> None:
    grid, nowhere = describe("print('hello')"), tmp_path / "nowhere" / "run.facts"
    code, out, err = answer(start, "--record", nowhere, grid)
    assert (code, out, err.count("\n")) == (205, "", 1)
    assert err.startswith(f"gcm-deploy: {nowhere}: the run cannot be recorded there: No such file")
    code, out, err = answer(start, "view", grid)
    assert (code, out, err.count("\n")) == (202, "", 1)
    assert err.startswith(f"gcm-deploy: {grid}: ")
    assert answer(start, "view", nowhere) == (
        202, "", f"gcm-deploy: '{nowhere}' cannot be read: No such file or directory\n",
    )  # fmt: skip


@pytest.mark.needs_root
@pytest.mark.parametrize("option", ["--record", "--report", "--log"])
def test_nothing_of_a_run_goes_into_a_file_that_another_user_has_planted(
    start: Start, describe: Describe, tmp_path: Path, option: str
) -> None:
    grid, planted, own = describe("print('hello')"), tmp_path / "planted", tmp_path / "own"
    for one in (planted, own):
        one.write_text("mine")
        one.chmod(0o666)
    os.chown(planted, 65534, 65534)
    code, out, err = answer(start, option, planted, grid)
    assert (code, out) == (205, "")
    assert "it is another user's, who could read it" in err
    assert planted.read_text() == "mine"
    assert answer(start, "--quiet", option, own, grid)[0] == 0
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    assert "mine" not in own.read_text()[:4]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_run_is_not_begun_whose_record_has_no_space(start: Start, describe: Describe) -> None:
    grid = describe("print('hello')")
    code, out, err = answer(start, "--record", "/dev/full", grid)
    assert (code, out) == (205, "")
    assert err.startswith("gcm-deploy: /dev/full: ")
    assert "No space left on device" in err


UNEVEN = """\
import time
from mpi4py import MPI
world = MPI.COMM_WORLD
for step in range(3):
    world.send(b"x" * 1000, (world.rank + 1) % world.size)
    world.recv()
    time.sleep(0.7 if world.rank == 3 else 0)  # more than a busy machine lets another one wait
    world.Barrier()
"""


def document(report: Path) -> dict[str, Any]:
    """Return the data that a report has."""
    found = re.search(r'id="document">(.*?)</script>', report.read_text())
    assert found is not None
    told: dict[str, Any] = json.loads(found[1])["document"]
    return told


def test_the_report_of_a_run_is_that_of_its_record_and_counts_as_the_program_did(
    start: Start, describe: Describe, tmp_path: Path
) -> None:
    facts, live, later = tmp_path / "run.facts", tmp_path / "a.html", tmp_path / "b.html"
    grid = describe(UNEVEN, sites=2, ranks=2)
    assert answer(start, "--record", facts, "--report", live, "-x", "KEY=ssshh", grid)[0] == 0
    assert stat.S_IMODE(live.stat().st_mode) == 0o600
    assert answer(start, "view", "--report", later, facts) == (0, "", "")
    assert live.read_text() == later.read_text()
    assert "ssshh" not in live.read_text()
    told = document(live)
    rows = {one["call"]: (one["ranks"], one["calls"]) for one in told["calls"]["rows"]}
    assert rows == {"send": (4, 12), "recv": (4, 12), "Barrier": (4, 12)}
    (uneven,) = told["calls"]["imbalance"]
    assert re.search(r"rank 3 \(site1/cluster0 1\) computed for \d+\.\d s", uneven)
    pairs = {(one["from"], one["to"]): one["messages"] for one in told["pairs"]}
    assert (pairs["0:0:1", "1:0:0"], pairs["1:0:1", "0:0:0"]) >= (3, 3)
    assert told["described"]["descriptor"].startswith("<deployment")
    assert answer(start, "compare", facts, facts)[1].endswith(" the same.\n")


CALLS = """\
import json
from collections import Counter
import numpy as np
from mpi4py import MPI
world, done = MPI.COMM_WORLD, Counter()
right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
here, there, all_here = np.zeros(4), np.zeros(4), np.zeros(4 * world.size)

def call(name, *args, on=world, **options):
    done[name] += 1
    return getattr(on, name)(*args, **options)

MPI.Attach_buffer(bytearray(10_000))
for send in ("send", "ssend", "bsend"):
    request = world.irecv(source=left)
    call(send, 1, right)
    call("wait", on=request)
    request = world.Irecv(here, left)
    call(send.capitalize(), there, right)
    call("Waitall", [request], on=MPI.Request)
MPI.Detach_buffer()
call("sendrecv", 1, right, source=left)
call("Sendrecv", here, right, recvbuf=there, source=left)
call("Sendrecv_replace", here, right, source=left)
for probe, receive, data in (("mprobe", "recv", ()), ("Mprobe", "Recv", (there,))):
    request = world.Isend(here, right) if data else world.isend(1, right)
    call(receive, *data, on=call(probe, left))
    call("Wait", on=request)
call("barrier")
call("allreduce", 1)
call("Gather", here, all_here)
call("alltoall", range(world.size))
call("Dup").Free()
call("Split", world.rank % 2, world.rank).Free()
print(json.dumps(done), flush=True)
"""


@pytest.mark.parametrize("sites", [1, 2])
def test_the_calls_of_a_report_are_those_that_the_program_made(
    start: Start, describe: Describe, tmp_path: Path, sites: int
) -> None:
    report = tmp_path / "run.html"
    code, out, err = answer(start, "--report", report, describe(CALLS, sites=sites, ranks=2))
    assert code == 0, err
    made: Counter[str] = Counter()
    for line in out.splitlines():
        made.update(json.loads(line))
    rows = document(report)["calls"]["rows"]
    assert {one["call"]: one["calls"] for one in rows} == made


def test_a_run_is_not_begun_whose_report_has_no_place(start: Start, describe: Describe) -> None:
    code, out, err = answer(start, "--report", "/nowhere/run.html", describe("print('hello')"))
    assert (code, out) == (205, "")
    assert err.startswith(
        "gcm-deploy: /nowhere/run.html: the run cannot be recorded there: No such"
    )


TALK = """\
import time
from mpi4py import MPI
world = MPI.COMM_WORLD
until = time.monotonic() + 1.5
while world.bcast(time.monotonic() < until):
    world.sendrecv(b"x" * 100, 1 - world.rank, source=1 - world.rank)
    time.sleep(0.01)
"""


class Samples:
    """Keeps what is told of messages: of clusters while the run goes on, of ranks at their end."""

    def __init__(self) -> None:
        self.told: dict[str, list[int]] = {}

    def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
        if isinstance(fact.record, MessagesCounted):
            self.told.setdefault(fact.name, []).append(fact.record.messages)
        taken()


@pytest.mark.parametrize("samples", [0.0, 0.1])
def test_messages_are_sampled_only_where_somebody_asks(describe: Describe, samples: float) -> None:
    grid = describe(TALK, clusters=2)
    surroundings = DescriptorContext(str(grid.parent), python=sys.executable)
    found = read_descriptor(grid, surroundings=surroundings, diagnostics=Diagnostics())
    assert found is not None
    listener = Samples()
    assert Machine(make_plan(found), listener, samples=Sampling(samples)).run().exit_code == 0
    if not samples:
        assert set(listener.told) == {"0:0:0", "0:1:0"}
        return
    for cluster in ("0:0", "0:1"):
        so_far = listener.told[cluster]
        assert len(so_far) > 3
        assert so_far == sorted(so_far)
        assert 0 < so_far[-1] <= listener.told[f"{cluster}:0"][0]
