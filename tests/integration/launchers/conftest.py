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
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from runtime.launchers import bootstrap
from runtime.launchers.hops import Hop
from runtime.launchers.local import LocalLauncher
from runtime.launchers.peer import Here, PeerLauncher, Stored
from runtime.launchers.session import GuardSession
from runtime.launchers.ssh import SshLauncher
from tests.mpi_homes import PACKAGES, MpiHome, mpi_homes  # noqa: F401 - a fixture

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
PORTS = (
    "plain", "jump", "banner", "modules", "old_python", "no_python", "silent", "no_login",
    "small_disk",
)  # fmt: skip

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
CONFIG = """\
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication yes
KbdInteractiveAuthentication no
PrintMotd no
PrintLastLog no
MaxStartups 100
SetEnv PATH={path}
"""


@dataclass(frozen=True)
class Sshd:
    """A running sshd: its ports by purpose and what a client needs."""

    folder: Path
    ports: dict[str, int]

    def hop(self, name: str = "plain") -> Hop:
        return Hop(
            "127.0.0.1",
            port=self.ports[name],
            key=self.folder / "key",
            known_hosts=self.folder / "known_hosts",
        )


def generate_key(path: Path) -> str:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(path)], check=True
    )
    return path.with_suffix(".pub").read_text()


def write_script(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def prepare(folder: Path, ports: dict[str, int]) -> Path:
    """Write keys, scripts and configuration, and return the latter."""
    generate_key(folder / "key")
    public = generate_key(folder / "host_key")
    with (folder / "known_hosts").open("w") as known:
        for port in ports.values():
            known.write(f"[127.0.0.1]:{port} {public}")
    write_script(folder / "old" / "python3", OLD_PYTHON)
    write_script(folder / "home" / ".profile", PROFILE)
    tools = folder / "tools"
    tools.mkdir()
    for tool in ("head", "sh"):
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    forced = {
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
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    text = "".join(f"Port {port}\n" for port in ports.values())
    text += CONFIG.format(folder=folder, path=path)
    text += "".join(
        f"Match LocalPort {ports[name]}\n  ForceCommand {script}\n"
        for name, script in forced.items()
    )
    config = folder / "sshd_config"
    config.write_text(text)
    return config


@pytest.fixture(scope="session", autouse=True)
def running_sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd | None]:
    """An sshd of the current user, with its own keys, on free ports; None where there is none.

    Started before the first test, because no test may leave a process behind.
    """
    if SSHD is None:
        yield None
        return
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    folder = tmp_path_factory.mktemp("sshd")
    ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    config = prepare(folder, ports)
    process = subprocess.Popen(
        [SSHD, "-D", "-e", "-f", str(config)], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:  # it says so for every port once it listens there
        if f"port {ports[PORTS[-1]]}" in line:
            break
    else:
        pytest.fail(f"sshd did not start on {config.read_text()}")
    with process:
        yield Sshd(folder, ports)
        process.terminate()


@pytest.fixture
def sshd(running_sshd: Sshd | None) -> Sshd:
    if running_sshd is None:
        pytest.skip("no sshd is installed: apt-get install openssh-server")
    return running_sshd


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


def open_way(way: str, local: LocalLauncher, server: Sshd | None) -> GuardSession:
    if way == "local":
        return LocalLauncher()
    if way == "peer":
        return JoinedGuard()
    if server is None:
        pytest.skip("no sshd is installed: apt-get install openssh-server")
    hops = [server.hop()] if way == "ssh" else [server.hop("jump"), server.hop()]
    return SshLauncher(hops, local, user_folder=None)


@pytest.fixture(scope="module", params=WAYS)
def launcher(request: pytest.FixtureRequest, running_sshd: Sshd | None) -> Iterator[GuardSession]:
    """Every kind of launcher in turn, shared by the tests of a module."""
    with LocalLauncher() as local, open_way(request.param, local, running_sshd) as opened:
        opened.ready()  # else what it starts may seem to be left behind by the first test
        yield opened


@pytest.fixture(params=WAYS[:3])
def own_launcher(
    request: pytest.FixtureRequest, running_sshd: Sshd | None, local: LocalLauncher
) -> Iterator[GuardSession]:
    """A near and a far launcher in turn, for a test that closes it."""
    with open_way(request.param, local, running_sshd) as opened:
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
