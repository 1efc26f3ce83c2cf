"""A lab made with the commands of users, and members of it who keep to nothing."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from runtime.exit_codes import READER_LEFT
from runtime.peers.configuration.folder import PeerFolder
from runtime.peers.daemon import find_running

MEMBER = Path(__file__).with_name("lab_member.py")
PATH = "/usr/bin:/bin"
PEER = "import sys; from runtime.cli import peer_main; sys.exit(peer_main())"
SETTINGS = 'listen = "127.0.0.1"\nports = 0\nping_every = 3600\n'


class Lab:
    """A lab of one supernode and one peer, in folders below one; `peer` runs `gcm-peer`."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.environment = {**os.environ, "GCM_FOLDER": str(base / "gcm")}
        self.environment |= {"PYTHONPATH": str(Path(__file__).parents[2])}
        self.peer("lab", "create", "ourlab", "--supernode", "127.0.0.1:1")
        for words in ("desk7 --peer", "mallory --peer", "alice --user"):
            name, role = words.split()
            self.peer("lab", "invite", name, role, "-o", str(base / f"{name}.credential"))
        self.peer("lab", "join", str(base / "alice.credential"))
        folder = base / "desk7"
        folder.mkdir(0o700)
        (folder / "peer.toml").write_text(SETTINGS)
        self.peer("boot", "--folder", str(folder), "--credential", str(base / "desk7.credential"))
        found = find_running(PeerFolder(folder))
        assert found is not None
        self.daemon, self.port = found, found.address.port

    def peer(self, *words: str) -> str:
        """Return what `gcm-peer` prints."""
        argv = [sys.executable, "-c", PEER, *words]
        done = subprocess.run(
            argv, cwd=self.base, env=self.environment, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def member(self, attack: str, who: str = "mallory") -> subprocess.Popen[str]:
        """Start a member that is not ours; mallory has the credential of a mere peer."""
        argv = [sys.executable, str(MEMBER), str(self.base / f"{who}.credential")]
        argv += [str(self.port), attack]
        return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def most_memory(self, *, begin: bool = False) -> int:
        """Return the KiB of memory that the daemon has had at most, since somebody began to ask."""
        process = Path(f"/proc/{self.daemon.pid}")
        if begin:
            (process / "clear_refs").write_text("5")
        return int((process / "status").read_text().partition("VmHWM:")[2].split()[0])


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Yield a lab with one peer."""
    made = Lab(tmp_path_factory.mktemp("lab"))
    try:
        yield made
    finally:
        if found := find_running(PeerFolder(made.base / "desk7")):  # perhaps booted anew
            found.halt()


def test_a_message_of_31_mib_takes_no_memory_before_it_is_known_whose_it_is(lab: Lab) -> None:
    lab.peer("status", f"127.0.0.1:{lab.port}")
    before = lab.most_memory(begin=True)
    attack = lab.member("lists")
    attack.communicate(timeout=60)
    assert attack.returncode == 0
    assert lab.most_memory() - before < 2 << 10
    assert json.loads(lab.peer("status", f"127.0.0.1:{lab.port}", "--json"))


def test_what_is_announced_and_never_sent_takes_no_memory(lab: Lab) -> None:
    before = lab.most_memory(begin=True)
    attack = lab.member("announces")
    try:
        assert attack.stdout is not None
        assert attack.stdout.readline() == "sent\n"
        lab.peer("status", f"127.0.0.1:{lab.port}")
        assert lab.most_memory() - before < 12 << 10  # a hundred connections with their threads
    finally:
        attack.communicate("\n", timeout=60)
    assert attack.returncode == 0


def test_strangers_who_do_not_end_their_handshakes_give_way_and_members_get_in(lab: Lab) -> None:
    with ExitStack() as stack:
        strangers = [
            stack.enter_context(socket.create_connection(("127.0.0.1", lab.port)))
            for _ in range(200)
        ]
        for one in strangers:
            with suppress(OSError):  # it was hung up on
                one.sendall(b"\x16\x03\x01")  # of a record of TLS, which goes on for ever
        for one in strangers[:100]:
            one.settimeout(60)
            with suppress(ConnectionResetError):
                assert one.recv(1) == b""
        assert json.loads(lab.peer("status", f"127.0.0.1:{lab.port}", "--json"))


def test_what_members_say_moves_no_cursor_and_adds_no_line_to_a_log(lab: Lab) -> None:
    attack = lab.member("words", "alice")
    attack.communicate(timeout=60)
    assert attack.returncode == 0
    folder = lab.base / "desk7"
    for words in (("status",), ("top", "--once"), ("hosts",)):
        told = lab.peer(*words, "--folder", str(folder))
        assert all(line.isprintable() for line in told.split("\n")), repr(told)
    assert "forged" in lab.peer("status", "--folder", str(folder))
    log = (folder / "peer.log").read_text()
    assert all(line.isprintable() for line in log.split("\n"))
    assert not [line for line in log.splitlines() if line.startswith("2026-01-01")]


PLANT = """\
import os, pathlib, sys
last = int(pathlib.Path("/proc/loadavg").read_text().split()[-1])
for pid in range(last, last + 3000):
    file = os.open(f".bob.credential.{pid}", os.O_CREAT | os.O_WRONLY, 0o666)
    os.fchmod(file, 0o666)
    os.close(file)
"""


@pytest.mark.needs_root
def test_a_new_credential_goes_into_no_file_that_another_account_has_planted(lab: Lab) -> None:
    shared = Path(tempfile.mkdtemp(dir="/tmp"))  # the account may enter no folder of pytest
    try:
        shared.chmod(0o777)
        plant = ["/usr/bin/env", "python3", "-c", PLANT]
        subprocess.run(plant, cwd=shared, user=65534, group=65534, check=True, env={"PATH": PATH})
        lab.peer("lab", "invite", "bob", "--user", "-o", str(shared / "bob.credential"))
        assert (shared / "bob.credential").stat().st_uid == os.getuid()
        assert len(list(shared.glob(".bob.*"))) == 3000
    finally:
        shutil.rmtree(shared)


def test_a_browser_that_drops_its_request_is_no_error(lab: Lab) -> None:
    words = [sys.executable, "-c", PEER, "web", "--folder", str(lab.base / "desk7")]
    with subprocess.Popen(
        words, env=lab.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as web:
        assert web.stdout is not None
        url = web.stdout.readline().strip()
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", urlsplit(url).port or 0)) as browser:
                browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                browser.sendall(b"GET ")
        with urlopen(url) as answered:
            assert b"desk7" in answered.read()
        web.send_signal(signal.SIGINT)
        _, errors = web.communicate(timeout=20)
    assert errors == "open that in a browser of this machine; Ctrl-C ends it\n"


@pytest.mark.parametrize("command", ["hosts --json", "boot"])
def test_a_reader_that_has_seen_enough_is_no_error(lab: Lab, command: str) -> None:
    folder = str(lab.base / "desk7")
    if command == "boot":
        lab.peer("halt", "--folder", folder)
    words = [sys.executable, "-c", PEER, *command.split(), "--folder", folder]
    ends = "exec 3>&1; { PYTHON; echo $? >&3; } | true"
    line = ends.replace("PYTHON", "sleep 0.3; " + shlex.join(words))
    done = subprocess.run(
        ["sh", "-c", line], env=lab.environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{READER_LEFT}\n"
    asked = "gcm-peer: lab ourlab: no supernode of the lab answers" if command != "boot" else ""
    assert done.stderr.startswith(asked)  # of this lab there is none; of the reader is no word
    assert "pipe" not in done.stderr.lower()
    assert bool(done.stderr) is bool(asked)
