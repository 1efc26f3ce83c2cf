"""Deadlocks planted in programs: `gcm-deploy` says who waits for whom, word by word."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from runtime.membership.rank_link import current
from tests.told_of_waits import LEFT, NEVER, stray
from tools.on_grids import COMMAND, ROOT

pytestmark = pytest.mark.mpi

SET_TIME = "2"

Start = Callable[..., "subprocess.Popen[str]"]

BEGIN = """\
import time
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
me, other = world.rank, 1 - world.rank
one, much = np.zeros(1), np.zeros(4_000_000)
world.Barrier()
"""

FIRST, SECOND = "rank 0 (site0/cluster0 0)", "rank 1 (site0/cluster1 0)"
"""The first ranks of two emulated clusters, where each has one."""

HOST = os.uname().nodename

IN_ANY = {
    "two that receive from each other": (
        "world.Recv(one, source=other, tag=7)",
        "A waits in Recv from B tag 7 (HERE), which waits in Recv from A tag 7 (HERE)",
    ),
    "large sends that cross": (
        "world.Send(much, other, tag=5)",
        "A waits in Send to B tag 5 (HERE), which waits in Send to A tag 5 (HERE)",
    ),
}
"""Programs of two ranks, A and B, and what is told of them in one cluster and in two."""

IN_TWO_CLUSTERS = {
    "a receive with another tag than is sent": (
        "world.Ssend(one, 1, tag=3) if me == 0 else world.Recv(one, 0, tag=4)",
        "A waits in Ssend to B tag 3 (HERE), which waits in Recv from A tag 4 (HERE)",
    ),
    "a synchronous send that nobody receives": (
        "world.Ssend(one, 1, tag=3) if me == 0 else world.recv(source=0, tag=9)",
        "A waits in Ssend to B tag 3 (HERE), which waits in recv from A tag 9 (HERE)",
    ),
    "a probe for what nobody sends": (
        "world.Probe(source=other, tag=2)",
        "A waits in Probe from B tag 2 (HERE), which waits in Probe from A tag 2 (HERE)",
    ),
    "a rank that is missing from a barrier": (
        "world.Barrier() if me == 0 else world.recv(source=0, tag=1)",
        "A waits in Barrier on COMM_WORLD (HERE) that B has not entered,"
        " which waits in recv from A tag 1 (HERE)",
    ),
    "requests for what nobody sends": (
        "MPI.Request.Waitall([world.irecv(source=other, tag=6)])",
        "A waits in Waitall for a message from B tag 6 (HERE),"
        " which waits in Waitall for a message from A tag 6 (HERE)",
    ),
    "an exchange with two tags": (
        "world.Sendrecv(one, other, me, np.empty(1), other, me)",
        f"A waits in Sendrecv from B tag 0 and to B tag 0 (HERE){stray(1, 8)},"
        f" which waits in Sendrecv from A tag 1 and to A tag 1 (HERE){stray(0, 8)}",
    ),
    "a receive on another communicator": (
        "twin = world.Dup(); (twin if me else world).recv(source=other, tag=8)",
        "A waits in recv from B tag 8 (HERE), which waits in recv from A tag 8",
    ),
}

IN_ONE_CLUSTER = {
    **IN_ANY,
    "a rank that is missing from a barrier": (
        "world.Barrier() if me == 0 else world.recv(source=0, tag=1)",
        "A waits in Barrier on COMM_WORLD (HERE) that B is not in,"
        " which waits in recv from A tag 1 (HERE)",
    ),
    "different roots": (
        "world.Bcast(much, root=other)",
        "A is in Bcast with root B on COMM_WORLD (HERE)"
        " while B is in Bcast with root A on COMM_WORLD (HERE)",
    ),
    "different collectives": (
        "world.Bcast(much, root=1) if me == 0 else world.Barrier()",
        "A is in Bcast with root B on COMM_WORLD (HERE) while B is in Barrier on COMM_WORLD (HERE)",
    ),
    "a collective that was begun": (
        "world.Ibarrier().Wait() if me == 0 else world.recv(source=0, tag=1)",
        "A waits in Wait for Ibarrier (HERE): all others wait themselves",
    ),
}

ENDED = {
    "a rank that left its loop early": (
        "for _ in range(3 - me): world.Allreduce(MPI.IN_PLACE, one)",
        "A waits in Allreduce on COMM_WORLD (HERE) that B is not in, which has ended (exit code 0)",
    ),
    "a request for what nobody sends, and an end while others look": (
        "world.Irecv(one, 1, tag=6).Wait() if me == 0 else time.sleep(1.2)",
        "A waits in Wait for Irecv (HERE): all others have ended",
    ),
    "a receive from any rank where nobody is left": (
        "world.recv(tag=9) if me == 0 else None",
        "A waits in recv from any rank tag 9 (HERE): all others have ended",
    ),
    "a receive with another tag than was sent": (
        "world.send(3, 0, tag=3) if me else world.recv(source=1, tag=4)",
        f"A waits in recv from B tag 4 (HERE){stray(3, 5)}, which has ended (exit code 0)",
    ),
}
"""Programs of two ranks in one cluster, and what is told of them when they have ended the run."""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start `gcm-deploy` with these words, in a session of its own."""
    running: list[subprocess.Popen[str]] = []

    def begin(*words: str | Path) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*COMMAND, "--quiet", *map(str, words)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def planted(folder: Path, cases: Mapping[str, tuple[str, str]], clusters: int) -> Path:
    """Write a program for each case, and the descriptor that runs them all at once.

    Each is an application of its own, of two ranks in so many clusters.
    """
    applications, described = [], []
    for number, (body, _) in enumerate(cases.values()):
        (folder / f"case{number}.py").write_text(BEGIN + body + "\n", encoding="utf-8")
        names = [f"c{number}-{one}" for one in range(clusters)]
        paths = ",".join(f"here/{one}" for one in names)
        applications.append(
            f'<application name="a{number}" script="case{number}.py" clusters="{paths}"/>'
        )
        described += [
            f'<cluster name="{one}"><mpi ranks="{2 // clusters}"/></cluster>' for one in names
        ]
    (folder / "planted.xml").write_text(
        f"<deployment>{''.join(applications)}<grid><site name='here'>{''.join(described)}"
        "</site></grid></deployment>",
        encoding="utf-8",
    )
    return folder / "planted.xml"


