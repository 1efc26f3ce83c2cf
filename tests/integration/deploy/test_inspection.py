"""The socket at which a run answers other terminals: who is answered, and what stays behind."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from typing import Any

import pytest

from runtime.cli.errors import UsageError
from runtime.cli.inspection import inspected, open_to_inspection, running_deployments


def answer(stacks: bool) -> dict[str, Any]:
    return {"deployment": "ring", "has_stacks": stacks}


def test_a_run_is_found_and_answers_while_it_runs() -> None:
    me = os.getpid()
    with open_to_inspection(answer):
        assert me in running_deployments()
        assert inspected(me, stacks=True) == {"deployment": "ring", "has_stacks": True}
        assert inspected(me, stacks=False) == {"deployment": "ring", "has_stacks": False}
    assert me not in running_deployments()
    with pytest.raises(UsageError, match=f"process {me} does not say what it runs"):
        inspected(me, stacks=False)


def test_who_asks_nonsense_gets_nothing_and_others_are_answered() -> None:
    name = f"\0gcm-deploy/{os.getuid()}/{os.getpid()}"
    with open_to_inspection(answer):
        for nonsense in (b"", b"\x80\x04]", b"[]", b"{}", b"x" * 9000):
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.connect(name)
                stranger.sendall(nonsense)
                stranger.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionResetError):  # it had more to say
                    assert stranger.recv(1) == b""
        assert inspected(os.getpid(), stacks=False)["deployment"] == "ring"


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
    with open_to_inspection(answer):
        name = f"@gcm-deploy/{os.getuid()}/{os.getpid()}"
        command = [sys.executable, "-c", asks, name]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "ring" not in found.stdout
    assert found.stdout == "b''\n" or found.returncode, found.stderr
