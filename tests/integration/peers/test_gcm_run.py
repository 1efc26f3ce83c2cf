"""`gcm-run` with real daemons on this machine."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from runtime.exit_codes import INTERRUPTED, LOST, NEVER_STARTED
from runtime.launchers.family import processes
from runtime.peers.credentials.authority import Authority
from runtime.peers.daemon import find_running
from runtime.peers.model import Principal
from tests.documents import blocks, check
from tests.integration.peers.conftest import NOW
from tests.integration.peers.labs import Lab, eventually
from tools.on_grids import ROOT

pytestmark = pytest.mark.mpi

COMMAND = (
    sys.executable,
    "-c",
    "import sys; from runtime.cli import run_main; sys.exit(run_main())",
)
GCM_RUN = (str(Path(sys.executable).with_name("gcm-run")),)
"""The command itself: it does not look into the current folder as `python -c` does."""
GCM_PEER = (str(Path(sys.executable).with_name("gcm-peer")),)
DEPLOY = (sys.executable, "-c", "import sys; from runtime.cli import main; sys.exit(main())")
PEERS = ("peer:h1", "peer:h2", "peer:h3")
PROGRAM = """\
import os, sys, time
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.rank)
if world.rank == 0:
    print(world.size, total, sys.argv[1:], flush=True)
    open("result.txt", "w").write(str(total))
if "wait" in sys.argv:
    time.sleep(600)
"""


def credential_of_alice(lab: Lab) -> Path:
    """Write the credential of a user who finds the supernode, and return its file."""
    file = lab.base / "alice.credential"
    alice = lab.alice.credential
    header = replace(alice.header, supernodes=(lab.addresses["supernode:s1"],))
    replace(alice, header=header).write(file)
    return file


def is_busy(lab: Lab, who: str) -> bool:
    """Tell whether a peer has a reservation or a guard."""
    status = lab.status(who)
    return bool(status["reservation"]["runs"] or status["launch"]["guards"])


@contextmanager
def lab_of_three(base: Path, processes: int) -> Iterator[Lab]:
    """A supernode and three peers, each of which lends so many places to one application."""
    made = Lab(base)
    try:
        made.start("supernode:s1")
        for who in PEERS:
            made.start(who, ("supernode:s1",), f"processes = {processes}\n")
        credential_of_alice(made)
        eventually(lambda: len(made.status("supernode:s1")["membership"]["hosts"]) >= len(PEERS))
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab_of_three(tmp_path_factory.mktemp("lab"), processes=2) as made:
        yield made


class User:
    """Somebody with a credential of the lab and a program in a folder."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self._lab = lab
        self.work = folder / "work"
        self.work.mkdir()
        (self.work / "program.py").write_text(PROGRAM)
        self.own_variables = {
            "PYTHONPATH": str(ROOT),
            "GCM_FOLDER": str(folder / "gcm"),
            "GCM_CREDENTIAL": str(lab.base / "alice.credential"),
        }
        self._environment = {**os.environ, **self.own_variables}

    def start(self, *words: str, command: Sequence[str] = COMMAND) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*command, *words],
            cwd=self.work, env=self._environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def deploy(self, *words: str) -> tuple[int, str, str]:
        return self.run(*words, command=DEPLOY)

    def run(self, *words: str, command: Sequence[str] = COMMAND) -> tuple[int, str, str]:
        with self.start(*words, command=command) as process:
            output, errors = process.communicate(timeout=100)
        return process.returncode, output, errors

    def nothing_is_reserved(self) -> None:
        """Wait until no peer has a reservation or a guard."""
        eventually(lambda: not any(is_busy(self._lab, who) for who in PEERS))


@pytest.fixture
def user(lab: Lab, tmp_path: Path) -> User:
    return User(lab, tmp_path)


def test_what_the_page_about_gcm_run_shows_is_what_happens(user: User) -> None:
    as_user = ("env", *(f"{name}={value}" for name, value in user.own_variables.items()))
    page = "docs/gcm-run.md"
    faults = [
        f"{page}:{block.line}: {fault}"
        for block in blocks(page)
        if (fault := check(block, user.work, as_user))
    ]
    assert not faults, "\n".join(faults)
    user.nothing_is_reserved()


def test_an_unmodified_program_runs_on_peers_and_its_results_come_home(user: User) -> None:
    code, output, errors = user.run("-n", "4", "--staging", "push", "--quiet", "program.py", "a b")
    assert (code, output, errors) == (0, "4 6 ['a b']\n", "")
    assert (user.work / "result.txt").read_text() == "6"
    user.nothing_is_reserved()