def expected(number: int, text: str, clusters: int, *, is_alone: bool) -> str:
    """Return what is told of a case, with the names that its ranks have in the run."""
    first, second = "rank 0", "rank 1"
    if not is_alone:
        last = "c{}-0 1" if clusters == 1 else "c{}-1 0"
        first += f" of a{number} (here/c{number}-0 0)"
        second += f" of a{number} (here/{last.format(number)})"
    line = BEGIN.count("\n") + 1
    text = text.replace("HERE", f"case{number}.py:{line}")
    return re.sub(r"\b[AB]\b", lambda found: first if found[0] == "A" else second, text)


def in_one_line(said: list[str]) -> str:
    """Return what is told with one line for each finding: a long one has a line for each rank."""
    return "".join(said).replace(",\n    which waits in", ", which waits in")


REPLICATED = {
    name: IN_TWO_CLUSTERS[name]
    for name in (
        "a receive with another tag than is sent",
        "a rank that is missing from a barrier",
        "requests for what nobody sends",
    )
} | {
    "a receive from any rank": (
        "world.recv(tag=3) if me == 0 else MPI.Request.Waitany([world.irecv(source=0, tag=6)])",
        "A waits in recv from any rank tag 3 (HERE): all others wait themselves",
    ),
    "a rank one of whose replicas is lost": (
        "__import__('os')._exit(9) if is_first else world.recv(source=other, tag=1)",
        "A waits in recv from B tag 1 (HERE), which waits in recv from A tag 1 (HERE)",
    ),
}
"""Programs of two ranks, each of which is two processes."""


@pytest.mark.parametrize("name", REPLICATED)
def test_deadlocks_of_ranks_with_replicas_are_explained_as_those_of_others(
    start: Start, tmp_path: Path, name: str
) -> None:
    body, text = REPLICATED[name]
    begin = BEGIN.replace("import time", f"from {current.__module__} import current")
    begin = begin.replace(
        "world.Barrier()", "world.Barrier(); is_first = current().name == '0:0:0'"
    )
    (tmp_path / "case0.py").write_text(begin + body + "\n", encoding="utf-8")
    words = "--explain-waits", SET_TIME, "--emulate", "2x2", "--replicas", "2", "case0.py"
    run = start(*words)
    told = expected(0, text, 1, is_alone=True)
    assert run.stderr is not None
    said = []
    for line in run.stderr:
        said.append(line)
        if f"  {told}" in in_one_line(said):
            break
    else:
        pytest.fail("".join(said))
    run.terminate()


