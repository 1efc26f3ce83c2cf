"""Real places to start processes: this machine, and an sshd of our own on free ports."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from runtime.launchers import bootstrap
from runtime.launchers.hops import Hop
from runtime.launchers.local import LocalLauncher
from runtime.launchers.peer import Here, PeerLauncher, Stored
from runtime.launchers.session import GuardSession
from runtime.launchers.ssh import SshLauncher
from runtime.testing.sshd import SSHD, Sshd, free_ports, running_sshd
from tests.mpi_homes import PACKAGES, MpiHome, mpi_homes  # noqa: F401 - a fixture

# What a login shell may do before it comes to the command it was given.
BANNER = """#!/bin/sh
echo "Welcome to this machine!"
printf 'no newline at the end of the banner'
echo "a word on stderr" >&2
exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"
"""
# A site whose login shells have modules, of which there is one.
MODULES = """#!/bin/sh
HOME={folder}/home exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"
"""
PROFILE = """\
echo "Welcome to modules!"
module() {
    if test "$2" = openmpi/5; then export WITH_MPI=5; return; fi
    echo "Lmod has detected the following error: $2 is unknown" >&2
    return 1
}
"""
WITH_PATH = """#!/bin/sh
PATH={path} exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"
"""
SMALL_DISK = """#!/bin/sh
ulimit -f 100
exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"
"""
OLD_PYTHON = """#!/bin/sh
test "$1" = -V && echo "Python 3.6.15"
exit 1
"""
LOGIN = (
    "PasswordAuthentication yes\n",
    "KbdInteractiveAuthentication no\n",
    "PrintMotd no\n",
    "PrintLastLog no\n",
)
"""Lines of the configuration: who has no key is asked for a password."""


@dataclass(frozen=True)
class Doors:
    """The ports of an sshd, by what one finds behind them."""

    server: Sshd

    @property
    def folder(self) -> Path:
        return self.server.folder

    @property
    def ports(self) -> dict[str, int]:
        return {"plain": self.server.port, **self.server.ports}

    def hop(self, name: str = "plain") -> Hop:
        return Hop(
            self.server.address,
            port=self.ports[name],
            key=self.folder / "key",
            known_hosts=self.folder / "known",
        )


def write_script(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def scripts(folder: Path) -> dict[str, Path | None]:
    """Write what runs behind each further door."""
    write_script(folder / "old" / "python3", OLD_PYTHON)
    write_script(folder / "home" / ".profile", PROFILE)
    tools = folder / "tools"
    tools.mkdir()
    for tool in ("head", "sh"):
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    return {
        "jump": None,
        "banner": write_script(folder / "banner.sh", BANNER),
        "modules": write_script(folder / "modules.sh", MODULES.format(folder=folder)),
        "old_python": write_script(
            folder / "old.sh", WITH_PATH.format(path=f"{folder}/old:{tools}")
        ),
        "no_python": write_script(folder / "none.sh", WITH_PATH.format(path=tools)),
        "silent": write_script(folder / "silent.sh", "#!/bin/sh\nexec sleep 1000\n"),
        "small_disk": write_script(folder / "small.sh", SMALL_DISK),
        "no_login": write_script(folder / "no.sh", "#!/bin/sh\necho No logins today.\nexit 1\n"),
    }


@pytest.fixture(scope="session", autouse=True)
def opened_doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors | None]:
    """An sshd of the current user, with its own keys, on free ports; None where there is none.

    Started before the first test, because no test may leave a process behind.
    """
    if SSHD is None:
        yield None
        return
    folder = tmp_path_factory.mktemp("sshd")
    with running_sshd(folder, more=LOGIN, forced=scripts(folder)) as server:
        yield Doors(server)


@pytest.fixture
def sshd(opened_doors: Doors | None) -> Doors:
    if opened_doors is None:
        pytest.skip("no sshd is installed: apt-get install openssh-server")
    return opened_doors


@pytest.fixture
def local() -> Iterator[LocalLauncher]:
    with LocalLauncher() as launcher:
        yield launcher


WAYS = ("local", "ssh", "peer", "ssh-jump")


class JoinedGuard(PeerLauncher):
    """A launcher on a peer, with what the daemon of the peer does: start a guard, and reap it."""

    def __init__(self, stored: Stored = lambda _: "", here: Here = lambda files: files) -> None:
        self._guards: list[subprocess.Popen[bytes]] = []
        super().__init__(self._start_guard, place="peer", stored=stored, here=here)

    def _start_guard(self, size: int, marker: tuple[str, str]) -> tuple[socket.socket, str]:
        near, far = socket.socketpair()
        argv = bootstrap.far_argv(sys.executable, size, marker)
        with far:
            guard = subprocess.Popen(
                argv, stdin=far.fileno(), stdout=far.fileno(), start_new_session=True
            )
        self._guards.append(guard)
        return near, ""

    def close(self) -> None:
        super().close()
        for guard in self._guards:
            guard.wait(5)


def open_way(way: str, local: LocalLauncher, server: Doors | None) -> GuardSession:
    if way == "local":
        return LocalLauncher()
    if way == "peer":
        return JoinedGuard()
    if server is None:
        pytest.skip("no sshd is installed: apt-get install openssh-server")
    hops = [server.hop()] if way == "ssh" else [server.hop("jump"), server.hop()]
    return SshLauncher(hops, local, user_folder=None)


@pytest.fixture(scope="module", params=WAYS)
def launcher(request: pytest.FixtureRequest, opened_doors: Doors | None) -> Iterator[GuardSession]:
    """Every kind of launcher in turn, shared by the tests of a module."""
    with LocalLauncher() as local, open_way(request.param, local, opened_doors) as opened:
        opened.ready()  # else what it starts may seem to be left behind by the first test
        yield opened


@pytest.fixture(params=WAYS[:3])
def own_launcher(
    request: pytest.FixtureRequest, opened_doors: Doors | None, local: LocalLauncher
) -> Iterator[GuardSession]:
    """A near and a far launcher in turn, for a test that closes it."""
    with open_way(request.param, local, opened_doors) as opened:
        yield opened


@pytest.fixture
def unused_port() -> int:
    return free_ports(1)[0]


@pytest.fixture
def wait_gone() -> Callable[[list[int], float], list[int]]:
    """Wait until processes have ended and return those that have not."""

    def wait(pids: list[int], seconds: float) -> list[int]:
        deadline = time.monotonic() + seconds
        left = []
        for pid in pids:
            with suppress(ProcessLookupError):
                descriptor = os.pidfd_open(pid)
                poll = select.poll()
                poll.register(descriptor, select.POLLIN)
                if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                    left.append(pid)
                os.close(descriptor)
        return left

    return wait


@pytest.fixture(params=list(PACKAGES))
def mpi(
    request: pytest.FixtureRequest,
    mpi_homes: dict[str, MpiHome | str],  # noqa: F811 - the fixture
) -> MpiHome:
    """Each MPI in turn."""
    home = mpi_homes[request.param]
    if isinstance(home, str):
        pytest.skip(home)
    return home
