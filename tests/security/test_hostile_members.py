"""A lab made with the commands of users, and members of it who keep to nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.peers.configuration import PeerFolder
from runtime.peers.daemon import find_running

MEMBER = Path(__file__).with_name("lab_member.py")
PEER = "import sys; from runtime.peers.commands.peer_command import main; sys.exit(main())"
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
            argv, cwd=self.base, env=self.environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def member(self, attack: str) -> subprocess.Popen[str]:
        """Start a member that is not ours, with the credential of a mere peer."""
        argv = [sys.executable, str(MEMBER), str(self.base / "mallory.credential")]
        return subprocess.Popen(
            [*argv, str(self.port), attack],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

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
        made.daemon.halt()


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