@pytest.mark.parametrize(
    ("cases", "clusters"),
    [(IN_ONE_CLUSTER, 1), ({**IN_ANY, **IN_TWO_CLUSTERS}, 2)],
    ids=["in one cluster", "in two clusters"],
)
def test_deadlocks_in_programs_are_explained(
    start: Start, tmp_path: Path, cases: Mapping[str, tuple[str, str]], clusters: int
) -> None:
    run = start("--explain-waits", SET_TIME, planted(tmp_path, cases, clusters))
    left = {
        expected(number, text, clusters, is_alone=len(cases) == 1): name
        for number, (name, (_, text)) in enumerate(cases.items())
    }
    assert run.stderr is not None
    said = []
    for line in run.stderr:
        said.append(line)
        for text in [one for one in left if f"  {one}" in in_one_line(said)]:
            del left[text]
        if not left:
            break
    run.terminate()
    assert not left, "".join(said)


@pytest.mark.parametrize("name", ENDED)
def test_a_wait_for_ranks_that_have_ended_ends_the_run(
    start: Start, tmp_path: Path, name: str
) -> None:
    body, text = ENDED[name]
    (tmp_path / "case0.py").write_text(BEGIN + body + "\n", encoding="utf-8")
    run = start("--explain-waits", "1", "--emulate", "1x2", "case0.py")
    _, said = run.communicate()
    assert (run.returncode, said.splitlines()[-2:]) == (
        204,
        [
            f"gcm-deploy: {LEFT}",
            f"    {expected(0, text, 1, is_alone=True)}",
        ],
    )


@pytest.mark.parametrize(("patience", "program"), [("1", "gcm-deploy: "), ("60", "")])
def test_a_time_for_the_whole_run_does_not_tell_again_who_can_never_go_on(
    start: Start, tmp_path: Path, patience: str, program: str
) -> None:
    """Whether that was told before, by the `program` with a message of its own, or not."""
    (tmp_path / "program.py").write_text(
        BEGIN + "def exchange_borders():\n    world.Sendrecv(one, other, me, one, other, me)\n"
        "exchange_borders()\n",
        encoding="utf-8",
    )
    words = ("--explain-waits", patience, "--run-timeout", "5", "--emulate", "1x2")
    run = start(*words, "program.py")
    _, said = run.communicate()
    assert run.returncode == 124
    lines = [one for one in said.splitlines() if "ends the run" not in one]
    assert lines[:5] == [
        f"gcm-deploy: {NEVER}",
        "  rank 0 waits in Sendrecv from rank 1 tag 0 and to rank 1 tag 0 (program.py:9 in"
        " exchange_borders),",
        "    which waits in Sendrecv from rank 0 tag 1 and to rank 0 tag 1 (program.py:9 in"
        " exchange_borders)",
        f"{program}stack of MainThread in ranks 0-1:",
        f'  File "{tmp_path}/program.py", line 10, in <module>',
    ]
    assert said.count("waits in Sendrecv") == 2


TRUNCATED = "world.Send(np.ones(10), 1, 3) if me == 0 else world.Recv(np.zeros(4), 0, 3)"


