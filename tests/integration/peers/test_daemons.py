"""Daemons on one machine: they find each other, work on without supernodes, and leave nothing."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.launchers.base import Command
from runtime.launchers.errors import LaunchError
from runtime.launchers.lines import Lines
from runtime.launchers.peer import PeerLauncher
from runtime.peers.contracts import Launch, Reservation, Staging
from runtime.peers.daemon import boot, find_running
from runtime.peers.errors import PeerError, Refused
from runtime.peers.model import Reason
from tests.integration.peers.labs import Lab, eventually

SLEEP = """
import os, sys, time
open(sys.argv[1], "w").write(f"{os.getpid()}.")
time.sleep(600)
"""
S1, S2 = "supernode:s1", "supernode:s2"
H1, H2, H3 = "peer:h1", "peer:h2", "peer:h3"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Yield a lab without daemons."""
    made = Lab(tmp_path)
    yield made
    made.close()


def launcher(lab: Lab, who: str, key: str) -> PeerLauncher:
    """Return what starts commands at a peer, for a reservation."""

    def connect(size: int, marker: tuple[str, str]) -> tuple[socket.socket, str]:
        connection = lab.dial(who)
        launch = connection.stub(Launch)
        try:
            launch.launch(lab.alice.me, key, f"app-{key}", [[0, 0]], [size, *marker])
        except PeerError as error:
            connection.close()
            raise LaunchError(error.what, place=error.place) from error
        return connection.detach(), ""

    return PeerLauncher(connect, place=who)


def test_peers_find_each_other_and_outlive_their_supernodes(lab: Lab) -> None:
    lab.start(S1)
    lab.start(S2, (S1,))
    lab.start(H1, (S1,))
    lab.start(H2, (S2,))
    # Each peer speaks with one supernode only; these two compare what they know.
    eventually(lambda: lab.hosts(H1) >= {H2, S1, S2})
    eventually(lambda: lab.hosts(H2) >= {H1, S1, S2})
    eventually(lambda: any(one["milliseconds"] for one in _known(lab, H1, H2)))

    lab.kill(S1)  # it was the only one that H1 was told of
    eventually(lambda: lab.status(H1)["membership"]["supernode"] == str(lab.addresses[S2]))
    lab.kill(S2)
    eventually(lambda: not lab.status(H1)["membership"]["supernode"])
    assert H2 in lab.hosts(H1)

    # A peer comes back from its disk while there is no supernode at all, and finds the others.
    lab.kill(H1)
    lab.start(H1)
    eventually(lambda: H2 in lab.hosts(H1))


def _known(lab: Lab, who: str, other: str) -> list[dict[str, object]]:
    return [one for one in lab.status(who)["membership"]["hosts"] if one["name"] == other]


def test_a_peer_that_is_killed_is_gone_and_does_not_come_back(lab: Lab) -> None:
    lab.start(S1)
    for who in (H1, H2):
        lab.start(who, (S1,))
    eventually(lambda: H2 in lab.hosts(H1))
    lab.kill(H2)
    eventually(lambda: H2 not in lab.hosts(S1))
    eventually(lambda: H2 not in lab.hosts(H1))


def test_a_peer_that_lies_about_its_port_is_told_and_not_listed(lab: Lab) -> None:
    lab.start(S1)
    wrong = lab.start(H1, (S1,))
    lab.start(H2, (S1,), f'address = "{wrong}"\n')
    [fault] = eventually(lambda: lab.status(H2)["membership"]["faults"])
    assert fault == (
        f"{wrong}: peer:h1 answers there, and not peer:h2. "
        "The address or the port that is known of it is wrong"
    )
    assert H2 not in lab.hosts(S1)


def test_a_list_of_hosts_that_is_damaged_is_told_and_made_anew(lab: Lab) -> None:
    lab.start(S1)
    lab.folder(H1).make()
    lab.folder(H1).hosts.write_text('{"format": 1, "rows": [')
    lab.start(H1, (S1,))
    eventually(lambda: S1 in lab.hosts(H1))
    assert re.search("hosts.json .* damaged", lab.folder(H1).log.read_text())
    eventually(lambda: json.loads(lab.folder(H1).hosts.read_text())["rows"])