def test_each_rank_can_be_two_processes_on_different_peers(user: User) -> None:
    shutil.copy(ROOT / "examples" / "41_peers" / "pi.py", user.work)
    code, output, errors = user.run("-n", "2", "-r", "2", "--staging", "chain", "--quiet", "pi.py")
    assert (code, errors) == (0, "")
    lines = output.splitlines()
    assert len(lines) == 5
    assert lines[-1] == "1000000 darts of 2 ranks: 3.142060"
    user.nothing_is_reserved()


class Pages(SimpleHTTPRequestHandler):
    """The files of a folder, and by whom they were asked for."""

    asked: ClassVar[list[str]] = []

    def log_message(self, *_: object) -> None:
        self.asked.append(f"{self.headers.get('User-Agent')} {self.path}")


@contextmanager
def web_server(folder: Path) -> Iterator[str]:
    """Yield the address of the files of a folder."""
    Pages.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Pages, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05])
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_program_of_a_web_server_is_fetched_by_peers(user: User, tmp_path: Path) -> None:
    folder = tmp_path / "web"
    folder.mkdir()
    (user.work / "program.py").rename(folder / "program.py")
    with web_server(folder) as url:
        code, output, errors = user.run("-n", "4", "--quiet", f"{url}/program.py", "a b")
    assert (code, output, errors) == (0, "4 6 ['a b']\n", "")
    assert (user.work / "result.txt").read_text() == "6"
    assert sorted(one.name for one in user.work.iterdir()) == [".gcm-results", "result.txt"]
    assert 2 <= Pages.asked.count("gcm-peer /program.py") <= 3
    user.nothing_is_reserved()


def test_data_of_a_web_server_are_what_their_digest_says(user: User, tmp_path: Path) -> None:
    folder, data = tmp_path / "web", b"of the web"
    folder.mkdir()
    (folder / "data.txt").write_bytes(data)
    (user.work / "read.py").write_text("print(open('in/data.txt').read())\n")

    def run(digest: str, name: str) -> tuple[int, str, str]:
        (user.work / "read.xml").write_text(
            '<deployment><application script="read.py"/><file-transfer direction="in" '
            f'source="{url}/{name}#sha256={digest}" destination="in/data.txt"/>'
            '<peers ranks="4" wait="2"/></deployment>'
        )
        return user.deploy("--quiet", "read.xml")

    with web_server(folder) as url:
        right = hashlib.sha256(data).hexdigest()
        assert run(right, "data.txt") == (0, "of the web\n" * 4, "")
        code, _, errors = run(right, "nothing.txt")
        assert code == NEVER_STARTED
        assert f"{url}/nothing.txt: the web server answers 404 File not found" in errors
        code, _, errors = run("0" * 64, "data.txt")
        assert code == NEVER_STARTED
        assert f"what the web server sends has the SHA-256 {right}" in errors
    user.nothing_is_reserved()


def test_too_few_places_are_told_with_what_was_found_and_nothing_stays_reserved(
    user: User,
) -> None:
    code, output, errors = user.run("-n", "7", "-w", "1", "program.py")
    assert (code, output) == (NEVER_STARTED, "")
    assert "3 hosts offered 6, 1 is missing" in errors
    user.nothing_is_reserved()


def test_a_peer_that_takes_connections_and_never_answers_is_done_without(
    lab: Lab, user: User
) -> None:
    found = find_running(lab.folder("peer:h3"))
    assert found is not None
    os.kill(found.pid, signal.SIGSTOP)
    try:
        code, output, errors = user.run("-n", "4", "program.py")
    finally:
        os.kill(found.pid, signal.SIGCONT)
    assert (code, output) == (0, "4 6 []\n"), errors
    assert "h3: 2 places" not in errors
    user.nothing_is_reserved()


def test_a_dry_run_shows_who_would_be_asked_and_reserves_nothing(user: User) -> None:
    code, output, errors = user.run("-n", "4", "--dry-run", "program.py")
    assert (code, errors) == (0, "")
    assert set(re.findall(r"\bh[123]\b", output)) == {"h1", "h2", "h3"}
    code, _, errors = user.run("-n", "9", "--dry-run", "program.py")
    assert (code, errors.strip()) == (
        203, "gcm-deploy: a run would end with exit code 203: 3 places are missing",
    )  # fmt: skip
    user.nothing_is_reserved()


def test_somebody_without_a_credential_is_told_how_to_get_one(user: User) -> None:
    code, _, errors = user.run("-n", "4", "--credential", "nowhere", "program.py")
    assert code != 0
    assert "credential" in errors


