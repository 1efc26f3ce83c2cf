"""Whatever ends a rank: its exit code is that of the run, and no neighbour is blamed for it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runtime.exit_codes import LOST
from runtime.launchers.family import descendants, processes
from tests.commands import gcm_deploy
from tests.far_host import NEAR_AND_FAR, far_host, way  # noqa: F401 - fixtures
from tests.faults.test_far_end import far, grid_with  # noqa: F401 - a fixture
from tools.on_grids import COMMAND, ROOT, descriptor

if TYPE_CHECKING:
    from runtime.testing.sshd import Sshd
    from tests.faults.conftest import Bench

pytestmark = pytest.mark.mpi


# The last rank ends while all others wait for it in collectives over all clusters.
PROGRAM = """\
import ctypes, os, signal, sys, time
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Barrier()
if world.rank == world.size - 1:
    ENDING
while True:
    world.allreduce(1)
    time.sleep(0.01)
"""
ENDINGS = {
    "ctypes.string_at(0)": (139, "SIGSEGV", ""),
    "os._exit(7)": (7, "", ""),
    "os.kill(os.getpid(), signal.SIGKILL)": (137, "SIGKILL", ""),
    "os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)": (143, "SIGTERM", ""),
    "sys.exit(3)": (3, "", ""),
    "import missing": (1, "", "ModuleNotFoundError: No module named 'missing'"),
    "world.Abort(5)": (5, "", ""),
}
CALM = """\
import sys, time
from mpi4py import MPI
print("up", flush=True)
time.sleep(1.5)
MPI.COMM_WORLD.Barrier()
print("fine", flush=True)
"""


# Options of a user are for his own `mpiexec`.
OF_A_USER = (
    '<grid><site><cluster><mpi ranks="2" options="-print-all-exitcodes"/></cluster></site></grid>'
)
STUCK = CALM.replace("time.sleep(1.5)", "MPI.COMM_WORLD.recv()")

PROXY_ENDED = r"hydra_pmi_proxy \(process \d+\),.* was ended"
MANAGER_ENDED = r"gcm-pmi, which had started the ranks, was killed by SIGKILL while the ranks ran"
FORK_SERVER_ENDED = r"could not go on while the ranks ran.*\n.*the process that forks the ranks"


def describe(
    folder: Path, program: str, *, sites: int = 1, clusters: int = 1, mpi: str = ""
) -> Path:
    (folder / "program.py").write_text(program, encoding="utf-8")
    path = folder / "grid.xml"
    path.write_text(
        '<deployment name="try"><application script="program.py" comm-world="grid"/>'
        + (mpi or f'<emulate sites="{sites}" clusters="{clusters}" ranks="2"/>')
        + "</deployment>",
        encoding="utf-8",
    )
    return path


def run(*words: str | Path) -> tuple[int, dict[str, Any], str, str]:
    """Return exit code, summary, other output, and what was said on standard error."""
    done = gcm_deploy("--format", "json", "--progress", "never", *words)
    *lines, summary = done.stdout.splitlines()
    return done.returncode, json.loads(summary), "\n".join(lines), done.stderr


def check(found: tuple[int, dict[str, Any], str, str], ending: str, last: str) -> None:
    """Check what holds for every ending of the last rank."""
    code, number, exception = ENDINGS[ending]
    returned, summary, out, err = found
    cause = summary["first_cause"]
    assert (returned, summary["code"]) == (code, code), err
    assert (cause["rank"], cause["code"]) == (last, code)
    assert (cause["signal"], cause["exception"]) == (number, exception)
    assert cause["pid"]
    row = next(one for part in summary["clusters"] for one in part["ranks"] if one["rank"] == last)
    assert (row["code"], row["signal"]) == (code, number)
    if ending in ("ctypes.string_at(0)", "import missing"):
        assert "program.py" in cause["traceback"]
        assert len(re.findall(r'program\.py", line \d+,? in <module>', err)) == 1
    assert out == ""
    assert "ProcessGone" not in err
    assert "BAD TERMINATION" not in err
    assert "MPI_ABORT was invoked" not in err
    said = [line for line in err.splitlines() if re.search(r"gcm-deploy: rank .*\) failed", line)]
    assert said[0].startswith(f"gcm-deploy: {cause['name']} on ")
    assert cause["name"].startswith(f"rank {cause['number']}")


TOLD_APART = ("ctypes.string_at(0)", "import missing", "world.Abort(5)")
"""Endings that become known in different ways: from the parent, from the rank, by an abort.

