"""Encrypted connections: what they do for their users, and whom they keep out."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import random
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from runtime.transport.certificate import CertificateAuthority
from runtime.transport.credentials import Credentials
from runtime.transport.decrypted import DECRYPTED
from runtime.transport.encryption import is_loopback, is_set_up, secured
from runtime.transport.errors import AuthenticationFailed, TransportError
from runtime.transport.lean import dial
from runtime.transport.listening import Listener
from runtime.transport.reactor import Reactor
from runtime.transport.tls import RECORD, TlsSocket, context_of, encrypted, wrapped

SECRET = os.urandom(32)
LONG = 10.0
DAY = datetime.timedelta(days=1)


NOW = datetime.datetime.now(datetime.UTC)


@cache
def authority(run: str) -> CertificateAuthority:
    return CertificateAuthority.create(run, NOW)


@cache
def certificate(name: str = "house", run: str = "the run") -> bytes:
    return authority(run).member(name, NOW, DAY)


@cache
def expired(name: str) -> bytes:
    return authority("the run").member(name, NOW - 9 * DAY, DAY)


def member(name: str = "guest", shown: bytes | None = None) -> Credentials:
    known = certificate(name) if shown is None else shown
    return Credentials(SECRET, name, known, trusts_loopback=False)


def connected() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        left = socket.create_connection(listener.getsockname())
        right, _ = listener.accept()
    left.setblocking(False)
    right.setblocking(False)
    return left, right


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    left, right = connected()
    ends = secured(left, member(), dialled=True), secured(right, member(), dialled=False)
    deadline = time.monotonic() + LONG
    while not (is_set_up(ends[0]) & is_set_up(ends[1])):
        assert time.monotonic() < deadline
    yield ends
    for end in ends:
        end.close()


def has_come(end: socket.socket) -> None:
    assert select.select([end], [], [], LONG)[0]


# --- what is encrypted ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "found"),
    [
        (("127.0.0.1", 1), True),
        (("127.0.1.1", 1), True),
        (("::1", 1, 0, 0), True),
        (("::ffff:127.0.0.1", 1, 0, 0), True),
        (("10.0.0.1", 1), False),
        (("fe80::1", 1, 0, 0), False),
        ("/run/a", True),
        ("", True),
    ],
)
def test_loopback_is_told_from_the_network(address: object, found: bool) -> None:
    assert is_loopback(address) is found


def test_what_stays_on_a_machine_stays_plain() -> None:
    left, right = connected()
    trusting = Credentials(SECRET, "it", certificate())
    without = Credentials(SECRET, "it", trusts_loopback=False)
    with left, right:
        assert secured(left, trusting, dialled=True) is left
        assert secured(right, without, dialled=False) is right
    one, other = socket.socketpair()
    with one, other:
        assert secured(one, member(), dialled=True) is one


def test_nobody_loads_what_encrypts_before_it_is_needed() -> None:
    modules = "sys, runtime.membership.rank_link, runtime.hosting.node"
    program = f"import {modules}; print('ssl' in sys.modules)"
    root = Path(__file__).parents[3]
    told = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    assert told.stdout == "False\n"


# --- as a plain socket ----------------------------------------------------------------------------


def test_nothing_readable_of_what_is_sent_is_on_the_line() -> None:
    left, right = connected()
    words = b"these words must not be seen " * 10
    with secured(left, member(), dialled=True) as end, right:
        seen = b""
        between = socket.create_server(("127.0.0.1", 0))
        with between:
            outer = socket.create_connection(between.getsockname())
            inner, _ = between.accept()
        outer.setblocking(False)
        inner.setblocking(False)
        with secured(outer, member(), dialled=False) as far, inner:
            got = b""
            sent = False
            deadline = time.monotonic() + LONG
            while got != words:
                assert time.monotonic() < deadline
                for source, sink in ((right, inner), (inner, right)):
                    try:
                        data = source.recv(65536)
                    except BlockingIOError:
                        continue
                    seen += data
                    sink.sendall(data)
                if is_set_up(end) and not sent:
                    sent = bool(end.send(words))
                if is_set_up(far):
                    try:
                        got += far.recv(65536)
                    except BlockingIOError:
                        continue
    assert b"these words" not in seen
    assert SECRET not in seen


def test_an_idle_connection_has_nothing_to_read(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    for end in ends:
        with pytest.raises(BlockingIOError):
            end.recv(10)
        with pytest.raises(BlockingIOError):
            end.recv_into(bytearray(10))
        with pytest.raises(BlockingIOError):
            end.recvmsg_into([bytearray(10)])


def test_the_rest_of_a_record_is_announced_until_it_is_read(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    left, right = ends
    assert left.send(b"hello world") == 11
    has_come(right)
    assert right.recv(5) == b"hello"
    assert right.fileno() in DECRYPTED
    assert right.recv(6) == b" world"
    assert right.fileno() not in DECRYPTED


def test_who_closes_leaves_nothing_announced(ends: tuple[socket.socket, socket.socket]) -> None:
    left, right = ends
    left.send(b"hello")
    has_come(right)
    assert right.recv(1) == b"h"
    number = right.fileno()
    assert number in DECRYPTED
    right.close()
    assert number not in DECRYPTED


def test_small_pieces_leave_as_one_and_land_in_several(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    left, right = ends
    assert left.sendmsg([b"ab", b"", memoryview(b"cde"), bytearray(b"f")]) == 6
    has_come(right)
    first, second = bytearray(4), bytearray(4)
    assert right.recvmsg_into([first, second])[0] == 6
    assert bytes(first + second[:2]) == b"abcdef"


@pytest.mark.parametrize("size", [1, RECORD - 1, RECORD, RECORD + 1, 3 * RECORD + 5, 9_000_001])
def test_what_a_full_connection_takes_in_parts_arrives_whole(
    ends: tuple[socket.socket, socket.socket], size: int
) -> None:
    left, right = ends
    sent, got = random.Random(size).randbytes(size), bytearray()
    rest = [memoryview(sent)[: size // 3], memoryview(sent)[size // 3 :]]
    full = 0
    deadline = time.monotonic() + LONG
    while len(got) < size:
        assert time.monotonic() < deadline
        while any(rest):
            try:
                count = left.sendmsg(rest)
            except BlockingIOError:
                full += 1
                break
            while count:
                taken = min(count, len(rest[0]))
                rest[0], count = rest[0][taken:], count - taken
                if not rest[0] and len(rest) > 1:
                    del rest[0]
        try:
            got += right.recv(100_000)
        except BlockingIOError:
            continue
    assert hashlib.sha256(got).digest() == hashlib.sha256(sent).digest()
    assert (full > 0) is (size > 5_000_000)


def test_who_asks_for_new_keys_and_takes_no_answer_costs_no_memory(tmp_path: Path) -> None:
    dialled, accepted = connected()
    log = tmp_path / "secrets"
    run = authority("the run")
    own = run.issue("member of a run", NOW, DAY, member="guest").encode()
    context = context_of(own, run.certificate, dialled=True)
    context.keylog_filename = str(log)
    left = wrapped(dialled, context, TlsSocket, dialled=True)
    right = secured(accepted, member(), dialled=False)
    with left, right:
        while not (left.shake_hands() & is_set_up(right)):
            pass
        secret = bytes.fromhex(log.read_text().partition("CLIENT_TRAFFIC_SECRET_0 ")[2].split()[1])
        with contextlib.suppress(BlockingIOError):  # until the connection is full
            while right.send(bytes(RECORD)):
                pass

        def ask() -> None:
            for asked in islice(questions_for_new_keys(secret), 20_000):
                socket.socket.send(left, asked)
                with contextlib.suppress(BlockingIOError):
                    right.recv(1)

        with pytest.raises(ConnectionAbortedError, match="takes no answer"):
            ask()


def questions_for_new_keys(secret: bytes) -> Iterator[bytes]:
    """Yield records of TLS_AES_256_GCM_SHA384, each of which asks for new keys."""

    def derived(label: bytes, size: int) -> bytes:
        info = struct.pack("!HB", size, 6 + len(label)) + b"tls13 " + label + b"\0"
        return HKDFExpand(SHA384(), size, info).derive(secret)

    heading, question = b"\x17\x03\x03\x00\x16", b"\x18\0\0\x01\x01\x16"
    while True:
        cipher = AESGCM(derived(b"key", 32))
        yield heading + cipher.encrypt(derived(b"iv", 12), question, heading)
        secret = derived(b"traffic upd", 48)


def test_each_direction_ends_by_itself(ends: tuple[socket.socket, socket.socket]) -> None:
    left, right = ends
    left.send(b"last words")
    left.shutdown(socket.SHUT_WR)
    has_come(right)
    assert right.recv(100) == b"last words"
    has_come(right)
    assert right.recv(100) == b""
    assert right.send(b"answer") == 6
    has_come(left)
    assert left.recv(100) == b"answer"


def test_one_thread_sends_while_another_one_waits_for_what_comes(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    left, right = ends
    for end in ends:
        end.settimeout(LONG)
    size = 2_000_000
    data = [random.Random(seed).randbytes(size) for seed in range(2)]
    got: dict[int, bytes] = {}

    def receive(number: int, end: socket.socket) -> None:
        received = bytearray()
        while len(received) < size:
            received += end.recv(50_000)
        got[number] = bytes(received)

    threads = [
        threading.Thread(target=receive, args=(0, right)),
        threading.Thread(target=receive, args=(1, left)),
        threading.Thread(target=left.sendall, args=(data[0],)),
        threading.Thread(target=right.sendall, args=(data[1],)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert got == dict(enumerate(data))


def test_who_waits_in_vain_is_told_in_time(ends: tuple[socket.socket, socket.socket]) -> None:
    ends[0].settimeout(0.05)
    with pytest.raises(TimeoutError):
        ends[0].recv(1)


def test_what_a_plain_socket_could_do_is_refused_if_it_would_not_be_encrypted(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    with pytest.raises(ValueError, match="no flags"):
        ends[0].send(b"x", socket.MSG_OOB)
    with pytest.raises(TransportError, match="cannot be taken out"):
        ends[0].detach()


# --- who is kept out ------------------------------------------------------------------------------


class House:
    """A listener at which members are told apart from others."""

    def __init__(self, reactor: Reactor, shown: bytes, patience: float = LONG) -> None:
        self.came: list[str] = []
        self.has_come = threading.Event()
        self.listener = Listener(
            reactor, "127.0.0.1:0", member("house", shown), self._admit, patience=patience
        )

    def _admit(self, came: socket.socket, peer: str, _: bytes) -> None:
        self.came.append(peer)
        self.has_come.set()
        came.close()

    def connect(self) -> socket.socket:
        host, _, port = self.listener.address.rpartition(":")
        return socket.create_connection((host, int(port)), LONG)


def enter(house: House, credentials: Credentials) -> str:
    made, peer, _ = dial(house.listener.address, credentials, LONG)
    made.close()
    return peer


def ended(end: socket.socket) -> bool:
    with end:
        try:
            while end.recv(4096):
                pass
        except ConnectionResetError:
            pass
    return True


def test_a_member_comes_in_encrypted(reactor: Reactor) -> None:
    house = House(reactor, certificate())
    made, peer, _ = dial(house.listener.address, member(), LONG)
    assert isinstance(made, TlsSocket)
    with made:
        assert made.version() == "TLSv1.3"
    assert peer == "house"
    assert house.has_come.wait(LONG)
    assert house.came == ["guest"]


@pytest.mark.parametrize(
    "shown", [certificate("guest", "another run"), b""], ids=["another", "none"]
)
def test_who_knows_the_secret_alone_is_kept_out(
    reactor: Reactor, shown: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    house = House(reactor, certificate())
    with pytest.raises(AuthenticationFailed):
        enter(house, member(shown=shown))
    assert house.came == []
    assert enter(house, member()) == "house"
    assert len([one for one in caplog.records if "was refused" in one.getMessage()]) <= 1


def test_who_has_the_certificate_alone_is_kept_out(reactor: Reactor) -> None:
    house = House(reactor, certificate())
    other = Credentials(os.urandom(32), "guest", certificate("guest"), trusts_loopback=False)
    with pytest.raises(AuthenticationFailed, match="refused the proof"):
        enter(house, other)
    assert house.came == []


def test_a_certificate_that_has_expired_is_refused_by_either_end(reactor: Reactor) -> None:
    late, house = House(reactor, expired("house")), House(reactor, certificate())
    with pytest.raises(AuthenticationFailed, match="certificate has expired"):
        enter(late, member())
    with pytest.raises(AuthenticationFailed):
        enter(house, member(shown=expired("guest")))
    assert late.came == house.came == []


def test_who_answers_with_the_certificate_of_another_member_is_not_spoken_to(
    reactor: Reactor,
) -> None:
    house = House(reactor, certificate("front-end 0:1"))  # one on the way, with a name of its own
    with pytest.raises(AuthenticationFailed, match="is that of front-end 0:1, and not of house"):
        dial(house.listener.address, member(), LONG, peer="house")
    assert house.came == []


def test_who_comes_with_the_certificate_of_another_member_is_kept_out(reactor: Reactor) -> None:
    house = House(reactor, certificate())
    with pytest.raises(AuthenticationFailed, match="refused the proof"):
        enter(house, member("ranks 0:0", certificate("ranks 0:1")))
    assert house.came == []
    assert enter(house, member("ranks 0:0", certificate("front-end 0:1"))) == "house"  # forwarded


def test_a_member_cannot_issue_certificates(reactor: Reactor) -> None:
    own = certificate("guest").decode()
    key, shown = own.partition("-----BEGIN CERT")[0], own[own.index("-----BEGIN CERT") :]
    forged = CertificateAuthority.read((key + shown).encode()).issue("x", NOW, DAY, member="house")
    begin = "-----BEGIN CERTIFICATE-----"
    chain = forged + begin + shown.split(begin)[1] + authority("the run").certificate
    house = House(reactor, chain.encode())
    with pytest.raises(AuthenticationFailed, match="refused"):
        dial(house.listener.address, member(), LONG, peer="house")
    assert house.came == []


def test_who_encrypts_is_refused_at_a_plain_listener(reactor: Reactor) -> None:
    house = House(reactor, b"")
    with pytest.raises(AuthenticationFailed):
        enter(house, member())
    assert enter(house, member(shown=b"")) == "house"


@pytest.mark.parametrize("seed", range(8))
def test_bytes_of_any_kind_end_the_connection_and_nothing_else(reactor: Reactor, seed: int) -> None:
    house = House(reactor, certificate())
    stranger = house.connect()
    noise = random.Random(seed).randbytes(2000)
    with contextlib.suppress(OSError):  # it may have been sent away before it is done
        stranger.sendall(noise if seed % 2 else b"\x16\x03\x01\x00\xff\x01" + noise)
        stranger.shutdown(socket.SHUT_WR)
    assert ended(stranger)
    assert enter(house, member()) == "house"


def test_who_stops_in_the_handshake_holds_nobody_up_and_is_sent_away(reactor: Reactor) -> None:
    house = House(reactor, certificate(), patience=3.0)
    silent = [house.connect() for _ in range(20)]
    for one in silent[10:]:
        one.sendall(b"\x16\x03\x01\x02\x00\x01\x00")  # the beginning of a greeting
    assert enter(house, member()) == "house"
    assert all(ended(one) for one in silent)


def test_a_listener_that_says_nothing_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(AuthenticationFailed, match="did not finish the handshake: timed out"):
            dial(address, member(), 0.2)


def test_a_certificate_of_no_use_says_so(reactor: Reactor) -> None:
    house = House(reactor, certificate())
    with pytest.raises(TransportError, match="cannot be used"):
        enter(house, member(shown=certificate()[:-200] + b"-----END CERTIFICATE-----\n"))


def test_a_connection_that_was_reset_before_the_handshake_has_ended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        dialled = socket.create_connection(listener.getsockname())
        came, _ = listener.accept()
    came.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    came.close()
    with pytest.raises(ConnectionResetError):
        dialled.recv(1)
    with encrypted(dialled, certificate(), dialled=True) as made, pytest.raises(OSError, match="."):
        made.shake_hands()
