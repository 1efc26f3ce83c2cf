"""A rank lets another one in if it comes in the incarnation that the table of the machine has."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from runtime.transport.credentials import Credentials
from runtime.transport.keys import RunKeys, audience_of, issuer_of
from runtime.transport.lean import dial
from runtime.wire import Incoming, PeerConnections
from runtime.wire.dialling.connecting import DirectConnector
from runtime.wire.dialling.directory import Party, RankDirectory

RUN = RunKeys(b"a secret of a test")
OWN = "0:0:0#2"


class Ear:
    """Hears what comes to a rank."""

    def arrived(self, incoming: Incoming) -> None:
        incoming.take()

    def completed(self, incoming: Incoming) -> None:
        """Nothing is made of it."""

    def lost(self, peer: int, why: Exception) -> None:
        """It only looked in."""


@pytest.fixture
def address() -> Iterator[str]:
    """A rank in its second incarnation that knows another one in its third."""
    listener = socket.create_server(("127.0.0.1", 0))
    where = f"127.0.0.1:{listener.getsockname()[1]}"
    own, other = Party("0:0:0", "here", "m", (where,), 2), Party("0:1:0", "here", "m", (), 3)
    directory = RankDirectory((own, other))
    known = Credentials(RUN.keyring([audience_of(OWN)]), OWN)
    ended = threading.Event()

    def work() -> None:
        connector = DirectConnector(0, directory, known)
        listeners = [listener]
        made = PeerConnections(
            0, directory, Ear(), connector, listeners=listeners, credentials=known
        )
        while not ended.is_set():
            made.ready(0.1)
            made.progress()
        made.close(0.1)

    thread = threading.Thread(target=work)
    thread.start()
    yield where
    ended.set()
    thread.join()


def answer(address: str, name: str) -> bytes:
    """Return what a rank says first to one with a ticket for its name; nothing if it hangs up."""
    issuer = RUN.keyring([], {audience_of(OWN): issuer_of(name)})
    made, _, received = dial(address, Credentials(issuer, name), peer=OWN)
    made.settimeout(20)
    said = received or made.recv(1)
    made.close()
    return said


def test_a_rank_lets_the_present_incarnation_of_another_one_in_and_no_other(address: str) -> None:
    assert answer(address, "0:1:0#2") == b""
    assert answer(address, "0:1:0#4") == b""
    assert answer(address, "0:1:0") == b""
    assert answer(address, "0:2:0#3") == b""
    assert answer(address, "0:1:0#3") != b""
