"""Values that peers talk about: what is written can be read back, and nothing else."""

from __future__ import annotations

import pytest

from runtime.peers.errors import PeerError
from runtime.peers.model import (
    Address,
    Member,
    MemberRole,
    PeerName,
    PlacesAnswer,
    Principal,
    Reason,
    Share,
    key_of,
)


@pytest.mark.parametrize("written", ["a:1", "[::1]:65535", "lab7.example.org:7700"])
def test_an_address_is_written_as_it_was_read(written: str) -> None:
    assert str(Address.parse(written)) == written


def test_an_address_without_a_port_gets_the_usual_one() -> None:
    assert Address.parse("fe80::1", 7700) == Address("fe80::1", 7700)
    assert Address.parse("lab7", 7700) == Address("lab7", 7700)


@pytest.mark.parametrize(
    "written", ["", ":1", "lab", "a:0", "a:65536", "a:-1", "a b:1", "a:\uff11"]
)
def test_what_is_no_address_is_refused(written: str) -> None:
    with pytest.raises(PeerError):
        Address.parse(written)


@pytest.mark.parametrize("written", ["", "user", "root:ana", "user:", "user:a b", "user:../x"])
def test_what_names_nobody_is_refused(written: str) -> None:
    with pytest.raises(PeerError, match="does not name a member"):
        Principal.parse(written)


PEER = Member(PeerName("h"), (Address("10.0.0.1", 7),), Share(2, 3), MemberRole.SUPERNODE)


@pytest.mark.parametrize(
    "value", [PEER, Share(0, 9), PlacesAnswer(3, 20.0), PlacesAnswer(0, 0, Reason.BUSY)]
)
def test_the_plain_form_of_a_value_is_read_back(value: Member | Share | PlacesAnswer) -> None:
    assert type(value).of(value.plain()) == value


@pytest.mark.parametrize(
    "plain", [None, [], {}, 7, ["peer:h", [], [1, 1]], ["user:h", ["a:1"], [1, 1]],
              ["peer:h", ["a:1"] * 9, [1, 1]], ["peer:h", [7], [1, 1]],
              ["peer:h", ["a:1"], [1, -1]], ["peer:h", ["a:1"], ["1", 1]]],
)  # fmt: skip
def test_what_is_no_peer_is_refused(plain: object) -> None:
    with pytest.raises(PeerError):
        Member.of(plain)


@pytest.mark.parametrize("plain", [None, [0, 0, None, ""], [0, 0, "why", ""], [1, "x", None, ""],
                                   [1, 0, None, ""], [1, float("nan"), None, ""]])  # fmt: skip
def test_what_is_no_answer_is_refused(plain: object) -> None:
    with pytest.raises(PeerError):
        PlacesAnswer.of(plain)


@pytest.mark.parametrize("plain", [None, "", "0" * 31, "G" * 32, "0" * 33, 7])
def test_what_is_no_key_is_refused(plain: object) -> None:
    with pytest.raises(PeerError):
        key_of(plain)