def oldest_thread_beside_main(process: int) -> int:
    """Return a thread that does not handle signals: it gets them as others get those of a process.

    So one is that comes as the main thread begins to wait: nothing wakes that thread.
    """
    return min(int(one) for one in os.listdir(f"/proc/{process}/task") if int(one) != process)


@pytest.mark.parametrize(
    ("words", "seen"),
    [(("-n", "7", "-w", "600"), "2 places"), (("-n", "4"), "running: 4 ranks")],
    ids=["while it looks for places", "while the program runs"],
)
def test_ctrl_c_gives_everything_back(
    user: User, lab: Lab, words: tuple[str, ...], seen: str
) -> None:
    with user.start("--verbose", *words, "program.py", "wait") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if seen in line:
                break
        if "running" in seen:
            folder = str(lab.folder("peer:h1").path)
            _, status, _ = user.run("status", "--folder", folder, command=GCM_PEER)
            assert re.search(r"(starting|running): program\.py of alice, ranks \d", status), status
            _, top, _ = user.run("top", "--once", "--folder", folder, command=GCM_PEER)
            assert re.search(r"program\.py .*alice", top), top
        os.kill(oldest_thread_beside_main(process.pid), signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    user.nothing_is_reserved()


def test_what_a_peer_had_of_a_run_goes_with_it_when_its_guard_is_killed(
    user: User, lab: Lab
) -> None:
    with user.start("--verbose", "-n", "6", "program.py", "wait") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "running" in line:
                break
        daemon = find_running(lab.folder("peer:h1"))
        assert daemon is not None
        table = processes()
        (guard,) = (pid for pid, (parent, _) in table.items() if parent == daemon.pid)
        (front_end,) = (pid for pid, (parent, _) in table.items() if parent == guard)
        room = Path(f"/proc/{front_end}/cwd").readlink()
        os.kill(guard, signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == LOST
    assert "h1" in errors
    eventually(lambda: not room.exists())
    user.nothing_is_reserved()


STRATEGY = """\
from runtime.peers.booking import SpreadStrategy
class Backwards(SpreadStrategy):
    def order(self, offers):
        return sorted(offers, key=lambda one: one.peer, reverse=True)
"""


READER = """\
from mpi4py import MPI
print(MPI.COMM_WORLD.size, open("far.txt").read(), open("inner/near.txt").read())
"""


def test_a_strategy_beside_the_program_is_found_and_losses_can_be_survived(user: User) -> None:
    folder = user.work / "inner"
    folder.mkdir()
    (folder / "own.py").write_text(STRATEGY)
    (folder / "last.py").write_text(READER)
    (user.work.parent / "far.txt").write_text("far")
    (folder / "near.txt").write_text("near")
    (user.work / "files").write_text("# read by each rank\n../far.txt\ninner/near.txt\n")
    words = ["-n", "2", "-a", "own.Backwards", "--failures", "return", "--recovery", "shrink"]
    words += ["--verbose", "-l", "files", "--detector-timeout", "9s", "--frozen", "lost"]
    words += ["--detector", "round-robin", "--detector-period", "1s"]
    code, output, errors = user.run(*words, "inner/last.py", command=GCM_RUN)
    assert (code, output) == (0, "2 far near\n2 far near\n"), errors
    assert "h3: 2 places" in errors
    _, written, _ = user.run(*words, "--write", "-", "inner/last.py")
    detector = '<failure-detector protocol="round-robin" timeout="9s" period="1s" frozen="lost"/>'
    assert detector in written


def test_hosts_of_one_lab_are_not_asked_with_a_credential_of_another_one(
    user: User, lab: Lab, tmp_path: Path
) -> None:
    assert user.run("-n", "1", "--dry-run", "program.py")[0] == 0
    other = Authority.create("ourlab", tmp_path / "other", NOW, (lab.addresses["supernode:s1"],))
    file = tmp_path / "other.credential"
    other.invite(Principal.parse("user:alice"), NOW).write(file)
    began = time.monotonic()
    code, _, errors = user.run("-n", "1", "--quiet", "--credential", str(file), "program.py")
    assert time.monotonic() - began < 15, errors
    assert code == NEVER_STARTED
    assert "another lab than that of this credential is there" in errors
    assert "TLSV1" not in errors


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("pi.py 3", "say how many ranks"),
        ("-n 4 -w abc pi.py", "argument -w: 'abc' is not a time: a number of seconds, or such as"),
    ],
)
def test_one_line_says_what_is_wrong_with_a_command(words: str, complaint: str) -> None:
    done = subprocess.run([*GCM_RUN, *words.split()], capture_output=True, text=True, check=False)
    assert done.returncode == 202
    assert done.stderr.startswith(f"gcm-peer run: error: {complaint}")
    assert len(done.stderr.splitlines()) == 1
