"""Processes on another host, reached with the system's own ssh client over one or several hops."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from runtime.launchers.base import Command
from runtime.launchers.command import CommandLauncher
from runtime.launchers.errors import BadHop, CommandNotFound, LaunchError, MissingSsh
from runtime.launchers.hops import Hop, aliases, configuration
from runtime.launchers.local import LocalLauncher
from runtime.launchers.ssh_faults import diagnose

USER_FILE = Path("~/.ssh/config")


class SshLauncher(CommandLauncher):
    """Start processes on the last of `hops`.

    The ssh client is the command of `local`, whose settings it reads from a file of its own.
    `within` are the words of a command there in which everything is started, such as one that runs
    it in a job of a batch system. `user_file` is the user's own ssh configuration, None to do
    without.
    """

    def __init__(
        self,
        hops: Sequence[Hop],
        local: LocalLauncher,
        *,
        place: str = "",
        within: Sequence[str] = (),
        python: str = "",
        ssh: str = "ssh",
        user_file: Path | None = USER_FILE,
        timeout: float = 30.0,
        lease: float = 30.0,
    ) -> None:
        if not hops:
            raise BadHop("a way over ssh needs at least one hop")
        way = " -> ".join(map(str, hops))
        self._folder = local.make_folder()
        config = Path(self._folder, "config")
        config.touch(0o600)
        connect_timeout = max(1, int(timeout / 2))
        config.write_text(
            configuration(hops, _existing(user_file), connect_timeout), encoding="utf-8"
        )
        options = ("-T", "-e", "none", "-F", str(config), aliases(hops)[-1])

        def command(words: Sequence[str]) -> Command:
            argv = (ssh, *options, f"exec {shlex.join((*within, *words))}")
            return Command(argv, {"SSH_ASKPASS": None, "SSH_ASKPASS_REQUIRE": None})

        super().__init__(
            local,
            command,
            place=place or hops[-1].host,
            way=f"{place} ({way})" if place else way,
            python=python,
            timeout=timeout,
            lease=lease,
        )

    def explain(self, code: int | None, said: Sequence[str]) -> LaunchError:
        """Return what the last words of the ssh client mean."""
        return diagnose(self._way, code, said)

    def explain_start(self, fault: LaunchError) -> LaunchError:
        """Return what it means here that the client could not be started."""
        if not isinstance(fault, CommandNotFound):
            return fault
        cure = "Install OpenSSH's client, or name another program"
        return MissingSsh(fault.what, place=fault.place, cure=cure)

    def _on_end(self) -> None:
        self._local.remove_folder(self._folder)
        super()._on_end()


def _existing(user_file: Path | None) -> Path | None:
    path = None if user_file is None else user_file.expanduser()
    return path if path is not None and path.is_file() else None
