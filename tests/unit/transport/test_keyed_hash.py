"""The keyed hash of the handshake is the standard one, computed without OpenSSL."""

from __future__ import annotations

import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.transport.keyed_hash import is_same, keyed_hash


@given(st.binary(max_size=200), st.binary(max_size=300))
def test_it_is_hmac_with_sha_256(key: bytes, message: bytes) -> None:
    assert keyed_hash(key, message) == hmac.digest(key, message, "sha256")


@pytest.mark.parametrize("size", [0, 63, 64, 65])
def test_keys_around_the_size_of_a_block_are_treated_as_the_standard_says(size: int) -> None:
    assert keyed_hash(b"k" * size, b"said") == hmac.digest(b"k" * size, b"said", "sha256")


def test_the_example_of_the_standard_comes_out() -> None:
    expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"  # RFC 4231, 4.3
    assert keyed_hash(b"Jefe", b"what do ya want for nothing?").hex() == expected


def test_only_equal_proofs_are_the_same() -> None:
    assert is_same(b"proof", b"proof")
    assert not is_same(b"proof", b"Proof")
    assert not is_same(b"proof", b"proof ")
