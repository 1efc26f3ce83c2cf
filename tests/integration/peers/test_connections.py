"""Connections between members of a lab, and what a stranger learns: nothing."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any

import pytest

from runtime.peers.connections.dialling import MemberDialler
from runtime.peers.contracts import LabMembership
from runtime.peers.credentials.authority import Authority
from runtime.peers.credentials.contexts import contexts
from runtime.peers.credentials.credential import Credential
from runtime.peers.errors import NotAuthentic, PeerUnreachable, Refused
from runtime.peers.model import Address, Principal, Reason
from runtime.transport.frames import Frame
from tests.integration.peers.conftest import NOW, Answering

HOST7 = Principal.parse("peer:host7")
Listening = Callable[..., Address]


@pytest.fixture
def host7(listening: Listening) -> Address:
    """Return where a peer listens."""
    return listening("peer:host7")


def test_both_ends_know_who_the_other_one_is(host7: Address, alice: MemberDialler) -> None:
    with alice.dial(host7, HOST7) as connection:
        assert connection.principal == HOST7
        assert connection.stub(LabMembership).hosts(alice.me, 3)["rows"] == ["user:alice", 3]


def test_what_fails_in_an_operation_is_told_and_the_connection_goes_on(
    listening: Listening, invite: Callable[[str], Credential]
) -> None:
    address, dialler = listening("supernode:lab1"), MemberDialler(invite("peer:host7"))
    with dialler.dial(address) as connection:
        membership = connection.stub(LabMembership)
        with pytest.raises(Refused, match=r"supernode:lab1 at .*failed: ValueError") as raised:
            membership.alive(dialler.me, [])
        assert raised.value.reason == Reason.FAILED
        assert membership.hosts(dialler.me, 1)


@pytest.mark.skipif(not hasattr(socket, "TCP_INFO"), reason="packets are measured by Linux")
def test_a_host_that_answers_late_is_as_far_away_as_its_packets_say(
    host7: Address, alice: MemberDialler, answering: Answering
) -> None:
    answering.late = 0.3
    with alice.dial(host7, HOST7) as connection:
        assert connection.round_trip(alice.me) < answering.late


def _said(address: Address, context: ssl.SSLContext | None, name: str | None, words: bytes) -> str:
    """Return all that somebody hears who connects and says something, and how that ended."""
    heard = b""
    with socket.create_connection((address.host, address.port), timeout=20) as plain:
        try:
            stream = context.wrap_socket(plain, server_hostname=name) if context else plain
            with closing(stream):
                stream.sendall(words)
                while came := stream.recv(4096):
                    heard += came
        except ssl.SSLError as error:
            return f"{heard!r} {error.reason}"
        except ConnectionError:
            return f"{heard!r} reset"
    return f"{heard!r} end"


def _strangers_context(credential: Credential | None = None) -> ssl.SSLContext:
    context = contexts(credential)[1] if credential else ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@pytest.mark.parametrize("words", [b"GET / HTTP/1.1\r\n\r\n", b"\0" * 100, b"GF\x02\0\x01"])
def test_a_stranger_without_tls_hears_no_more_than_an_alert(host7: Address, words: bytes) -> None:
    heard = _said(host7, None, None, words)
    assert heard.endswith(("end", "reset"))
    assert len(heard) < 40  # the seven bytes of a TLS alert, as Python writes them


@pytest.mark.parametrize("name", [None, "localhost", "0" * 40])
def test_a_stranger_with_tls_sees_no_certificate(host7: Address, name: str | None) -> None:
    assert _said(host7, _strangers_context(), name, b"x") == "b'' TLSV1_UNRECOGNIZED_NAME"


def test_a_member_of_another_lab_sees_no_certificate(host7: Address, other_lab: Authority) -> None:
    mallory = other_lab.invite(Principal.parse("user:alice"), NOW)
    with pytest.raises(NotAuthentic, match="another lab"):
        MemberDialler(mallory).dial(host7)
    heard = _said(host7, _strangers_context(mallory), mallory.token, b"x")
    assert heard == "b'' TLSV1_UNRECOGNIZED_NAME"


def test_who_knows_the_word_of_the_lab_but_has_no_credential_is_told_nothing(
    host7: Address, alice: MemberDialler
) -> None:
    context = _strangers_context()
    with (
        socket.create_connection((host7.host, host7.port), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname=alice.credential.token) as stream,
        pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"),
    ):
        stream.recv(1)


def test_a_peer_that_lies_about_its_port_is_found_out(
    listening: Listening, alice: MemberDialler
) -> None:
    address = listening("peer:host8")
    with pytest.raises(NotAuthentic) as raised:
        alice.dial(address, HOST7)
    assert str(raised.value).startswith(f"{address}: peer:host8 answers there, and not peer:host7")


def test_a_user_that_listens_is_not_taken_for_a_peer(
    listening: Listening, alice: MemberDialler
) -> None:
    with pytest.raises(NotAuthentic, match="user:host7 answers there, and not peer:host7"):
        alice.dial(listening("user:host7"), HOST7)


@pytest.fixture
def silent() -> Iterator[Address]:
    """Yield the address of somebody who takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as opened:
        yield Address("127.0.0.1", opened.getsockname()[1])