def test_a_truncated_message_names_the_size_of_the_buffer_and_the_line_of_the_program(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(BEGIN + TRUNCATED + "\n", encoding="utf-8")
    _, said = start("--emulate", "2x1", "program.py").communicate()
    told = f"{FIRST} on {HOST} sent 80 bytes with tag 3 into a buffer of 32 bytes"
    (first, *rest) = said.splitlines()
    assert first.endswith(f" failed: {told}")
    assert rest[0:3] == [
        "    Traceback (most recent call last):",
        f'      File "{tmp_path}/program.py", line 8, in <module>',
        f"        {TRUNCATED}",
    ]
    assert rest[-2:] == ["    mpi4py.MPI.Exception: Message truncated", f"    {told}"]
    assert len(rest) <= 6


TRUNCATED_OTHERWISE = {
    "receive": ("1x2", "np.ones(10)", "world.Recv(one, 0, 3)"),
    "request": ("1x2", "np.ones(10)", "world.Irecv(one, 0, 3).Wait()"),
    "requests": ("1x2", "np.ones(10)", "MPI.Request.Waitall([world.Irecv(one, 0, 3)])"),
    "object": ("1x2", "b'x' * 80", "world.irecv(bytearray(8), 0, 3).wait()"),
    "requests across": ("2x1", "np.ones(10)", "MPI.Request.Waitall([world.Irecv(one, 0, 3)])"),
}


@pytest.mark.parametrize("name", TRUNCATED_OTHERWISE)
def test_a_truncated_message_is_told_with_both_sizes(
    start: Start, tmp_path: Path, name: str
) -> None:
    machine, sent, receive = TRUNCATED_OTHERWISE[name]
    body = f"if me == 0: world.Send({sent}, 1, 3)\nelse: {receive}\n"
    (tmp_path / "program.py").write_text(BEGIN + body, encoding="utf-8")
    _, said = start("--emulate", machine, "program.py").communicate()
    sizes = (
        f"{FIRST} on {HOST} sent 80 bytes with tag 3 into a buffer of 8 bytes"
        if machine == "2x1"
        else "a message of 80 bytes came into a buffer of 8 bytes"
    )
    (first, *rest) = said.splitlines()
    assert first.endswith(f": {sizes}"), said
    assert f"    {sizes}" in rest
    assert "several.py" not in said


CGROUP = Path("/sys/fs/cgroup/memory")


@pytest.mark.skipif(
    not (CGROUP.is_dir() and os.access(CGROUP, os.W_OK)), reason="needs a memory cgroup of its own"
)
def test_a_rank_that_the_kernel_has_killed_for_lack_of_memory_is_told_of_as_that(
    start: Start, tmp_path: Path
) -> None:
    group = CGROUP / f"gcm-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text("700M")
        grows = "if me: held = [bytearray(b'1' * (64 << 20)) for _ in range(20)]\n"
        grows += "world.Barrier()\n"
        (tmp_path / "program.py").write_text(BEGIN + grows, encoding="utf-8")
        (tmp_path / "join.sh").write_text(f'echo $$ >{group}/cgroup.procs; exec "$@"\n')
        done = subprocess.run(
            ["sh", "join.sh", *COMMAND, "--quiet", "--emulate", "1x2", "program.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        for _ in range(50):
            if not (group / "cgroup.procs").read_text():
                break
            time.sleep(0.1)
        group.rmdir()
    assert done.returncode == 137
    assert "killed by SIGKILL; " in done.stderr
    assert "(its cgroup may use 700 MiB)" in done.stderr


WRONG = """\
def told(call):
    try:
        call()
    except MPI.Exception as error:
        return [error.Get_error_class() - MPI.SUCCESS, *getattr(error, "__notes__", [])]
wrong = [told(lambda: world.Split(-10)), told(lambda: world.Create_cart([-2, -1]))]
print(wrong == [[MPI.ERR_ARG, "the color -10 is negative"],
                [MPI.ERR_DIMS, "dimension 0 has the extent -2; it has to be at least 1"]])
if me == 0:
    time.sleep(0.7)
    world.recv(source=1, tag=4)
world.send(3, 0, tag=3)
"""


def test_wrong_arguments_are_refused_and_an_end_is_told_as_one(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(BEGIN + WRONG, encoding="utf-8")
    inside = start("--explain-waits", "1", "--emulate", "1x2", "program.py")
    across = start("--emulate", "2x1", "program.py")
    unconnected = BEGIN.replace("world.Barrier()", "time.sleep(0.7 * (me == 0))")
    (tmp_path / "unconnected.py").write_text(
        unconnected + "if me == 0: world.recv(source=1)\n", encoding="utf-8"
    )
    absent = start("--emulate", "2x1", "unconnected.py")
    said = across.communicate()[1].splitlines()
    assert said[1].endswith(" has ended")
    assert said[2:4] == [
        f"    {stray(3, 5)[2:-1]}; {SECOND} had ended with exit code 0 by then",
        "    Traceback (most recent call last):",
    ]
    assert inside.communicate()[0] == "True\n" * 2
    said = absent.communicate()[1].splitlines()
    assert said[1].endswith(
        " is not there any more. It has ended: its own output, or that of its cluster, may say how;"
        f" {SECOND} had ended with exit code 0 by then"
    )


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        (
            "world.bcast(None, root=1) if me == 0 else world.allgather(3)",
            "rank 0 is in bcast with root rank 1 on COMM_WORLD (HERE)"
            " while ranks 1-2 are in allgather on COMM_WORLD (HERE)",
        ),
        (
            "world.Allreduce(np.ones(4), np.empty(4)) if me == 0 else world.allreduce(1)",
            "rank 0 is in Allreduce on COMM_WORLD (HERE)"
            " while rank 1 is in allreduce on COMM_WORLD (HERE)",
        ),
    ],
)
def test_different_collectives_of_three_ranks_in_one_cluster_are_told(
    start: Start, tmp_path: Path, calls: str, told: str
) -> None:
    (tmp_path / "program.py").write_text(BEGIN + calls + "\n", encoding="utf-8")
    run = start("--explain-waits", SET_TIME, "--emulate", "1x3", "program.py")
    assert run.stderr is not None
    wanted = told.replace("HERE", f"program.py:{BEGIN.count(chr(10)) + 1}")
    assert f"  {wanted}\n" in iter(run.stderr.readline, "")
    run.terminate()


def test_a_time_for_the_whole_run_ends_it_and_says_what_the_ranks_were_doing(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(
        BEGIN + "if me == 0:\n    world.recv(source=1)\ntime.sleep(60)\n", encoding="utf-8"
    )
    run = start("--run-timeout", "4", "--emulate", "2x1", "program.py")
    _, said = run.communicate()
    assert run.returncode == 124
    assert said.splitlines() == [
        "gcm-deploy: what the ranks are doing:",
        f"  {SECOND}: at program.py:10",
        "these ranks have waited for long:",
        f"  {FIRST} waits in recv from {SECOND} (program.py:9); {SECOND} is at program.py:10",
        f"stack of MainThread in {FIRST}:",
        f'  File "{tmp_path}/program.py", line 9, in <module>',
        "    world.recv(source=1)",
        f"stack of MainThread in {SECOND}:",
        f'  File "{tmp_path}/program.py", line 10, in <module>',
        "    time.sleep(60)",
        "gcm-deploy: the application ran for more than 4 s, so it was ended",
    ]


def test_ctrl_backslash_tells_what_the_ranks_are_doing_and_the_run_goes_on(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(
        BEGIN + "print('here', flush=True)\nworld.recv(source=other)\n", encoding="utf-8"
    )
    run = start("--emulate", "1x2", "program.py")
    assert run.stdout is not None
    assert run.stderr is not None
    assert [run.stdout.readline() for _ in range(2)] == ["here\n"] * 2
    for _ in range(2):  # as a terminal does: all processes of the group get it
        os.killpg(run.pid, signal.SIGQUIT)
        assert any(line.startswith("stack of MainThread in ") for line in run.stderr)
    run.terminate()
    run.communicate()
    assert run.returncode == 128 + signal.SIGTERM


def test_another_terminal_sees_what_a_run_is_doing(start: Start, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        BEGIN
        + "print('here', flush=True)\ndef step():\n    world.Recv(one, other, tag=7)\nstep()\n",
        encoding="utf-8",
    )
    run = start("--emulate", "2x1", "program.py")
    assert run.stdout is not None
    assert [run.stdout.readline() for _ in range(2)] == ["here\n"] * 2

    def seen(*words: str) -> str:
        return subprocess.run(
            [*COMMAND, *words, str(run.pid)], capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout

    while "never" not in (waits := seen("waits")):
        continue  # one of them may not have come to its receive yet
    assert waits.splitlines()[3:] == [
        NEVER,
        f"  {FIRST} waits in Recv from {SECOND} tag 7 (program.py:10 in step),"
        f" which waits in Recv from {FIRST} tag 7 (program.py:10 in step)",
    ]
    (found,) = json.loads(seen("ps", "--format", "json"))
    assert (found["deployment"], found["state"]) == ("program", "running")
    assert [(one["rank"], one["calls"][0]["waits_for"]) for one in found["ranks"]] == [
        ("0:0:0", [{"kind": "receive", "rank": "0:1:0", "tag": 7}]),
        ("0:1:0", [{"kind": "receive", "rank": "0:0:0", "tag": 7}]),
    ]
    assert "\n      world.Recv(one, other, tag=7)\n" in seen("stacks")


def test_ctrl_c_tells_which_ranks_can_never_go_on_and_stops_the_run(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(BEGIN + "world.recv(source=other)\n", encoding="utf-8")
    run = start("--emulate", "2x1", "program.py")
    look = [*COMMAND, "waits", str(run.pid)]
    while "never" not in subprocess.run(look, capture_output=True, text=True, check=False).stdout:
        continue  # one of them may not have come to its receive yet
    run.send_signal(signal.SIGINT)
    _, said = run.communicate()
    assert (run.returncode, said.splitlines()[1:]) == (
        130,
        [
            f"gcm-deploy: {NEVER}",
            f"  {FIRST} waits in recv from {SECOND} (program.py:8),",
            f"    which waits in recv from {FIRST} (program.py:8)",
        ],
    )


RECOVERS = """\
import os, time
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.Get_attr(MPI.FT_INCARNATION) > 1:
    print("again", flush=True)
    time.sleep(100)  # before it joins
world.barrier()
if world.rank == 1:
    os._exit(9)
try:
    world.recv(source=1)
except MPI.Exception:
    if MODE == "rebuild":
        world.Dup()
print("lost", flush=True)
time.sleep(100)
"""


@pytest.mark.parametrize(
    ("mode", "words", "process", "communicators", "newcomer"),
    [
        ("none", ["lost", "lost"], ("Failed", 1), {("FT_DETECTED", "none, cont")}, ""),
        (
            "rebuild",
            ["again"],
            ("OK", 2),
            {("FT_RECOVER", "rebuild, nop")},
            "  COMM_WORLD (rebuild, nop): FT_DETECTED at rank 1\n",  # it has yet to join
        ),
    ],
)
def test_another_terminal_sees_the_states_of_processes_and_communicators(
    start: Start,
    tmp_path: Path,
    *,
    mode: str,
    words: list[str],
    process: tuple[str, int],
    communicators: set[tuple[str, str]],
    newcomer: str,
) -> None:
    (tmp_path / "program.py").write_text(f"MODE = {mode!r}\n{RECOVERS}", encoding="utf-8")
    chosen = ["--failures", "return"] if mode == "none" else ["--recovery", mode]
    run = start("--emulate", "1x3", *chosen, "program.py")
    assert run.stdout is not None
    assert [run.stdout.readline().strip() for _ in words] == words

    def seen(*options: str) -> str:
        look = [*COMMAND, "ps", *options, str(run.pid)]
        return subprocess.run(look, capture_output=True, text=True, check=True, cwd=ROOT).stdout

    def ranks() -> dict[str, Any]:
        (found,) = json.loads(seen("--format", "json"))
        return {one["rank"]: one for one in found["ranks"]}

    def worlds(rank: str) -> set[tuple[str, str]]:
        known = ranks()[rank]["communicators"]
        return {(one["state"], one["modes"]) for one in known if one["name"] == "COMM_WORLD"}

    while not all(communicators <= worlds(rank) for rank in ("0:0:0", "0:0:2")):
        continue  # one of them may not have come to its recovery yet
    lost = ranks()["0:0:1"]
    assert (lost["process_state"], lost["incarnation"]) == process
    assert ranks()["0:0:0"]["process_state"] == "OK"
    ((state, modes),) = communicators
    shown = seen()
    assert f"  COMM_WORLD ({modes}): {state}, 2 of 3 there at rank 0, rank 2\n" in shown
    assert newcomer in shown


def test_messages_that_nobody_has_received_are_told_of_at_the_end(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(
        BEGIN
        + "if me == 0:\n"
        + "    for rank in range(1, world.size): world.Isend(one, rank, tag=rank)\n"
        + "    for rank in range(1, world.size): world.isend(None, rank, tag=9)  # a mere sign\n"
        + "else:\n    world.Probe(source=0)  # it is there\n"
        + "world.Barrier()\n",
        encoding="utf-8",
    )
    run = start("--emulate", "2x2", "program.py")
    _, said = run.communicate()
    assert run.returncode == 0
    assert said.splitlines() == [
        "gcm-deploy: messages that nobody has received:",
        f"  {FIRST} to rank 1 (site0/cluster0 1): tag 1, 8 bytes, on COMM_WORLD",
        f"  {FIRST} to rank 2 (site0/cluster1 0): tag 2, 8 bytes, on COMM_WORLD",
        f"  {FIRST} to rank 3 (site0/cluster1 1): tag 3, 8 bytes, on COMM_WORLD",
    ]


IN_C = """\
if me == 0:
    import ctypes
    path = next(line.split()[-1] for line in open("/proc/self/maps") if "libmpi.so" in line)
    ctypes.CDLL(path).MPI_Finalize()
"""
"""One rank finalises MPI as a library in C does, of which mpi4py knows nothing."""


@pytest.mark.parametrize(
    "end", ["", "MPI.Finalize()\n", IN_C], ids=["by itself", "finalised", "finalised in C"]
)
def test_a_message_that_comes_after_its_receiver_has_ended_is_told_of(
    start: Start, tmp_path: Path, end: str
) -> None:
    late = "if me == 0:\n    time.sleep(0.7)\n    world.Send(one, 1, tag=5)\n"
    (tmp_path / "program.py").write_text(BEGIN + late + end, encoding="utf-8")
    run = start("--emulate", "1x2", "program.py")
    _, said = run.communicate()
    assert run.returncode == 0
    assert said.splitlines() == [
        "gcm-deploy: messages that nobody has received:",
        "  rank 0 to rank 1: tag 5, 8 bytes, on COMM_WORLD",
    ]


@pytest.mark.parametrize("end", ["", "MPI.Finalize()\n"], ids=["by itself", "finalised"])
def test_a_message_whose_receiver_has_ended_before_it_could_go_is_told_of(
    start: Start, tmp_path: Path, end: str
) -> None:
    first = "if me == 0:\n    world.send([1.5] * 20, 1, tag=9)\n    world.send(None, 1, tag=8)\n"
    program = (
        f"from mpi4py import MPI\nworld, me = MPI.COMM_WORLD, MPI.COMM_WORLD.rank\n{first}{end}"
    )
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    run = start("--emulate", "2x1", "program.py")
    _, said = run.communicate()
    assert run.returncode == 0
    assert re.fullmatch(
        "gcm-deploy: messages that nobody has received:\n"
        f"  {re.escape(FIRST)} to {re.escape(SECOND)}: tag 9, [0-9]+ bytes(, on COMM_WORLD)?\n",
        said,
    )


def test_a_collective_whose_sizes_differ_names_who_sent_how_much(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(
        BEGIN + "world.Allgather(np.ones(4 + me), np.ones(8 + 2 * me))\n", encoding="utf-8"
    )
    run = start("--emulate", "2x1", "program.py")
    _, said = run.communicate()
    assert run.returncode == 1
    call = r"Allgather with (40|32) bytes \(call 2\)"
    assert re.search(
        rf"rank [01] \(site0/cluster[01] 0\) on .* is in {call} while rank .* in {call}", said
    )


def test_a_rank_that_is_one_collective_ahead_is_told_of_as_that(
    start: Start, tmp_path: Path
) -> None:
    body = "time.sleep(1.5 * (me == 1))\nif me < 2: world.gather(1, root=1)\nworld.Barrier()\n"
    (tmp_path / "program.py").write_text(BEGIN + body, encoding="utf-8")
    _, said = start("--emulate", "3x1", "program.py").communicate()
    ahead, behind = (
        f"{one} on {os.uname().nodename}" for one in (FIRST, "rank 2 (site0/cluster2 0)")
    )
    seen_by_either = (
        f"{ahead} is in Barrier (call 3) while {behind} waits for it in Barrier (call 2)."
        " The former has made a collective before that the latter has not\n",
        f"{behind} is in Barrier (call 2) where {ahead} made gather of rank 1 (call 2), and waits"
        " for it in Barrier (call 3)\n",
    )
    assert any(one in said for one in seen_by_either), said