# --- one peer, that serves several tests ---------------------------------------------------------


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Yield a lab with one peer, for two applications at once, and for two users."""
    made = Lab(tmp_path_factory.mktemp("desk"))
    made.start(H1, more='applications = 2\nusers = ["alice", "mallory"]\nrevoked = ["user:eve"]\n')
    yield made
    made.close()


@pytest.fixture
def peer(desk: Lab) -> Lab:
    """Return that lab while nothing is reserved."""
    eventually(lambda: runs(desk) == [])
    return desk


def runs(lab: Lab) -> list[object]:
    """Return what is reserved or runs at the peer."""
    found: list[object] = lab.status(H1)["reservation"]["runs"]
    return found


def test_reservations_are_refused_with_a_reason(peer: Lab) -> None:
    keys = []
    for _ in range(2):
        key, answer = peer.reserve(H1)
        assert (answer.is_granted, answer.processes) == (True, 1)
        keys.append(key)
    assert peer.reserve(H1)[1].reason is Reason.BUSY
    assert peer.reserve(H1, peer.user("bob"))[1].reason is Reason.NOT_TRUSTED
    with peer.dial(H1) as connection:
        for key in keys:
            connection.stub(Reservation).release(peer.alice.me, key)
    assert runs(peer) == []


def test_a_lease_ends_when_its_client_has_gone(peer: Lab) -> None:
    peer.reserve(H1, lease=1.0)
    assert runs(peer)
    eventually(lambda: runs(peer) == [])


def test_a_key_is_used_once_and_by_nobody_else(peer: Lab) -> None:
    key, _ = peer.reserve(H1)
    mallory = peer.user("mallory")
    with peer.dial(H1, mallory) as connection:
        told = connection.stub(Launch)
        with pytest.raises(Refused, match="belongs to somebody else") as raised:
            told.launch(mallory.me, key, f"app-{key}", [[0, 0]], [1, "a", "b"])
        assert raised.value.reason == Reason.WRONG_KEY
        with pytest.raises(Refused, match="no reservation of the caller"):
            connection.stub(Staging).put(mallory.me, key, ["0" * 64, 1], 0, b"x")
    with launcher(peer, H1, key) as first:
        first.ready()
        with (
            launcher(peer, H1, key) as second,
            pytest.raises(LaunchError, match="the key was used before"),
        ):
            second.ready()


def test_nobody_blocks_what_another_user_brings(peer: Lab) -> None:
    contents, mallory = [os.urandom(5) for _ in range(2)], peer.user("mallory")
    digests = [hashlib.sha256(one).hexdigest() for one in contents]
    key, _ = peer.reserve(H1, mallory)
    with peer.dial(H1, mallory) as connection:  # a false size, and false bytes
        staging = connection.stub(Staging)
        assert staging.put(mallory.me, key, [digests[0], 9], 0, b"x") == 1
        assert staging.put(mallory.me, key, [digests[1], 5], 0, b"jell") == 4
    key, _ = peer.reserve(H1)
    with peer.dial(H1, peer.alice) as connection:
        staging = connection.stub(Staging)
        for digest, content in zip(digests, contents, strict=True):
            assert staging.put(peer.alice.me, key, [digest, 5], 0, content) == 5
            assert staging.get(peer.alice.me, digest, 0, 9) == content


def test_what_is_launched_ends_with_the_connection(peer: Lab, tmp_path: Path) -> None:
    key, _ = peer.reserve(H1)
    with launcher(peer, H1, key) as started:
        told: list[str] = []
        program = Command((sys.executable, "-c", "print(6 * 7)"))
        done = started.start(program, Lines(lambda _, line: told.append(line)))
        assert done.wait().code == 0
        assert told == ["42"]
        pid = _sleeping(started, tmp_path)
    eventually(lambda: not os.path.exists(f"/proc/{pid}"))
    eventually(lambda: runs(peer) == [])


def test_a_second_daemon_in_a_folder_is_refused(peer: Lab) -> None:
    with pytest.raises(PeerError, match=r"a daemon runs here already, process \d+.*gcm-peer halt"):
        boot(peer.folder(H1))


def test_who_is_revoked_is_not_let_in(peer: Lab) -> None:
    with pytest.raises(PeerError, match="cannot be reached"):
        peer.dial(H1, peer.user("eve"))


# --- the end ------------------------------------------------------------------------------------


def _sleeping(started: PeerLauncher, tmp_path: Path) -> int:
    """Start something that lives for long, and return its process."""
    started.start(Command((sys.executable, "-c", SLEEP, str(tmp_path / "pid"))))
    file = tmp_path / "pid"
    eventually(lambda: file.exists() and file.read_text().endswith("."))
    return int(file.read_text()[:-1])


@pytest.mark.parametrize("how", ["halt", "kill"])
def test_nothing_outlives_the_daemon_that_started_it(lab: Lab, tmp_path: Path, how: str) -> None:
    lab.start(H1)
    key, _ = lab.reserve(H1)
    with launcher(lab, H1, key) as started:
        pid = _sleeping(started, tmp_path)
        running = find_running(lab.folder(H1))
        assert running is not None
        if how == "halt":
            running.halt()
            assert not os.path.exists(f"/proc/{pid}")
        else:
            lab.kill(H1)
        eventually(lambda: not os.path.exists(f"/proc/{pid}"))
        with pytest.raises(LaunchError):
            started.start(Command(("true",))).wait(20)


def test_a_daemon_ends_when_it_is_told_to_whatever_its_starter_has_blocked(lab: Lab) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))
    try:
        lab.start(S1)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    running = find_running(lab.folder(S1))
    assert running is not None
    running.halt()
    assert find_running(lab.folder(S1)) is None
