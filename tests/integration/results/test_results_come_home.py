"""What ranks made in a copy of the program folder comes home, whatever way the run ends."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools.on_grids import COMMAND, ROOT

pytestmark = [pytest.mark.mpi, pytest.mark.needs_sshd]

# Each rank saves its result; then it ends as it is told.
PROGRAM = """
import os, pathlib, signal, sys, time
from mpi4py import MPI
world = MPI.COMM_WORLD
how = sys.argv[1] if len(sys.argv) > 1 else ""
pathlib.Path("out").mkdir(exist_ok=True)
pathlib.Path(f"out/{world.rank}.txt").write_text(f"result of {world.rank}\\n" * 1000)
world.Barrier()
if how == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if how in ("wait", "stubborn"):
    print("up", flush=True)
    time.sleep(300)
if world.rank == 1:
    if how == "raise":
        raise ValueError("no")
    if how == "abort":
        world.Abort(4)
    if how == "exit":
        sys.exit(3)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
"""
OVER_SSH = pytest.mark.parametrize("bench", ["ssh"], indirect=True)
"""For what can break there alone, and for how results land here, whichever way they came."""

RESULTS = {"out", *(f"out/{rank}.txt" for rank in range(4))}


ENDS: list[tuple[str, set[int]]] = [
    ("", {0}),
    ("raise", {1}),
    ("abort", {4}),
    ("exit", {3}),
    ("kill", set()),
]
"""What the ranks are told to do at the end, and the exit codes that it may have."""


def await_settled(folder: Path, number: int, seconds: float = 60.0) -> list[Path]:
    """Wait until only so many folders are left; return them."""
    deadline = time.monotonic() + seconds
    while len(found := sorted(folder.iterdir())) > number and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


@pytest.mark.parametrize(
    ("bench", "how", "codes"),
    [
        *(("local", *case) for case in ENDS),
        *(("ssh", *case) for case in ENDS if case[0] in ("", "abort", "kill")),
    ],
    indirect=["bench"],
)
def test_results_come_home_however_the_ranks_end(bench: Any, how: str, codes: set[int]) -> None:
    bench.write(PROGRAM)
    ended = bench.run(how)
    assert bench.brought == RESULTS, ended.errors
    assert bench.read("out/3.txt") == "result of 3\n" * 1000
    assert bench.kept == []
    assert ended.code in codes if codes else ended.code != 0
    assert bench.notes == []
    assert [(one["cluster"], one["files"], one["bytes"]) for one in ended.summary["results"]] == [
        ("s/a", 2, 24_000),
        ("s/b", 2, 24_000),
    ]


@pytest.mark.parametrize(
    ("bench", "number"),
    [
        ("local", signal.SIGINT),
        ("local", signal.SIGTERM),
        ("local", signal.SIGHUP),
        ("ssh", signal.SIGTERM),
    ],
    indirect=["bench"],
)
def test_results_come_home_when_the_run_is_ended_by_a_signal(bench: Any, number: int) -> None:
    bench.write(PROGRAM)
    run = bench.start("wait")
    run.await_lines("up", 4)
    run.process.send_signal(number)
    ended = run.end()
    assert bench.brought == RESULTS, ended.errors
    assert ended.code == 128 + number
    assert bench.kept == []


@pytest.mark.parametrize(
    ("bench", "screen"),
    [
        ("local", "--progress=always"),
        ("local", "--quiet"),
        ("ssh", "--progress=never"),
    ],
    indirect=["bench"],
)
def test_results_come_home_when_the_terminal_is_closed(bench: Any, screen: str) -> None:
    """Its signal comes together with lines that cannot be written any more."""
    bench.write(
        PROGRAM.replace(
            "time.sleep(300)", "[print('up', flush=True) or time.sleep(0.01) for _ in range(10**5)]"
        )
    )
    pid, terminal = pty.fork()
    if pid == 0:
        words = [*COMMAND, screen, str(bench.home / "grid.xml"), "--", "wait"]
        os.environ["PYTHONPATH"] = str(ROOT)
        os.execv(words[0], words)
    try:
        printed = b""
        while b"up" not in printed:
            printed += os.read(terminal, 4096)
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 129
    assert bench.brought == RESULTS
    assert bench.kept == []


def by_hand(bench: Any) -> set[str]:
    """Return what was brought to the folders of the clusters by the commands that are told."""
    return {one.partition("/")[2] for one in bench.brought if one.startswith("kept.s.")} - {""}


def test_a_second_ctrl_c_leaves_results_where_they_are_and_names_them(bench: Any) -> None:
    evil = "world.Barrier()\npathlib.Path('program.py').write_text('evil')\n"
    bench.write(PROGRAM.replace("world.Barrier()\n", evil))
    bench.home.chmod(0o2751)
    if os.getuid() == 0:
        os.chown(bench.home, 4242, 4242)
    before = bench.home.stat()
    run = bench.start("stubborn")
    run.await_lines("up", 4)
    run.process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    run.process.send_signal(signal.SIGINT)
    ended = run.end()
    assert ended.code == 130
    assert bench.brought == set()
    assert len(bench.kept) == 2
    for folder, kept in zip(
        bench.kept, sorted(ended.kept, key=lambda one: one["where"]), strict=True
    ):
        assert kept["where"].endswith(f":{folder}")
        assert kept["where"] in ended.errors
        assert kept["command"] in ended.errors
        subprocess.run(kept["command"], shell=True, check=True)  # as a user would
    assert by_hand(bench) >= RESULTS
    after = bench.home.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
    assert bench.read("kept.s.a/program.py") == "evil"
    assert bench.read("program.py").startswith("\nimport os")


def test_results_stay_when_the_command_is_killed_and_nothing_else_does(bench: Any) -> None:
    bench.write(PROGRAM)
    run = bench.start("wait")
    run.await_lines("up", 4)
    run.process.kill()
    run.end()
    kept = await_settled(bench.work, 2)
    assert [len(list(one.glob("out/*.txt"))) for one in kept] == [2, 2]
    (note,) = bench.notes
    commands = [line for line in note.splitlines() if line.startswith("    ")]
    for command in commands:
        subprocess.run(command, shell=True, check=True)
    assert by_hand(bench) >= RESULTS
    assert "left results elsewhere, or was killed: see" in bench.run().errors


def test_nothing_stays_of_a_killed_run_that_made_nothing(bench: Any) -> None:
    bench.write("import time\nprint('up', flush=True)\ntime.sleep(300)\n")
    run = bench.start()
    run.await_lines("up", 4)
    run.process.kill()
    run.end()
    assert await_settled(bench.work, 0) == []


def test_results_come_home_when_front_ends_are_killed(bench: Any) -> None:
    bench.write(PROGRAM)
    run = bench.start("wait")
    run.await_lines("up", 4)
    killed = 0
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            name, where = (entry / "comm").read_text(), Path(os.readlink(entry / "cwd"))
            if name == "gcm-front-end\n" and where in bench.kept:
                os.kill(int(entry.name), signal.SIGKILL)
                killed += 1
    assert killed
    ended = run.end()
    assert bench.brought == RESULTS, ended.errors
    assert ended.code != 0
    assert bench.kept == []


@OVER_SSH
def test_results_come_home_over_a_new_connection_when_the_first_one_breaks(
    bench: Any, kill: Callable[[Any, str], int]
) -> None:
    bench.write(PROGRAM)
    run = bench.start("wait")
    run.await_lines("up", 4)
    assert kill(run, "ssh") == 2
    ended = run.end()
    assert bench.brought == RESULTS, ended.errors
    assert ended.code != 0
    assert "the connection ended" in ended.errors
    assert bench.kept == []


@OVER_SSH
def test_one_bad_entry_is_a_warning_and_the_rest_comes(bench: Any) -> None:
    bench.write(
        "import os\nos.symlink('nowhere', 'dangling')\nos.mkfifo('fifo')\n"
        "os.makedirs('deep/empty')\nopen('deep/file', 'w').write('1')\n"
        "os.chmod('deep/file', 0o640)\nos.symlink('file', 'deep/latest')\n"
        "os.symlink('fifo', 'to-fifo')\n",
        clusters="a",
    )
    text = (bench.home / "grid.xml").read_text().replace('ranks="2"', 'ranks="1"')
    (bench.home / "grid.xml").write_text(text)
    ended = bench.run()
    assert ended.code == 0, ended.errors
    expected = {"deep", "deep/empty", "deep/file", "deep/latest"}
    assert bench.brought == expected
    assert (bench.home / "deep" / "file").stat().st_mode & 0o777 == 0o640
    assert os.readlink(bench.home / "deep" / "latest") == "file"
    (told,) = ended.summary["results"]
    assert "not brought home: dangling: a link to nowhere, which is not there" in told["warnings"]
    assert "not brought home: fifo: a FIFO" in told["warnings"]
    assert "s/a: not brought home: fifo: a FIFO" in ended.errors
    assert "not brought home: to-fifo: a link to fifo, which is a FIFO" in told["warnings"]


@OVER_SSH
def test_holes_stay_holes_and_hinder_nothing_however_large_they_are(bench: Any) -> None:
    sizes = {"sparse": 3 << 30, "huge": 10 << 40}
    bench.write(
        "from mpi4py import MPI\nif MPI.COMM_WORLD.rank == 0:\n"
        f"    for name, size in {sizes}.items():\n"
        "        with open(name, 'wb') as file:\n"
        "            file.truncate(size)\n"
        "            file.seek(size // 2)\n"
        "            file.write(b'data')\n"
        "    with open('small', 'w') as file:\n"
        "        file.write('1')\n",
        clusters="a",
    )
    ended = bench.run()
    assert bench.read("small") == "1", ended.errors
    for name, size in sizes.items():
        known = (bench.home / name).stat()
        assert (known.st_size, known.st_blocks < 1000) == (size, True)
        with (bench.home / name).open("rb") as file:
            file.seek(size // 2 - 1)
            assert file.read(6) == b"\0data\0"


@OVER_SSH
def test_results_that_cannot_be_written_here_spoil_a_good_run_and_stay(bench: Any) -> None:
    bench.write(
        "import mpi4py.MPI\nopen('big', 'wb').write(bytes(3_000_000))\n"
        "open('small', 'w').write('1')\n",
        clusters="a",
    )
    ended = bench.run(before="ulimit -f 2000")
    assert ended.code == 205, ended.errors
    (kept,) = ended.kept
    assert kept["where"] in ended.errors
    assert "File too large" in ended.errors
    subprocess.run(kept["command"], shell=True, check=True)
    assert (bench.home / "kept.s.a/big").stat().st_size == 3_000_000


@OVER_SSH
def test_what_is_asked_for_comes_to_a_place_for_each_cluster(bench: Any) -> None:
    bench.write(
        PROGRAM + "pathlib.Path('other.txt').write_text('x')\n",
        '<file-transfer direction="out" source="out/*.txt" destination="runs/{site}/{cluster}"/>',
    )
    ended = bench.run()
    assert ended.code == 0, ended.errors
    files = {one for one in bench.brought if one.endswith(".txt")}
    asked = {f"runs/s/{'ab'[rank // 2]}/out/{rank}.txt" for rank in range(4)}
    assert files == asked | {"other.txt"}
    assert [one["others"] for one in ended.summary["results"]] == [0, 0]
    text = (bench.home / "grid.xml").read_text()
    (bench.home / "grid.xml").write_text(text.replace("source=", 'others="discard" source='))
    (bench.home / "other.txt").unlink()
    ended = bench.run()
    assert {one for one in bench.brought if one.endswith(".txt") and "former" not in one} == asked
    assert [one["others"] for one in ended.summary["results"]] == [1, 1]
    assert bench.kept == []


@OVER_SSH
def test_a_source_that_means_nothing_keeps_what_was_written_and_says_so(bench: Any) -> None:
    bench.write(
        PROGRAM,
        '<file-transfer direction="out" source="outt/*.txt" others="discard"/>',
        clusters="a",
    )
    ended = bench.run()
    assert ended.code == 0, ended.errors
    assert "'outt/*.txt' matched nothing, and " in ended.errors
    (kept,) = ended.kept
    subprocess.run(kept["command"], shell=True, check=True)
    assert any(one.startswith("out/") for one in by_hand(bench))


@OVER_SSH
def test_different_contents_of_two_clusters_never_overwrite_each_other(bench: Any) -> None:
    bench.write(
        "import pathlib\nfrom mpi4py import MPI\nrank = MPI.COMM_WORLD.rank\n"
        "pathlib.Path('result').write_text(str(rank // 2))\n"
        "pathlib.Path('same').write_text('same')\n"
    )
    ended = bench.run()
    assert ended.code == 0, ended.errors
    assert bench.brought == {"result", "result.s.b", "same"}
    assert (bench.read("result"), bench.read("result.s.b")) == ("0", "1")
    assert "s/b brought another one, which is kept as result.s.b" in ended.errors


CHECKPOINTS = """
import os, pathlib, sys, time
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
home = pathlib.Path(sys.argv[1], f"checkpoint-{rank}")
pathlib.Path(f"checkpoint-{rank}").write_text("first")
while not home.exists():
    time.sleep(0.05)
