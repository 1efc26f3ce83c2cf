"""Runs that go on without their terminal: the folder of each, who holds it, and how one begins.

A detached run is a `gcm-deploy` in a session of its own. It has a folder of the user's alone,
`~/.local/state/gcm/runs/NAME`. In it are `about.json`, the facts of the run with all its output as
`--record` writes them, and `log`, what the process itself had to say. While the run lives, it has a
lock on `about.json`: so nobody takes a run for alive whose process was killed, or signals another
process that has got its number since. Whoever can read the folder can attach; there is nothing else
to hold, and no socket to connect to.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NoReturn, cast

from gcm.records import dataclass
from runtime.cli.errors import OutputFailed
from runtime.cli.line.options import Options, ProgressMode
from runtime.cli.streams import write
from runtime.deployment import DeploymentPlan
from runtime.exit_codes import NEVER_STARTED
from runtime.launchers.forking import fork

KEPT_DAYS = 30
"""For how many days after its last word the output of a run waits."""

KEPT_SEEN = 10
"""So many runs whose end somebody has seen are kept, the latest."""

LOOK = 0.1
"""Seconds between two looks for more output."""

_FACTS, _ABOUT, _LOG, _SEEN = "run.facts", "about.json", "log", "seen"
_DAY = 86_400


def runs_folder() -> Path:
    """Return where the folders of detached runs are."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "gcm" / "runs"


class FollowedFile:
    """A file that somebody else writes: its end is not reached before the writer has gone."""

    def __init__(self, file: BinaryIO, goes_on: Callable[[], bool]) -> None:
        self._file = file
        self._goes_on = goes_on

    def readline(self, most: int) -> bytes:
        """Return the next whole line, as soon as it is there; less only behind the last one."""
        line = self._file.readline(most)
        while not line.endswith(b"\n") and len(line) < most:
            goes_on = self._goes_on()  # asked before the last look, so that nothing is missed
            more = self._file.readline(most - len(line))
            line += more
            if not more:
                if not goes_on:
                    break
                time.sleep(LOOK)
        return line


@dataclass(frozen=True, slots=True)
class DetachedRun:
    """A detached run: its process, when it was started, in seconds since 1970, and in which folder.

    `folder` is its own, `work` that in which its command was typed.
    """

    name: str
    process: int
    started: float
    work: str
    folder: Path

    @classmethod
    def of(cls, folder: Path) -> DetachedRun:
        """Read what a folder has; raises OSError, ValueError, KeyError if that is no run."""
        record = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        return cls(
            folder.name,
            int(record["process"]),
            float(record["started"]),
            str(record["work"]),
            folder,
        )

    @property
    def facts(self) -> Path:
        """The file with its facts."""
        return self.folder / _FACTS

    @property
    def log(self) -> Path:
        """The file with what its process has said beside the run."""
        return self.folder / _LOG

    def is_alive(self) -> bool:
        """Tell whether its process runs."""
        try:
            with (self.folder / _ABOUT).open("r+b") as file:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except OSError:  # somebody has the lock
            return True
        return False

    def interrupt(self) -> None:
        """End it in order, and at once the second time; nothing happens if it has ended."""
        if self.is_alive():
            with suppress(ProcessLookupError):
                os.kill(self.process, signal.SIGTERM)  # a shell may let it ignore SIGINT

    @contextmanager
    def following(self) -> Iterator[BinaryIO]:
        """Yield a file with its facts, which ends once the run does."""
        with self.facts.open("rb") as file:
            yield cast("BinaryIO", FollowedFile(file, self.is_alive))

    @property
    def is_seen(self) -> bool:
        """Whether somebody has attached to its end."""
        return (self.folder / _SEEN).exists()

    def seen_at(self) -> float:
        """Return when its end was seen."""
        try:
            return (self.folder / _SEEN).stat().st_mtime
        except FileNotFoundError:  # it is being removed
            return 0.0

    def settle(self) -> None:
        """Note that its end was seen: it is listed no more, and its output can be read again."""
        with suppress(OSError):  # a full disk does not take an exit code away
            (self.folder / _SEEN).touch()

    def remove(self) -> None:
        """Forget it, and its output."""
        shutil.rmtree(self.folder, ignore_errors=True)


