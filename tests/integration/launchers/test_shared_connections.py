"""Runs and the user's own ssh: settings that count, connections that are shared, all with sshd."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.launchers.base import Command
from runtime.launchers.errors import (
    AuthenticationRefused,
    ConnectionLost,
    HostKeyUnknown,
    LoginNeeded,
    NoMoreSessions,
    StartTimeout,
    UnknownHost,
)
from runtime.launchers.hops import Hop
from runtime.launchers.lines import Collected
from runtime.launchers.local import LocalLauncher
from runtime.launchers.masters import Master
from runtime.launchers.ssh import SshLauncher
from runtime.testing.sshd import SSHD, Sshd, running_sshd
from tests.second_factor import Guarded, second_factor

pytestmark = pytest.mark.needs_sshd


class User:
    """A user with an ssh configuration of their own."""

    def __init__(self, folder: Path, host: Sshd) -> None:
        self.folder = folder
        self.host = host
        self.socket = folder / "own"

    def writes(self, *lines: str) -> None:
        """Write the configuration: how `lyon` is reached, and further lines."""
        known = [
            "Host lyon",
            "  HostName 127.0.0.1",
            f"  Port {self.host.port}",
            f"  IdentityFile {self.host.folder}/key",
            "  IdentitiesOnly yes",
            f"  UserKnownHostsFile {self.host.folder}/known",
        ]
        text = "\n".join([*(f"  {line}" for line in lines), ""])
        (self.folder / "config").write_text("\n".join([*known, text]))

    def run(self, local: LocalLauncher, hop: Hop | None = None) -> SshLauncher:
        """Return the way of a run to a host."""
        return SshLauncher([hop or Hop("lyon")], local, user_folder=self.folder)


@pytest.fixture(scope="module")
def host() -> Iterator[Sshd]:
    if SSHD is None:
        pytest.skip("no sshd is installed: apt-get install openssh-server")
    with (
        tempfile.TemporaryDirectory(prefix="gcm-") as folder,
        running_sshd(Path(folder), more=["MaxSessions 2\n"]) as server,
    ):
        yield server


@pytest.fixture
def user(host: Sshd) -> Iterator[User]:
    with tempfile.TemporaryDirectory(prefix="gcm-") as folder:  # short, as a home is
        yield User(Path(folder), host)


NO_KEY = "PubkeyAuthentication no"
"""With this line of a user nothing but a connection that is open already leads to the host."""


@pytest.fixture
def master(user: User) -> Iterator[Master]:
    """A shared connection where the user's own configuration has it."""
    user.writes(f"ControlPath {user.socket}")
    opened = Master([Hop("lyon")], user.folder)
    opened.open()
    yield opened
    opened.end()


def output_of(launcher: SshLauncher, *words: str) -> str:
    with launcher:
        said = Collected()
        assert launcher.start(Command(words), said).wait(20).ok
        return said.output


def test_the_users_settings_lead_to_a_host_but_for_those_that_would_break_a_run(
    local: LocalLauncher, user: User
) -> None:
    user.writes(
        "RemoteCommand tmux",
        "RequestTTY force",
        "PermitLocalCommand yes",
        "LocalCommand cat",
        f"LocalForward {user.host.port} localhost:1",
        "ExitOnForwardFailure yes",
    )
    assert output_of(user.run(local), "echo", "there") == "there\n"


def test_a_run_opens_no_connection_for_others(local: LocalLauncher, user: User) -> None:
    user.writes("ControlMaster auto", f"ControlPath {user.socket}", "ControlPersist yes")
    assert output_of(user.run(local), "echo", "there") == "there\n"
    assert not user.socket.exists()


def test_a_connection_that_is_open_is_used_and_left_alone(
    local: LocalLauncher, user: User, master: Master
) -> None:
    process = master.process()
    assert process is not None
    user.writes("ControlMaster auto", f"ControlPath {user.socket}", NO_KEY)
    assert output_of(user.run(local), "echo", "there") == "there\n"
    assert master.process() == process
    master.end()
    with user.run(local) as launcher, pytest.raises(AuthenticationRefused):
        launcher.ready(20)


