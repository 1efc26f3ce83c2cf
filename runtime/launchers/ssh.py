"""Processes on another host, reached with the system's own ssh client over one or several hops."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from runtime.launchers import bootstrap, wire
from runtime.launchers.base import Command, OutputStream
from runtime.launchers.errors import (
    BadHop,
    CommandNotFound,
    LauncherClosed,
    LaunchError,
    MissingSsh,
    StartTimeout,
    StillRunning,
)
from runtime.launchers.guard import GRACE
from runtime.launchers.hops import Hop, aliases, configuration
from runtime.launchers.lines import Tail
from runtime.launchers.local import LocalLauncher
from runtime.launchers.session import GuardSession, broken
from runtime.launchers.ssh_faults import FOUND, NO_PYTHON, diagnose
from runtime.machine_words import is_command

PYTHONS = "python3 python3.14 python3.13 python3.12 python3.11"
USER_FILE = Path("~/.ssh/config")

# Run by /bin/sh at the far end: become the first Python that is new enough, or tell what was found.
_FIND_PYTHON = (
    'l="$1"; shift; for p in {pythons}; do'
    ' if "$p" -I -c "import sys;sys.exit(sys.version_info<(3,11))" </dev/null >/dev/null 2>&1;'
    ' then exec "$p" -I -S -c "$l" "$@" "$p"; fi; done;'
    " for p in {pythons}; do"
    ' echo "{found} $p: $("$p" -V 2>&1 </dev/null | head -n 1)" >&2; done; exit {status}'
)


class SshLauncher(GuardSession):
    """Start processes on the last of `hops`.

    The ssh client itself is a command of `local`, which may serve any number of these and has to be
    closed after them. All commands and files go through the one connection. `python` names the
    interpreter at the far end; without it a new enough one is looked for. `user_file` is the
    user's own ssh configuration, None to do without. After `lease` seconds without a word from
    here the far end ends by itself. Nothing waits here for the host: `ready` does.
    """

    def __init__(
        self,
        hops: Sequence[Hop],
        local: LocalLauncher,
        *,
        place: str = "",
        python: str = "",
        ssh: str = "ssh",
        user_file: Path | None = USER_FILE,
        patience: float = 30.0,
        lease: float = 30.0,
    ) -> None:
        if not hops:
            raise BadHop("a way over ssh needs at least one hop")
        if python and not is_command(python):
            raise BadHop(f"{python!r} cannot be the path of a Python", place=hops[-1].host)
        way = " -> ".join(map(str, hops))
        super().__init__(place or hops[-1].host, patience)
        self._way = f"{place} ({way})" if place else way
        self._local = local
        self._closing = False
        marker = bootstrap.new_marker()
        self._marker = "".join(marker).encode()
        self._unmarked: bytes | None = b""
        self._banner = Tail(5)
        self._folder = local.make_folder()
        self._client = local.start(
            self._command(hops, ssh, python, marker, _existing(user_file)), self
        )
        self._client.when_done(self._on_end)
        self._client.post(bootstrap.source())
        self._lease = lease
        self._keep_lease()
        local.call_later(patience, self._on_deadline)

    def _command(
        self,
        hops: Sequence[Hop],
        ssh: str,
        python: str,
        marker: tuple[str, str],
        user_file: Path | None,
    ) -> Command:
        config = Path(self._folder, "config")
        config.touch(0o600)
        timeout = max(1, int(self._patience / 2))
        config.write_text(configuration(hops, user_file, timeout), encoding="utf-8")
        pythons = _in_shell(python) if python else PYTHONS
        script = _FIND_PYTHON.format(pythons=pythons, found=FOUND, status=NO_PYTHON)
        words = ["exec", "/bin/sh", "-c", f"'{script}'", "gcm", f"'{bootstrap.loader()}'"]
        words += ["gcm-guard", *marker]
        argv = (ssh, "-T", "-e", "none", "-F", str(config), aliases(hops)[-1], " ".join(words))
        return Command(argv, {"SSH_ASKPASS": None, "SSH_ASKPASS_REQUIRE": None})

    # --- the ssh client, from the thread of the local launcher ----------------------------------

    def received(self, stream: OutputStream, data: bytes) -> None:
        """Take what the client says; until the marker it is the login shell that talks."""
        if stream is OutputStream.ERROR:
            return  # the process keeps the end of it
        if self._unmarked is None:
            self.feed(data)
            return
        self._unmarked += data
        banner, found, messages = self._unmarked.partition(b"\n" + self._marker + b"\n")
        if found:
            self._unmarked = None
            self.feed(messages)
        else:
            self._unmarked = banner[-len(self._marker) - 2 :]
            self._banner.feed(banner[: -len(self._marker) - 2])

    def finished(self) -> None:
        """Need nothing: the end of the process tells the rest."""

    def _on_end(self) -> None:
        self._local.remove_folder(self._folder)
        if self._closing:
            self.lose(LauncherClosed("the launcher was closed", place=self.place))
            return
        try:
            code = self._client.wait(0)
        except LaunchError as fault:
            self.lose(_no_client(fault))
            return
        said = [line for line in self._client.tail if not line.startswith("** WARNING")]
        if self._unmarked is None:
            self.lose(broken(self._way, f"the connection ended ({code})", "\n".join(said)))
            return
        self._banner.feed(self._unmarked)
        self._banner.finish()
        self.lose(diagnose(self._way, code.code, said or self._banner.lines))

    def _on_deadline(self) -> None:
        if self._facts is None:
            self.lose(
                StartTimeout(
                    f"no answer within {self._patience:g} s",
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
        return "\n".join([*self._client.tail, *self._banner.lines])

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


def _in_shell(command: str) -> str:
    """Return a word of a shell that stands for a command, with its home folder if it has a `~`."""
    home = re.match(r"~[\w.-]*/", command)
    at = home.end() if home else 0
    return f'{command[:at]}"{command[at:]}"'


def _existing(user_file: Path | None) -> Path | None:
    path = None if user_file is None else user_file.expanduser()
    return path if path is not None and path.is_file() else None


def _no_client(fault: LaunchError) -> LaunchError:
    """Return what it means here that the client could not be started."""
    if not isinstance(fault, CommandNotFound):
        return fault
    return MissingSsh(
        fault.what, place=fault.place, cure="Install OpenSSH's client, or name another program"
    )
