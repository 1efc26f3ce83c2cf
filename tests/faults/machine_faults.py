"""What befalls the machine of a launcher: full disks, signals, a terminal that closes, sleep."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.faults.fault_kinds import FILLED, HARMLESS, Fault, Kind, Place, Places, Popen
from tools.on_grids import descriptor

COPIES, TEMPORARY, MEMORY = Path("/tmp/of/copies"), Path("/tmp/of/tmp"), Path("/dev/shm")
NO_SPACE = "No space left|there is room for"

_SIGNALS = {"Ctrl-C": signal.SIGINT, "TERM": signal.SIGTERM, "HUP": signal.SIGHUP}

FILES = 32
"""How many files the launcher may open where they are few."""


class MachinePlace(Place):
    """Runs in copies of the program folder, with small disks of their own."""

    def __init__(self, folder: Path, layout: str, fault: Fault) -> None:
        super().__init__(folder, layout)
        self._fault = fault.name
        self._terminal = -1
        self._written = bytearray()
        self._reader: threading.Thread | None = None

    def descriptor(self, script: str, failures: str) -> str:
        text = descriptor(self.layout, script, failures=failures)
        return text.replace("<mpi ", f'<front-end folder="{COPIES}"/><mpi ')

    def temporary(self) -> list[Path]:
        return [*super().temporary(), TEMPORARY, COPIES]

    def popen(self, command: Sequence[str], env: dict[str, str]) -> Popen:
        name, pipe = self._fault, subprocess.PIPE
        env = env | {"TMPDIR": str(TEMPORARY)}
        if name == "shm full":
            _resize(MEMORY, "64k")
        if name in ("terminal closed", "Ctrl-C at a terminal"):
            return self._at_terminal(command, env)
        if name == "stderr full":
            with open("/dev/full", "w") as full:
                return subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=full, text=True, env=env
                )
        if name == "few files":
            command = ["prlimit", f"--nofile={FILES}", *command]
        return super().popen(command, env)

    def _at_terminal(self, command: Sequence[str], env: dict[str, str]) -> Popen:
        self._terminal, slave = os.openpty()
        with open(slave, "r+b", buffering=0) as terminal:
            run = subprocess.Popen(
                ["setsid", "--ctty", *command], stdin=terminal, stderr=terminal,
                stdout=subprocess.PIPE, text=True, env=env,
            )  # fmt: skip
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return run

    def _read(self) -> None:
        with suppress(OSError):
            while data := os.read(self._terminal, 1 << 16):
                self._written += data

    def do(self, fault: Fault, run: Popen, dice: random.Random) -> None:
        match fault.name:
            case "Ctrl-C" | "TERM" | "HUP":
                run.send_signal(_SIGNALS[fault.name])
            case "Ctrl-C twice":
                run.send_signal(signal.SIGINT)
                time.sleep(dice.uniform(0.0, 0.4))
                run.send_signal(signal.SIGINT)
            case "Ctrl-C at a terminal":
                os.write(self._terminal, b"\x03")
            case "terminal closed":
                os.close(self._terminal)
                self._terminal = -1
            case "asleep":
                run.send_signal(signal.SIGSTOP)
                time.sleep(dice.uniform(0.5, 3.0))
                run.send_signal(signal.SIGCONT)
            case "stdout closed":
                assert run.stdout is not None
                run.stdout.close()
            case "home full" | "copies full" | "temporary files full":
                _fill({"home": self.folder, "copies": COPIES}.get(fault.name.split()[0], TEMPORARY))
            case "home read-only":
                subprocess.run(["mount", "-o", "remount,ro", str(self.folder)], check=True)
            case "stderr full" | "shm full" | "few files":
                pass  # that was so from the beginning
            case _:
                super().do(fault, run, dice)

    def finish(self, run: Popen) -> tuple[str, str]:
        if run.stdout is not None and run.stdout.closed:
            assert run.stderr is not None
            errors = run.stderr.read()
            run.wait()
            return "", errors
        out, errors = run.communicate()
        if self._reader is not None:
            time.sleep(0.1)
        if self._terminal >= 0:
            os.close(self._terminal)
            self._terminal = -1
        return out, errors or self._written.decode(errors="replace")


def _fill(folder: Path) -> None:
    """Write until nothing more fits."""
    with suppress(OSError), open(folder / FILLED, "wb", buffering=0) as file:
        while file.write(bytes(1 << 12)):
            pass


def _resize(folder: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)


@contextmanager
def _disk(folder: Path, size: str) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    order = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    subprocess.run(order, check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def small_machine(folder: Path, _: dict[str, str]) -> Iterator[Places]:
    """Give each run disks of its own."""

    @contextmanager
    def place(layout: str, fault: Fault) -> Iterator[Place]:
        with _disk(folder, "8m"), _disk(COPIES, "24m"), _disk(TEMPORARY, "24m"):
            made = MachinePlace(folder, layout, fault)
            try:
                yield made
            finally:
                if fault.name == "shm full":
                    _resize(MEMORY, "50%")

    yield place


def _signal(name: str, code: int, number: int) -> Fault:
    return Fault(name, codes=(code, -number), can_be_early=True)


MACHINE = Kind(
    "machine",
    ("2", "1|1", "2|1", "1+1"),
    (
        HARMLESS,
        _signal("Ctrl-C", 130, signal.SIGINT),
        _signal("Ctrl-C twice", 130, signal.SIGINT),
        _signal("Ctrl-C at a terminal", 130, signal.SIGINT),
        _signal("TERM", 143, signal.SIGTERM),
        _signal("HUP", 129, signal.SIGHUP),
        _signal("terminal closed", 129, signal.SIGHUP),
        Fault("asleep", is_harmless=True),
        Fault("gcm-deploy", codes=(-9,), can_be_early=True),
        Fault("stderr full", is_harmless=True),
        Fault("stdout closed", codes=(141,)),
        Fault("home full", codes=(205,), pattern=NO_SPACE),
        Fault("home read-only", codes=(205,), pattern="[Rr]ead-only"),
        Fault("copies full", pattern=NO_SPACE),
        Fault("temporary files full", pattern=NO_SPACE),
        Fault("shm full", pattern="/dev/shm"),
        Fault("few files", pattern="open files|file descriptors"),
    ),
    small_machine,
)
