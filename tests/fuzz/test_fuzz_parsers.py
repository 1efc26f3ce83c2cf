"""Whatever comes over a connection: each parser takes it or raises its one error, within bounds.

The bytes are random, or those of a real conversation that were cut off, turned, doubled or had the
lengths in them blown up.
"""

from __future__ import annotations

import contextlib
import struct
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.transport.credentials import NONCE, Credentials, Dialler, Greeting, ListeningEnd, proof
from runtime.transport.errors import AuthenticationFailed, FrameError, TransportError
from runtime.transport.frames import HEAD, MARK, Frame, FrameReader
from runtime.transport.messages import CALL, FAILURE, NOTE, RESULT, target_of
from runtime.transport.pyro.values import Language
from runtime.transport.pyro_messages import (
    CONNECT,
    INVOKE,
    JSON,
    MARSHAL,
    MSGPACK,
    PING,
    SERPENT,
    MessageReader,
    PyroMessage,
)
from runtime.wire.dialling.forward_requests import (
    Answer,
    AnswerReader,
    ForwardRequest,
    RequestReader,
)

if TYPE_CHECKING:
    from tests.fuzz.conftest import Break, Cut

MOST = 1 << 20
SECRET = b"a secret of a test of strangers"
ROUNDS = settings(max_examples=150)
Outcome = tuple[list[object], str]
Feed = Callable[[bytes], list[object]]


# --- the parsers ----------------------------------------------------------------------------------


def frames() -> Feed:
    reader = FrameReader(MOST)

    def feed(data: bytes) -> list[object]:
        return [described(frame) for frame in reader.feed(data)]

    return feed


def described(frame: Frame) -> object:
    where = ""
    if frame.kind in (CALL, NOTE):
        with contextlib.suppress(FrameError):
            where = str(target_of(frame))
    return frame.kind, frame.number, [bytes(part) for part in frame.parts], where


def messages() -> Feed:
    reader = MessageReader(MOST)

    def feed(data: bytes) -> list[object]:
        reader.feed(data)
        found: list[object] = []
        while (message := reader.take()) is not None:
            annotations = {name: bytes(data) for name, data in message.annotations.items()}
            found.append((message.kind, bytes(message.payload), annotations))
        return found

    return feed


def greeting(end: Greeting) -> Feed:
    end.begin()

    def feed(data: bytes) -> list[object]:
        answer = end.feed(data)
        return [answer or None, end.peer]

    return feed


def listener() -> ListeningEnd:
    return ListeningEnd(Credentials(SECRET, "listener"), b"1" * NONCE)


def dialler() -> Dialler:
    return Dialler(Credentials(SECRET, "dialler"), b"2" * NONCE)


def requests() -> Feed:
    return one_text(RequestReader())


def answers() -> Feed:
    return one_text(AnswerReader())


def one_text(reader: RequestReader | AnswerReader) -> Feed:
    taken: list[object] = []

    def feed(data: bytes) -> list[object]:
        if not taken:  # what follows belongs to somebody else
            found = reader.feed(data)
            taken.extend([] if found is None else [found])
        return taken

    return feed


def conversation() -> tuple[bytes, bytes]:
    """Return what a dialler and a listener say to each other."""
    here, there = listener(), dialler()
    hello = there.begin()
    heard = here.feed(hello)
    proof = there.feed(heard)
    return hello + proof, heard + here.feed(proof)


def some_frames() -> bytes:
    sent = [
        Frame(CALL, 1, [b"/a/b\0i\0op\0", b"pickled", bytes(300)]),
        Frame(NOTE, 0, [b"/a\0i\0op\0/c.d", b""]),
        Frame(RESULT, 2, [b"", b"x"]),
        Frame(FAILURE, 3, [b"", b"", b"kind", b"words", b"trace"]),
    ]
    return b"".join(frame.head() + b"".join(frame.parts) for frame in sent)


