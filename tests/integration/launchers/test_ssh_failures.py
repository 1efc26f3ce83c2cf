"""Everything a way over ssh can do to us, done by a real sshd."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest

from runtime.launchers import family
from runtime.launchers.base import Command
from runtime.launchers.errors import (
    AuthenticationRefused,
    BadHop,
    ConnectionLost,
    ConnectionRefused,
    HostKeyChanged,
    HostKeyUnknown,
    LauncherClosed,
    LaunchError,
    MissingSsh,
    PythonMissing,
    PythonTooOld,
    SshFailed,
    StagingFailed,
    StartTimeout,
    StillRunning,
    UnknownHost,
)
from runtime.launchers.hops import Hop
from runtime.launchers.lines import Collected
from runtime.launchers.local import LocalLauncher
from runtime.launchers.ssh import SshLauncher

pytestmark = pytest.mark.needs_sshd


class Server(Protocol):
    """The sshd of conftest."""

    folder: Path

    def hop(self, name: str = "plain") -> Hop: ...


def fault_of(launcher: SshLauncher) -> LaunchError:
    """Return the error with which a way fails; every caller hears the same."""
    with launcher:
        with pytest.raises(LaunchError) as first:  # at once, where the way has failed by then
            launcher.start(Command(("true",))).wait(30)
        with pytest.raises(type(first.value)):
            launcher.ready(30)
        with pytest.raises(type(first.value)):
            launcher.make_folder(timeout=30)
    return first.value


def way(local: LocalLauncher, *hops: Hop, python: str = "", timeout: float = 30.0) -> SshLauncher:
    return SshLauncher(hops, local, user_folder=None, python=python, timeout=timeout)


def test_a_login_shell_may_talk_before_us(local: LocalLauncher, sshd: Server) -> None:
    with way(local, sshd.hop("banner")) as launcher:
        sink = Collected()
        assert launcher.start(Command(("echo", "ours")), sink).wait(20).ok
        assert (sink.output, sink.error) == ("ours\n", "")


def test_a_changed_host_key_is_named_with_the_file_that_knows_another(
    local: LocalLauncher, sshd: Server, tmp_path: Path
) -> None:
    known = tmp_path / "known"
    public = (sshd.folder / "key.pub").read_text()
    known.write_text(f"[127.0.0.1]:{sshd.hop().port} {public}")
    for accept_new in (False, True):
        fault = fault_of(way(local, replace(sshd.hop(), known_hosts=known, accept_new=accept_new)))
        assert type(fault) is HostKeyChanged
        assert "shows another key than the one it is known by" in fault.what
        assert str(known) in fault.cause


def test_an_unknown_host_key_is_refused_unless_new_hosts_are_accepted(
    local: LocalLauncher, sshd: Server, tmp_path: Path
) -> None:
    stranger = replace(sshd.hop(), known_hosts=tmp_path / "known")
    fault = fault_of(way(local, stranger))
    assert type(fault) is HostKeyUnknown
    with way(local, replace(stranger, accept_new=True)) as launcher:
        launcher.ready(20)
    with way(local, stranger) as launcher:
        launcher.ready(20)


def test_a_key_the_host_does_not_know_is_refused(local: LocalLauncher, sshd: Server) -> None:
    wrong = sshd.folder / "host"
    fault = fault_of(way(local, replace(sshd.hop(), key=wrong)))
    assert type(fault) is AuthenticationRefused
    assert fault.place == f"127.0.0.1:{sshd.hop().port}"
    assert "Permission denied (publickey,password)" in fault.cause


def test_nobody_is_asked_for_a_password(
    local: LocalLauncher, sshd: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    program = tmp_path / "askpass"
    program.write_text(f"#!/bin/sh\ntouch {asked}\necho wrong\n")
    program.chmod(0o755)
    monkeypatch.setenv("SSH_ASKPASS", str(program))
    monkeypatch.setenv("SSH_ASKPASS_REQUIRE", "force")
    with LocalLauncher() as inheriting:
        fault = fault_of(way(inheriting, replace(sshd.hop(), user="nobody")))
    assert type(fault) is AuthenticationRefused
    assert "passwords are never asked for" in fault.cure
    assert not asked.exists()


def test_an_unknown_host_is_named(local: LocalLauncher) -> None:
    fault = fault_of(way(local, Hop("no-such-host.invalid")))
    assert type(fault) is UnknownHost
    assert str(fault).startswith("no-such-host.invalid: no address was found for the name. Check")


def test_a_closed_port_is_named(local: LocalLauncher, sshd: Server, unused_port: int) -> None:
    fault = fault_of(way(local, replace(sshd.hop(), port=unused_port)))
    assert type(fault) is ConnectionRefused
    assert fault.place == f"127.0.0.1:{unused_port}"


def test_a_broken_jump_host_is_told_with_the_whole_way(
    local: LocalLauncher, sshd: Server, unused_port: int
) -> None:
    jump = replace(sshd.hop(), port=unused_port)
    fault = fault_of(way(local, jump, sshd.hop()))
    assert type(fault) is ConnectionRefused
    assert fault.place == f"127.0.0.1:{unused_port} -> 127.0.0.1:{sshd.hop().port}"


def test_an_old_python_is_named_with_its_version(local: LocalLauncher, sshd: Server) -> None:
    fault = fault_of(way(local, sshd.hop("old_python")))
    assert type(fault) is PythonTooOld
    assert "too old (python3: Python 3.6.15)" in fault.what
    assert "3.11" in fault.cure


def test_a_missing_python_is_told(local: LocalLauncher, sshd: Server) -> None:
    assert type(fault_of(way(local, sshd.hop("no_python")))) is PythonMissing
    fault = fault_of(way(local, sshd.hop(), python="/no/such/python3"))
    assert type(fault) is PythonMissing
    assert fault.cause.startswith("/no/such/python3: gcm: ")
    assert "exec(" not in fault.cause


def test_a_named_python_is_used(local: LocalLauncher, sshd: Server) -> None:
    with way(local, sshd.hop("no_python"), python=sys.executable) as launcher:
        assert launcher.ready(20).python == sys.executable


def test_a_host_that_never_answers_is_given_up_in_time(local: LocalLauncher, sshd: Server) -> None:
    fault = fault_of(way(local, sshd.hop("silent"), timeout=1.0))
    assert type(fault) is StartTimeout
    assert "no answer within 1 s" in fault.what


def test_a_host_without_logins_is_quoted(local: LocalLauncher, sshd: Server) -> None:
    fault = fault_of(way(local, sshd.hop("no_login")))
    assert type(fault) is SshFailed
    assert "ended with exit code 1" in fault.what
    assert fault.cause == "No logins today."


def test_a_missing_ssh_client_is_told(local: LocalLauncher) -> None:
    fault = fault_of(SshLauncher([Hop("x")], local, user_folder=None, ssh="no-such-ssh"))
    assert type(fault) is MissingSsh
    assert "'no-such-ssh' was not found" in fault.what


def test_a_full_disk_while_staging_is_told(
    local: LocalLauncher, sshd: Server, tmp_path: Path
) -> None:
    big = tmp_path / "big"
    big.write_bytes(bytes(5_000_000))
    with way(local, sshd.hop("small_disk")) as launcher:
        folder = launcher.make_folder()
        with pytest.raises(StagingFailed, match=r"could not be written to .*Make room") as fault:
            launcher.stage({"big": big}, folder)
        assert "File too large" in fault.value.cause
        assert launcher.start(Command(("true",))).wait(20).ok


@pytest.mark.needs_root
@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount a small file system")
def test_no_space_left_while_staging_is_told(local: LocalLauncher, tmp_path: Path) -> None:
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mount.returncode != 0:
        pytest.skip(f"root may not mount here: {mount.stderr}")
    try:
        folder = local.make_folder(str(tmp_path))
        with pytest.raises(StagingFailed) as fault:
            local.stage({"big": bytes(1_000_000)}, folder)
        assert "No space left on device" in fault.value.cause
        local.remove_folder(folder)
        local.make_folder()  # answered only after the removal
        assert list(tmp_path.iterdir()) == []
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_connection_that_breaks_is_told_and_the_far_end_is_cleaned(
    local: LocalLauncher, sshd: Server, wait_gone: Callable[[list[int], float], list[int]]
) -> None:
    with way(local, sshd.hop()) as launcher:
        guard = launcher.ready(20).guard
        folder = Path(launcher.make_folder())
        process = launcher.start(Command(("sleep", "1000")))
        process.started(20)
        session = family.processes()[guard][0]  # the sshd process of this connection
        os.kill(session, signal.SIGKILL)
        with pytest.raises(ConnectionLost, match="the connection ended"):
            process.wait(10)
        with pytest.raises(ConnectionLost):
            launcher.start(Command(("true",)))
        assert process.pid is not None
        assert wait_gone([process.pid, guard], 20) == []
        assert not folder.exists()


def test_a_far_end_that_hears_nothing_any_more_ends_by_itself(
    local: LocalLauncher, sshd: Server, wait_gone: Callable[[list[int], float], list[int]]
) -> None:
    with SshLauncher([sshd.hop()], local, user_folder=None, lease=4.0) as launcher:
        guard = launcher.ready(20).guard
        process = launcher.start(Command(("sleep", "1000")))
        process.started(20)
        with pytest.raises(StillRunning):  # as long as it hears from us it goes on
            process.wait(6)
        session = family.processes()[guard][0]
        os.kill(session, signal.SIGSTOP)  # the network swallows everything from now on
        try:
            assert process.pid is not None
            assert wait_gone([process.pid, guard], 20) == []
        finally:
            os.kill(session, signal.SIGCONT)
        with pytest.raises(
            ConnectionLost, match="nothing was heard from the launcher for 4 s"
        ) as lost:
            process.wait(10)
        assert "Traceback" not in str(lost.value)


STOPPED = """
import sys
from pathlib import Path
from runtime.launchers.base import Command
from runtime.launchers.hops import Hop
from runtime.launchers.lines import Collected
from runtime.launchers.local import LocalLauncher
from runtime.launchers.ssh import SshLauncher

