"""A guard that parts from its process serves and ends like one that is started."""

from __future__ import annotations

import os
import select
import subprocess
import sys

# In a process of its own, because a guard parts before any thread is started.
PROGRAM = """
import os
from runtime.launchers.base import Command
from runtime.launchers.forked_guard import ForkedGuard
from runtime.launchers.lines import Collected
from runtime.launchers.local import LocalLauncher

guard = ForkedGuard()
with LocalLauncher(guard=guard) as launcher:
    said = Collected()
    process = launcher.start(Command(("cat",), first_input=b"heard\\n"), said)
    process.close_input()
    print(process.wait(20), said.output.strip(), os.getsid(guard.pid) == guard.pid)
    folder = launcher.make_folder()
    launcher.start(Command(("sleep", "1000"))).started(20)
print(guard.wait(20), os.path.exists(folder))
"""

KILLED = """
from runtime.launchers.base import Command
from runtime.launchers.errors import LaunchError
from runtime.launchers.forked_guard import ForkedGuard
from runtime.launchers.local import LocalLauncher

guard = ForkedGuard()
with LocalLauncher(guard=guard) as launcher:
    process = launcher.start(Command(("sleep", "1000")))
    process.started(20)
    guard.kill()
    try:
        process.wait(20)
    except LaunchError as fault:
        print(fault.what)
print(guard.wait(20))
"""

LEFT = """
import os
from runtime.launchers.forked_guard import ForkedGuard

print(ForkedGuard().pid, flush=True)
os._exit(0)
"""


def run(program: str) -> list[str]:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_it_runs_commands_in_its_own_session_and_leaves_nothing_behind() -> None:
    assert run(PROGRAM) == ["exit code 0 heard True", "0 False"]


def test_its_death_is_told_to_who_waits_for_a_command() -> None:
    assert run(KILLED) == ["the guard ended by itself (killed by SIGKILL)", "-9"]


def test_it_ends_when_its_process_has_gone() -> None:
    (pid,) = run(LEFT)
    try:
        watched = os.pidfd_open(int(pid))
    except ProcessLookupError:
        return  # already
    assert select.select([watched], [], [], 20)[0]
    os.close(watched)