def some_messages() -> bytes:
    sent = [
        PyroMessage(CONNECT, b'{"object": "a"}', {"GCMN": b"1" * NONCE, "OTHR": b""}),
        PyroMessage(PING, b"ping", sequence=3),
        PyroMessage(INVOKE, b"x" * 500, {"GCMP": b"2" * 40}, flags=4, serializer=SERPENT),
    ]
    return b"".join(message.joined() for message in sent)


@dataclass(frozen=True)
class Parser:
    """How to make a parser, what it may raise, and what it takes."""

    make: Callable[[], Feed]
    error: type[TransportError]
    valid: bytes


DIALLED, HEARD = conversation()
PARSERS = {
    "frames": Parser(frames, FrameError, some_frames()),
    "messages": Parser(messages, FrameError, some_messages()),
    "listener": Parser(lambda: greeting(listener()), AuthenticationFailed, DIALLED),
    "dialler": Parser(lambda: greeting(dialler()), AuthenticationFailed, HEARD),
    "requests": Parser(requests, FrameError, ForwardRequest(("0:1", "0:1:2")).written()),
    "answers": Parser(answers, FrameError, Answer("nobody is there").written()),
}


ALL = pytest.mark.parametrize("parser", PARSERS.values(), ids=PARSERS)


def fed(parser: Parser, pieces: list[bytes]) -> Outcome:
    """Return what a parser makes of pieces, and what it refused if it did."""
    feed = parser.make()
    found: list[object] = []
    try:
        for piece in pieces:
            found += feed(piece)
    except parser.error as refused:
        return found, str(refused)
    return found, ""


# --- the bytes ------------------------------------------------------------------------------------

LARGE = (0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)


# --- what holds -----------------------------------------------------------------------------------


@ALL
@ROUNDS
@given(data=st.binary(max_size=600), seed=st.integers(0))
def test_random_bytes_are_refused_or_awaited(
    parser: Parser, data: bytes, seed: int, cut: Cut
) -> None:
    fed(parser, cut(data, seed))


@ALL
@ROUNDS
@given(seed=st.integers(0), cuts=st.integers(0))
def test_broken_conversations_are_taken_or_refused_however_they_are_cut(
    parser: Parser, seed: int, cuts: int, broken: Break, cut: Cut
) -> None:
    data = broken(parser.valid, seed)
    whole, in_pieces = fed(parser, [data]), fed(parser, cut(data, cuts))
    assert bool(whole[1]) == bool(in_pieces[1])


@ALL
@pytest.mark.parametrize("tail", [b"", b"\0", b"\xff" * 9])
def test_a_conversation_that_is_cut_off_anywhere_is_awaited(parser: Parser, tail: bytes) -> None:
    for length in range(len(parser.valid)):
        assert fed(parser, [parser.valid[:length]])[1] == ""
        if tail:
            fed(parser, [parser.valid[:length], tail])


@ALL
def test_any_byte_that_is_turned_is_taken_or_refused(parser: Parser) -> None:
    for place in range(min(len(parser.valid), 400)):
        for flip in (0x01, 0x80, 0xFF):
            data = bytearray(parser.valid)
            data[place] ^= flip
            fed(parser, [bytes(data)])