def test_the_keys_of_the_users_agent_are_used(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    key = user.folder / "locked"
    key.write_bytes((user.host.folder / "key").read_bytes())
    key.chmod(0o600)
    socket = str(user.folder / "agent")
    with subprocess.Popen(
        ["ssh-agent", "-D", "-a", socket], stdout=subprocess.PIPE, text=True
    ) as agent:
        assert agent.stdout is not None
        agent.stdout.readline()
        monkeypatch.setenv("SSH_AUTH_SOCK", socket)
        subprocess.run(["ssh-add", "-q", str(key)], check=True)
        subprocess.run(
            ["ssh-keygen", "-q", "-p", "-N", "secret", "-f", str(key)],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        hop = Hop("127.0.0.1", port=user.host.port, key=key, known_hosts=user.host.folder / "known")
        with LocalLauncher() as local:
            assert output_of(user.run(local, hop), "echo", "there") == "there\n"
        agent.terminate()


def test_a_host_key_is_believed_as_by_hand(local: LocalLauncher, user: User) -> None:
    known = user.folder / "known"
    hop = Hop("lyon", known_hosts=known)
    user.writes()
    with user.run(local, hop) as launcher, pytest.raises(HostKeyUnknown):
        launcher.ready(20)
    user.writes("StrictHostKeyChecking accept-new")
    assert output_of(user.run(local, hop), "echo", "there") == "there\n"
    assert known.exists()


def test_one_session_too_many_is_told(local: LocalLauncher, user: User, master: Master) -> None:
    assert master.process()
    user.writes(f"ControlPath {user.socket}", NO_KEY)
    with ExitStack() as allowed:
        for _ in range(2):  # one after the other, since any of three at once may be refused
            allowed.enter_context(user.run(local)).ready(20)
        with user.run(local) as third, pytest.raises(NoMoreSessions) as fault:
            third.ready(20)
    assert str(fault.value).startswith(
        "lyon: the host allows no further session over the connection that is open"
    )
    assert "MaxSessions" in fault.value.cure


def test_a_connection_that_ends_during_a_run_is_told_and_nothing_stays(
    local: LocalLauncher,
    user: User,
    master: Master,
    wait_gone: Callable[[list[int], float], list[int]],
) -> None:
    holder = master.process()
    assert holder is not None
    with user.run(local) as launcher:
        guard = launcher.ready(20).guard
        process = launcher.start(Command(("sleep", "1000")))
        process.started(20)
        os.kill(holder, signal.SIGKILL)
        with pytest.raises(ConnectionLost, match="the connection ended") as fault:
            process.wait(20)
        assert process.pid is not None
        assert wait_gone([process.pid, guard], 20) == []
    assert "lyon" in str(fault.value)
    user.socket.unlink()


def test_a_socket_that_a_dead_connection_has_left_is_in_nobodys_way(
    local: LocalLauncher, user: User, master: Master
) -> None:
    holder = master.process()
    assert holder is not None
    os.kill(holder, signal.SIGKILL)
    assert output_of(user.run(local), "echo", "there") == "there\n"
    assert user.socket.exists(), "a run removes nothing of the user's"
    user.socket.unlink()


def test_a_connection_that_hangs_is_named(local: LocalLauncher, user: User, master: Master) -> None:
    holder = master.process()
    assert holder is not None
    os.kill(holder, signal.SIGSTOP)
    try:
        way = SshLauncher([Hop("lyon")], local, user_folder=user.folder, timeout=3)
        with way as launcher, pytest.raises(StartTimeout) as fault:
            launcher.ready(20)
        assert fault.value.cause.endswith(
            f"the shared connection {user.socket} does not answer; end its process"
        )
    finally:
        os.kill(holder, signal.SIGCONT)


def test_the_users_own_jump_host_leads_on(local: LocalLauncher, user: User) -> None:
    user.writes()
    known = (user.folder / "config").read_text()
    gate, behind = known.replace("Host lyon", "Host gate"), f"{known}  ProxyJump gate\n"
    (user.folder / "config").write_text(f"{gate}\n{behind}")
    assert output_of(user.run(local), "echo", "there") == "there\n"
    (user.folder / "config").write_text(f"{gate.replace('127.0.0.1', 'no.such.host')}\n{behind}")
    with user.run(local) as launcher, pytest.raises(UnknownHost):
        launcher.ready(20)


def test_a_certificate_and_a_banner_work_as_by_hand(local: LocalLauncher) -> None:
    with tempfile.TemporaryDirectory(prefix="gcm-") as name:
        folder = Path(name)
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f"]
        subprocess.run([*make, str(folder / "ca")], check=True)
        subprocess.run([*make, str(folder / "mine")], check=True)
        account = pwd.getpwuid(os.getuid()).pw_name
        subprocess.run(
            ["ssh-keygen", "-q", "-s", str(folder / "ca"), "-I", "ana", "-n", account,
             "-V", "+1h", str(folder / "mine.pub")],
            check=True,
        )  # fmt: skip
        (folder / "banner").write_text("Authorized users only.\n")
        more = [f"TrustedUserCAKeys {folder}/ca.pub\n", f"Banner {folder}/banner\n"]
        with running_sshd(folder, more=more) as server:
            hop = Hop("127.0.0.1", port=server.port, known_hosts=server.folder / "known")
            without = SshLauncher([hop], local, user_folder=None)
            with without as launcher, pytest.raises(AuthenticationRefused):
                launcher.ready(20)
            mine = replace(hop, key=folder / "mine")  # beside it is mine-cert.pub
            assert output_of(SshLauncher([mine], local, user_folder=None), "echo", "in") == "in\n"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Guarded]:
    with second_factor() as host:
        yield host


@pytest.mark.needs_root
@pytest.mark.needs_oath
def test_without_an_open_connection_a_run_says_what_to_type(
    local: LocalLauncher, guarded: Guarded
) -> None:
    way = SshLauncher([Hop("lyon")], local, user_folder=guarded.home / ".ssh")
    with way as launcher, pytest.raises(LoginNeeded) as fault:
        launcher.ready(20)
    user = fault.value.cause.rpartition("\n")[2].partition("@")[0]
    head, _, said = str(fault.value).partition("\n")
    assert (head[:6], head.rpartition(": ")[2]) == ("lyon: ", "gcm-deploy login lyon")
    assert said == (
        "    Authorized users only.\n"
        f"    {user}@127.0.0.1: Permission denied (keyboard-interactive)."
    )