def detached_runs(*, with_seen: bool = False) -> Iterator[DetachedRun]:
    """Yield the runs of this user on this machine, the oldest first.

    Those whose end was seen are left out, or are the last ones. What has ended long ago is removed,
    and of those that were seen all but the latest.
    """
    folders = runs_folder().iterdir() if runs_folder().is_dir() else iter(())
    found = []
    for folder in folders:
        with suppress(OSError, ValueError, KeyError, TypeError):  # it is being made, or removed
            found.append(DetachedRun.of(folder))
    found.sort(key=lambda run: run.started)
    seen = sorted((run for run in found if run.is_seen), key=DetachedRun.seen_at)
    for run in seen[:-KEPT_SEEN]:
        run.remove()
    for run in (one for one in found if one not in seen):
        try:
            age = time.time() - run.log.stat().st_mtime
        except FileNotFoundError:  # somebody has just attached to it, and it is removed
            continue
        if not run.is_alive() and age > KEPT_DAYS * _DAY:
            run.remove()
        else:
            yield run
    if with_seen:
        yield from seen[-KEPT_SEEN:]


def detach(
    plan: DeploymentPlan, options: Options, run: Callable[[DeploymentPlan, Options], int]
) -> int:
    """Let a run begin in a process of its own, without this terminal; return the exit code.

    Raises:
        OutputFailed: its folder cannot be made.
    """
    try:
        runs_folder().mkdir(0o700, parents=True, exist_ok=True)
        folder = runs_folder() / f"{plan.deployment.name}-{secrets.token_hex(2)}"
        folder.mkdir(0o700)
    except OSError as error:
        raise OutputFailed(
            f"the output of a detached run cannot be kept there: {error.strerror}",
            place=str(runs_folder()),
            cure="Name another folder with XDG_STATE_HOME",
        ) from error
    process, fault = begin_detached(folder, lambda one: run(plan, one), options)
    if fault:
        shutil.rmtree(folder, ignore_errors=True)
        print(f"gcm-deploy: the run could not be detached\n{fault}", file=sys.stderr)
        return NEVER_STARTED
    for line in _notes(plan):
        print(f"gcm-deploy: {line}", file=sys.stderr)
    write(
        f"{folder.name} goes on without this terminal (process {process})\n"
        f"  gcm-deploy attach {folder.name}    its output from the beginning; Ctrl-C leaves it\n"
        f"  gcm-deploy stop {folder.name}      end it\n"
    )
    return 0


def begin_detached(
    folder: Path, run: Callable[[Options], int], options: Options
) -> tuple[int, str]:
    """Let a run begin in a process of its own, recorded in a folder that is the run's.

    Returns the process, and what it has said if it could not begin, else nothing.
    """
    waits, up = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    process = fork()
    if process == 0:
        os.close(waits)
        _be_detached(folder, up, lambda: run(_for_file(options, folder)))
    os.close(up)
    with os.fdopen(waits, "rb") as pipe:
        has_begun = bool(pipe.read())
    if has_begun:
        return process, ""
    os.waitpid(process, 0)
    log = folder / _LOG
    return process, (log.read_text(errors="replace") if log.exists() else "") or "it has ended"


def _for_file(options: Options, folder: Path) -> Options:
    return replace(
        options, spool=str(folder / _FACTS), progress=ProgressMode.NEVER, all_tracebacks=True
    )


def _notes(plan: DeploymentPlan) -> Iterator[str]:
    """Yield what may stop working once the user has gone."""
    away = [cluster.path for cluster in plan.deployment.clusters() if cluster.hops]
    if away:
        yield (
            f"connections to {', '.join(away)} last as long as this machine and its network. When "
            "you log out, your ssh agent goes, and perhaps shared connections: then nothing can be "
            'reached again, neither for recovery="rebuild" nor for results of a lost connection'
        )


def _be_detached(folder: Path, up: int, run: Callable[[], int]) -> NoReturn:
    """Leave the terminal, take the lock, say so, and run."""
    code = NEVER_STARTED
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, stream in ((0, nothing), (1, nothing), (2, _new(folder / _LOG))):
            os.dup2(stream, number)
        _new(folder / _FACTS)  # may be read at once
        about = _new(folder / _ABOUT)
        fcntl.lockf(about, fcntl.LOCK_EX)  # held by this process, not by those that part from it
        record = {"process": os.getpid(), "started": time.time(), "work": os.getcwd()}
        os.write(about, json.dumps(record).encode())
        os.write(up, b"1")
        os.close(up)
        code = run()
    except BaseException:  # this is the process's end
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _new(path: Path) -> int:
    """Return the descriptor of a new file, which only its owner can read."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
