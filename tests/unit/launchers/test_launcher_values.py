from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from runtime.errors import GridError
from runtime.launchers import errors
from runtime.launchers.base import Command, Exit
from runtime.launchers.command import FOUND, no_python
from runtime.launchers.hops import (
    NEEDED,
    Hop,
    aliases,
    configuration,
    fault_of_folder,
    own_socket,
)
from runtime.launchers.mpiexec import mpi_command
from runtime.launchers.ssh_faults import diagnose
from runtime.native_mpi import MPICH, MpiWorld


def test_every_error_is_a_grid_error() -> None:
    own = [one for one in vars(errors).values() if isinstance(one, type)]
    assert len(own) > 20
    assert all(issubclass(one, GridError) for one in own)


@pytest.mark.parametrize(
    ("how", "words", "code"),
    [
        (Exit(code=0), "exit code 0", 0),
        (Exit(code=3), "exit code 3", 3),
        (Exit(signal=15), "killed by SIGTERM", 143),
        (Exit(signal=63), "killed by signal 63", 191),
    ],
)
def test_an_exit_says_how_in_words_and_as_a_shell_would(how: Exit, words: str, code: int) -> None:
    assert str(how) == words
    assert how.shell_code == code
    assert how.ok is (code == 0)


def test_a_command_that_cannot_be_started_anywhere_is_refused() -> None:
    with pytest.raises(ValueError, match="at least the name"):
        Command(())
    with pytest.raises(ValueError, match="at least the name"):
        Command(("",))
    with pytest.raises(ValueError, match="a list of words, not one text: 'ls -l'"):
        Command("ls -l")
    for bad in (Command, lambda argv: Command(("a",), {"A": argv[0]})):
        with pytest.raises(ValueError, match="NUL character"):
            bad(("a\0b",))
    for name in ("", "A=B"):
        with pytest.raises(ValueError, match="name of an environment variable"):
            Command(("a",), {name: "x"})


def test_a_secret_does_not_show_in_a_representation() -> None:
    assert "hush" not in repr(Command(("a",), first_input=b"hush"))
    told = mpi_command(MpiWorld(("a",), 1), MPICH, first_input=b"hush")
    assert told.first_input == b"hush"
    assert "hush" not in repr(told)


def test_hops_are_called_by_their_names_unless_two_are_the_same() -> None:
    assert aliases([Hop("a"), Hop("b")]) == ["a", "b"]
    assert aliases([Hop("a"), Hop("b"), Hop("a", port=1)]) == ["gcm-hop-1-a", "b", "gcm-hop-3-a"]


def test_a_configuration_says_everything_about_every_hop() -> None:
    text = configuration(
        [
            Hop("a", "me", 22, Path("/k e%y"), Path("/known")),
            Hop("a", accept_new=True),
        ],
        [Path("/home/me/.ssh/config"), Path("/etc/ssh/ssh_config")],
        NEEDED,
        "  ConnectTimeout 7\n",
    )
    first, second, rest = text.split("Host ", 3)[1:]
    assert first.splitlines() == [
        "gcm-hop-1-a",
        "  HostName a",
        "  User me",
        "  Port 22",
        '  IdentityFile "/k e%%y"',
        "  IdentitiesOnly yes",
        '  UserKnownHostsFile "/known"',
        "  GlobalKnownHostsFile none",
    ]
    assert second.splitlines() == [
        "gcm-hop-2-a",
        "  HostName a",
        "  StrictHostKeyChecking accept-new",
        "  ProxyJump gcm-hop-1-a",
    ]
    assert rest == (
        f"*\n{NEEDED}"
        'Match all\nInclude "/home/me/.ssh/config"\n'
        'Match all\nInclude "/etc/ssh/ssh_config"\n'
        "Match all\n  ConnectTimeout 7\n"
    )


def test_shared_connections_are_in_a_folder_that_only_the_user_can_write_to(
    tmp_path: Path,
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="gcm-"))
    try:
        assert own_socket(folder) == f'  ControlPath "{folder}/gcm-%C"\n'
        folder.chmod(0o770)
        assert own_socket(folder) == ""
        assert fault_of_folder(folder) == f"{folder} is not a folder that only you can write to"
    finally:
        folder.rmdir()
    assert fault_of_folder(folder) == f"{folder}: No such file or directory"
    long = tmp_path / ("x" * 60)
    long.mkdir(0o700)
    assert fault_of_folder(long).startswith(f"{long} is too long for the path of a socket")


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @", errors.HostKeyChanged),
        ("Host key verification failed.", errors.HostKeyUnknown),
        ("ssh: Could not resolve hostname x: Name or service not known", errors.UnknownHost),
        ("me@x: Permission denied (publickey).", errors.AuthenticationRefused),
        ("me@x: Permission denied (publickey,password).", errors.AuthenticationRefused),
        ("me@x: Permission denied (keyboard-interactive).", errors.LoginNeeded),
        ("me@x: Permission denied (gssapi-with-mic,password).", errors.LoginNeeded),
        (
            "Control socket connect(/a): Connection refused\nssh: connect to host x port 1:"
            " Connection timed out",
            errors.HostUnreachable,
        ),
        (
            "mux_client_request_session: session request failed: Session open refused by peer\n"
            "me@x: Permission denied (keyboard-interactive).",
            errors.NoMoreSessions,
        ),
        ("ssh: connect to host x port 1: Connection refused", errors.ConnectionRefused),
        ("ssh: connect to host x port 1: Connection timed out", errors.HostUnreachable),
        ("ssh: connect to host x port 1: No route to host", errors.HostUnreachable),
        ("kex_exchange_identification: read: Connection reset by peer", errors.ConnectionRefused),
        ("something new", errors.SshFailed),
    ],
)
def test_the_words_of_ssh_are_understood(said: str, error: type[GridError]) -> None:
    fault = diagnose("me@x", Exit(code=255), ["noise", *said.split("\n")])
    assert type(fault) is error
    assert (fault.place, fault.cause) == ("me@x", f"noise\n{said}")
    assert fault.cure


def test_an_ssh_that_was_killed_is_named_as_that() -> None:
    fault = diagnose("me@x", Exit(signal=9), [])
    assert fault.what == "ssh was killed by SIGKILL before anything could be started"


def test_a_way_ends_with_the_words_about_its_first_broken_hop() -> None:
    said = "ssh: Could not resolve hostname gate: Name or service not known"
    fault = diagnose("me@x", Exit(code=255), [said, "Connection closed by UNKNOWN port 65535"])
    assert (type(fault), fault.cause) == (errors.UnknownHost, said)
    known = "No ED25519 host key is known for gate and you have requested strict checking."
    closed = "kex_exchange_identification: Connection closed by remote host"
    fault = diagnose(
        "x", Exit(code=255), [known, closed, "Connection closed by UNKNOWN port 65535"]
    )
    assert (type(fault), fault.cause) == (errors.HostKeyUnknown, known)


def test_the_newest_words_about_python_are_understood() -> None:
    said = [f"{FOUND} python3: Python 3.9.2", f"{FOUND} python3.11: sh: not found", "x"]
    fault = no_python("x", said)
    assert type(fault) is errors.PythonTooOld
    assert "too old (python3: Python 3.9.2)" in fault.what
    fault = no_python("x", said[1:])
    assert type(fault) is errors.PythonMissing
    assert fault.cause == "python3.11: sh: not found"
