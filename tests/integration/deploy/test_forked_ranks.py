"""Ranks forked by one process which has loaded what they need, and those that cannot be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.mpi

# What a rank can see of how it began, and who its parent is.
LOOK = """
import gc, json, os, signal, sys
from mpi4py import MPI, rc
def name_of(pid): return open(f"/proc/{pid}/comm").read().strip()
print(json.dumps({
    "parent": name_of(os.getppid()),
    "name": name_of("self"),
    "argv": sys.argv,
    "path": sys.path[0],
    "modules": sorted(sys.modules),
    "cwd": os.getcwd(),
    "mine": os.environ.get("MINE"),
    "rank": MPI.COMM_CLUSTER.rank,
    "number": int(os.environ["PMI_RANK"]),
    "processors": sorted(os.sched_getaffinity(0)),
    "level": MPI.Query_thread(),
    "rc": [rc.initialize, rc.finalize],
    "collects": gc.isenabled(),
    "wakes": signal.set_wakeup_fd(-1),
    "handlers": [str(signal.getsignal(one)) for one in (signal.SIGTERM, signal.SIGINT)],
    "open": len(os.listdir("/proc/self/fd")),
}))
"""
SETTING = '<environment name="MINE" value="yes"/>'
OTHER = '<environment name="PYTHONHASHSEED" value="7"/>'

FORK_SERVER, MANAGER, PYTHON = "gcm-ranks", "gcm-pmi", Path(sys.executable).name


def write(folder: Path, program: str, *, inside: str = "", options: str = "") -> Path:
    (folder / "program.py").write_text(program)
    file = folder / "grid.xml"
    file.write_text(
        '<deployment name="try"><application script="program.py"><argument value="a b"/>'
        f'{inside}</application><grid><mpi ranks="2" options="{options}"/>'
        '<site name="s"><cluster name="a"/><cluster name="b"/></site></grid></deployment>'
    )
    return file


def looked(start: Any, file: Path, **options: Any) -> list[dict[str, Any]]:
    process = start("--quiet", file, **options)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return [json.loads(line) for line in out.splitlines()]


def test_ranks_part_from_one_process_and_see_what_they_would_see_without(
    start: Any, tmp_path: Path
) -> None:
    forked = looked(start, write(tmp_path, LOOK, inside=SETTING))
    alone = looked(start, write(tmp_path, LOOK, inside=SETTING + OTHER))
    assert [one.pop("parent") for one in forked] == [FORK_SERVER] * 4
    assert [one.pop("parent") for one in alone] == [MANAGER] * 4
    extra = {name for one in forked for name in one.pop("modules")}
    extra -= {name for one in alone for name in one.pop("modules")}
    assert {name.partition(".")[0] for name in extra} <= {"runtime", "fcntl", "select", "signal"}
    for one in forked:
        assert one == next(other for other in alone if other["name"] == one["name"])
        assert one["number"] == one["rank"]
    assert alone[0]["mine"] == "yes"
    assert alone[0]["argv"][1:] == ["a b"]


def test_options_of_mpiexec_may_name_a_program_that_runs_the_ranks_so_none_parts(
    start: Any, tmp_path: Path
) -> None:
    file = write(tmp_path, LOOK, options="-prepend-rank")
    process = start("--quiet", file)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.count(f'"parent": "{PYTHON}"') == 4


def test_a_rank_alone_is_not_forked(start: Any, describe: Any) -> None:
    (only,) = looked(start, describe(LOOK))
    assert only["parent"] == MANAGER


@pytest.mark.parametrize(
    ("ending", "code"),
    [("os.kill(os.getpid(), signal.SIGSEGV)", 139), ("os._exit(5)", 5), ("sys.exit(6)", 6)],
)
def test_a_rank_that_parted_ends_the_run_as_it_ends(
    start: Any, tmp_path: Path, ending: str, code: int
) -> None:
    program = "import os, signal, sys, time\nfrom mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n"
    then = f"if MPI.COMM_WORLD.rank == 3: {ending}\ntime.sleep({0 if code == 6 else 100})\n"
    process = start("--format", "json", "--quiet", write(tmp_path, program + then))
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    (third,) = (
        one
        for cluster in json.loads(out.splitlines()[-1])["clusters"]
        for one in cluster["ranks"]
        if one["rank"] == "0:1:1"
    )
    assert third["code"] == code


def test_what_a_rank_left_running_ends_with_its_job(start: Any, tmp_path: Path) -> None:
    program = (
        "import subprocess\nfrom mpi4py import MPI\n"
        "print(subprocess.Popen(['sleep', '1000'], start_new_session=True).pid)\n"
    )
    process = start("--quiet", write(tmp_path, program))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert not [pid for pid in out.split() if os.path.exists(f"/proc/{pid}")]


def test_a_stand_in_whom_nobody_hears_becomes_the_rank(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    proxy = root / "runtime" / "processes" / "rank" / "proxy.py"
    (tmp_path / "rank.py").write_text("import sys; print(sys.argv[1:]); sys.exit(4)")
    done = subprocess.run(
        [sys.executable, "-I", "-S", proxy, tmp_path / "nobody", "rank", "x"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (4, "['x']\n", "")
