"""Counts what the commands print beside the output of the program.

`python -m tests.integration.deploy.printed_lines` types each command twice, with its output in a
pipe and on a terminal, and prints a table. On a terminal those lines count that are left at the
end. Words behind it select situations by parts of their names; `--show` adds what was printed.
"""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from runtime.peers.daemon import find_running
from tests.integration.peers.labs import Lab, eventually
from tests.integration.peers.test_gcm_run import credential_of_alice
from tools.on_grids import ROOT

DEPLOY = "import sys; from runtime.cli import main; sys.exit(main())"
RUN = "import sys; from runtime.cli import run_main; sys.exit(run_main())"
OURS = b"MINE"
"""What begins the lines that the programs here print themselves."""

PATIENCE = 120.0
PEERS = ("peer:h1", "peer:h2")
_COLUMNS = 100

_BEGIN = """\
import os, signal, sys, time
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
me, other = world.rank, world.size - 1 - world.rank
"""
PROGRAMS = {
    "hello": "print('MINE hello', me)",
    "exception": "1 / 0",
    "argument": "print('MINE', sys.argv[1])",
    "crash": "world.Barrier(); me == 1 and os.kill(os.getpid(), signal.SIGSEGV); world.Barrier()",
    "survived": "me == 1 and os.kill(os.getpid(), signal.SIGKILL)",
    "deadlock": "world.recv(source=other, tag=7)",
    "truncation": "world.Sendrecv(np.zeros(10), other, recvbuf=np.zeros(2), source=other)",
    "sleep": "world.Barrier(); print('MINE', flush=True); time.sleep(600)",
}


@dataclass(frozen=True)
class Situation:
    """A command to type. Once it has printed `until`, it is interrupted, or a peer is killed."""

    name: str
    words: tuple[str, ...]
    code: str = DEPLOY
    until: bytes = b""
    kills: str = ""


@dataclass
class Typed:
    """A command that runs, or has ended, and what it has printed."""

    process: subprocess.Popen[bytes]
    printed: bytes = b""

    @property
    def left(self) -> list[bytes]:
        """The lines on the screen, after what moves up and erases."""
        lines = [b""]
        for piece in re.split(rb"(\x1b\[[?\d;]*[A-Za-z]|\r\n|\n|\r)", self.printed):
            if piece in (b"\n", b"\r\n"):
                lines.append(b"")
            elif moved := re.fullmatch(rb"\x1b\[(\d*)A", piece):
                del lines[max(0, len(lines) - 1 - int(moved[1] or 1)) :]
                lines.append(b"")
            elif not piece.startswith((b"\x1b", b"\r")):
                lines[-1] += piece
        return lines if lines[-1] else lines[:-1]


SITUATIONS = (
    Situation("hello", ("--emulate", "2x2", "hello.py")),
    Situation("quickstart", (str(ROOT / "descriptors" / "quickstart.xml"),)),
    Situation("lab", ("-n", "4", "hello.py"), RUN),
    Situation("lab, exception", ("-n", "4", "exception.py"), RUN),
    Situation("exception", ("--emulate", "2x2", "exception.py")),
    Situation("missing argument", ("--emulate", "2x2", "argument.py")),
    Situation("crash", ("--emulate", "2x2", "crash.py")),
    Situation("survived loss", ("--emulate", "2x1", "--failures", "return", "survived.py")),
    Situation(
        "deadlock",
        ("--emulate", "2x1", "--explain-waits", "1", "deadlock.py"),
        until=b"--run-timeout",
    ),
    Situation("truncation", ("--emulate", "2x1", "truncation.py")),
    Situation("usage error", ("-n", "four", "hello.py")),
    Situation("usage error, gcm-run", ("-n", "four", "hello.py"), RUN),
    Situation("unreachable host", ("-H", "localhost:2,host.invalid:2", "hello.py")),
    Situation("Ctrl-C", ("--emulate", "2x2", "sleep.py"), until=OURS),
    Situation("lab, a peer dies", ("-n", "4", "sleep.py"), RUN, until=OURS, kills="peer:h1"),
)


