"""The exchange of proofs: only who knows the secret is let in, and only once."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.transport.credentials import LONGEST_NAME, MAGIC, Credentials, Dialler, Listener
from runtime.transport.errors import AuthenticationFailed

SECRET = b"s" * 32
ONE, TWO = b"1" * 32, b"2" * 32


def listener(secret: bytes = SECRET, nonce: bytes = ONE, name: str = "listener") -> Listener:
    return Listener(Credentials(secret, name), nonce)


def dialler(secret: bytes = SECRET, nonce: bytes = TWO, name: str = "dialler") -> Dialler:
    return Dialler(Credentials(secret, name), nonce)


def test_two_ends_with_one_secret_learn_each_others_names() -> None:
    here, there = listener(name="front-end ü"), dialler(name="0:1:2")
    assert there.begin() == b""
    proof = there.feed(here.begin())
    answer = here.feed(proof)
    assert here.peer == "0:1:2"
    assert there.feed(answer) == b""
    assert there.peer == "front-end ü"


@given(st.integers(1, 40))
def test_the_exchange_works_in_pieces_of_any_size(size: int) -> None:
    here, there = listener(), dialler()

    def feed(end: Listener | Dialler, data: bytes) -> bytes:
        return b"".join(end.feed(data[n : n + size]) for n in range(0, len(data), size))

    feed(there, feed(here, feed(there, here.begin())))
    assert (here.peer, there.peer) == ("dialler", "listener")


def test_what_comes_behind_the_exchange_is_kept() -> None:
    here, there = listener(), dialler()
    answer = here.feed(there.feed(here.begin()) + b"first frame")
    there.feed(answer + b"its answer")
    assert (here.rest, there.rest) == (b"first frame", b"its answer")


def test_a_dialler_with_another_secret_is_refused() -> None:
    here, there = listener(), dialler(secret=b"x" * 32)
    with pytest.raises(AuthenticationFailed, match="does not know the secret"):
        here.feed(there.feed(here.begin()))
    assert here.peer is None


def test_a_listener_with_another_secret_is_refused() -> None:
    here, there = listener(), dialler()
    there.feed(here.begin())
    impostor = listener(secret=b"x" * 32)
    impostor._credentials = Credentials(SECRET, "listener")
    own = dialler()
    proof = own.feed(impostor.begin())
    impostor.feed(proof)
    forged = bytes(32) + (8).to_bytes(2, "big") + b"listener"
    with pytest.raises(AuthenticationFailed, match="does not know the secret"):
        there.feed(forged)
    assert there.peer is None


def test_a_recorded_proof_is_refused_the_next_time() -> None:
    first, there = listener(nonce=ONE), dialler()
    recorded = there.feed(first.begin())
    first.feed(recorded)
    assert first.peer == "dialler"
    second = listener(nonce=b"3" * 32)
    with pytest.raises(AuthenticationFailed):
        second.feed(recorded)


def test_a_listeners_own_proof_cannot_be_reflected_to_it() -> None:
    here, there = listener(name="same"), dialler(name="same")
    answer = here.feed(there.feed(here.begin()))
    reflected = MAGIC + ONE + answer
    with pytest.raises(AuthenticationFailed):
        listener(name="same").feed(reflected)


@pytest.mark.parametrize("at", [8, 40, 75, -1], ids=["nonce", "proof", "length", "name"])
def test_a_changed_byte_anywhere_is_refused(at: int) -> None:
    here, there = listener(), dialler()
    proof = bytearray(there.feed(here.begin()))
    proof[at] ^= 1
    with suppress(AuthenticationFailed):
        here.feed(bytes(proof) + bytes(300))
    assert here.peer is None


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


def test_a_name_that_is_too_long_is_refused_at_once() -> None:
    head = MAGIC + TWO + bytes(32)
    assert listener().feed(head + LONGEST_NAME.to_bytes(2, "big")) == b""
    with pytest.raises(AuthenticationFailed, match="1025 bytes; at most 1024 are allowed"):
        listener().feed(head + (LONGEST_NAME + 1).to_bytes(2, "big"))


def test_a_weak_secret_a_long_name_and_a_short_nonce_are_mistakes() -> None:
    Credentials(b"x" * 16, "n" * LONGEST_NAME)
    with pytest.raises(ValueError, match="at least 16 bytes"):
        Credentials(b"x" * 15, "me")
    with pytest.raises(ValueError, match="at most 1024 bytes"):
        Credentials(SECRET, "ü" * 513)
    with pytest.raises(ValueError, match="32 bytes"):
        dialler(nonce=b"short")
