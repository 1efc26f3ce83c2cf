"""What the guard looks at, before it signals anything: no stranger, and nothing more than once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from runtime.launchers import family

# In a process of its own, since a guard ends everything below its process.
BEGIN = """
import os, sys
from runtime.launchers import wire
from runtime.launchers.guard import Guard

looked = []
sys.addaudithook(lambda event, args: event == "open" and looked.append(args[0]))
source, _ = os.pipe()
heard, sink = os.pipe()
guard = Guard(source, sink)
guard.start(1, b"\\0".join([b"", b"3", b"sh", b"-c", SCRIPT]))
(child,) = guard.children.values()
while b"ready" not in os.read(heard, 1 << 16):
    guard.step()
looked.clear()
"""

STUBBORN = """
SCRIPT = b"trap '' TERM; echo ready; exec sleep 1000"
{begin}
guard.end()
print(looked.count(f"/proc/{{child.pid}}/maps"))
"""

COLLECTED = """
SCRIPT = b"echo ready; sleep 1000"
{begin}
for status in (None, 0):
    child.status = status
    for scope in (wire.PROCESS, wire.GROUP, wire.TREE):
        guard.signal(1, scope + b"0")
    print(looked.count(f"/proc/{{child.pid}}/maps"))
    looked.clear()
child.status = None
guard.end()
"""

MISSED = """
SCRIPT = b"echo ready; sleep 1000"
{begin}
from runtime.launchers import family

def everything(groups, whole=family.everything):
    family.everything = whole
    return set()  # as from a list of processes that was begun before this one was started

family.everything = everything
guard.end()
print(child.pid in family.processes())
"""

DYING = """
SCRIPT = b"trap '' TERM; echo ready; exec sleep 1000"
{begin}
maps = f"/proc/{{child.pid}}/maps"
sys.addaudithook(lambda event, args: args[:1] == (maps,) and os.kill(os.getpid(), 9))
print(child.pid, flush=True)
guard.end()
"""

BUSY = """
import os, select, time
from runtime.launchers import wire
from runtime.launchers.guard import Guard

now = 0.0
time.monotonic = lambda: now
source, told = os.pipe()
_, sink = os.pipe()
guard = Guard(source, sink)

def slow(number, payload):
    global now
    now += 100.0  # as for a folder with very many files

guard.actions[wire.SEAL] = slow
guard.watch(source, select.POLLIN, guard.receive)
os.write(told, wire.frame(wire.PING, 0, b"30") + wire.frame(wire.SEAL, 1, b""))
guard.step()
print(guard.open)
now += 31.0
guard.check_lease()
print(guard.open)
"""


def run(program: str) -> list[str]:
    command = [sys.executable, "-c", program.format(begin=BEGIN)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_what_does_not_end_is_looked_at_once_for_each_signal() -> None:
    assert run(STUBBORN) == ["2"]


def test_a_child_that_a_list_of_processes_has_missed_is_ended() -> None:
    assert run(MISSED) == ["False"]


def test_a_guard_that_is_killed_while_it_looks_leaves_nothing_that_stands_still() -> None:
    command = [sys.executable, "-c", DYING.format(begin=BEGIN)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=60)
    child = int(done.stdout)
    try:
        assert done.returncode == -signal.SIGKILL
        assert family.state_of(child) not in (b"T", b"")
    finally:
        os.kill(child, signal.SIGKILL)


def test_the_number_of_a_process_that_was_collected_is_not_looked_at() -> None:
    assert run(COLLECTED) == ["3", "0"]


def test_what_a_guard_takes_long_for_is_no_silence_of_its_launcher() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BUSY], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["True", "False"]


def test_who_has_the_number_of_a_command_now_is_not_its_kin() -> None:
    """The parent of this process is not below it, as if the number had been given out again."""
    assert family.kin(os.getppid(), b"no mark") == set()