They are tried over all clusters, the first one behind ssh too, the others inside a cluster.
"""


@pytest.mark.parametrize(
    ("sites", "clusters", "last", "ending"),
    [
        *((2, 2, "1:1:1", ending) for ending in TOLD_APART),
        *((1, 1, "0:0:1", ending) for ending in ENDINGS if ending not in TOLD_APART),
    ],
)
def test_the_rank_that_failed_first_is_named_with_its_code(
    tmp_path: Path, ending: str, sites: int, clusters: int, last: str
) -> None:
    program = PROGRAM.replace("ENDING", ending)
    check(run(describe(tmp_path, program, sites=sites, clusters=clusters)), ending, last)


@pytest.mark.needs_sshd
@pytest.mark.parametrize("ending", TOLD_APART[:1])
def test_it_is_named_where_it_ran_behind_ssh_too(
    bench: Bench,
    far: Sshd,  # noqa: F811 - the fixture
    ending: str,
) -> None:
    bench.plan(PROGRAM.replace("ENDING", ending), grid=grid_with(far))
    path = bench.folder / "test.xml"
    path.write_text(path.read_text().replace('py"/>', 'py" comm-world="grid"/>'))
    check(run(path), ending, "1:0:1")


@pytest.mark.parametrize(
    ("version", "ending"),
    [
        *(("open_mpi", one) for one in (*list(ENDINGS)[:3], "world.Abort(5)")),
        ("open_mpi_4", next(iter(ENDINGS))),
    ],
)
def test_it_is_named_under_open_mpi_too(
    tmp_path: Path, request: pytest.FixtureRequest, version: str, ending: str
) -> None:
    open_mpi = request.getfixturevalue(version)
    (tmp_path / "program.py").write_text(PROGRAM.replace("ENDING", ending))
    text = descriptor("2|2", "program.py")
    front_end = f'<front-end python="{open_mpi}/python"/>'
    (tmp_path / "grid.xml").write_text(text.replace("<cluster>", f"<cluster>{front_end}"))
    check(run(tmp_path / "grid.xml"), ending, "1:0:1")


def test_a_program_that_turns_a_loss_into_an_end_of_its_own_is_not_blamed(tmp_path: Path) -> None:
    program = (
        "import os, sys\nfrom mpi4py import MPI\nworld = MPI.COMM_WORLD\nworld.Barrier()\n"
        "if world.rank == world.size - 1: os._exit(7)\n"
        "failed = False\n"
        "try: world.Barrier()\n"
        "except Exception: failed = True\n"
        "sys.exit(4 if failed else 0)\n"
    )
    code, summary, _, err = run(describe(tmp_path, program, sites=2))
    assert (code, summary["first_cause"]["rank"]) == (7, "1:0:1"), err


# The child keeps the connections of the last rank open, so that none of them tells of its end.
HELD_OPEN = """\
import os, signal, time
from mpi4py import MPI
world = MPI.COMM_WORLD
world.sendrecv("hello", 1 - world.rank, source=1 - world.rank)
if world.rank == 1:
    if os.fork() == 0:
        os.setsid()
        time.sleep(SECONDS)
        print("the child ends", flush=True)
        os._exit(0)
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGKILL)
LAST
"""


def held_open(folder: Path, last: str, *, seconds: int) -> Path:
    program = HELD_OPEN.replace("SECONDS", str(seconds)).replace("LAST", last)
    path = describe(folder, program, clusters=2)
    path.write_text(path.read_text().replace('ranks="2"', 'ranks="1"'))
    return path


def test_who_waits_for_a_killed_rank_is_told_though_the_connection_lives_on(tmp_path: Path) -> None:
    """Soon, and not just when a child of that rank ends that holds the connection."""
    last = "try: world.recv(source=1)\nfinally: print('told', flush=True)"
    code, summary, out, err = run(held_open(tmp_path, last, seconds=3))
    assert (code, summary["first_cause"]["rank"]) == (137, "0:1:0"), err
    assert out.split("\n")[0] == "told"
    assert "1 more failed or was ended (rank 0 (site0/cluster0 0))" in err
    assert "0:0 did not end" not in err


@pytest.mark.parametrize("ending", ["os.kill(os.getpid(), signal.SIGKILL)", "world.Abort(5)"])
def test_all_that_an_abort_ends_with_the_run_are_counted(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.replace("ENDING", ending))
    code, summary, _, err = run("--recovery", "abort", "--emulate", "2x2", path)
    assert (code, summary["first_cause"]["number"]) == (ENDINGS[ending][0], 3), err
    assert [line for line in err.splitlines() if "because of that" in line] == [
        "gcm-deploy: because of that the other 3 ranks were ended"
    ]
    assert "on node" not in err, "MPICH names ranks of the cluster"


def test_a_rank_whose_replicas_all_fail_has_lost_its_last_one(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.replace("ENDING", "import missing"))
    code, _, _, err = run("--replicas", "2", "--emulate", "2x2", path)
    assert code == 1
    assert re.search("rank 1 .*: replica [01] failed", err)
    assert err.count("in the same way") == 1


def test_a_rank_that_ends_does_not_wait_for_a_killed_one_to_take_its_messages(
    tmp_path: Path,
) -> None:
    path = held_open(tmp_path, "world.Isend(bytearray(32 << 20), 1)", seconds=15)
    path.write_text(path.read_text().replace("comm-world", 'failures="return" comm-world'))
    code, summary, _, err = run(path)
    assert (code, summary["code"]) == (0, 0), err


def test_of_a_rank_that_ended_well_while_others_wait_for_it_the_message_tells(
    tmp_path: Path,
) -> None:
    program = (
        "import sys\nfrom mpi4py import MPI\nworld = MPI.COMM_WORLD\nworld.Barrier()\n"
        "if world.rank == 1: sys.exit(0)\nworld.Barrier()\n"
    )
    code, summary, _, err = run(describe(tmp_path, program, sites=2))
    assert code == 1
    assert summary["first_cause"]["rank"] != "0:0:1"
    said = "rank 1 (site0/cluster0 1) had ended with exit code 0"
    assert said in summary["first_cause"]["what"]
    assert err.count(said) == 1


@NEAR_AND_FAR
def test_all_that_fail_in_the_same_way_are_told_in_one_line(
    tmp_path: Path,
    way: str,  # noqa: F811 - the fixture
) -> None:
    (tmp_path / "program.py").write_text("import missing\n")
    (tmp_path / "grid.xml").write_text(descriptor("2x2", "program.py", way=way))
    code, _, _, err = run(tmp_path / "grid.xml")
    assert code == 1
    assert "warning" not in err
    assert err.count("No module named 'missing'") == 2  # in the head and in the traceback below it
    assert "7 more failed in the same way (" in err


def test_every_traceback_is_in_the_file_of_its_rank_and_shown_if_asked_for(tmp_path: Path) -> None:
    path = describe(tmp_path, PROGRAM.replace("ENDING", "os._exit(7)"), sites=2)
    files = tmp_path / "files"
    code, _, _, err = run("--output-dir", files, path)
    assert (code, "ProcessGone" in err) == (7, False)
    assert "ProcessGone" in (files / "0.0.0.stderr").read_text()
    assert "ProcessGone" in run("--all-tracebacks", path)[3]


@pytest.mark.parametrize(
    ("name", "mpi", "words"),
    [
        ("hydra_pmi_proxy", OF_A_USER, PROXY_ENDED),
        ("mpiexec", OF_A_USER, r"mpiexec was killed by SIGKILL while the ranks ran"),
        ("gcm-pmi", "", MANAGER_ENDED),
        ("gcm-ranks", "", FORK_SERVER_ENDED),
    ],
)
def test_a_killed_process_that_started_ranks_is_named_as_what_it_is(
    tmp_path: Path, name: str, mpi: str, words: str
) -> None:
    """Also where the ranks wait for each other for ever, so that mpiexec would notice nothing."""
    process = subprocess.Popen(
        [*COMMAND, "--quiet", str(describe(tmp_path, STUCK, mpi=mpi))],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    for pid in descendants({process.pid}, processes()):
        if called(pid).startswith(name) or name_of(pid) == name:
            os.kill(pid, signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == LOST, err
    assert re.search(words, err), err


def test_a_native_program_that_aborts_is_the_first_cause_with_its_code(tmp_path: Path) -> None:
    """An MPICH leaves it to who has started it to end all processes, that one too."""
    (tmp_path / "aborts.py").write_text(
        "from mpi4py import MPI\nworld = MPI.COMM_WORLD\nworld.rank == 1 and world.Abort(44)\n"
        "world.Barrier()\n"
    )
    native = tmp_path / "native"
    native.write_text(f"#!/bin/sh\nexec {sys.executable} {tmp_path}/aborts.py\n")
    native.chmod(0o755)
    code, summary, _, err = run("-n", "3", native)
    assert code == 44, err
    assert (summary["first_cause"]["rank"], summary["first_cause"]["code"]) == ("0:0:1", 44)


def test_who_is_ended_by_an_error_of_its_mpi_is_the_first_cause_with_the_reason(
    tmp_path: Path,
) -> None:
    """The others see in the shared memory of an MPICH that it aborts, and end with its code."""
    path = tmp_path / "fatal.py"
    path.write_text(
        "import mpi4py\nmpi4py.rc.errors = 'fatal'\nfrom mpi4py import MPI\n"
        "world = MPI.COMM_WORLD\nworld.rank == 1 and world.send(1, dest=99)\nworld.Barrier()\n"
    )
    code, summary, _, err = run("-n", "3", path)
    assert (code, summary["first_cause"]["rank"]) == (6, "0:0:1"), err
    assert "exit code 6; Fatal error in MPI_Send" in err
    assert "because of that the other 2 ranks were ended" in err
    assert "on node" not in err, "MPICH names ranks of the cluster"


def test_words_of_an_abort_that_a_program_only_passes_on_make_nobody_the_first_cause(
    tmp_path: Path,
) -> None:
    path = tmp_path / "passes_on.py"
    path.write_text(
        "import os, sys, time\nfrom mpi4py import MPI\nworld = MPI.COMM_WORLD\n"
        "if world.rank == 1:\n"
        "    words = 'Abort(604067334) on node 0 (rank 0 in comm 0): Fatal error in MPI_Send'\n"
        "    print(words, file=sys.stderr, flush=True)\n"
        "world.Barrier()\nworld.rank == 0 and os._exit(3)\ntime.sleep(60)\n"
    )
    code, summary, _, err = run("-n", "2", path)
    assert (code, summary["first_cause"]["rank"]) == (3, "0:0:0"), err


def test_a_rank_that_leaves_early_ends_those_of_its_cluster_that_wait_for_it(
    tmp_path: Path,
) -> None:
    early = CALM.replace("time.sleep(1.5)", "rank = MPI.COMM_WORLD.rank; rank and sys.exit(0)")
    path = describe(tmp_path, early.replace("Barrier()", "recv(source=1)"))
    code, _, _, err = run(path)
    assert code == LOST, err
    assert re.search(
        r"rank 0 waits in recv from rank 1 .*, which has ended \(exit code 0\)", err
    ), err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_the_front_ends_of_this_machine_have_parted_from_is_blamed_when_it_is_killed(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Ranks, their mpiexec and the front-ends end with it, and any of them may tell first."""
    process = subprocess.Popen(
        [*COMMAND, "--quiet", str(describe(tmp_path, CALM, sites=2))],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    table = processes()
    below = descendants({process.pid}, table)
    front_ends = [pid for pid in below if name_of(pid) == "gcm-front-end"]
    (parent,) = {table[pid][0] for pid in front_ends} & set(front_ends)
    os.kill(parent, number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == LOST, err
    first = err.splitlines()[0]
    assert f"front-ends of this machine (process {parent}) was killed by {number.name}" in first


@pytest.mark.parametrize("failures", ["abort", "return"])
def test_a_run_whose_front_ends_are_told_to_end_by_somebody_else_has_failed(
    tmp_path: Path, failures: str
) -> None:
    path = describe(tmp_path, CALM, sites=2)
    path.write_text(path.read_text().replace("comm-world", f'failures="{failures}" comm-world'))
    process = subprocess.Popen(
        [*COMMAND, "--quiet", str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    for pid in descendants({process.pid}, processes()):
        if name_of(pid) == "gcm-front-end":
            with suppress(ProcessLookupError):  # one that is told so may end the others first
                os.kill(pid, signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == LOST, err
    assert re.search(r"(: the front-end .* ended\.|front-ends .* was killed by SIGTERM)", err), err


def name_of(pid: int) -> str:
    return read(pid, "comm").decode().strip()


def called(pid: int) -> str:
    return os.path.basename(read(pid, "cmdline").split(b"\0")[0].decode())


def read(pid: int, what: str) -> bytes:
    """Read what the system tells of a process; nothing once it has ended."""
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""


def test_a_program_that_has_enabled_faulthandler_itself_gets_what_it_says(tmp_path: Path) -> None:
    ending = (
        "import faulthandler; file = open(sys.argv[0] + '.crash', 'w');"
        " faulthandler.enable(file); ctypes.string_at(0)"
    )
    code, summary, _, _ = run(describe(tmp_path, PROGRAM.replace("ENDING", ending)))
    assert (code, summary["first_cause"]["traceback"]) == (139, "")
    assert "Segmentation fault" in (tmp_path / "program.py.crash").read_text()


def test_a_child_that_a_rank_has_forked_does_not_speak_for_it(tmp_path: Path) -> None:
    program = (
        "import os\nfrom mpi4py import MPI\nworld = MPI.COMM_WORLD\n"
        "if world.rank == 1 and os.fork() == 0: raise ValueError('of the child')\n"
        "if world.rank == 1: print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)\n"
        "world.barrier()\n"
    )
    code, _, out, err = run(describe(tmp_path, program, clusters=2))
    assert (code, out) == (0, "1"), err
    assert err.endswith("ValueError: of the child\n")
