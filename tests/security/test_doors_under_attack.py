"""Each entrance under attack, in a process of its own: members get in, and nothing piles up."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import pickle
import random
import resource
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Self

import pytest
from Pyro5.client import Proxy

from runtime.transport.certificate import CertificateAuthority
from runtime.transport.credentials import (
    NONCE,
    NUMBER_OF_MEMBER,
    PROOF_OF_MEMBER,
    Credentials,
    Dialler,
)
from runtime.transport.errors import AuthenticationFailed
from runtime.transport.frames import HEAD, MARK
from runtime.transport.lean import LeanChannel, dial
from runtime.transport.messages import CALL, Target
from runtime.transport.pyro_messages import (
    CONNECT,
    INVOKE,
    MARSHAL,
    MSGPACK,
    PING,
    SERPENT,
    MessageReader,
    PyroMessage,
)
from runtime.wire.dialling.forward_requests import AnswerReader, ForwardRequest
from tools.on_grids import ROOT

ENTRANCE = Path(__file__).with_name("entrance.py")
LONG = 20.0
MANY = 10_000
DESCRIPTORS = 512
PATIENCE = 1.5
TIMED = ["channel", "channel-tls", "pyro", "rank", "rank-tls"]
"""The entrances that can be told how long a handshake may take."""

DAY = datetime.timedelta(days=1)


NOW = datetime.datetime.now(datetime.UTC)
LISTENER, DIALLER = "ranks 0:0", "ranks 0:1"


@cache
def authority() -> CertificateAuthority:
    return CertificateAuthority.create("a test", NOW)


@cache
def certificate(name: str = LISTENER) -> str:
    return authority().member(name, NOW, DAY).decode()


@cache
def expired(name: str = LISTENER) -> str:
    return authority().member(name, NOW - 9 * DAY, DAY).decode()


@dataclass
class Entrance:
    """An entrance in a process of its own."""

    kind: str
    secret: bytes = field(default_factory=lambda: os.urandom(32), repr=False)
    certificate: str = ""
    patience: float = 10.0
    limit: int = DESCRIPTORS
    address: str = ""
    log: str = ""
    used: float = 0.0

    def __enter__(self) -> Self:
        told = {
            "kind": self.kind,
            "secret": self.secret.hex(),
            "certificate": self.certificate,
            "descriptors": self.limit,
            "patience": self.patience,
        }
        self.process = subprocess.Popen(
            [sys.executable, str(ENTRANCE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()
        self.address = self.process.stdout.readline().strip()
        assert self.address, self.process.communicate()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the process end; then its log, and the processor time it used, are known."""
        if not self.used:
            used, self.log = self.process.communicate(timeout=LONG)
            assert self.process.returncode == 0, self.log
            self.used = float(used)

    @property
    def refusals(self) -> list[str]:
        """The lines about refused connections in the log, once it was closed."""
        return [line for line in self.log.splitlines() if "refused" in line]

    @property
    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    @property
    def resident(self) -> int:
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    def member(self, secret: bytes = b"", shown: str = "?") -> Credentials:
        own = certificate(DIALLER) if self.certificate else ""
        known = own if shown == "?" else shown
        return Credentials(secret or self.secret, "0:1:0", known.encode(), trusts_loopback=False)

    def connect(self) -> socket.socket:
        host, _, port = self.address.rpartition(":")
        return socket.create_connection((host, int(port)), LONG)

    def enter(self) -> float:
        """Do what a member does, or a client where there are only clients; return how long."""
        began = time.monotonic()
        if self.kind == "pyro":
            with Proxy(f"PYRO:book@{self.address}") as proxy:
                assert proxy.add("tea") == ["add", "tea"]
        elif self.kind == "channel":
            with contextlib.closing(LeanChannel.dial(self.address, self.member(), LONG)) as guest:
                assert guest.call(Target("/a", "i", "op"), timeout=LONG) is None
        else:
            made, peer, received = dial(self.address, self.member(), LONG)
            with contextlib.closing(made):
                assert peer == "0:0:0"
                if self.kind == "forwarder":
                    made.sendall(ForwardRequest(("0:7",)).written())
                    made.settimeout(LONG)
                    answer = AnswerReader().feed(received or made.recv(4096))
                    assert answer is not None
                    assert "not known" in answer.why
        return time.monotonic() - began


@pytest.fixture(params=[*TIMED, "forwarder"])
def entrance(request: pytest.FixtureRequest) -> Iterator[Entrance]:
    kind, _, tls = request.param.partition("-")
    with Entrance(kind, certificate=certificate() if tls else "") as made:
        yield made


