"""The life of a daemon's process: started in the background, its log, its signals, its end."""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path

from runtime.errors import GridError
from runtime.home import python_path
from runtime.launchers import family
from runtime.peers.configuration.folder import PeerFolder
from runtime.peers.configuration.reading import read
from runtime.peers.errors import PeerError
from runtime.peers.model import Address
from runtime.shown_text import shown_lines

BOOT_TIMEOUT = 30.0
LOG_SIZE = 5 << 20
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_LOOK = 1.0
"""Seconds after which a signal is seen that the system has given to another thread."""

log = logging.getLogger(__name__)


def boot(folder: PeerFolder) -> Address:
    """Start the daemon of a folder in the background; return where it is, once it listens.

    Raises:
        PeerError: it could not begin; with its own words.
    """
    folder.make()
    reading, writing = os.pipe()
    try:
        with folder.log.open("ab") as log_file:
            process = subprocess.Popen(
                [sys.executable, "-m", "runtime.peers.daemon", str(folder.path), str(writing)],
                stdin=subprocess.DEVNULL,
                stdout=log_file,
                stderr=log_file,
                pass_fds=(writing,),
                start_new_session=True,
                cwd="/",
                env={**os.environ, **python_path()},
            )
    except OSError as error:
        os.close(reading)
        raise PeerError(
            "the daemon cannot be started", place=str(folder.path), cause=str(error)
        ) from error
    finally:
        os.close(writing)
    try:
        answer = _answer(reading, time.monotonic() + BOOT_TIMEOUT)
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        os.close(reading)
        process.wait()  # the daemon is a child of that one, and of nobody from now on
    if "address" in answer:
        return Address.parse(answer["address"])
    if "what" in answer:
        raise PeerError(**answer)
    raise PeerError(
        "the daemon ended before it began",
        place=str(folder.path),
        cause=_tail(folder.log),
        cure=f"Its log is {folder.log}",
    )


def _answer(reading: int, deadline: float) -> dict[str, str]:
    """Return what the daemon says about how it has begun; nothing if it ends before."""
    data = b""
    while not data.endswith(b"\n"):
        left = max(0.0, deadline - time.monotonic())
        if not select.select([reading], [], [], left)[0]:
            raise PeerError(f"the daemon has not started within {BOOT_TIMEOUT:g} s")
        came = os.read(reading, 65536)
        if not came:
            return {}
        data += came
    answer: dict[str, str] = json.loads(data)
    return answer


def serve(folder: PeerFolder, began: Callable[[Address], None]) -> None:
    """Be the daemon of a folder until a signal ends it; raises PeerError if it cannot begin."""
    from runtime.peers.daemon.process import Daemon  # whoever only starts one does without

    ending = threading.Event()
    before = {one: signal.signal(one, lambda *_: ending.set()) for one in _SIGNALS}
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)  # the process that boots may block them
    family.rename("gcm-peer")
    try:
        with Daemon(folder) as daemon:
            began(daemon.address)
            while not ending.wait(_LOOK):
                pass
            log.info("it ends")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


MOST_LOGGED = 16 << 10
"""The characters of one record."""


class _Lines(logging.Formatter):
    """Writes records so that every line with a time is the first one of a record of ours."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record: what others said in it made visible, its further lines indented."""
        text = shown_lines(super().format(record))
        text = text if len(text) <= MOST_LOGGED else f"{text[:MOST_LOGGED]}..."
        return text.replace("\n", "\n    ")


@contextmanager
def logging_to(file: Path | None, level: str) -> Iterator[None]:
    """Let what the daemon has to say go to a file, or to standard error."""
    handler: logging.Handler
    if file is None:
        handler = logging.StreamHandler()
    else:
        handler = RotatingFileHandler(file, maxBytes=LOG_SIZE, backupCount=1, encoding="utf-8")
    handler.setFormatter(_Lines("%(asctime)s %(levelname)s %(message)s"))
    root = logging.getLogger("runtime.peers")
    root.addHandler(handler)
    root.setLevel(level.upper())
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()


def main(arguments: list[str]) -> int:
    """Be a daemon in the background: its folder, and a descriptor to tell how it has begun."""
    if os.fork():
        os._exit(0)
    folder, writing = PeerFolder.of(arguments[0]), int(arguments[1])

    def answer(words: dict[str, str]) -> None:
        with os.fdopen(writing, "w") as opened:
            opened.write(json.dumps(words) + "\n")

    has_begun = False

    def began(address: Address) -> None:
        nonlocal has_begun
        has_begun = True
        answer({"address": str(address)})

    os.set_inheritable(writing, False)
    try:
        with logging_to(folder.log, read(folder.configuration).text("log_level")):
            serve(folder, began)
    except GridError as error:
        if has_begun:
            raise
        words = {"place": error.place, "cause": error.cause, "cure": error.cure}
        answer({"what": error.what, **words})
        return 1
    return 0


def _tail(file: Path) -> str:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        return str(error)
    return "\n".join(lines[-10:])
