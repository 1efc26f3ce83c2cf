"""The socket at which a run answers other terminals: who is answered, and what stays behind."""

from __future__ import annotations

import contextlib
import os
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runtime.cli.errors import UsageError
from runtime.cli.inspection import (
    NOTHING_RUNS,
    followed,
    inspected,
    open_to_inspection,
    running_deployments,
)
from runtime.views.fact_lines import heading, line_of
from runtime.views.facts import Fact, Logged, OutputWritten, RankSeen, RunSeen, StackSeen
from runtime.views.stream import FactListeners
from tests.commands import gcm_deploy
from tools.on_grids import COMMAND, environment


def answer(stacks: bool) -> list[Fact]:
    seen = RankSeen("at rest", stacks=(StackSeen("main", "ring"),) if stacks else ())
    return [Fact(0.0, "", RunSeen("running")), Fact(0.5, "0:0:0", seen)]


def test_a_run_is_found_and_answers_while_it_runs() -> None:
    me = os.getpid()
    with open_to_inspection(answer, FactListeners()):
        assert me in running_deployments()
        assert inspected(me, stacks=True) == answer(stacks=True)
        assert inspected(me, stacks=False) == answer(stacks=False)
    assert me not in running_deployments()
    with pytest.raises(UsageError, match=f"process {me} is not one of your runs"):
        inspected(me, stacks=False)


def test_a_run_is_followed_from_the_middle_on_until_it_ends() -> None:
    run = FactListeners()
    before = [Fact(0.0, "", Logged("begins")), Fact(1.0, "0:0:0", OutputWritten("stdout", b"x"))]
    for one in before:
        run.hear(one)
    after = Fact(2.0, "0:0:0", OutputWritten("stdout", b"y"))
    with open_to_inspection(answer, run):
        facts = followed(os.getpid())
        assert next(facts) == before[0]  # earlier output is not kept
        run.hear(after)
        assert next(facts) == after
    assert list(facts) == []


def test_who_asks_nonsense_gets_nothing_and_others_are_answered() -> None:
    name = f"\0gcm-deploy/{os.getuid()}/{os.getpid()}"
    with open_to_inspection(answer, FactListeners()):
        for nonsense in (b"", b"\x80\x04]", b"[]", b"{}", b"x" * 9000):
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.connect(name)
                stranger.sendall(nonsense)
                stranger.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionResetError):  # it had more to say
                    assert stranger.recv(1) == b""
        assert inspected(os.getpid(), stacks=False) == answer(stacks=False)


@pytest.mark.needs_root
def test_another_user_is_not_answered() -> None:
    asks = """if True:
        import os, socket, sys
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(sys.argv[1].replace("@", chr(0)))
            stranger.sendall(b'{"stacks": false}')
            print(stranger.recv(100))
    """
    with open_to_inspection(answer, FactListeners()):
        name = f"@gcm-deploy/{os.getuid()}/{os.getpid()}"
        command = [sys.executable, "-c", asks, name]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "ring" not in found.stdout
    assert found.stdout == "b''\n" or found.returncode, found.stderr


IMPOSTOR = """if True:
    import contextlib, os, socket, sys
    os.setuid(65534)
    name = f"\\0gcm-deploy/{sys.argv[2]}/{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)
        listener.listen()
        print("here", flush=True)
        while True:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):  # who only looks has gone by then
                connection.recv(100)
                connection.sendall(sys.argv[1].encode())
"""


HEADING = heading().decode()


