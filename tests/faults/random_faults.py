"""Runs small random programs with one random fault each; prints what was not right, as JSON.

`python -m tools.random_faults` starts it where nobody else uses the temporary folder and the shared
memory:

    random_faults.py HOW_MANY SEED FIRST KIND

A kind is where runs take place, and what fails there: `processes` of a run on this machine, its
`machine` (disks, terminal, signals, sleep), the `network` or ssh between hosts, a `slurm`, or a
`lab`; all but the first need root, and the last but one Slurm. A run is made of its number and the
seed alone: layout, program, fault, victim and moment. It has to end in time and to leave nothing,
with a right result, be it that of the survivors, or with an error whose first cause is the fault;
what ranks wrote is at home, or in a folder that a message names. Standard error has a line of JSON
for each run.
"""

from __future__ import annotations

import json
import os
import random
import re
import select
import shutil
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.launchers.family import processes
from tests.faults.fault_kinds import FILLED, PROCESSES, Fault, Kind, Place, Places, Popen, called
from tests.faults.lab_faults import LAB
from tests.faults.machine_faults import MACHINE
from tests.faults.network_faults import NETWORK
from tests.faults.slurm_faults import SLURM
from tools.on_grids import COMMAND, environment, sizes_of

KINDS = {kind.name: kind for kind in (PROCESSES, MACHINE, NETWORK, SLURM, LAB)}
FOLDER = Path("/tmp/of")
LIMIT = 45.0
"""Seconds in which a run has to have ended after its fault."""

GONE_WITHIN = 15.0
CUT_OFF_GONE_WITHIN = 60.0
"""What is cut off from its launcher waits for a while whether it comes back."""

START = 60.0
"""Seconds in which all ranks have to be up, or the run has to have ended."""

ROUNDS = 12

