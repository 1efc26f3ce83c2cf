"""An sshd that wants a one-time password behind the key, and a terminal for who types it."""

from __future__ import annotations

import hashlib
import hmac
import os
import pty
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from runtime.testing.sshd import SSHD, Sshd, running_sshd

PROMPT = "One-time password"
_ON_TERMINAL = """\
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
_SECRET = b"of the tests"
_PAM = """\
auth required pam_oath.so usersfile={folder}/passwords window=20 digits=6
account required pam_permit.so
session required pam_permit.so
"""
_SETTINGS = """\
UsePAM yes
KbdInteractiveAuthentication yes
PasswordAuthentication no
AuthenticationMethods publickey,keyboard-interactive:pam
PrintMotd no
PrintLastLog no
Banner {folder}/banner
"""


def one_time_password(number: int) -> str:
    """Return the password that the user's device shows the next time (RFC 4226)."""
    digest = hmac.digest(_SECRET, number.to_bytes(8, "big"), hashlib.sha1)
    at = digest[-1] & 15
    return f"{(int.from_bytes(digest[at : at + 4], 'big') & 0x7FFFFFFF) % 10**6:06}"


@dataclass(frozen=True)
class Guarded:
    """A host with a second factor, named `lyon` in the ssh configuration of a user's home.

    `inner` is a host behind it, which is content with a key.
    """

    sshd: Sshd
    home: Path
    inner: Sshd
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the user."""
        return {**os.environ, "HOME": str(self.home), "PYTHONPATH": str(Path(__file__).parents[1])}

    def password(self) -> str:
        """Return a password that was not used yet."""
        return one_time_password(next(self._numbers))

    def sockets(self) -> list[Path]:
        """Return the sockets of shared connections."""
        return list((self.home / ".ssh").glob("gcm-*"))


@contextmanager
def second_factor(*settings: str) -> Iterator[Guarded]:
    """Run an sshd with a second factor; `settings` are further lines of its configuration.

    An sshd reads the file in /etc/pam.d that has the name with which it was started.
    """
    with ExitStack() as stack:
        # sockets of ssh have long names, and their paths have at most 107 characters
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gcm-")))
        server = folder / f"gcm-test-{os.getpid()}-{folder.name}"
        server.symlink_to(str(SSHD))
        pam = Path("/etc/pam.d", server.name)
        stack.callback(pam.unlink, missing_ok=True)
        pam.write_text(_PAM.format(folder=folder))
        (folder / "passwords").write_text(f"HOTP {_user()} - {_SECRET.hex()}\n")
        (folder / "passwords").chmod(0o600)
        (folder / "banner").write_text("Authorized users only.\n")
        home = folder / "home"
        (home / ".ssh").mkdir(parents=True, mode=0o700)
        more = (_SETTINGS.format(folder=folder), *settings)
        sshd = stack.enter_context(running_sshd(folder, program=server, more=more))
        (home / ".ssh" / "config").write_text(
            f"Host lyon\n  HostName 127.0.0.1\n  Port {sshd.port}\n  IdentityFile {folder}/key\n"
            f"  IdentitiesOnly yes\n  UserKnownHostsFile {folder}/known\n"
        )
        (folder / "inner").mkdir()
        inner = stack.enter_context(running_sshd(folder / "inner", names=["localhost"]))
        guarded = Guarded(sshd, home, inner)
        stack.callback(_end_masters, guarded)
        yield guarded


def _user() -> str:
    import pwd

    return pwd.getpwuid(os.getuid()).pw_name


def _end_masters(guarded: Guarded) -> None:
    for socket in guarded.sockets():
        argv = ["ssh", "-F", "none", "-o", f"ControlPath={socket}", "-O", "exit", "x"]
        subprocess.run(argv, capture_output=True, check=False)


def at_terminal(
    argv: Sequence[str],
    environment: Mapping[str, str],
    answers: Sequence[str] = (),
    *,
    hesitation: float = 0.0,
) -> tuple[int, str]:
    """Run a command on a terminal of its own, answer its prompts, and return code and screen.

    Before each answer the user hesitates for some seconds.
    """
    near, far = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _ON_TERMINAL, *argv],
        stdin=far, stdout=far, stderr=far, env=dict(environment), start_new_session=True,
    )  # fmt: skip
    os.close(far)
    screen, ahead, asked = "", list(answers), 0
    while True:
        ended = process.poll() is not None
        if select.select([near], [], [], 0.05)[0]:
            try:
                screen += os.read(near, 65536).decode()
            except OSError:  # the last one let go of the terminal
                break
        elif ended:
            break
        if screen.count(PROMPT) > asked and ahead:
            asked += 1
            time.sleep(hesitation)
            os.write(near, f"{ahead.pop(0)}\n".encode())
    os.close(near)
    return process.wait(), screen.replace("\r", "")
