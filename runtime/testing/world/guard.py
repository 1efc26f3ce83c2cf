"""What watches an actor: whoever touches the clock, a thread, a process, a file or a socket fails.

The interpreter tells of sockets, processes and files by its audit events. Of clocks, chance and
threads it tells nothing, so their functions are replaced in their modules while an actor runs.
"""

from __future__ import annotations

import _thread
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

_FORBIDDEN = ("socket.", "subprocess.", "os.fork", "os.exec", "os.posix_spawn", "os.kill",
              "tempfile.", "shutil.", "signal.")  # fmt: skip
_FILES = ("open", "os.listdir", "os.remove", "os.rename", "os.mkdir")
_SOURCES = (".py", ".pyc", ".so")
_FUNCTIONS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (time, ("time", "monotonic", "perf_counter", "time_ns", "monotonic_ns", "clock_gettime",
            "sleep")),
    (random, ("random", "randint", "choice", "shuffle", "uniform", "randrange")),
    (os, ("urandom", "getpid")),
    (_thread, ("start_new_thread",)),
    (threading, ("_start_new_thread",)),
)  # fmt: skip
_LOCKS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (_thread, ("allocate_lock",)),
    (threading, ("RLock", "Lock", "_allocate_lock")),
)
"""Whoever is watched may have the machine's, unless the world has its own."""


class TouchedReality(BaseException):
    """An actor has asked the machine for something; the text says what, and where.

    No `except Exception` of an actor can swallow it.
    """


class RealityGuard:
    """While it is entered, nobody asks the machine for anything; once in another counts."""

    def __init__(self) -> None:
        self._depth = 0
        self._replaced: list[tuple[Any, str, Any, Callable[..., Any]]] = []
        self.offers: Mapping[str, Callable[..., Any]] = {}
        """What a world has in place of functions of the machine, such as `time.monotonic`."""

    @contextmanager
    def offering(self, offers: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
        """Let those who are watched have these functions in place of the machine's."""
        before, self.offers = self.offers, offers
        try:
            yield
        finally:
            self.offers = before

    @property
    def is_on(self) -> bool:
        """Whether somebody is watched."""
        return self._depth > 0

    def __enter__(self) -> None:
        """Begin to watch."""
        if not self._replaced:
            sys.addaudithook(_audit)  # which nobody can take back
            for module, names in _FUNCTIONS:
                for name in names:
                    original = getattr(module, name)
                    refusing = _forbidden(f"{module.__name__}.{name}", original)
                    self._replaced.append((module, name, original, refusing))
            for module, names in _LOCKS:
                for name in names:
                    original = getattr(module, name)
                    offering = _offered(f"{module.__name__}.{name}", original)
                    self._replaced.append((module, name, original, offering))
        self._depth += 1
        for module, function, _, replacing in self._replaced:
            setattr(module, function, replacing)

    def __exit__(self, *raised: object) -> None:
        """Watch no longer."""
        self._depth -= 1
        if not self._depth:
            for module, name, original, _ in self._replaced:
                setattr(module, name, original)


GUARD = RealityGuard()
"""The one of this process: what it replaces is there once."""


def _forbidden(what: str, original: Any) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        offered = GUARD.offers.get(what)
        if offered is not None:
            return offered(*args, **kwargs)
        caller = sys._getframe(1)
        if _is_of_logging(caller):
            return original(*args, **kwargs)
        raise TouchedReality(f"{what} was asked at {_place(caller)}: no actor may")

    return refuse


def _offered(what: str, original: Any) -> Callable[..., Any]:
    def make(*args: Any, **kwargs: Any) -> Any:
        return GUARD.offers.get(what, original)(*args, **kwargs)

    return make


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if not GUARD.is_on:
        return
    if event.startswith(_FORBIDDEN) or (event in _FILES and not _is_source(args)):
        frame = sys._getframe(1)
        if not _is_of_logging(frame):
            raise TouchedReality(f"{event}{args[:2]} at {_place(frame)}: there is no such thing")


def _is_source(args: tuple[Any, ...]) -> bool:
    """Tell whether a file is read because a module is loaded, late as some are."""
    return bool(args) and (str(args[0]).endswith(_SOURCES) or "site-packages" in str(args[0]))


def _is_of_logging(frame: FrameType | None) -> bool:
    """Tell whether a line of the log is written, which needs the time of the machine."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(("logging", "importlib", "linecache")):
            return True
        frame = frame.f_back
    return False


def _place(frame: FrameType | None) -> str:
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