HEAD = f"""
import os, subprocess, sys, time, zlib
from mpi4py import MPI
world, rounds = MPI.COMM_WORLD, {ROUNDS}
rank, size = world.rank, world.size
right, left = (rank + 1) % size, (rank - 1) % size
def fault(number):
    with open("out/step-%d" % rank, "w") as file:
        file.write("x" * 4096)
    if (rank, number) == (VICTIM, MOMENT):
        ENDING
    time.sleep(0.1)
os.makedirs("out", exist_ok=True)
with open("out/begun-%d" % rank, "w") as file:
    file.write("begun")
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
with open("out/done-%d" % rank, "w") as file:
    file.write("done")
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
    "term": "os.kill(os.getpid(), 15); time.sleep(60)",
}
"""What ends the rank that does it."""

LIVES_ON = {
    "child": "subprocess.Popen(['sleep', '600'], start_new_session=True)",
    "silent child": "subprocess.Popen(['sleep', '600'], stdin=-3, stdout=-3, stderr=-3)",
    "closed output": "os.close(2)",
    "flood": "print('x' * 999_999, file=sys.stderr)",
    "many files": "kept = [open('/dev/null') for _ in range(500)]",
}
"""What does a run no harm."""

KILLED = ("kill", "kill two")
OF_RANKS = ("none", "stop", *KILLED, *ENDINGS, *LIVES_ON)
LOSSES = (*KILLED, "crash", "hard exit", "term")
"""How ranks are lost that programs can go on without."""


@dataclass(frozen=True)
class Case:
    """One run and its fault."""

    layout: str
    program: str
    fault: str
    victim: int
    moment: int
    failures: str
    kind: str = "processes"
    is_early: bool = False

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
    def of_world(self) -> Fault | None:
        """The fault, if it is none of a rank."""
        return KINDS[self.kind].fault(self.fault)

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
        ending = (ENDINGS | LIVES_ON).get(self.fault, "pass")
        head = HEAD.replace("ENDING", ending).replace("VICTIM", str(self.victim))
        head = head.replace("MOMENT", str(self.moment))
        if self.program in SURVIVORS:
            return head + SURVIVORS[self.program]
        return head + ROUND + PROGRAMS[self.program] + TAIL


def case(seed: int, number: int, kind: Kind) -> Case:
    """Return a run by its number."""
    dice = random.Random(f"{seed} {number}")
    layout = dice.choice(kind.layouts)
    size = sum(map(int, layout.replace("|", "+").split("+")))
    failures = dice.choice(("abort", "return"))
    programs = PROGRAMS if failures == "abort" or dice.random() < 0.3 else SURVIVORS
    faults = [one.name for one in kind.faults]
    if kind.hits_ranks:
        faults += [one for one in OF_RANKS if one not in faults]
    name = dice.choice(faults)
    fault = kind.fault(name)
    return Case(
        layout,
        dice.choice(tuple(programs)),
        name,
        dice.randrange(size),
        dice.randrange(ROUNDS),
        failures,
        kind.name,
        fault is not None and fault.can_be_early and dice.random() < 0.4,
    )


def do(one: Case, run: Popen, pids: dict[int, int], dice: random.Random, place: Place) -> None:
    """Do what the ranks do not do themselves."""
    time.sleep(0.1 * one.moment + dice.random() * 0.1)
    with suppress(ProcessLookupError):
        if one.of_world is not None:
            place.do(one.of_world, run, dice)
        elif one.fault == "stop":
            os.kill(pids[one.victim], signal.SIGSTOP)
            time.sleep(dice.uniform(0.5, 3.0))
            os.kill(pids[one.victim], signal.SIGCONT)
        elif one.fault in KILLED:
            for rank in one.victims:
                os.kill(pids[rank], signal.SIGKILL)


def ranks_of(run: Popen, size: int) -> dict[int, int]:
    """Return the process number of each rank, once all have told it, or what there is at the end.

    The standard output of the run is read as it comes, so that nothing of it waits in a buffer.
    """
    assert run.stdout is not None
    pids: dict[int, int] = {}
    until = time.monotonic() + START
    while len(pids) < size:
        if not select.select([run.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
            break
        words = _line(run).split()
        if not words:
            break
        if words[0] == "up" and len(words) == 3:
            pids[int(words[1])] = int(words[2])
    return pids


def _line(run: Popen) -> str:
    """Read a line byte by byte: what follows is left in the pipe."""
    assert run.stdout is not None
    data = b""
    while not data.endswith(b"\n") and (byte := os.read(run.stdout.fileno(), 1)):
        data += byte
    return data.decode()


def names_in(places: list[Path]) -> set[Path]:
    found = {path / name for path in places if path.is_dir() for name in os.listdir(path)}
    return {one for one in found if one.name != FILLED}


def inside(path: Path) -> list[str]:
    """Return what is in a folder."""
    return sorted(str(one.relative_to(path)) for one in path.rglob("*")) if path.is_dir() else []


class Remains:
    """What a run leaves: what is not to be there, and the files that its ranks have written."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._before = names_in(place.temporary())

    def left(self, told: str, within: float) -> list[str]:
        """Return what is left that no message names, once what just ends has gone."""
        end = time.monotonic() + within
        while (found := self._left(told)) and time.monotonic() < end:
            time.sleep(0.1)
        SPARED.update(self._processes())  # the next runs have not left these
        return found

    def _left(self, told: str) -> list[str]:
        kept = self.kept(told)
        found = [f"file {one} {inside(one)}" for one in sorted(self._new()) if one not in kept]
        found += [f"process {pid} {called(pid)}" for pid in self._processes()]
        return found + self._place.left()

    @staticmethod
    def _processes() -> list[int]:
        mark = f"GCM_TEST_RUN={os.getpid()}\0".encode()
        found = []
        for pid in processes().keys() - SPARED:
            with suppress(OSError):
                if mark in Path(f"/proc/{pid}/environ").read_bytes():
                    found.append(pid)
        return sorted(pid for pid in found if called(pid) != "gcm-peer" and not is_daemon(pid))

    def _new(self) -> set[Path]:
        return names_in(self._place.temporary()) - self._before

    def kept(self, told: str) -> list[Path]:
        """Return the copies that messages name, or the note of a launcher that was killed."""
        for note in self._place.folder.glob(".gcm-kept-*"):
            told += note.read_text()
        return [one for one in self._new() if str(one) in told]

    def missing(self, told: str, names: list[str]) -> list[str]:
        """Return the files that are neither at home nor in a copy that is named."""
        where = [self._place.folder, *self.kept(told)]
        return [
            f"no out/{one}" for one in names if not any((at / "out" / one).exists() for at in where)
        ]

    def remove_kept(self, told: str) -> None:
        """Do what a user does who has got the results out of copies."""
        for one in self.kept(told):
            shutil.rmtree(one, ignore_errors=True)


OWN_TRACEBACK = re.compile(r"^ *File \"[^\"]*/(runtime|gcm)/\w+", re.MULTILINE)
SPARED = {os.getpid()}
"""Processes that no run has left: this one, and those that an earlier run has."""


def is_daemon(pid: int) -> bool:
    """Tell whether a process is a daemon of the lab, which outlives runs."""
    with suppress(OSError):
        return b"runtime.peers.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def faults_of(one: Case, code: int, out: str, err: str, *, blames: bool = True) -> list[str]:
    """Return what is not right about how a run ended; `blames` is whether it names its place."""
    words = [line for line in out.splitlines() if not line.startswith("{")]
    told, fault = f"{out!r} {err!r}", one.of_world
    if OWN_TRACEBACK.search(err):
        return [f"it shows a traceback of our own: {told}"]
    if "wrong" in words:
        return [f"it has a wrong result: {told}"]
    if code == 0:
        if "right" not in words and one.fault != "stdout closed":
            return [f"it ended well without a right result: {told}"]
        if one.fault in ENDINGS and not one.survives:
            return [f"it ended well in spite of its fault: {told}"]
        return []
    if one.fault in ("stop", *LIVES_ON) or one.survives or (fault and fault.is_harmless):
        return [f"it failed with {code} for no reason: {told}"]
    if fault is not None and fault.codes:
        return [] if fault.explains(code, told) else [f"it failed with {code}: {told}"]
    cause = first_cause(out)
    if "gcm-deploy: " not in err:
        return [f"it failed with {code} and told nothing: {told}"]
    if fault is not None:
        if not (fault.explains(code, told) and blames):
            return [f"it failed with {code} and blames {cause}: {told}"]
        return []
    if cause is None or not is_right(one, cause):
        return [f"it failed with {code} and its first cause is {cause}: {told}"]
    return []


