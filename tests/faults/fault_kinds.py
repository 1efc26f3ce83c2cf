"""What a kind of random faults is: where runs take place, what fails there, how that may end."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from runtime.launchers.family import descendants, processes
from tests.leftovers import in_order_of_start
from tools.on_grids import descriptor

Popen = subprocess.Popen[str]

FILLED = "filled"
"""The file with which a disk is full."""


@dataclass(frozen=True)
class Fault:
    """A fault that is not one of a rank, and the ends that a run with it may have.

    A run ends with the right result, or with one of the `codes`, if there are any, and a message
    that has the `pattern`. A harmless fault lets it end with the right result alone. One that can
    come early may hit a run before all ranks are up.
    """

    name: str
    codes: tuple[int, ...] = ()
    pattern: str = ""
    is_harmless: bool = False
    can_be_early: bool = False

    def explains(self, code: int, told: str) -> bool:
        """Tell whether it may be why a run has ended with a code and these messages."""
        has_code = not self.codes or code in self.codes
        return not self.is_harmless and has_code and re.search(self.pattern, told) is not None


class Place:
    """Where one run takes place: by default on this machine, in the program folder itself."""

    def __init__(self, folder: Path, layout: str) -> None:
        self.folder = folder
        self.layout = layout

    def descriptor(self, script: str, failures: str) -> str:
        """Return the descriptor that runs a script here."""
        return descriptor(self.layout, script, failures=failures)

    def popen(self, command: Sequence[str], env: dict[str, str]) -> Popen:
        """Start the launcher."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, stdout=pipe, stderr=pipe, stdin=subprocess.DEVNULL, text=True, env=env
        )

    def do(self, fault: Fault, run: Popen, dice: random.Random) -> None:
        """Let something happen."""
        self.kill(fault.name, run, dice)

    def kill(self, name: str, run: Popen, dice: random.Random) -> None:
        """Kill a process of a run by the name of what it does."""
        if name == "gcm-deploy":
            run.kill()
            return
        kill_one(dice, name, run.pid)

    def blames(self, told: str) -> bool:
        """Tell whether messages name who is to blame for what was done here."""
        return bool(told)

    def finish(self, run: Popen) -> tuple[str, str]:
        """Take back what would keep a run from ending; return all that it has printed."""
        return run.communicate()

    def temporary(self) -> list[Path]:
        """Return the folders in which runs have files and copies of the program folder."""
        return [Path("/tmp"), Path("/dev/shm")]

    def left(self) -> list[str]:
        """Return what is left beside processes and files: jobs, reservations."""
        return []


@dataclass(frozen=True)
class Kind:
    """A kind of faults; `opened` is what all of its runs share, and returns the place of each."""

    name: str
    layouts: tuple[str, ...]
    faults: tuple[Fault, ...]
    opened: Callable[[Path, dict[str, str]], AbstractContextManager[Places]]
    hits_ranks: bool = True
    """Whether ranks fail here, too."""

    def fault(self, name: str) -> Fault | None:
        return next((one for one in self.faults if one.name == name), None)


Places = Callable[[str, Fault], AbstractContextManager[Place]]
"""Returns the place of a run with this layout and fault."""


@contextmanager
def on_this_machine(folder: Path, _: dict[str, str]) -> Iterator[Places]:
    """Let each run take place in the folder of its program."""

    @contextmanager
    def place(layout: str, _: Fault) -> Iterator[Place]:
        yield Place(folder, layout)

    yield place


HARMLESS = Fault("none", is_harmless=True)

PROCESSES = Kind(
    "processes",
    ("2", "3", "1|1", "2|1", "1+1|2", "2|2"),
    (
        HARMLESS,
        Fault("gcm-front-end", pattern="front-end"),
        Fault("gcm-pmi", pattern="gcm-pmi"),
        Fault("gcm-ranks", pattern="gcm-ranks|was ended|killed"),
        Fault("gcm-guard", pattern="guard|was ended|front-end|gcm-pmi"),
        Fault("gcm-deploy", codes=(-9,)),
    ),
    on_this_machine,
)


def called(pid: int) -> str:
    """Return the name of a process, or of the program that it runs."""
    with suppress(OSError):
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        if name.startswith("gcm"):
            return name
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"gcm-guard" in words:
            return "gcm-guard"
        return os.path.basename(os.fsdecode(words[0]))
    return ""


def found_called(name: str, *roots: int) -> list[int]:
    """Return the processes of this name that descend from others, as they were started."""
    below = descendants(set(roots), processes())
    return in_order_of_start(pid for pid in below if called(pid) == name)


def kill_one(dice: random.Random, name: str, *roots: int) -> None:
    """Kill one of the processes of this name, if there is any."""
    if found := found_called(name, *roots):
        with suppress(ProcessLookupError):
            os.kill(dice.choice(found), signal.SIGKILL)
