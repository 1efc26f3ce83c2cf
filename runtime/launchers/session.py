"""The launcher's half of the talk with a guard, whatever carries the bytes."""

from __future__ import annotations

import errno
import itertools
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from runtime.launchers import wire
from runtime.launchers.base import Command, Facts, OutputStream, Sink
from runtime.launchers.errors import (
    CommandNotFound,
    CommandRefused,
    ConnectionLost,
    LaunchError,
    NoSuchFolder,
    StagingFailed,
    StartTimeout,
)
from runtime.launchers.guarded import GuardedProcess, exit_of

if TYPE_CHECKING:
    from runtime.launchers.base import Source
    from runtime.launchers.contents import Rule, Sealed

_LONGEST_BANNER = 4096


class Marked:
    r"""The bytes behind a marker, before which others may say something.

    >>> marked = Marked(("gcm-", "1"))
    >>> marked.take(b"Welcome!\ngc"), marked.take(b"m-1\nhello"), marked.take(b" there")
    (b'', b'hello', b' there')
    """

    def __init__(self, marker: tuple[str, str]) -> None:
        self._marker = f"\n{''.join(marker)}\n".encode()
        self.before = b""
        """The end of what was said until now without the marker."""
        self.is_behind = False
        """Whether the marker has come."""

    def take(self, data: bytes) -> bytes:
        """Return what of the next bytes is behind the marker."""
        if self.is_behind:
            return data
        before, found, behind = (self.before + data).partition(self._marker)
        self.before = before[-_LONGEST_BANNER:]
        self.is_behind = bool(found)
        return behind


