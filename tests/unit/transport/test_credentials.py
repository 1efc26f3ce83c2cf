"""The exchange of proofs: only who knows the secret is let in, and only once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.transport.credentials import (
    LONGEST_NAME,
    NUMBER_OF_MEMBER,
    PROOF_OF_MEMBER,
    Credentials,
    Dialler,
    ListeningEnd,
)
from runtime.transport.errors import AuthenticationFailed, NotAMember
from runtime.transport.pyro_messages import (
    CONNECT,
    INVOKE,
    PING,
    REFUSED,
    RESULT,
    MessageReader,
    PyroMessage,
)

SECRET = b"s" * 32
ONE, TWO = b"1" * 32, b"2" * 32


def listener(secret: bytes = SECRET, nonce: bytes = ONE, name: str = "listener") -> ListeningEnd:
    return ListeningEnd(Credentials(secret, name), nonce)


def dialler(secret: bytes = SECRET, nonce: bytes = TWO, name: str = "dialler") -> Dialler:
    return Dialler(Credentials(secret, name), nonce)


def exchange(here: ListeningEnd, there: Dialler) -> tuple[bytes, bytes, bytes]:
    """Let both ends talk; return what was said after the dialler's first message."""
    number = here.feed(there.begin())
    proof = there.feed(number)
    answer = here.feed(proof)
    there.feed(answer)
    return number, proof, answer


def test_two_ends_with_one_secret_learn_each_others_names() -> None:
    here, there = listener(name="front-end ü"), dialler(name="0:1:2")
    assert here.begin() == b""
    exchange(here, there)
    assert here.peer == "0:1:2"
    assert there.peer == "front-end ü"


@given(st.integers(1, 200))
def test_the_exchange_works_in_pieces_of_any_size(size: int) -> None:
    here, there = listener(), dialler()

    def feed(end: ListeningEnd | Dialler, data: bytes) -> bytes:
        return b"".join(end.feed(data[n : n + size]) for n in range(0, len(data), size))

    feed(there, feed(here, feed(there, feed(here, there.begin()))))
    assert (here.peer, there.peer) == ("dialler", "listener")


def test_what_comes_behind_the_exchange_is_kept() -> None:
    here, there = listener(), dialler()
    answer = here.feed(there.feed(here.feed(there.begin())) + b"first frame")
    there.feed(answer + b"its answer")
    assert (here.rest, there.rest) == (b"first frame", b"its answer")


def test_the_exchange_is_spoken_in_messages_of_pyro5() -> None:
    from Pyro5.protocol import ReceivingMessage
    from Pyro5.serializers import serializers_by_id

    here, there = listener(), dialler()
    said = [there.begin(), *exchange(here, there)]
    read = [ReceivingMessage(data[:40], data[40:]) for data in said]
    values = [serializers_by_id[message.serializer_id].loads(message.data) for message in read]
    assert [message.type for message in read] == [1, 2, 4, 5]
    assert values[0] == {"handshake": "member", "object": "gcm.run"}
    assert values[1]["handshake"] == "member"
    assert values[3] is None


def test_a_dialler_with_another_secret_is_refused() -> None:
    here, there = listener(), dialler(secret=b"x" * 32)
    with pytest.raises(AuthenticationFailed, match="does not know the secret"):
        exchange(here, there)
    assert here.peer is None


def test_a_listener_with_another_secret_is_refused() -> None:
    there = dialler()
    there.feed(listener().feed(there.begin()))
    forged = PyroMessage(RESULT, b"null", {PROOF_OF_MEMBER: bytes(32) + b"listener"})
    with pytest.raises(AuthenticationFailed, match="does not know the secret"):
        there.feed(forged.joined())
    assert there.peer is None


def test_a_recorded_proof_is_refused_the_next_time() -> None:
    first, there = listener(nonce=ONE), dialler()
    _, recorded, _ = exchange(first, there)
    assert first.peer == "dialler"
    second = listener(nonce=b"3" * 32)
    second.feed(dialler().begin())
    with pytest.raises(AuthenticationFailed, match="does not know the secret"):
        second.feed(recorded)


def test_a_listeners_own_proof_cannot_be_reflected_to_it() -> None:
    here, there = listener(name="same"), dialler(name="same")
    _, _, answer = exchange(here, there)
    other = listener(name="same")
    other.feed(there.begin())
    reader = MessageReader(1000)
    reader.feed(answer)
    taken = reader.take()
    assert taken is not None
    reflected = PyroMessage(INVOKE, b"", taken.annotations)
    with pytest.raises(AuthenticationFailed, match="does not know the secret"):
        other.feed(reflected.joined())


@given(st.integers(min_value=0), st.integers(1, 255))
def test_a_change_anywhere_of_the_proof_is_refused(place: int, change: int) -> None:
    here, there = listener(), dialler()
    proof = bytearray(there.feed(here.feed(there.begin())))
    begin = proof.index(b"GCMP") + 8
    end = begin + 32 + len("dialler")
    proof[begin + place % (end - begin)] ^= change
    with pytest.raises(AuthenticationFailed, match="does not know the secret"):
        here.feed(bytes(proof))
    assert here.peer is None


def test_a_proof_without_a_number_before_it_is_refused() -> None:
    for kind in (INVOKE, RESULT, PING):
        with pytest.raises(AuthenticationFailed, match="not a member of the run"):
            listener().feed(PyroMessage(kind, b"", {PROOF_OF_MEMBER: bytes(40)}).joined())


def test_an_ordinary_client_of_pyro5_is_told_apart() -> None:
    for number in ({}, {NUMBER_OF_MEMBER: b"short"}):
        with pytest.raises(NotAMember):
            listener().feed(PyroMessage(CONNECT, b"{}", number).joined())


def test_a_refusal_and_anything_else_end_the_diallers_attempt() -> None:
    with pytest.raises(AuthenticationFailed, match="refused to connect"):
        dialler().feed(PyroMessage(REFUSED, b"no").joined())
    with pytest.raises(AuthenticationFailed, match="does not speak this protocol"):
        dialler().feed(PyroMessage(RESULT, b"null").joined())


@given(st.binary(min_size=1, max_size=400))
def test_random_bytes_let_nobody_in(data: bytes) -> None:
    for end in (listener(), dialler()):
        try:
            end.feed(data)
        except AuthenticationFailed:
            continue
        assert end.peer is None


def test_another_protocol_is_recognised_by_its_first_bytes() -> None:
    with pytest.raises(AuthenticationFailed, match="does not speak this protocol"):
        listener().feed(b"GET")
    with pytest.raises(AuthenticationFailed, match="does not speak this protocol"):
        dialler().feed(b"SSH-2.0-OpenSSH")


def test_a_name_that_is_too_long_is_refused() -> None:
    here = listener()
    here.feed(dialler().begin())
    long = PyroMessage(INVOKE, b"", {PROOF_OF_MEMBER: bytes(32 + LONGEST_NAME + 1)})
    with pytest.raises(AuthenticationFailed, match="1025 bytes; at most 1024 are allowed"):
        here.feed(long.joined())


def test_a_weak_secret_a_long_name_and_a_short_nonce_are_mistakes() -> None:
    Credentials(b"x" * 16, "n" * LONGEST_NAME)
    with pytest.raises(ValueError, match="at least 16 bytes"):
        Credentials(b"x" * 15, "me")
    with pytest.raises(ValueError, match="at most 1024 bytes"):
        Credentials(SECRET, "ü" * 513)
    with pytest.raises(ValueError, match="32 bytes"):
        dialler(nonce=b"short")
