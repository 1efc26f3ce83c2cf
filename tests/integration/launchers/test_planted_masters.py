"""A socket that another account has put where ssh looks for a shared connection is not used."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from runtime.launchers.base import Command
from runtime.launchers.errors import LaunchError
from runtime.launchers.hops import Hop
from runtime.launchers.local import LocalLauncher
from runtime.launchers.ssh import SshLauncher

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


@pytest.mark.needs_root
@pytest.mark.parametrize("file", ["config", "shared.conf"])
def test_a_stranger_at_the_control_path_gets_nothing(
    tmp_path_factory: pytest.TempPathFactory, file: str
) -> None:
    shared, own = Path("/tmp"), tmp_path_factory.mktemp("ssh")
    path = shared / f"planted-{own.parent.name}-{own.name}"
    (own / "config").write_text(f"Include {own}/*.conf\n")
    (own / file).write_text(f"Host *\n  ControlPath {path}\n")
    words = [sys.executable, "-c", PLANTED, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as stranger:
        assert stranger.stdout is not None
        try:
            assert stranger.stdout.readline() == "here\n"
            with LocalLauncher() as local:
                hops = [Hop("127.0.0.1", port=1)]  # where nobody listens
                launcher = SshLauncher(hops, local, user_folder=own)
                with launcher, suppress(LaunchError):
                    launcher.start(Command(("true",))).wait(30)
        finally:
            stranger.kill()
            path.unlink(missing_ok=True)
        assert stranger.stdout.read() == ""
