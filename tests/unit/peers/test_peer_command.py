"""`gcm-peer`: what it prints, its exit codes, and its help."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.cli import peer_main as main
from runtime.cli.peer import GCM_PEER
from runtime.peers.commands.daemon_actions import _status_text
from runtime.peers.configuration.folder import PeerFolder
from runtime.peers.daemon.running import RunningFile
from runtime.peers.model import Address

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs a command line in a folder of its own."""
    monkeypatch.setenv("GCM_FOLDER", str(tmp_path / ".gcm"))
    monkeypatch.delenv("GCM_PEER_FOLDER", raising=False)
    monkeypatch.delenv("GCM_CREDENTIAL", raising=False)
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        try:
            code = main(words)
        except SystemExit as ended:
            code = int(ended.code or 0)
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


@pytest.fixture
def lab(run: Run) -> Run:
    """Return the same where there is a lab."""
    assert run("lab", "create", "ourlab", "--supernode", "lab1")[0] == 0
    return run


@pytest.mark.parametrize("command", ["halt", "status", "hosts"])
def test_where_no_daemon_runs_the_exit_code_says_so(run: Run, command: str, tmp_path: Path) -> None:
    code, _, told = run(command)
    assert code == 3
    assert command == "hosts" or told == f"no daemon runs in {tmp_path}/.gcm/peer\n"


