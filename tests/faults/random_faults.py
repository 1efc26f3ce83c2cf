"""Runs small random programs with one random fault each; prints what was not right, as JSON.

Run it where nobody else uses the temporary folder and the shared memory (as the test of it does):

    random_faults.py HOW_MANY SEED [FIRST [network]]

With `network` each cluster is a host of its own, reached by an sshd, and it is the network or a
connection of ssh that fails; that needs root. A run is made of its number and the seed alone:
layout, program, fault, victim and moment. It has to end in time and to leave nothing, with a right
result, be it that of the survivors, or with an error whose first cause is the fault.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.launchers.family import descendants, processes
from tests.faults import network_faults
from tests.faults.network_faults import Hosts, hosts
from tools.on_grids import COMMAND, descriptor, environment, sizes_of

FOLDER = Path("/tmp/of")
LIMIT = 45.0
"""Seconds in which a run has to have ended after its fault."""

GONE_WITHIN = 15.0
CUT_OFF_GONE_WITHIN = 60.0
"""What is cut off from its launcher waits for a while whether it comes back."""

LAYOUTS = ("2", "3", "1|1", "2|1", "1+1|2", "2|2")
ROUNDS = 12

HEAD = f"""
import os, sys, time, zlib
from mpi4py import MPI
world, rounds = MPI.COMM_WORLD, {ROUNDS}
rank, size = world.rank, world.size
right, left = (rank + 1) % size, (rank - 1) % size
def fault(number):
    if (rank, number) == (VICTIM, MOMENT):
        ENDING
    time.sleep(0.1)
print("up %d %d" % (rank, os.getpid()), flush=True)
wrong = 0
"""

ROUND = """
for number in range(rounds):
    fault(number)
"""

PROGRAMS = {
    "ring": "    wrong += world.sendrecv((number, rank), right, source=left) != (number, left)",
    "sum": "    wrong += world.allreduce(rank + number) != size * number + size * (size - 1) // 2",
    "broadcast": "    wrong += world.bcast((number, 'x' * 9999), number % size)[0] != number",
    "large": """
    mine, theirs = (bytes([(one + number) % 256]) * (1 << 20) for one in (rank, left))
    got = bytearray(1 << 20)
    world.Sendrecv(mine, right, recvbuf=got, source=left)
    wrong += got != theirs""",
    "master": """
    if rank:
        world.send(rank * number, 0)
        wrong += world.recv(source=0) != number
    else:
        got = sum(world.recv() for _ in range(size - 1))
        wrong += got != number * size * (size - 1) // 2
        for one in range(1, size):
            world.send(number, one)""",
    "gather": """
    got = world.gather(rank * number, 0)
    wrong += rank == 0 and got != [one * number for one in range(size)]
    world.barrier()""",
}

SURVIVORS = {
    "shrink": """
comm, number = world, 0
while number <= rounds:
    try:
        if number < rounds:
            fault(number)
            total = comm.allreduce(number)
        else:
            total = comm.allreduce(wrong)
        comm.Agree(1)
    except MPI.Exception as error:
        if error.Get_error_class() not in (MPI.ERR_PROC_FAILED, MPI.ERR_REVOKED):
            raise
        comm.Revoke()
        comm = comm.Shrink()
        continue
    wrong += number < rounds and total != number * comm.size
    number += 1
print("wrong" if wrong or total else "right", flush=True)
""",
    "blank": """
done, results, job = 0, {}, 0
if rank:
    while (job := world.recv(source=0)) >= 0:
        if done < rounds:
            fault(done)
        done += 1
        world.send((job, job * job), 0)
else:
    idle, busy, jobs = list(range(1, size)), {}, list(range(rounds * (size - 1)))
    every = len(jobs)
    while len(results) < every and (busy or idle):
        if done < rounds:
            fault(done)
        done += 1
        try:
            while idle and jobs:
                busy[idle[-1]] = jobs[-1]
                world.send(jobs.pop(), idle.pop())
            status = MPI.Status()
            job, result = world.recv(source=MPI.ANY_SOURCE, status=status)
            results[job] = result
            if busy.pop(status.source, None) is not None:
                idle.append(status.source)
        except MPI.Exception as error:
            if error.Get_error_class() != MPI.ERR_PROC_FAILED:
                raise
            world.Ack_failed()
            lost = world.Get_failed().Translate_ranks(None, world.Get_group())
            jobs += [busy.pop(one) for one in lost if one in busy]
            idle = [one for one in idle if one not in lost]
    for one in [*busy, *idle]:
        try:
            world.send(-1, one)
        except MPI.Exception as error:
            if error.Get_error_class() != MPI.ERR_PROC_FAILED:
                raise
    good = results == {one: one * one for one in range(every)}
    lost = world.Get_failed().size
    print("right" if good or lost == size - 1 else "wrong", flush=True)