pathlib.Path(f"checkpoint-{rank}").write_text("second")
"""


def test_checkpoints_are_fetched_while_the_run_goes_on(bench: Any) -> None:
    bench.write(
        CHECKPOINTS + "pathlib.Path(f'result-{rank}.npy').write_text('result')\n",
        '<file-transfer direction="out" source="checkpoint-*" every="1s"/>',
    )
    ended = bench.run(str(bench.home))
    assert ended.code == 0, ended.errors
    results = {f"result-{rank}.npy": "result" for rank in range(4)}  # `every` restricts nothing
    assert {name: bench.read(name) for name in bench.brought if "former" not in name} == {
        **{f"checkpoint-{rank}": "second" for rank in range(4)},
        **results,
    }
    assert bench.kept == []


@OVER_SSH
def test_a_file_in_the_way_of_a_folder_of_results_stays(bench: Any) -> None:
    bench.write(
        "import pathlib, sys\npathlib.Path(sys.argv[1], 'out').write_text('mine')\n"
        "pathlib.Path('out').mkdir(exist_ok=True)\npathlib.Path('out/a').write_text('1')\n",
        clusters="a",
    )
    ended = bench.run(str(bench.home))
    assert ended.code == 0, ended.errors
    assert (bench.read("out"), bench.read("out.s.a/a")) == ("mine", "1")


def test_a_cluster_in_place_copies_what_is_asked_for_to_a_named_folder(
    bench: Any, tmp_path: Path
) -> None:
    bench.write(
        PROGRAM, '<file-transfer direction="out" source="**/*.txt" destination="copy" every="1s"/>'
    )
    text = (bench.home / "grid.xml").read_text().replace(f' folder="{bench.work}"', "")
    (bench.home / "grid.xml").write_text(text.replace(bench.way, "") if bench.way else text)
    (bench.home / "old.txt").write_text("old")
    for _ in range(2):
        ended = bench.run()
        assert ended.code == 0, ended.errors
        texts = {f"out/{rank}.txt" for rank in range(4)}
        copied = {one for one in bench.brought if one.endswith(".txt")}
        assert copied == texts | {f"copy/{one}" for one in texts} | {"old.txt"}


@OVER_SSH
def test_results_stay_and_are_named_when_there_is_no_way_to_them_any_more(
    bench: Any, far_host: Any, kill: Callable[[Any, str], int]
) -> None:
    bench.write(PROGRAM)
    run = bench.start("wait")
    run.await_lines("up", 4)
    key = far_host.folder / "key"
    hidden = key.rename(key.with_suffix(".hidden"))
    try:
        kill(run, "ssh")
        ended = run.end()
    finally:
        hidden.rename(key)
    assert ended.code != 0
    assert ended.errors.index("the connection ended") < ended.errors.index("and stay in")
    assert bench.brought == set()
    assert len(ended.kept) == 2
    for kept in ended.kept:
        assert kept["where"] in ended.errors
        subprocess.run(kept["command"], shell=True, check=True)
    assert by_hand(bench) >= RESULTS
    assert len(bench.notes) == 1


@OVER_SSH
def test_results_that_have_no_place_to_land_spoil_a_good_run_and_stay(bench: Any) -> None:
    bench.write(
        "import pathlib, sys\nname = 'x' * 254\n"
        "pathlib.Path(sys.argv[1], name).mkdir(exist_ok=True)\n"
        "open(name, 'w').write('1')\nopen('y', 'w').write('2')\n",
        clusters="a",
    )
    ended = bench.run(str(bench.home))
    assert ended.code == 205, ended.errors
    assert bench.read("y") == "2"
    (kept,) = ended.kept
    assert kept["where"] in ended.errors
    assert "[Errno 36] File name too long" in ended.errors
    (folder,) = bench.kept
    assert (folder / ("x" * 254)).read_text() == "1"
    assert len(bench.notes) == 1
