"""A socket that another account has put where ssh looks for a shared connection is not used."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from runtime.cli.moving import MovedRun
from runtime.deployment.model import SshHop
from runtime.launchers.base import Command
from runtime.launchers.errors import LaunchError
from runtime.launchers.hops import Hop
from runtime.launchers.local import LocalLauncher
from runtime.launchers.ssh import SshLauncher
from tests.commands import gcm_deploy
from tests.leftovers import wait_until_gone
from tools.on_grids import descriptor

PLANTED = """if True:
    import os, socket, sys
    os.setuid(65534)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        os.chmod(sys.argv[1], 0o777)
        listener.listen()
        print("here", flush=True)
        connection, _ = listener.accept()
        print(connection.recv(100), flush=True)
"""


def of_a_run(home: Path) -> str:
    with LocalLauncher() as local:
        hops = [Hop("127.0.0.1", port=1)]
        launcher = SshLauncher(hops, local, user_folder=home / ".ssh")
        with launcher, suppress(LaunchError):
            launcher.start(Command(("true",))).wait(30)
    return ""


def of_login(home: Path, *words: str) -> str:
    return gcm_deploy("login", *words, "127.0.0.1", HOME=str(home)).stderr


def of_login_check(home: Path) -> str:
    return of_login(home, "--check")


def of_login_end(home: Path) -> str:
    return of_login(home, "--end")


def of_a_moved_run(home: Path) -> str:
    """Ask for the output of a run whose launcher was moved."""
    runs = home / "gcm" / "runs"
    run = MovedRun(
        "moved-1", time.time(), str(home), (SshHop("127.0.0.1", port=1),), "python3", "/nowhere",
        runs / "moved-1",
    )  # fmt: skip
    run.keep()
    return gcm_deploy("attach", "moved-1", HOME=str(home), XDG_STATE_HOME=str(home)).stderr


@pytest.mark.needs_root
@pytest.mark.parametrize("file", ["config", "shared.conf"])
@pytest.mark.parametrize("uses", [of_a_run, of_login, of_login_check, of_login_end, of_a_moved_run])
def test_a_stranger_at_the_control_path_gets_nothing(
    tmp_path_factory: pytest.TempPathFactory, uses: Callable[[Path], str], file: str
) -> None:
    shared, home = Path("/tmp"), tmp_path_factory.mktemp("home")
    path = shared / f"planted-{home.parent.name}-{home.name}"
    (own := home / ".ssh").mkdir()
    (own / "config").write_text(f"Include {own}/*.conf\n")
    (own / file).write_text(f"Host *\n  Port 1\n  ControlPath {path}\n")
    words = [sys.executable, "-c", PLANTED, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as stranger:
        assert stranger.stdout is not None
        try:
            assert stranger.stdout.readline() == "here\n"
            told = uses(home)
        finally:
            stranger.kill()
            path.unlink(missing_ok=True)
        assert stranger.stdout.read() == ""
    if uses is of_login:
        assert "another account's" in told


def test_a_launcher_that_is_killed_while_it_asks_where_that_is_leaves_no_file(
    tmp_path: Path,
) -> None:
    (home := tmp_path / "home" / ".ssh").mkdir(parents=True)
    (home / "config").write_text("Host *\n  ControlPath ~/.ssh/%C\n")
    (temporary := tmp_path / "tmp").mkdir()
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\nkill -9 $PPID\n")
    ssh.chmod(0o755)
    there = f'<ssh host="127.0.0.1" command-path="{ssh}"/>'
    (tmp_path / "program.py").write_text("")
    (tmp_path / "grid.xml").write_text(descriptor("1", "program.py", way=there))
    done = gcm_deploy("grid.xml", cwd=tmp_path, HOME=str(home.parent), TMPDIR=str(temporary))
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert wait_until_gone(lambda: [*map(str, temporary.iterdir())], list) == []