@pytest.fixture(params=TIMED)
def hasty_entrance(request: pytest.FixtureRequest) -> Iterator[Entrance]:
    """An entrance that soon has enough of those who prove nothing."""
    kind, _, tls = request.param.partition("-")
    with Entrance(kind, certificate=certificate() if tls else "", patience=PATIENCE) as made:
        yield made


def rest_of(stranger: socket.socket) -> bytes:
    """Return all that an entrance says until it hangs up."""
    received = b""
    stranger.settimeout(LONG)
    with contextlib.suppress(ConnectionError):
        while data := stranger.recv(4096):
            received += data
    return received


def told_by(received: bytes) -> list[object]:
    """Return the proofs in what an entrance said: only members may get to see one."""
    reader = MessageReader(100_000)
    reader.feed(received)
    found: list[object] = []
    with contextlib.suppress(Exception):  # alerts of TLS are no messages
        while (message := reader.take()) is not None:
            found += [data for name, data in message.annotations.items() if name == PROOF_OF_MEMBER]
    return found


# --- what strangers say ---------------------------------------------------------------------------


class Trap:
    """Leaves a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (self.path,)


def number() -> bytes:
    """Return what a member says first; anybody can."""
    return PyroMessage(CONNECT, b"{}", {NUMBER_OF_MEMBER: os.urandom(NONCE)}).joined()


def greetings(trap: str) -> dict[str, bytes]:
    bomb = pickle.dumps(Trap(trap))
    old = bytearray(number())
    old[4:6] = (501).to_bytes(2, "big")
    dialler = Dialler(Credentials(os.urandom(32), "0:1:0"), os.urandom(NONCE))
    large = bytearray(number())
    large[12:20] = b"\xff" * 8
    return {
        "random": random.Random(7).randbytes(3000),
        "zeros": bytes(3000),
        "http": b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
        "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(600),
        "frame": HEAD.pack(MARK, CALL, 2, 1) + bytes(16) + bomb,
        "pickle": bomb,
        "old version": bytes(old),
        "oversized": bytes(large) + bytes(20_000),
        "no number": PyroMessage(CONNECT, bomb, {NUMBER_OF_MEMBER: b"short"}).joined(),
        "proof first": PyroMessage(INVOKE, bomb, {PROOF_OF_MEMBER: bytes(40)}).joined(),
        "wrong proof": dialler.begin()
        + PyroMessage(INVOKE, bomb, {PROOF_OF_MEMBER: bytes(32) + b"0:1:0"}).joined(),
        "twice": number() + number(),
        "bomb in marshal": PyroMessage(CONNECT, bomb, serializer=MARSHAL).joined(),
        "bomb in serpent": PyroMessage(CONNECT, bomb, serializer=SERPENT).joined(),
        "bomb in msgpack": PyroMessage(CONNECT, b"\xc8" + bomb, serializer=MSGPACK).joined(),
        "call in marshal": PyroMessage(INVOKE, bomb, serializer=MARSHAL).joined(),
    }


def test_whatever_strangers_say_gets_no_answer_and_members_still_get_in(
    entrance: Entrance, tmp_path: Path
) -> None:
    trap = str(tmp_path / "sprung")
    for said in greetings(trap).values():
        with entrance.connect() as stranger:
            with contextlib.suppress(OSError):  # it may have been sent away in the middle
                stranger.sendall(said)
                stranger.shutdown(socket.SHUT_WR)
            assert told_by(rest_of(stranger)) == []
    entrance.enter()
    assert not Path(trap).exists()
    entrance.close()
    assert "Traceback" not in entrance.log


def test_a_handshake_that_is_cut_off_anywhere_harms_nobody(entrance: Entrance) -> None:
    whole = number()
    for length in range(0, len(whole), 7):
        with entrance.connect() as stranger:
            stranger.sendall(whole[:length])
    entrance.enter()
    entrance.close()
    assert "Traceback" not in entrance.log


@pytest.mark.parametrize("kind", ["channel", "forwarder", "rank"])
def test_a_wrong_secret_opens_nothing(kind: str) -> None:
    with Entrance(kind) as entrance:
        with pytest.raises(AuthenticationFailed, match="refused the proof|did not finish"):
            dial(entrance.address, entrance.member(secret=os.urandom(32)), LONG)
        entrance.enter()
    assert len(entrance.refusals) == 1
    assert "does not know the secret" in entrance.log
    assert entrance.secret.hex() not in entrance.log


@pytest.mark.parametrize("kind", ["channel", "rank"])
def test_a_certificate_that_has_expired_opens_nothing(kind: str) -> None:
    expects = pytest.raises(AuthenticationFailed, match="certificate has expired")
    with Entrance(kind, certificate=expired()) as entrance, expects:
        dial(entrance.address, entrance.member(), LONG)
    # A listener that hangs up may do so before its reason has come.
    expects = pytest.raises(AuthenticationFailed, match="(?i)certificate.expired|EOF occurred")
    with Entrance(kind, certificate=certificate()) as entrance, expects:
        dial(entrance.address, entrance.member(shown=expired(DIALLER)), LONG)


@pytest.mark.parametrize("kind", ["channel", "rank"])
@pytest.mark.parametrize(
    ("there", "here"), [("yes", ""), ("", "yes")], ids=["plain dials TLS", "TLS dials plain"]
)
def test_who_encrypts_and_who_does_not_are_told_to_agree(kind: str, there: str, here: str) -> None:
    with Entrance(kind, certificate=there and certificate()) as entrance:
        with pytest.raises(AuthenticationFailed, match='to agree on encryption="tls"'):
            dial(entrance.address, entrance.member(shown=here and certificate(DIALLER)), LONG)
        entrance.enter()
    assert "encrypt" in entrance.log or kind == "rank"


# --- silence and slowness -------------------------------------------------------------------------


def test_a_handshake_that_drips_ends_when_its_time_is_over(hasty_entrance: Entrance) -> None:
    entrance = hasty_entrance
    said = number() if not entrance.certificate else b"\x16\x03\x01\x02\x00\x01" + bytes(200)
    began = time.monotonic()
    with entrance.connect() as stranger:
        for byte in said:
            try:
                stranger.sendall(bytes([byte]))
            except OSError:
                break
            if select.select([stranger], [], [], 0.05)[0]:  # it hangs up
                break
        rest_of(stranger)
        assert PATIENCE - 0.1 < time.monotonic() - began < PATIENCE + 15
    entrance.enter()
    entrance.close()
    assert len(entrance.refusals) == 1
    assert "no proof within 1.5 s" in entrance.log


@contextlib.contextmanager
def crowd(entrance: Entrance, count: int) -> Iterator[list[socket.socket]]:
    """Connect many times and say nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    host, _, port = entrance.address.rpartition(":")
    strangers: list[socket.socket] = []
    try:
        for _ in range(min(count, hard - 1000)):
            strangers.append(socket.socket())
            strangers[-1].setblocking(False)
            strangers[-1].connect_ex((host, int(port)))
        yield strangers
    finally:
        for one in strangers:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_ten_thousand_who_say_nothing_keep_no_member_out(entrance: Entrance) -> None:
    began_with = entrance.resident
    with crowd(entrance, MANY):
        for _ in range(5):
            entrance.enter()  # which has its own patience
        assert entrance.descriptors < DESCRIPTORS / 2
        assert entrance.resident - began_with < 64 << 20
    entrance.enter()
    entrance.close()
    assert 1 <= len(entrance.refusals) <= 6, entrance.log[:2000]
    assert entrance.used < LONG / 2


