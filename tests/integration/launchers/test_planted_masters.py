"""A socket that another account has put where ssh looks for a shared connection is not used."""

from __future__ import annotations

import os
import shutil
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
    keep_moved_run(home)
    return gcm_deploy("attach", "moved-1", HOME=str(home), XDG_STATE_HOME=str(home)).stderr


def keep_moved_run(home: Path, ssh: str = "ssh") -> None:
    """Keep the note of a run whose launcher was moved; it is found in this state folder."""
    way = (SshHop("127.0.0.1", port=1, command_path=ssh),)
    note = home / "gcm" / "runs" / "moved-1"
    MovedRun("moved-1", time.time(), str(home), way, "python3", "/nowhere", note).keep()


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


KILLS = {
    "at once": "kill -9 $PPID",
    "as it connects": """case " $* " in *" -G "* | *" -O "*) exec REAL "$@"; esac; kill -9 $PPID""",
}
"""Clients of ssh that end who has started them: for their settings too, or for a connection."""


@pytest.mark.parametrize(
    ("kills", "words"),
    [
        ("at once", ["grid.xml"]),
        ("as it connects", ["login", "127.0.0.1"]),
        ("as it connects", ["attach", "moved-1"]),
    ],
)
def test_a_launcher_that_is_killed_while_ssh_reads_its_configuration_leaves_no_file(
    tmp_path: Path, kills: str, words: list[str]
) -> None:
    (home := tmp_path / "home" / ".ssh").mkdir(parents=True)
    (home / "config").write_text(f"Host *\n  ControlPath {home}/%C\n")
    (temporary := tmp_path / "tmp").mkdir()
    (programs := tmp_path / "bin").mkdir()
    ssh = programs / "ssh"
    ssh.write_text("#!/bin/sh\n" + KILLS[kills].replace("REAL", shutil.which("ssh") or ""))
    ssh.chmod(0o755)
    there = f'<ssh host="127.0.0.1" command-path="{ssh}"/>'
    (tmp_path / "program.py").write_text("")
    (tmp_path / "grid.xml").write_text(descriptor("1", "program.py", way=there))
    keep_moved_run(tmp_path, str(ssh))
    done = gcm_deploy(
        *words, cwd=tmp_path, HOME=str(home.parent), TMPDIR=str(temporary),
        XDG_STATE_HOME=str(tmp_path), PATH=f"{programs}:{os.environ['PATH']}",
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert wait_until_gone(lambda: [*map(str, temporary.iterdir())], list) == []