""",
}
"""Programs that go on without lost ranks; with none left to work for it, a master has no result."""

TAIL = """
wrong = world.reduce(wrong, root=0)
if rank == 0:
    print("wrong" if wrong else "right", flush=True)
"""

ENDINGS = {
    "exit": "sys.exit(7)",
    "hard exit": "os._exit(7)",
    "exception": "raise ValueError('on purpose')",
    "crash": "import ctypes; ctypes.string_at(0)",
    "abort": "MPI.COMM_WORLD.Abort(7)",
}
KILLS = ("gcm-front-end", "gcm-pmi", "gcm-deploy")
FAULTS = ("none", "stop", "kill", "kill two", *ENDINGS, *KILLS)
LOSSES = ("kill", "kill two", "crash", "hard exit")
"""How ranks are lost that programs can go on without."""
HARMLESS = ("none", "stop", *network_faults.HARMLESS)


@dataclass(frozen=True)
class Case:
    """One run and its fault."""

    layout: str
    program: str
    fault: str
    victim: int
    moment: int
    failures: str

    @property
    def size(self) -> int:
        return sum(map(int, self.layout.replace("|", "+").split("+")))

    @property
    def ranks(self) -> list[str]:
        """The names of the ranks."""
        return [
            f"{site}:{cluster}:{rank}"
            for site, sizes in enumerate(sizes_of(self.layout))
            for cluster, size in enumerate(sizes)
            for rank in range(size)
        ]

    @property
    def victims(self) -> set[int]:
        """The ranks that a fault hits which hits ranks."""
        both = self.fault == "kill two"
        return {self.victim, (self.victim + 1) % self.size} if both else {self.victim}

    @property
    def survives(self) -> bool:
        """Whether the program goes on without what it loses."""
        if self.fault not in LOSSES or self.program not in SURVIVORS:
            return False
        needed = {0} if self.program == "blank" else set(range(self.size))
        return not needed <= self.victims

    @property
    def script(self) -> str:
        ending = ENDINGS.get(self.fault, "pass")
        head = HEAD.replace("ENDING", ending).replace("VICTIM", str(self.victim))
        head = head.replace("MOMENT", str(self.moment))
        if self.program in SURVIVORS:
            return head + SURVIVORS[self.program]
        return head + ROUND + PROGRAMS[self.program] + TAIL


def case(seed: int, number: int, is_network: bool) -> Case:
    """Return a run by its number."""
    dice = random.Random(f"{seed} {number}")
    layout = dice.choice(network_faults.LAYOUTS if is_network else LAYOUTS)
    size = sum(map(int, layout.replace("|", "+").split("+")))
    failures = dice.choice(("abort", "return"))
    programs = PROGRAMS if failures == "abort" or dice.random() < 0.3 else SURVIVORS
    return Case(
        layout,
        dice.choice(tuple(programs)),
        dice.choice(network_faults.FAULTS if is_network else FAULTS),
        dice.randrange(size),
        dice.randrange(ROUNDS),
        failures,
    )


def called(pid: int) -> str:
    """Return the name of a process, or of the program that it runs."""
    with suppress(OSError):
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        if name.startswith("gcm"):
            return name
        return os.path.basename(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode())
    return ""


def do(
    one: Case,
    run: subprocess.Popen[str],
    pids: dict[int, int],
    dice: random.Random,
    places: Hosts | None,
) -> None:
    """Do what the ranks do not do themselves."""
    time.sleep(0.1 * one.moment + dice.random() * 0.1)
    with suppress(ProcessLookupError):
        if places is not None:
            places.do(one.fault, run, dice)
        elif one.fault == "stop":
            os.kill(pids[one.victim], signal.SIGSTOP)
            time.sleep(dice.uniform(0.5, 3.0))
            os.kill(pids[one.victim], signal.SIGCONT)
        elif one.fault == "kill":
            os.kill(pids[one.victim], signal.SIGKILL)
        elif one.fault == "kill two":
            for rank in one.victims:
                os.kill(pids[rank], signal.SIGKILL)
        elif one.fault == "gcm-deploy":
            run.kill()
        else:
            found = [p for p in descendants({run.pid}, processes()) if called(p) == one.fault]
            if found:
                os.kill(dice.choice(sorted(found)), signal.SIGKILL)


def ranks_of(run: subprocess.Popen[str], size: int) -> dict[int, int]:
    """Return the process number of each rank, once all have told it."""
    assert run.stdout is not None
    pids: dict[int, int] = {}
    while len(pids) < size:
        words = run.stdout.readline().split()
        assert words, f"it ended before all ranks were up: {run.communicate()}"
        if words[0] == "up" and len(words) == 3:
            pids[int(words[1])] = int(words[2])
    return pids


def files() -> set[str]:
    return {f"{path}/{name}" for path in ("/tmp", "/dev/shm") for name in os.listdir(path)}


def left(before: set[str], within: float) -> list[str]:
    """Return the processes and files that are left, once those are gone that are just ending."""
    end = time.monotonic() + within
    while True:
        found = [f"file {one}" for one in sorted(files() - before)]
        for pid in processes():
            with suppress(OSError):
                if (
                    f"GCM_TEST_RUN={os.getpid()}\0".encode()
                    in Path(f"/proc/{pid}/environ").read_bytes()
                    and pid != os.getpid()
                ):
                    found.append(f"process {pid} {called(pid)}")
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.05)


def faults_of(one: Case, code: int, out: str, err: str) -> list[str]:
    """Return what is not right about how a run ended."""
    words, told = out.split(), f"{out!r} {err!r}"
    if "wrong" in words:
        return [f"it has a wrong result: {told}"]
    if code == 0:
        if "right" not in words:
            return [f"it ended well without a right result: {told}"]
        if one.fault in ENDINGS and not one.survives:
            return [f"it ended well in spite of its fault: {told}"]
        return []
    if one.fault in HARMLESS or one.survives:
        return [f"it failed with {code} for no reason: {told}"]
    if one.fault == "gcm-deploy":
        return []
    try:
        cause = json.loads(out.splitlines()[-1])["first_cause"]
    except (IndexError, ValueError):
        return [f"it failed with {code} and told nothing: {told}"]
    if cause is None or "gcm-deploy: " not in err or not is_right(one, cause):
        return [f"it failed with {code} and its first cause is {cause}: {told}"]
    return []


def is_right(one: Case, cause: dict[str, Any]) -> bool:
    """Tell whether the first cause of a run is its fault."""
    if one.fault in network_faults.FAULTS:
        return bool(cause["what"])  # several hosts may be to blame
    if one.fault in KILLS:
        return one.fault.removeprefix("gcm-") in cause["what"]
    is_victim = cause["rank"] in [one.ranks[rank] for rank in one.victims]
    return is_victim and {
        "exception": "on purpose" in cause["exception"],
        "crash": cause["signal"] == "SIGSEGV",
    }.get(one.fault, cause["signal"] == "SIGKILL" if "kill" in one.fault else cause["code"] == 7)


def play(one: Case, dice: random.Random) -> list[str]:
    """Run one case and return what was not right."""
    marked = {"GCM_TEST_RUN": str(os.getpid())}
    with ExitStack() as stack:
        places = None
        text = descriptor(one.layout, "program.py", failures=one.failures)
        if one.fault in network_faults.FAULTS:
            places = stack.enter_context(hosts(one.layout, FOLDER, **marked))
            text = places.descriptor("program.py", one.failures)
        (FOLDER / "program.py").write_text(one.script)
        if one.program == "blank":
            modes = 'recovery="blank" recovery-messages="cont"'
            text = text.replace('failures="return"', modes)
        (FOLDER / "grid.xml").write_text(text)
        options = "--quiet", "--format", "json"
        before, command = files(), [*COMMAND, *options, str(FOLDER / "grid.xml")]
        if places is None:
            pipe = subprocess.PIPE
            run = subprocess.Popen(
                command, stdout=pipe, stderr=pipe, text=True, env=environment() | marked
            )
        else:
            run = places.popen(command, environment() | marked)
        try:
            if one.fault not in (*ENDINGS, "none"):  # a rank may end before the others are up
                do(one, run, ranks_of(run, one.size), dice, places)
            out, err = run.communicate(timeout=LIMIT if places is None else 3 * LIMIT)
        except subprocess.TimeoutExpired:
            run.terminate()
            found = [f"it hangs: {run.communicate(timeout=30)}"]
        else:
            found = faults_of(one, run.returncode, out, err)
        within = GONE_WITHIN if places is None else CUT_OFF_GONE_WITHIN
        return found + [f"left behind: {rest}" for rest in left(before, within)]


def main(count: int, seed: int, first: int = 0, *, is_network: bool = False) -> dict[str, object]:
    """Return what was not right in so many runs, and how often each fault was."""
    FOLDER.mkdir(exist_ok=True)
    wrong, faults, slowest = [], Counter[str](), 0.0
    for number in range(first, first + count):
        one, begun = case(seed, number, is_network), time.monotonic()
        found = play(one, random.Random(f"{seed} {number} moment"))
        took = time.monotonic() - begun
        slowest = max(slowest, took)
        faults[one.fault] += 1
        if found:
            wrong.append({"run": number, "case": str(one), "found": found})
        print(f"seed {seed} run {number}: {one} {took:.1f} s {found}", file=sys.stderr, flush=True)
    return {"wrong": wrong, "faults": dict(faults), "slowest": round(slowest, 1)}


if __name__ == "__main__":
    *numbers, is_network = [*sys.argv[1:4], sys.argv[4:] == ["network"]]
    print(json.dumps(main(*map(int, numbers), is_network=bool(is_network))))
