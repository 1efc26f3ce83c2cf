"""Processes at the far end of a command that passes its standard streams on to a program there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from runtime.deployment.planning.preparation import NO_MODULES, NOT_PREPARED
from runtime.launchers import bootstrap, wire
from runtime.launchers.base import Command, Exit, OutputStream
from runtime.launchers.errors import (
    BadHop,
    LauncherClosed,
    LaunchError,
    NotPrepared,
    PythonMissing,
    PythonTooOld,
    StartTimeout,
    StillRunning,
    WayFailed,
)
from runtime.launchers.guard import GRACE
from runtime.launchers.lines import Tail
from runtime.launchers.local import LocalLauncher
from runtime.launchers.session import GuardSession, Marked, broken
from runtime.safe_names import is_command

FOUND = "gcm-python-found:"  # begins each line of the script about what it found instead
NO_PYTHON = 86  # its exit code when it finds no usable Python
_PYTHONS = "python3 python3.14 python3.13 python3.12 python3.11"

# Run by /bin/sh at the far end: become the first Python that is new enough, or tell what was found.
_FIND_PYTHON = (
    'l="$1"; shift; for p in {pythons}; do'
    ' if "$p" -I -c "import sys;sys.exit(sys.version_info<(3,11))" </dev/null >/dev/null 2>&1;'
    ' then exec "$p" -I -S -c "$l" "$@" "$p"; fi; done;'
    " for p in {pythons}; do"
    ' echo "{found} $p: $("$p" -V 2>&1 </dev/null | head -n 1)" >&2; done; exit {status}'
)


class CommandLauncher(GuardSession):
    """Start processes where a command leads: `docker exec -i`, `kubectl exec -i`, ssh ...

    `command` gets the words of a program for the far end and returns the command of this machine
    that runs it there, with its standard input and output. That command runs under `local`, which
    may serve any number of these and has to be closed after them; all commands and files go
    through it. `python` names the interpreter at the far end; without it a new enough one is
    looked for. After `lease` seconds without a word from here the far end ends by itself. Nothing
    waits here for the far end: `ready` does.

    >>> with LocalLauncher() as local:
    ...     there = CommandLauncher(local, lambda words: Command(("env", *words)), place="there")
    ...     with there:
    ...         print(there.start(Command(("true",))).wait())
    exit code 0
    """

    def __init__(
        self,
        local: LocalLauncher,
        command: Callable[[Sequence[str]], Command],
        *,
        place: str,
        way: str = "",
        python: str = "",
        timeout: float = 30.0,
        lease: float = 30.0,
    ) -> None:
        if python and not is_command(python):
            raise BadHop(f"{python!r} cannot be the path of a Python", place=place)
        super().__init__(place, timeout)
        self._way = way or place
        self._local = local
        self._closing = False
        self.leading = command
        """Returns the command of this machine that runs a program there."""
        marker = bootstrap.new_marker()
        self._marked = Marked(marker)
        self._client = local.start(command(_words(python, marker)), self)
        self._client.when_done(self._on_end)
        self._client.post(bootstrap.source())
        self._lease = lease
        self._keep_lease()
        local.call_later(timeout, self._on_deadline)

    def explain(self, ended: Exit, lines: Sequence[str]) -> LaunchError:
        """Return the error for a command that ended, with its last words, before Python began."""
        return WayFailed(
            f"'{self._client.command.argv[0]}', which leads there, {ended.predicate}",
            place=self._way,
            cause="\n".join(lines),
            cure="Try the same command by hand, with a program such as 'true'",
        )

    def explain_start(self, fault: LaunchError) -> LaunchError:
        """Return the error for a command that could not be started."""
        return fault

    # --- the command, from the thread of the local launcher ---------------------------------------

    def received(self, stream: OutputStream, data: bytes) -> None:
        """Take what the far end says; until the marker it is a login shell that talks."""
        if stream is OutputStream.OUTPUT:  # the process keeps the end of stderr
            self.feed(self._marked.take(data))

    def finished(self) -> None:
        """Need nothing: the end of the process tells the rest."""

    def _on_end(self) -> None:
        if self._closing:
            self.lose(LauncherClosed("the launcher was closed", place=self.place))
            return
        try:
            code = self._client.wait(0)
        except LaunchError as fault:
            self.lose(self.explain_start(fault))
            return
        lines = self._last_lines()
        if self._marked.is_behind:
            self.lose(broken(self._way, f"the connection ended ({code})", "\n".join(lines)))
            return
        if code.code == NO_PYTHON:
            self.lose(no_python(self._way, lines))
            return
        if code.code == NOT_PREPARED:
            self.lose(not_prepared(self._way, lines))
            return
        self.lose(self.explain(code, lines or self._banner()))

    def _on_deadline(self) -> None:
        if self._facts is None:
            self.lose(
                StartTimeout(
                    f"no answer within {self._timeout:g} s",
                    place=self._way,
                    cause=self._describe_wait(),
                    cure="Check the host, its login shell and the way to it, or allow more time",
                )
            )
            self._client.kill()

    def _keep_lease(self) -> None:
        """Let the far end hear that we live; a network that swallows everything tells it nothing.

        The guard on this machine says so. It lives as long as this process, also while that is
        stopped.
        """
        ping = wire.frame(wire.PING, 0, str(self._lease).encode())
        self.post(ping)
        self._client.repeat(self._lease / 4, ping)

    def _describe_wait(self) -> str:
        return "\n".join([*self._client.tail, *self._banner()])

    def _last_lines(self) -> list[str]:
        """Return the last words of the command that are not about its own security."""
        return [line for line in self._client.tail if not line.startswith("** WARNING")]

    def _banner(self) -> list[str]:
        """Return the last lines that came before anything of ours."""
        tail = Tail(5)
        tail.feed(self._marked.before)
        tail.finish()
        return list(tail.lines)

    # --- the launcher -------------------------------------------------------------------------

    def post(self, data: bytes) -> None:
        """Queue bytes for the guard without blocking."""
        self._client.post(data)

    def close(self) -> None:
        """End all commands and remove all folders at the far end, then end the connection."""
        self._closing = True
        self._client.close_input()
        try:
            self._client.wait(2 * GRACE + 1)
        except StillRunning:
            self._client.kill()
            self._client.wait()
        except LaunchError:
            return  # it never ran, or its own launcher is gone: told to callers

    def abandon(self) -> None:
        """End the connection at once, over which nothing comes any more."""
        self._closing = True
        self._client.kill()
        with suppress(LaunchError):
            self._client.wait()


def _words(python: str, marker: tuple[str, str]) -> list[str]:
    """Return the program for the far end: a Python that reads the guard and becomes it."""
    pythons = _in_shell(python) if python else _PYTHONS
    script = _FIND_PYTHON.format(pythons=pythons, found=FOUND, status=NO_PYTHON)
    return ["/bin/sh", "-c", script, "gcm", bootstrap.loader(), "gcm-guard", *marker]


def _in_shell(command: str) -> str:
    """Return a word of a shell that stands for a command, with its home folder if it has a `~`."""
    home = re.match(r"~[\w.-]*/", command)
    at = home.end() if home else 0
    return f'{command[:at]}"{command[at:]}"'


def no_python(way: str, lines: Sequence[str]) -> LaunchError:
    """Return the error for a place without a new enough Python, from what the script said."""
    found = [line.removeprefix(FOUND).strip() for line in lines if line.startswith(FOUND)]
    cure = (
        "Install Python 3.11 or newer there, or name it: --python PATH, in a descriptor"
        " <front-end python=...>"
    )
    versions = [line for line in found if re.search(r"Python \d", line)]
    if not versions:
        return PythonMissing("no Python was found", place=way, cause="\n".join(found), cure=cure)
    return PythonTooOld(
        f"the newest Python found is too old ({'; '.join(versions)})", place=way, cure=cure
    )


def not_prepared(way: str, lines: Sequence[str]) -> NotPrepared:
    """Return the error for a place whose modules or line of shell failed, from its last words."""
    named = [line.removeprefix(NO_MODULES) for line in lines if line.startswith(NO_MODULES)]
    name = "modules" if named else "before"
    return NotPrepared(
        f"'module load {named[0]}' fails there" if named else "the line of shell fails there",
        place=way,
        cause="\n".join(line for line in lines if not line.startswith(NO_MODULES)),
        cure=f"Try it in a login shell there, then correct {name}=... of its <front-end>",
    )