port, folder = int(sys.argv[1]), Path(sys.argv[2])
hop = Hop("127.0.0.1", port=port, key=folder / "key", known_hosts=folder / "known")
with LocalLauncher() as local, SshLauncher([hop], local, user_folder=None, lease=1.0) as far:
    said = Collected()
    # so much that the pipes to a launcher that is stopped are full
    process = far.start(Command(("sh", "-c", "head -c 3000000 /dev/zero; sleep 4; echo on")), said)
    process.started(20)
    print("started", flush=True)
    print(process.wait(30), len(said.output), said.output[-3:], flush=True)
"""


def test_a_launcher_that_is_stopped_for_a_while_loses_nothing(sshd: Server) -> None:
    port = str(sshd.hop().port)
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED, port, str(sshd.folder)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGSTOP)
        time.sleep(3.0)  # three times as long as the far end waits for a word
        process.send_signal(signal.SIGCONT)
        assert process.stdout.read() == "exit code 0 3000003 on\n\n"


def test_a_local_launcher_that_closes_takes_its_connections_along(
    local: LocalLauncher, sshd: Server
) -> None:
    launcher = way(local, sshd.hop())
    process = launcher.start(Command(("sleep", "1000")))
    process.started(20)
    local.close()
    with pytest.raises(LauncherClosed):
        process.wait(5)
    launcher.close()


def test_nothing_of_a_connection_stays_after_closing(
    sshd: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with LocalLauncher() as local, way(local, sshd.hop()) as launcher:
        launcher.ready(20)
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert [(one.name, one.stat().st_mode & 0o777) for one in folder.iterdir()] == [
            ("config", 0o600)
        ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("host", ["-oProxyCommand=x", "a b", "a\nHost b", "", "a;b", "$(x)"])
def test_a_host_that_ssh_could_misread_is_refused(host: str) -> None:
    with pytest.raises(BadHop, match="cannot be the name of a host"):
        Hop(host)


def test_other_parts_of_a_hop_are_checked_too() -> None:
    with pytest.raises(BadHop, match="name of a user"):
        Hop("a", user="-l")
    with pytest.raises(BadHop, match="no port 0"):
        Hop("a", port=0)
    with pytest.raises(BadHop, match="no port 65536"):
        Hop("a", port=65536)
    with pytest.raises(BadHop, match="cannot be given the path"):
        Hop("a", key=Path('a"b'))
    with pytest.raises(BadHop, match="cannot be given the setting 'SendEnv'"):
        Hop("a", settings=(("SendEnv", "A\nHost b"),))


def test_further_settings_of_a_hop_count(local: LocalLauncher, sshd: Server) -> None:
    hop = sshd.hop()
    for address, works in (("inet", True), ("inet6", False)):
        set_so = replace(hop, settings=(("AddressFamily", address),))
        with way(local, set_so) as launcher:
            if works:
                assert launcher.ready().user == os.getuid()
            else:
                assert "127.0.0.1" in str(fault_of(launcher))