def first_cause(out: str) -> dict[str, Any] | None:
    """Return the first cause that a run has told as JSON in its last line."""
    try:
        found: dict[str, Any] | None = json.loads(out.splitlines()[-1])["first_cause"]
    except (IndexError, ValueError):
        return None
    return found


def is_right(one: Case, cause: dict[str, Any]) -> bool:
    """Tell whether the first cause of a run is its fault, which is one of a rank."""
    return cause["number"] in one.victims and {
        "exception": "on purpose" in cause["exception"],
        "crash": cause["signal"] == "SIGSEGV",
        "term": cause["signal"] == "SIGTERM",
    }.get(one.fault, cause["signal"] == "SIGKILL" if "kill" in one.fault else cause["code"] == 7)


@dataclass(frozen=True)
class Audit:
    """How a run has ended, and what was not right about it."""

    code: int
    cause: str
    found: list[str]


def play(one: Case, dice: random.Random, places: Places, marked: dict[str, str]) -> Audit:
    """Run one case and audit it."""
    fault = one.of_world or Fault(one.fault)
    with places(one.layout, fault) as place:
        folder = place.folder
        (folder / "program.py").write_text(one.script)
        text = place.descriptor("program.py", one.failures)
        if one.program == "blank":
            modes = 'recovery="blank" recovery-messages="cont"'
            text = text.replace('failures="return"', modes)
        (folder / "grid.xml").write_text(text)
        remains, pids = Remains(place), dict[int, int]()
        command = [*COMMAND, "--quiet", "--format", "json", str(folder / "grid.xml")]
        run = place.popen(command, environment() | marked)
        found = []
        limit = LIMIT if one.kind in ("processes", "machine") else 3 * LIMIT
        watch = Watch(run, limit)
        if one.is_early:
            time.sleep(dice.uniform(0.0, 1.5))
            place.do(fault, run, dice)
        elif one.fault not in (*ENDINGS, *LIVES_ON, "none"):  # ranks may end before others are up
            pids = ranks_of(run, one.size)
            if len(pids) == one.size:
                do(one, run, pids, dice, place)
        out, err = place.finish(run)
        if watch.end():
            found.append(f"it hangs: {out!r} {err!r}")
        else:
            found += faults_of(one, run.returncode, out, err, blames=place.blames(out + err))
        told = out + err
        found += [
            f"left behind: {rest} {told!r}"
            for rest in remains.left(
                told, GONE_WITHIN if one.kind in ("processes", "machine") else CUT_OFF_GONE_WITHIN
            )
        ]
        names = [f"begun-{rank}" for rank in pids]
        if run.returncode == 0 and one.program in PROGRAMS:
            names = [f"{word}-{rank}" for rank in range(one.size) for word in ("begun", "done")]
        found += [f"lost: {rest} {told!r}" for rest in remains.missing(told, names)]
        remains.remove_kept(told)
        return Audit(run.returncode, (first_cause(out) or {}).get("what", ""), found)


class Watch:
    """Ends a run that does not end by itself."""

    def __init__(self, run: Popen, seconds: float) -> None:
        self._run = run
        self._is_late = False
        self._timer = threading.Timer(seconds, self._strike)
        self._timer.start()

    def _strike(self) -> None:
        self._is_late = True
        self._run.terminate()
        time.sleep(10.0)
        self._run.kill()

    def end(self) -> bool:
        """Watch no more; tell whether it had to be ended."""
        self._timer.cancel()
        return self._is_late


def main(count: int, seed: int, first: int, kind: str) -> dict[str, object]:
    """Return what was not right in so many runs, and how often each fault was."""
    FOLDER.mkdir(exist_ok=True)
    (folder := FOLDER / "work").mkdir()
    marked = {"GCM_TEST_RUN": str(os.getpid())}
    wrong, faults, slowest = [], Counter[str](), 0.0
    with KINDS[kind].opened(folder, marked) as places:
        for number in range(first, first + count):
            one, begun = case(seed, number, KINDS[kind]), time.monotonic()
            audit = play(one, random.Random(f"{seed} {number} moment"), places, marked)
            took = round(time.monotonic() - begun, 1)
            slowest = max(slowest, took)
            faults[one.fault] += 1
            if audit.found:
                wrong.append({"run": number, "case": str(one), "found": audit.found})
            line = {"seed": seed, "run": number, **vars(one), "took": took, **vars(audit)}
            print(json.dumps(line), file=sys.stderr, flush=True)
            for left in folder.iterdir():
                shutil.rmtree(left) if left.is_dir() else left.unlink()
    return {"wrong": wrong, "faults": dict(faults), "slowest": slowest}


if __name__ == "__main__":
    count, seed, first, kind = sys.argv[1:]
    print(json.dumps(main(int(count), int(seed), int(first), kind)))