def accidents(valid: bytes) -> Iterator[bytes]:
    """Yield bytes in which every length is announced to be enormous, wherever one may be."""
    for place in range(min(len(valid), 120)):
        for large in LARGE:
            size = max(1, (large.bit_length() + 7) // 8)
            yield valid[:place] + large.to_bytes(size, "big") + valid[place + size :]


@ALL
def test_no_memory_is_taken_for_what_is_announced(parser: Parser) -> None:
    tracemalloc.start()
    try:
        for data in accidents(parser.valid):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            fed(parser, [data])
            assert tracemalloc.get_traced_memory()[1] - before < MOST + (1 << 18)
    finally:
        tracemalloc.stop()


@ROUNDS
@given(seed=st.integers(0))
def test_nobody_is_let_in_who_changed_anything_of_a_proof(seed: int, broken: Break) -> None:
    here, there = listener(), dialler()
    heard = here.feed(there.begin())
    proof = there.feed(heard)
    begin = proof.index(b"GCMP")
    annotation = proof[begin : begin + 8 + 32 + len("dialler")]
    changed = proof[:begin] + broken(proof[begin:], seed)
    if annotation not in changed:  # the rest of the message says nothing
        with contextlib.suppress(AuthenticationFailed):
            here.feed(changed)
        assert here.peer is None


@pytest.mark.parametrize("name", [b"\xff\xfe", b"x" * 1024, b"\0", b""])
def test_a_member_may_have_any_name_that_it_can_prove(name: bytes) -> None:
    """Members are trusted; their names are still only words."""
    here, there = listener(), dialler()
    heard = here.feed(there.begin())
    own = proof(SECRET, b"dialler", b"1" * NONCE, b"2" * NONCE, name)
    assert heard
    here.feed(PyroMessage(INVOKE, b"", {"GCMP": own + name}).joined())
    assert here.peer == name.decode(errors="replace")


# --- frames, in bulk ------------------------------------------------------------------------------


def test_a_flood_of_empty_frames_keeps_nothing() -> None:
    reader = FrameReader(MOST)
    empty = HEAD.pack(MARK, CALL, 0, 1)
    tracemalloc.start()
    try:
        for _ in range(200):
            assert len(reader.feed(empty * 64)) == 64
        assert tracemalloc.get_traced_memory()[0] < MOST
    finally:
        tracemalloc.stop()


def test_many_parts_that_are_announced_are_taken_one_after_the_other() -> None:
    reader = FrameReader(1 << 40)
    head = HEAD.pack(MARK, CALL, 4096, 1) + struct.pack("!Q", 1 << 20) * 4096
    tracemalloc.start()
    try:
        assert reader.feed(head) == []
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


# --- what ordinary clients of Pyro5 say -----------------------------------------------------------

SAID = {
    SERPENT: [
        b"# serpent utf-8 python3.2\n{'object':'book','handshake':'hello'}",
        b"# serpent utf-8 python3.2\n('book','add',('tea',1),{})",
    ],
    JSON: [
        b'{"handshake": "hello", "object": "book"}',
        b'{"object": "book", "method": "add", "params": ["tea"], "kwargs": {}}',
    ],
    MSGPACK: [
        b"\x82\xa9handshake\xa5hello\xa6object\xa4book",
        b"\x94\xa4book\xa3add\x91\xa3tea\x80",
    ],
}


@ROUNDS
@given(
    serializer=st.sampled_from(sorted(SAID)),
    which=st.integers(0, 1),
    seed=st.integers(0),
    noise=st.one_of(st.none(), st.binary(max_size=200)),
)
def test_what_clients_of_pyro5_say_is_understood_or_refused(
    serializer: int, which: int, seed: int, noise: bytes | None, broken: Break
) -> None:
    language = Language(serializer)
    payload = broken(SAID[serializer][which], seed) if noise is None else noise
    for read in (language.hello, language.call):
        with contextlib.suppress(FrameError):
            read(payload)


def test_the_payloads_that_are_broken_were_right_before() -> None:
    for serializer, (hello, call) in SAID.items():
        assert Language(serializer).hello(hello) == "book"
        assert Language(serializer).call(call)[:2] == ("book", "add")


@pytest.mark.parametrize("serializer", sorted(SAID))
@pytest.mark.parametrize(
    "deep",
    [b"[" * 50_000, b"(" * 50_000, b"-" * 50_000 + b"1", b"\x91" * 50_000, b'{"a":' * 50_000],
    ids=["lists", "tuples", "signs", "arrays", "maps"],
)
def test_what_is_nested_too_deeply_is_refused(serializer: int, deep: bytes) -> None:
    with pytest.raises(FrameError):
        Language(serializer).call(deep)


@pytest.mark.parametrize("serializer", [0, MARSHAL, 5, 255])
def test_no_other_serializer_is_spoken(serializer: int) -> None:
    with pytest.raises(FrameError, match="is not spoken here"):
        Language(serializer)