def test_who_means_the_other_daemon_of_this_machine_is_told_the_option(
    run: Run, tmp_path: Path
) -> None:
    running = RunningFile(PeerFolder.of("", is_supernode=True))
    try:
        running.write(Address("127.0.0.1", 7700))
        code, _, told = run("halt")
    finally:
        running.close()
    here = f"{tmp_path}/.gcm"
    assert (code, told) == (
        3,
        f"no daemon runs in {here}/peer; one does in {here}/supernode: say the same with"
        " --supernode\n",
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["bot"], "did you mean 'boot'?"),
        (["boot", "--credentail", "x"], "did you mean '--credential'?"),
        (["lab", "invite", "alice"], "one of the arguments --user --peer --supernode is required"),
        (["lab", "invite", "alice", "--user", "--days", "0"], "'0' is not 1 to 3650 days"),
        ([], "required: COMMAND"),
    ],
)
def test_a_wrong_command_line_is_told(run: Run, words: list[str], told: str) -> None:
    code, _, error = run(*words)
    assert (code, told in error) == (2, True), error


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["boot"], "/peer/credential: the credential cannot be read. The lab's keeper makes one"),
        (["lab", "invite", "alice", "--user"], "there is no lab. Make one with: gcm-peer"),
        (["lab", "create", "../x"], "'../x' cannot be the name of a lab"),
        (["lab", "create", "x", "--supernode", "a:b"], "'a:b' is not an address"),
        (["lab", "join", "nothing"], "nothing: the credential cannot be read"),
        (["status", "lab1"], "/.gcm/credential: the credential cannot be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told_with_a_cure(run: Run, words: list[str], told: str) -> None:
    code, _, error = run(*words)
    assert (code, told in error) == (1, True), error


def test_credentials_are_written_and_put_where_they_belong(lab: Run, tmp_path: Path) -> None:
    for name, role, place in (
        ("alice", "user", "credential"),
        ("desk7", "peer", "peer/credential"),
        ("lab1", "supernode", "supernode/credential"),
    ):
        assert lab("lab", "invite", name, f"--{role}")[0] == 0
        assert lab("lab", "join", f"{name}.credential")[0] == 0
        joined, written = (
            tmp_path / ".gcm" / place,
            tmp_path / ".gcm" / "labs" / "ourlab" / f"{name}.credential",
        )
        assert joined.read_text() == written.read_text()
        assert (joined.stat().st_mode & 0o77, written.stat().st_mode & 0o77) == (0, 0)
    shown = json.loads(lab("lab", "show", "--json")[1])
    assert [one["principal"] for one in shown["invited"]] == [
        "user:alice", "peer:desk7", "supernode:lab1"
    ]  # fmt: skip
    assert shown["supernodes"] == ["lab1:7700"]


def test_a_credential_is_never_written_over_another_file(lab: Run, tmp_path: Path) -> None:
    file = tmp_path / ".gcm" / "labs" / "ourlab" / "alice.credential"
    file.write_text("mine")
    code, _, told = lab("lab", "invite", "alice", "--user")
    assert (code, "Name another one with -o" in told) == (1, True)
    assert file.read_text() == "mine"
    assert lab("lab", "invite", "alice", "--user", "-o", "alice.credential")[0] == 0


def test_a_peer_does_not_begin_with_the_credential_of_a_user(lab: Run) -> None:
    lab("lab", "invite", "alice", "--user")
    code, _, told = lab("boot", "--credential", "alice.credential")
    assert (code, "one of a peer is needed" in told) == (1, True)


def test_several_labs_are_told_apart(lab: Run) -> None:
    lab("lab", "create", "theirs")
    code, _, told = lab("lab", "invite", "alice", "--user")
    assert (code, "there are several labs: ourlab, theirs" in told) == (1, True)
    assert lab("lab", "invite", "alice", "--user", "--lab", "theirs")[0] == 0


def test_settings_are_shown_with_those_that_are_defaults(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / ".gcm" / "peer"
    folder.mkdir(parents=True)
    (folder / "peer.toml").write_text("applications = 3\n")
    shown = run("config")[1].splitlines()
    assert "applications = 3" in shown
    assert 'ports = "usual"  # the default' in shown
    assert json.loads(run("config", "--json")[1])["applications"] == 3


def test_the_hosts_that_were_known_last_are_shown_when_no_daemon_runs(
    run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / ".gcm" / "peer"
    folder.mkdir(parents=True)
    row = [["peer:desk7", ["10.0.0.7:7701"], [1, 4]], 1, 1, "alive", 0]
    (folder / "hosts.json").write_text(json.dumps({"format": 1, "incarnation": 1, "rows": [row]}))
    code, shown, told = run("hosts")
    assert (code, "known last" in told) == (3, True)
    assert re.search(r"desk7 +10\.0\.0\.7:7701 +1 x 4\n", shown)
    (folder / "credential").write_text("no credential")
    code, shown, told = run("hosts")
    assert (code, "known last" in told, "desk7" in shown) == (3, True, True)
    assert f"gcm-peer: {folder}/credential: " in told
    (folder / "hosts.json").write_text("{")
    code, _, told = run("hosts")
    assert (code, f"{folder}/hosts.json: the list of hosts is damaged" in told) == (1, True)


def test_the_status_says_what_runs_and_what_is_wrong() -> None:
    told = _status_text(
        {
            "name": "peer:desk7", "lab": "ourlab", "seconds": 7200, "days_left": 9.2,
            "membership": {
                "addresses": ["10.0.0.7:7701"], "supernode": "", "state": "no supernode answers",
                "hosts": [], "faults": ["10.0.0.1:7700: it cannot be reached\n    refused"],
            },
            "reservation": {
                "applications": 0, "processes": 4, "owner": "its owner comes first",
                "runs": [{"phase": "confirmed", "application": "a", "user": "ana", "processes": 2}],
            },
        }
    )  # fmt: skip
    assert told.splitlines() == [
        "peer:desk7 of ourlab, up for 2.0 hours",
        "address: 10.0.0.7:7701",
        "supernode: none; no supernode answers",
        "hosts: 0 known",
        "share: any number of applications of 4 processes",
        "its owner comes first",
        "starting: a of ana, 2 processes",
        "wrong: 10.0.0.1:7700: it cannot be reached: refused",
        "wrong: its credential is good for 9 days only; ask the keeper of the lab",
    ]


def test_every_sub_command_has_help_with_examples() -> None:
    [commands] = [one for one in GCM_PEER.parser()._actions if one.dest == "command"]
    assert commands.choices is not None
    assert isinstance(commands.choices, dict)
    for name, parser in commands.choices.items():
        if name != "lab":
            assert f"gcm-peer {name}" in parser.epilog, name


def test_a_credential_takes_the_place_of_one_of_the_same_member_only(
    lab: Run, tmp_path: Path
) -> None:
    for name in ("alice", "bob"):
        lab("lab", "invite", name, "--user")
    joined = tmp_path / ".gcm" / "credential"
    assert [lab("lab", "join", "alice.credential")[0] for _ in range(2)] == [0, 0]
    code, _, told = lab("lab", "join", "bob.credential")
    assert (code, "the credential of user:alice in ourlab" in told) == (1, True)
    assert "GCM_CREDENTIAL" in told
    made = tmp_path / ".gcm" / "labs" / "ourlab" / "alice.credential"
    assert joined.read_text() == made.read_text()


def test_a_peer_that_runs_keeps_its_credential(lab: Run, tmp_path: Path) -> None:
    for name in ("desk7", "desk8"):
        lab("lab", "invite", name, "--peer")
    lab("lab", "join", "desk7.credential")
    folder = PeerFolder.of("", is_supernode=False)
    kept = folder.credential.read_text()
    running = RunningFile(folder)
    try:
        running.write(Address("127.0.0.1", 7701))
        code, _, told = lab("boot", "--credential", "desk8.credential")
    finally:
        running.close()
    assert (code, "it already runs" in told) == (1, True)
    assert "another one on this machine needs a folder of its own: --folder" in told
    assert folder.credential.read_text() == kept