def type_command(
    situation: Situation,
    folder: Path,
    lab: Lab | None = None,
    *,
    terminal: bool,
    columns: int = _COLUMNS,
) -> Typed:
    """Type the command of a situation in a folder with the programs; return how it ended.

    Raises:
        TimeoutError: it has not ended in time.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm",
        "COLUMNS": str(columns),
    }
    if lab is not None:
        environment["GCM_FOLDER"] = str(lab.base / "gcm")
        environment["GCM_CREDENTIAL"] = str(lab.base / "alice.credential")
    # in the background of a shell it is ignored, and would be in all that is started here
    signal.signal(signal.SIGINT, signal.default_int_handler)
    near, far = pty.openpty() if terminal else os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", situation.code, *situation.words],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=far, stderr=far,
            start_new_session=True,
        )  # fmt: skip
        os.close(far)
        typed = Typed(process)
        for _ in _read(typed, near):
            if situation.until and situation.until in typed.printed:
                if situation.kills and lab is not None:
                    lab.kill(situation.kills)
                else:
                    process.send_signal(signal.SIGINT)
                situation = replace(situation, until=b"")
        return typed
    finally:
        os.close(near)


def _read(typed: Typed, near: int) -> Iterator[None]:
    """Read to the end; yields after each piece."""
    deadline = time.monotonic() + PATIENCE
    while True:
        if not select.select([near], [], [], max(0.0, deadline - time.monotonic()))[0]:
            os.killpg(typed.process.pid, signal.SIGKILL)
            typed.process.wait()
            raise TimeoutError(typed.printed.decode(errors="replace"))
        try:
            data = os.read(near, 1 << 16)
        except OSError:  # a terminal that nobody has open any more
            data = b""
        if not data:
            break
        typed.printed += data
        yield
    typed.process.wait()


def of_program(line: bytes) -> bool:
    """Return whether a program has printed the line."""
    return OURS in line or line.startswith((b"rank ", b"sum ", b"the token "))


def write_programs(folder: Path) -> None:
    """Write the programs that the situations run."""
    for program, body in PROGRAMS.items():
        (folder / f"{program}.py").write_text(_BEGIN + body + "\n")


@contextmanager
def programs_and_lab(*, with_lab: bool) -> Iterator[tuple[Path, Lab]]:
    """Make a folder with the programs, and a lab of two peers on this machine."""
    with tempfile.TemporaryDirectory(prefix="printed-lines-") as name:
        folder, base = Path(name, "work"), Path(name, "lab")
        folder.mkdir()
        base.mkdir()
        write_programs(folder)
        lab = Lab(base)
        try:
            if with_lab:
                lab.start("supernode:s1")
                credential_of_alice(lab)
                bring_up(lab)
            yield folder, lab
        finally:
            lab.close()


def bring_up(lab: Lab) -> None:
    """Start the peers that do not run, and wait until the supernode knows all."""
    for peer in PEERS:
        if find_running(lab.folder(peer)) is None:
            lab.start(peer, ("supernode:s1",), "processes = 2\n")
    eventually(lambda: lab.hosts("supernode:s1") >= set(PEERS))


def count(situations: Sequence[Situation], *, show: bool) -> None:
    """Type all and print the table."""
    print("| situation | exit code | of the program | in a pipe | on a terminal |")
    print("|---|---|---|---|---|")
    with programs_and_lab(with_lab=any(one.code is RUN for one in situations)) as (folder, lab):
        for one in situations:
            piped = type_command(one, folder, lab, terminal=False)
            if one.kills:
                bring_up(lab)
            shown = type_command(one, folder, lab, terminal=True)
            own, others, last = (
                sum(map(of_program, piped.left)),
                sum(not of_program(line) for line in piped.left),
                sum(not of_program(line) for line in shown.left),
            )
            code = piped.process.returncode
            print(f"| {one.name} | {code} | {own} | {others} | {last} |", flush=True)
            if show:
                for typed in (piped, shown):
                    print(*(f"    {line.decode()}" for line in typed.left), "", sep="\n")


if __name__ == "__main__":
    wanted = [word for word in sys.argv[1:] if word != "--show"]
    count(
        [one for one in SITUATIONS if not wanted or any(word in one.name for word in wanted)],
        show="--show" in sys.argv,
    )