class GuardSession(ABC):
    """A launcher whose commands run under one guard; subclasses carry the bytes there and back.

    A subclass calls `feed` with what the guard sends, `lose` when no more will come, and gives
    `post`, which must not block.
    """

    def __init__(self, place: str, timeout: float) -> None:
        self._place = place
        self._timeout = timeout
        self.passage = ""
        """How others reach processes there, if not by ports of their own."""
        self._changed = threading.Condition()
        self._numbers = itertools.count(1)
        self._buffer = bytearray()
        self._facts: Facts | None = None
        self._fault: LaunchError | None = None
        self._processes: dict[int, GuardedProcess] = {}
        self.sealed: dict[str, Sealed] = {}
        """What each sealed folder held, and what counts for nothing in it."""
        self._asked: dict[int, str] = {}
        self._answers: dict[int, bytes | LaunchError] = {}
        self._actions: dict[bytes, Callable[[int, bytes], None]] = {
            wire.HELLO: self._on_hello,
            wire.STARTED: lambda number, data: self._processes[number].has_started(int(data)),
            wire.FAILED: self._on_failed,
            wire.OUTPUT: lambda number, data: self._processes[number].has_written(
                OutputStream.OUTPUT, data
            ),
            wire.ERROR: lambda number, data: self._processes[number].has_written(
                OutputStream.ERROR, data
            ),
            wire.CREDIT: lambda number, data: self._processes[number].has_read(int(data)),
            wire.EXITED: self._on_exited,
            wire.ROOM: self._answered,
            wire.SEALED: self._answered,
        }

    # --- for subclasses -----------------------------------------------------------------------

    @abstractmethod
    def post(self, data: bytes) -> None:
        """Queue bytes for the guard without blocking."""

    def feed(self, data: bytes) -> None:
        """Take bytes from the guard; only ever called from one thread."""
        if self._fault is not None:
            return
        self._buffer += data
        try:
            for kind, number, payload in wire.frames(self._buffer):
                self._actions[kind](number, payload)
        except (ValueError, LookupError) as fault:
            self._buffer.clear()
            self.lose(
                ConnectionLost(
                    "the guard sent what no guard sends", place=self.place, cause=str(fault)
                )
            )

    def lose(self, fault: LaunchError) -> None:
        """Nothing more will come: tell everyone who waits why. The first reason counts."""
        with self._changed:
            if self._fault is not None:
                return
            self._fault = fault
            processes, self._processes = list(self._processes.values()), {}
            self._changed.notify_all()
        for process in processes:
            process.is_done(fault)

    def _running(self) -> list[GuardedProcess]:
        """Return the commands that have not ended as far as is known."""
        with self._changed:
            return list(self._processes.values())

    def _describe_wait(self) -> str:
        """Return what has been heard from a place that is not ready yet."""
        return ""

    # --- what the guard says ------------------------------------------------------------------

    def _on_hello(self, _: int, payload: bytes) -> None:
        protocol, version, python, user, guard, host = payload.decode().split("\0")
        if int(protocol) != wire.PROTOCOL:  # cannot be: the guard's source came from here
            raise ValueError(f"the guard speaks version {protocol}")
        numbers = tuple(map(int, version.split(".")))
        with self._changed:
            self._facts = Facts(host, python, numbers, int(user), int(guard))
            self._changed.notify_all()

    def _on_failed(self, number: int, payload: bytes) -> None:
        code, text, filename = payload.decode(errors="replace").split("\0")
        if number in self._asked:
            self._answered(
                number,
                StagingFailed(
                    f"the folder {filename} could not be {self._asked[number]}: {text}",
                    place=self._place,
                    cure="Name another folder for temporary files, with rights and space",
                ),
            )
            return
        with self._changed:
            process = self._processes.pop(number)
        process.is_done(_why_not(self._place, process.command, int(code), text, filename))

    def _on_exited(self, number: int, payload: bytes) -> None:
        with self._changed:
            process = self._processes.pop(number)
        status, at = payload.split()
        process.is_done(exit_of(int(status), float(at)))

    def _answered(self, number: int, answer: bytes | LaunchError) -> None:
        with self._changed:
            self._answers[number] = answer
            self._changed.notify_all()

    # --- the launcher -------------------------------------------------------------------------

    @property
    def place(self) -> str:
        """What messages call it."""
        return self._place

    def ready(self, timeout: float | None = None) -> Facts:
        """Return what is known of the place once it answers."""
        timeout = self._timeout if timeout is None else timeout
        with self._changed:
            self._changed.wait_for(lambda: self._facts or self._fault, timeout)
            if self._fault is not None:
                raise self._fault
            if self._facts is not None:
                return self._facts
        raise StartTimeout(
            f"no answer within {timeout:g} s",
            place=self._place,
            cause=self._describe_wait(),
            cure="Check the host, its login shell and the way to it, or allow more time",
        )

    def start(self, command: Command, sink: Sink | None = None) -> GuardedProcess:
        """Ask for a command and return without waiting; raises what ended the launcher, if so."""
        number = next(self._numbers)
        process = GuardedProcess(number, command, self._place, self._send, sink)
        with self._changed:
            if self._fault is not None:
                raise self._fault
            self._processes[number] = process
            self._send(wire.START, number, _description(command))
        if command.first_input:
            process.post(command.first_input)
        return process

    def make_folder(
        self, parent: str = "", timeout: float | None = None, *, name: str = "gcm-"
    ) -> str:
        """Make a private folder at the place, removed when the launcher closes."""
        asked = os.fsencode(f"{parent}\0{name}")
        return os.fsdecode(self._ask(wire.MAKE_ROOM, asked, "made", timeout))

    def seal(self, folder: str, rules: Sequence[Rule] = (), timeout: float | None = None) -> None:
        """Remember what a folder made by `make_folder` holds now.

        From now on it is removed in the end only if nothing in it is new or changed, but for what
        `rules` ignore; whatever way the launcher ends. `remove_folder` removes it in any case.
        """
        import json

        from runtime.launchers.contents import unpacked

        asked = json.dumps([folder, list(rules)]).encode()
        try:
            found = unpacked(self._ask(wire.SEAL, asked, "read", timeout))[1] or {}
        except ValueError as fault:
            raise StagingFailed(
                f"what {folder} holds could not be read", place=self.place, cause=str(fault)
            ) from fault
        self.sealed[folder] = found, list(rules)

    def _ask(self, kind: bytes, payload: bytes, done: str, timeout: float | None) -> bytes:
        """Return what the guard answers about a folder."""
        timeout = self._timeout if timeout is None else timeout
        number = next(self._numbers)
        with self._changed:
            self._asked[number] = done
            self._send(kind, number, payload)
            self._changed.wait_for(lambda: number in self._answers or self._fault, timeout)
            answer = self._answers.pop(number, self._fault)
        if isinstance(answer, bytes):
            return answer
        raise answer or StartTimeout(
            f"no folder could be {done} within {timeout:g} s",
            place=self._place,
            cause=self._describe_wait(),
            cure="Check the host and the way to it, or allow more time",
        )

    def remove_folder(self, folder: str) -> None:
        """Remove a folder made by `make_folder` before the launcher closes."""
        self.sealed.pop(folder, None)
        self._send(wire.DROP_ROOM, 0, os.fsencode(folder))

    def stage(self, files: Mapping[str, Source], folder: str) -> None:
        """Bring files, folders and links to `folder` under the given names."""
        from runtime.launchers import staging  # only who brings files waits for its imports

        staging.stage(self, self.ready().python, files, folder)

    @abstractmethod
    def close(self) -> None:
        """End all commands, remove all folders, let go of the place."""

    def abandon(self) -> None:
        """End a connection over which nothing comes any more; does what `close` does if it can."""
        self.close()

    def __enter__(self) -> Self:
        """Return the launcher."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _send(self, kind: bytes, number: int, payload: bytes) -> None:
        if self._fault is None:
            self.post(wire.frame(kind, number, payload))


def broken(place: str, what: str, cause: str) -> ConnectionLost:
    """Return the error for a guard that went away by itself."""
    return ConnectionLost(
        what,
        place=place,
        cause=cause,
        cure="Everything it started was ended; check the host and the network, then start again",
    )


def _description(command: Command) -> bytes:
    settings = [
        name if value is None else f"{name}={value}" for name, value in command.environment.items()
    ]
    parts = [command.cwd, str(len(command.argv)), *command.argv, *settings]
    return b"\0".join(os.fsencode(part) for part in parts)


def _why_not(place: str, command: Command, code: int, text: str, filename: str) -> LaunchError:
    program = command.argv[0]
    if command.cwd and filename == command.cwd:
        return NoSuchFolder(
            f"the working directory {command.cwd} of {program!r} cannot be used: {text}",
            place=place,
            cure="Make it first, or name another one",
        )
    if code == errno.ENOENT:
        return CommandNotFound(
            f"the command {program!r} was not found: {text}",
            place=place,
            cure="Install it there, or give its full path",
        )
    return CommandRefused(
        f"the command {program!r} could not be started: {text}",
        place=place,
        cure="Check that it is an executable file for this kind of machine",
    )
