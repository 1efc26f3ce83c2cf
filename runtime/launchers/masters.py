"""Connections of the user's own that runs share: where they are, how they are opened and ended.

`ssh` calls the process that holds such a connection a master, and the socket at which it is found
its ControlPath. A run uses a master that is alive, so a password or a second factor is asked for
once, by the ssh client on the user's terminal, and then no more. It never opens or closes one.
"""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from runtime.launchers.base import Exit
from runtime.launchers.errors import LoginFailed, MissingSsh
from runtime.launchers.hops import (
    Hop,
    aliases,
    configuration,
    fault_of_folder,
    own_socket,
    user_files,
)

_ANSWER = 10.0
"""Seconds that a live master takes at most to answer, however busy."""

_MAY_NAME_SOCKETS = "controlpath", "include"
"""What is in a configuration, or leads to files with more of it, that says where masters are."""

# Where nothing else is said: it outlives a lunch, and a network that is gone for a minute.
_DEFAULT = """\
  ControlPersist 8h
  ServerAliveInterval 15
  ServerAliveCountMax 4
  ConnectTimeout 30
"""


class Master:
    """The shared connection to the last of `hops`, as a run with the same hops would find it.

    The methods start the ssh client and wait for it. All raise MissingSsh.
    """

    def __init__(self, hops: Sequence[Hop], user_folder: Path, ssh: str = "ssh") -> None:
        self._hops = hops
        self._folder = user_folder.expanduser().absolute()
        self._ssh = ssh
        self._alias = aliases(hops)[-1]
        default = own_socket(self._folder) + _DEFAULT
        configured = configuration(hops, user_files(self._folder), default=default)
        self._refused = self._not_ours(configured, may_be_made=True)
        self._configuration = self._refused + configured

    def _not_ours(self, configured: str, *, may_be_made: bool) -> str:
        return not_ours(self._hops, self._folder, self._ssh, configured, may_be_made=may_be_made)

    def process(self) -> int | None:
        """Return the number of the process that holds the connection; None if it is not open."""
        done = self._run("-O", "check", timeout=_ANSWER)
        running = re.search(r"\(pid=(\d+)\)", done.stderr) if done else None
        return int(running[1]) if running else None

    def open(self) -> None:
        """Open the connection; the ssh client asks its questions on the terminal.

        Raises:
            LoginFailed: it is not open now, for a reason that the client has printed there,
                because no connection to this host can be shared, or because another account has
                put a socket where it would be.
        """
        if self._refused:
            raise self._planted()
        shown = self._run("-G")
        if shown is None or not re.search(r"^controlpath ", shown.stdout, re.MULTILINE):
            raise LoginFailed(
                "a connection to this host cannot be shared",
                place=self._alias,
                cause=fault_of_folder(self._folder) or (shown.stderr if shown else ""),
                cure="Give the host a ControlPath in your ~/.ssh/config, such as /run/user/%i/%C",
            )
        with readable(self._configuration) as config:
            # not -M, with which a socket that a dead master left behind would be in the way
            argv = [self._ssh, "-F", config, "-o", "ControlMaster=auto", "-N", "-f"]
            code = _on_terminal([*argv, self._alias])
        if self._not_ours(self._configuration, may_be_made=False):  # somebody was quicker
            raise self._planted()
        if self.process() is None:
            raise LoginFailed(
                f"no connection was opened; ssh {Exit.of_returncode(code).predicate}",
                place=self._alias,
                cure="See what ssh has said, and answer before the host loses patience",
            )

    def _planted(self) -> LoginFailed:
        return LoginFailed(
            "the socket of the shared connection is another account's, or in a folder where others"
            " can replace it",
            place=self._alias,
            cure="Give the host a ControlPath in a folder of yours, such as ~/.ssh/%C",
        )

    def end(self) -> None:
        """End the connection, and with it all that uses it; nothing happens if it is not open."""
        self._run("-O", "exit", timeout=_ANSWER)

    def _run(
        self, *options: str, timeout: float | None = None
    ) -> subprocess.CompletedProcess[str] | None:
        """Return what the client answers without a connection; None if it does not."""
        with readable(self._configuration) as config:
            argv = [self._ssh, "-F", config, "-T", *options, self._alias]
            try:
                return subprocess.run(
                    argv, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                    timeout=timeout, check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return None
            except OSError as error:
                raise MissingSsh(
                    f"'{self._ssh}' cannot be started: {error.strerror}",
                    place=self._alias,
                    cure="Install OpenSSH's client, or name another program",
                ) from error


def not_ours(
    hops: Sequence[Hop], user_folder: Path, ssh: str, configured: str, *, may_be_made: bool = False
) -> str:
    """Return settings by which hops use no master that another account may pretend to be.

    The client connects to whatever socket is at the user's ControlPath. In a folder where others
    write it has to be there already, and this user's: nobody else can replace that in `/tmp`. Who
    opens a connection `may_be_made` to find none there, and looks again afterwards.
    """
    texts = [one.read_text(errors="replace").lower() for one in user_files(user_folder)]
    texts += [name.lower() for hop in hops for name, _ in hop.settings]
    if not any(word in text for text in texts for word in _MAY_NAME_SOCKETS):
        return ""
    refused = []
    for alias in aliases(hops):
        with readable(configured) as config:
            try:
                shown = subprocess.run(
                    [ssh, "-F", config, "-G", alias], stdin=subprocess.DEVNULL,
                    capture_output=True, text=True, timeout=_ANSWER, check=False,
                )  # fmt: skip
            except OSError:
                return ""  # there is no client: the connection tells why
            except subprocess.TimeoutExpired:
                refused.append(_unshared(alias))  # nobody knows which socket that is
                continue
        found = re.search(r"^controlpath (.+)$", shown.stdout, re.MULTILINE)
        if found and not _is_ours(Path(found[1]), may_be_made=may_be_made):
            refused.append(_unshared(alias))
    return "".join(refused)


def _unshared(alias: str) -> str:
    return f"Host {alias}\n  ControlPath none\n"


def _is_ours(socket: Path, *, may_be_made: bool) -> bool:
    """Tell whether nobody else can have put, or put, a socket in a place."""
    me = os.getuid()
    try:
        folder = socket.parent.stat()
        if folder.st_uid in (me, 0) and not folder.st_mode & 0o022:
            return True
        if not folder.st_mode & stat.S_ISVTX:
            return False
        if may_be_made and not os.path.lexists(socket):
            return True
        return socket.lstat().st_uid == me
    except OSError:
        return False


def _on_terminal(argv: Sequence[str]) -> int:
    """Run a command in the foreground of the terminal, as a shell does, and return its exit code.

    It has a process group of its own. Clients of jump hosts that it leaves in the background would
    otherwise get the signals that the terminal sends to our group later, such as for Ctrl-C in a
    script, and end the connection. Raises KeyboardInterrupt if Ctrl-C ended it.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:  # there is none, and nothing to ask
        return subprocess.run(argv, stdin=subprocess.DEVNULL, check=False).returncode
    process = subprocess.Popen(argv, process_group=0)
    usual = signal.getsignal(signal.SIGTTOU)
    try:
        while True:
            os.tcsetpgrp(terminal, process.pid)
            os.killpg(process.pid, signal.SIGCONT)  # it may have asked before it was allowed to
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            os.tcsetpgrp(terminal, os.getpgrp())
            if not os.WIFSTOPPED(status):
                break
            signal.signal(signal.SIGTTOU, usual)
            os.killpg(0, signal.SIGTSTP)  # Ctrl-Z was meant for both
    finally:
        signal.signal(signal.SIGTTOU, usual)
        os.close(terminal)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode == -signal.SIGINT:
        raise KeyboardInterrupt
    return process.returncode


@contextmanager
def readable(configuration: str) -> Iterator[str]:
    """Yield where ssh clients can read a configuration, on this machine and as this user.

    It has no name: whoever is killed meanwhile leaves nothing of it. A client closes what it
    inherits, so it looks at the open files of this process, as do those that it starts for hops.
    """
    import tempfile

    with tempfile.TemporaryFile("w", encoding="utf-8") as file:
        file.write(configuration)
        file.flush()
        yield f"/proc/{os.getpid()}/fd/{file.fileno()}"