@pytest.mark.needs_root
@pytest.mark.parametrize(
    "lie", ["{}\n", "[]\n", HEADING + '{"fact":"RankSeen"}\n', "[" * 100_000 + "\n", HEADING],
    ids=["empty", "list", "types", "deep", "cut"],
)  # fmt: skip
def test_what_another_user_answers_does_not_break_ps(lie: str) -> None:
    command = [sys.executable, "-c", IMPOSTOR, lie, "65534"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as impostor:
        assert impostor.stdout is not None
        assert impostor.stdout.readline() == "here\n"
        try:
            done = gcm_deploy("ps")
        finally:
            impostor.kill()
    assert done.returncode in (0, NOTHING_RUNS), done.stderr  # root sees other runs, too
    assert f"process {impostor.pid} does not say what it runs: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.needs_root
def test_who_takes_the_name_of_another_users_run_is_neither_shown_nor_told_of() -> None:
    command = [sys.executable, "-c", IMPOSTOR, "[]", str(os.getuid())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as impostor:
        assert impostor.stdout is not None
        assert impostor.stdout.readline() == "here\n"
        try:
            listed, named = gcm_deploy("ps"), gcm_deploy("ps", str(impostor.pid))
            watched = gcm_deploy("top")
            stopped = gcm_deploy("stop", str(impostor.pid))
            is_spared = impostor.poll() is None
        finally:
            impostor.kill()
    assert (stopped.returncode, is_spared) == (202, True), stopped.stderr
    assert str(impostor.pid) not in listed.stdout + listed.stderr
    assert str(impostor.pid) not in watched.stdout + watched.stderr  # nor as one of several
    assert (named.returncode, named.stderr) == (
        202,
        f"gcm-deploy: process {impostor.pid} is not one of your runs. gcm-deploy ps lists the runs"
        " of this machine\n",
    )


SQUATTER = """if True:
    import os, socket, sys
    root = os.getuid()
    os.setuid(65534)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"\\0gcm-deploy/{root}/{sys.argv[1]}")
    listener.listen(0)
    full = socket.socket(socket.AF_UNIX)
    full.connect(listener.getsockname())  # whoever connects would wait for ever
    print("here", flush=True)
    sys.stdin.read()
"""


@pytest.mark.mpi
@pytest.mark.needs_root
def test_a_run_whose_name_another_account_has_taken_is_found_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("from mpi4py import MPI; import time; time.sleep(60)")
    words = [*COMMAND, "--quiet", "-n", "1", "program.py"]
    line, pipe = f"read go; exec {shlex.join(words)}", subprocess.PIPE
    with subprocess.Popen(["sh", "-c", line], cwd=tmp_path, stdin=pipe, env=environment()) as run:
        squatter = [sys.executable, "-c", SQUATTER, str(run.pid)]
        with subprocess.Popen(squatter, stdin=pipe, stdout=pipe, text=True) as stranger:
            try:
                assert stranger.stdout is not None
                assert stranger.stdout.readline() == "here\n"
                assert run.stdin is not None
                run.stdin.write(b"go\n")
                run.stdin.flush()
                deadline = time.monotonic() + 60
                while (seen := gcm_deploy("ps", str(run.pid))).returncode:
                    assert time.monotonic() < deadline, seen.stderr
                assert seen.stdout.startswith(f"program (process {run.pid}): ")
                assert gcm_deploy("stop", str(run.pid)).returncode == 0
                assert run.wait(60) == 143
            finally:
                run.kill()
                stranger.kill()


NEVER_SILENT = """if True:
    import os, socket, sys
    os.setuid(65534)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\\0gcm-deploy/65534/{os.getpid()}")
        listener.listen()
        print("here", flush=True)
        while True:
            connection, _ = listener.accept()
            with connection:
                try:
                    connection.recv(100)
                    connection.sendall(sys.argv[1].encode())
                    while True:
                        connection.sendall(sys.argv[2].encode() * 10_000)
                except OSError:
                    pass
"""


@pytest.mark.needs_root
@pytest.mark.parametrize("command", ["top", "web", "ps"])
def test_of_another_users_process_root_takes_so_much_and_no_more(command: str) -> None:
    said = line_of(Fact(1.0, "", Logged("x" * 50))).decode()
    words = [sys.executable, "-c", NEVER_SILENT, HEADING, said]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as stranger:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == "here\n"
        try:
            done = gcm_deploy(command, str(stranger.pid))
        finally:
            stranger.kill()
    assert done.returncode == 202
    assert "more than 8 MiB" in done.stderr
    assert "Traceback" not in done.stderr
