"""Pyro5's wire protocol: the same bytes as Pyro5 itself writes and reads, in pieces of any size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from Pyro5 import protocol

from runtime.transport import pyro_messages
from runtime.transport.errors import FrameError
from runtime.transport.pyro_messages import (
    CHUNK,
    HEADER,
    JSON,
    PING,
    SERPENT,
    MessageReader,
    PyroMessage,
    refusal,
)

names = st.text(st.characters(codec="ascii", categories=["Lu"]), min_size=4, max_size=4)
messages = st.builds(
    PyroMessage,
    st.integers(1, 6),
    st.binary(max_size=50),
    st.dictionaries(names, st.binary(max_size=50), max_size=3),
    flags=st.sampled_from([0, 1, 4, 8]),
    sequence=st.integers(0, 65535),
    serializer=st.integers(1, 4),
)


def fields(message: PyroMessage) -> tuple[object, ...]:
    payload, annotations = bytes(message.payload), message.annotations
    return (
        message.kind, message.flags, message.sequence, message.serializer, payload, annotations
    )  # fmt: skip


def test_the_constants_are_those_of_the_pyro5_that_is_installed() -> None:
    assert protocol.PROTOCOL_VERSION == pyro_messages.VERSION
    assert protocol._header_format == HEADER.format
    assert protocol._magic_number == pyro_messages.END_MARK
    kinds = ["CONNECT", "CONNECTOK", "CONNECTFAIL", "INVOKE", "RESULT", "PING"]
    assert [getattr(protocol, f"MSG_{kind}") for kind in kinds] == [1, 2, 3, 4, 5, 6]
    flags = ["EXCEPTION", "COMPRESSED", "ONEWAY", "BATCH"]
    own = [getattr(pyro_messages, flag) for flag in flags]
    assert [getattr(protocol, f"FLAGS_{flag}") for flag in flags] == own


@given(messages)
def test_the_bytes_are_those_that_pyro5_writes(message: PyroMessage) -> None:
    theirs = protocol.SendingMessage(
        message.kind,
        message.flags,
        message.sequence,
        message.serializer,
        bytes(message.payload),
        message.annotations,
    )
    assert message.joined() == theirs.data


@given(st.lists(messages, max_size=4), st.integers(1, 100), st.binary(max_size=3))
def test_messages_are_found_in_pieces_of_any_size_and_what_follows_is_kept(
    sent: list[PyroMessage], size: int, rest: bytes
) -> None:
    data = b"".join(message.joined() for message in sent) + rest
    reader = MessageReader(1000)
    came: list[PyroMessage] = []
    for place in range(0, len(data), size):
        reader.feed(data[place : place + size])
        while len(came) < len(sent) and (message := reader.take()) is not None:
            came.append(message)
    assert [fields(message) for message in came] == [fields(message) for message in sent]
    assert reader.rest == rest


def test_other_bytes_are_refused_as_soon_as_they_differ() -> None:
    reader = MessageReader(1000)
    reader.feed(b"PYR")
    assert reader.take() is None
    reader.feed(b"A")
    with pytest.raises(FrameError, match="not a message of Pyro5"):
        reader.take()


def test_another_version_is_refused() -> None:
    data = bytearray(PyroMessage(PING).joined())
    data[5] ^= 1
    reader = MessageReader(1000)
    reader.feed(data)
    with pytest.raises(FrameError, match="version 503 .* 502 is spoken here"):
        reader.take()


def test_a_message_beyond_the_limit_is_refused_before_it_has_come() -> None:
    reader = MessageReader(20)
    reader.feed(PyroMessage(PING, bytes(8), {"ABCD": bytes(4)}).joined())
    assert reader.take() is not None
    reader.feed(PyroMessage(PING, bytes(9), {"ABCD": bytes(4)}).joined()[: HEADER.size])
    with pytest.raises(FrameError, match="21 bytes; at most 20 are allowed"):
        reader.take()


@pytest.mark.parametrize("chunk", [b"ABC", CHUNK.pack(b"ABCD", 5) + b"1234"])
def test_annotations_that_are_cut_off_are_refused(chunk: bytes) -> None:
    head = bytearray(PyroMessage(PING).joined())
    head[16:20] = len(chunk).to_bytes(4, "big")
    reader = MessageReader(1000)
    reader.feed(bytes(head) + chunk)
    with pytest.raises(FrameError, match="cut off"):
        reader.take()


def test_a_refusal_is_one_line_in_the_serializer_of_the_client() -> None:
    asked = PyroMessage(PING, serializer=SERPENT, sequence=7)
    answer = refusal(asked, 'say "no" \\ ü')
    assert (answer.serializer, answer.sequence) == (SERPENT, 7)
    assert answer.payload == b"\"say 'no' / ?\""
    assert (
        refusal(PyroMessage(PING, serializer=JSON), "x" * 2000).payload == b'"' + b"x" * 1000 + b'"'
    )