def test_who_takes_connections_and_never_answers_is_named(
    silent: Address, alice: MemberDialler
) -> None:
    with pytest.raises(PeerUnreachable) as raised:
        alice.dial(silent, HOST7, 0.2)
    assert str(raised.value).startswith(f"peer:host7 at {silent}: ")
    assert "0.2 s" in raised.value.what


def test_a_port_where_nobody_listens_is_named(alice: MemberDialler) -> None:
    with socket.create_server(("127.0.0.1", 0)) as opened:
        address = Address("127.0.0.1", opened.getsockname()[1])
    with pytest.raises(PeerUnreachable, match=rf"{address}: it cannot be reached.*gcm-peer"):
        alice.dial(address)


def test_silent_strangers_do_not_keep_members_out(host7: Address, alice: MemberDialler) -> None:
    strangers = []
    try:
        for _ in range(200):
            strangers.append(socket.create_connection((host7.host, host7.port)))
        began = time.monotonic()
        with alice.dial(host7, HOST7) as connection:
            connection.stub(LabMembership).ping(alice.me)
        assert time.monotonic() - began < alice.timeout
    finally:
        for one in strangers:
            with suppress(OSError):
                one.close()


@pytest.mark.parametrize(
    "words",
    [b"GET / HTTP/1.1\r\n\r\n", b"GF" + b"\xff" * 100, Frame(2, 1, [b"[]"]).head() + b"[]",
     Frame(9, 1, [b"{}"]).head() + b"{}", Frame(1, 1, [b"x" * 9]).head()],
)  # fmt: skip
def test_a_member_that_talks_nonsense_is_hung_up_on_and_nobody_else(
    host7: Address, alice: MemberDialler, words: bytes
) -> None:
    with alice.dial(host7, HOST7) as connection, alice.dial(host7, HOST7) as other:
        stream = connection.detach()
        stream.sendall(words)
        stream.shutdown(socket.SHUT_WR)
        assert stream.recv(1) == b""
        other.stub(LabMembership).ping(alice.me)


def test_a_member_that_drips_is_hung_up_on(listening: Listening, alice: MemberDialler) -> None:
    with alice.dial(listening("peer:host7", whole=0.5), HOST7) as connection:
        stream, began = connection.detach(), time.monotonic()
        frame = Frame(2, 1, [b'["membership","ping"]', b"[" * 1000])
        with suppress(OSError):
            for byte in frame.head() + b'["membership","ping"]' + b"[" * 1000:
                stream.sendall(bytes([byte]))
                time.sleep(0.02)
        assert 0.4 < time.monotonic() - began < 5


def test_a_call_ends_when_another_thread_closes_its_connection(
    host7: Address, alice: MemberDialler, answering: Answering
) -> None:
    answering.late = 2.0
    with alice.dial(host7, HOST7) as connection, ThreadPoolExecutor(1) as threads:
        call = threads.submit(connection.stub(LabMembership).ping, alice.me)
        assert answering.begun.wait(10)
        connection.close()
        with pytest.raises(PeerUnreachable):
            call.result(1.5)


def test_a_name_of_which_nobody_tells_the_address_is_not_waited_for(
    alice: MemberDialler, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, ask = threading.Event(), socket.getaddrinfo

    def answer_late(*asked: Any, **how: Any) -> Any:
        if not how.get("flags"):
            told.wait(20)
        return ask(*asked, **how)

    monkeypatch.setattr(socket, "getaddrinfo", answer_late)
    try:
        with pytest.raises(PeerUnreachable) as raised:
            alice.dial(Address("lab7.example.org", 7700), timeout=0.2)
        assert "nobody has told the address of lab7.example.org" in raised.value.cause
        assert not told.is_set()
    finally:
        told.set()


def test_nobody_who_is_revoked_is_called(
    host7: Address, invite: Callable[[str], Credential]
) -> None:
    dialler = MemberDialler(invite("peer:host8"), revoked={HOST7})
    for expected in (None, HOST7):
        with pytest.raises(NotAuthentic, match=r"the credential of peer:host7 is revoked here"):
            dialler.dial(host7, expected)


def test_one_member_does_not_take_the_connections_of_all(
    listening: Listening, alice: MemberDialler, invite: Callable[[str], Credential]
) -> None:
    host7 = listening("peer:host7", most_of_one=2)
    with alice.dial(host7), alice.dial(host7):
        with pytest.raises(PeerUnreachable):
            alice.dial(host7)
        MemberDialler(invite("user:bob")).dial(host7).close()


def test_a_listener_goes_on_where_one_connection_got_no_thread(
    host7: Address, alice: MemberDialler, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith("peer connection"):
            raise RuntimeError("can't start new thread")
        begin(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(PeerUnreachable):
            alice.dial(host7)
    alice.dial(host7, HOST7).close()