def test_where_descriptors_are_used_up_members_wait_until_some_are_free() -> None:
    with Entrance("channel", limit=16) as entrance, contextlib.ExitStack() as stack:
        guests: list[LeanChannel] = []
        with contextlib.suppress(AuthenticationFailed):
            while len(guests) < 16:
                guests.append(LeanChannel.dial(entrance.address, entrance.member(), 3.0))
                stack.callback(guests[-1].close)
        assert 1 < len(guests) < 16
        guests[0].close()
        guests[1].close()
        entrance.enter()
        entrance.close()
        assert 1 <= len(entrance.refusals) <= 4
        assert "Too many open files" in entrance.log
        assert entrance.used < 1.0


def test_a_client_that_reads_no_answer_is_not_listened_to(tmp_path: Path) -> None:
    with Entrance("pyro") as entrance:
        hello = PyroMessage(CONNECT, b'{"handshake": "hello", "object": "book"}').joined()
        book = b"x" * 50_000
        call = b'{"object": "book", "method": "add", "params": ["%s"], "kwargs": {}}' % book
        before = entrance.resident
        for flood in (PyroMessage(PING, bytes(10_000)), PyroMessage(INVOKE, call)):
            with entrance.connect() as deaf:
                deaf.sendall(hello)
                deaf.settimeout(2.0)
                sent = 0
                with contextlib.suppress(TimeoutError):
                    while sent < 512 << 20:
                        sent += deaf.send(flood.joined() * 10)
                assert sent < 256 << 20 or flood.kind == PING
                assert entrance.resident - before < 64 << 20
                entrance.enter()
