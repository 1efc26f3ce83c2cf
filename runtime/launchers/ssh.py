"""Processes on another host, reached with the system's own ssh client over one or several hops."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from runtime.launchers.base import Command, Exit
from runtime.launchers.command import CommandLauncher
from runtime.launchers.errors import BadHop, CommandNotFound, LaunchError, MissingSsh
from runtime.launchers.hops import NEEDED, Hop, aliases, configuration, own_socket, user_files
from runtime.launchers.local import LocalLauncher
from runtime.launchers.masters import not_ours
from runtime.launchers.ssh_faults import diagnose

USER_FOLDER = Path("~/.ssh")

_ANSWER = 5.0  # seconds for the client to read its configuration


class SshLauncher(CommandLauncher):
    """Start processes on the last of `hops`.

    The ssh client is the command of `local`, whose settings it reads from a file of its own.
    `user_folder` has the user's own ssh configuration and shared connections, which are used where
    they are alive; with None neither these nor the system's configuration count. `login` is the
    command that opens such a connection, for messages.
    `within` are the words of a command there in which everything is started, such as one that runs
    it in a job of a batch system.
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
        user_folder: Path | None = USER_FOLDER,
        login: str = "",
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
        default = f"  ConnectTimeout {connect_timeout}\n  StrictHostKeyChecking yes\n"
        files: Sequence[Path] = ()
        if user_folder is not None:
            files = user_files(user_folder)
            default += own_socket(user_folder)
        settings = configuration(hops, files, NEEDED, default)
        if user_folder is not None:
            settings = not_ours(hops, user_folder, ssh, settings) + settings
        config.write_text(settings, encoding="utf-8")
        self._login = login or f"gcm-deploy login {hops[-1].destination}"
        options = ("-T", "-e", "none", "-F", str(config), aliases(hops)[-1])
        self._argv = (ssh, *options)

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

    def explain(self, ended: Exit, lines: Sequence[str]) -> LaunchError:
        """Return what the last words of the ssh client mean."""
        return diagnose(self._way, ended, lines, self._login)

    def explain_start(self, fault: LaunchError) -> LaunchError:
        """Return what it means here that the client could not be started."""
        if not isinstance(fault, CommandNotFound):
            return fault
        cure = "Install OpenSSH's client, or name another program"
        return MissingSsh(fault.what, place=fault.place, cure=cure)

    def _describe_wait(self) -> str:
        """Return what has been heard, and which shared connection may be what hangs."""
        found = shared_socket(self._argv)
        hangs = f"the shared connection {found} does not answer; end its process" if found else ""
        return "\n".join(filter(None, (super()._describe_wait(), hangs)))

    def _on_end(self) -> None:
        self._local.remove_folder(self._folder)
        super()._on_end()


def shared_socket(argv: Sequence[str]) -> str:
    """Return the socket of a connection that an ssh client would share; empty if there is none."""
    try:
        settings = subprocess.run(
            [argv[0], "-G", *argv[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_ANSWER, check=False,
        ).stdout  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"^controlpath (/.*)$", settings, re.MULTILINE)
    return found[1] if found and os.path.exists(found[1]) else ""
