"""What stands in a port: in which order it is passed, what waits in it, what is changed back."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Any

import pytest

from runtime.machine.composition import Composition, CompositionError, Named
from runtime.machine.interceptors import DROP
from runtime.mpi.progress.interception import InterceptorInPort, Port, Ports, Restored
from runtime.mpi.progress.mailboxes import HEAD, REVOKED
from runtime.rank_name import RankName
from runtime.wire import SENT, Incoming, Outgoing

PAYLOAD = b"again and again " * 100


class Look:
    looks_at = "envelopes"

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.got: list[int] = []

    def sending(self, envelope: Any) -> None:
        assert (envelope.source, envelope.target, envelope.tag) == ("0:0:0", "1:0:0", 5)
        self.sent.append(envelope.size)

    def received(self, envelope: Any) -> None:
        assert (envelope.source, envelope.target, envelope.tag) == ("0:0:0", "1:0:0", 5)
        self.got.append(envelope.size)


class Compress:
    looks_at = "payloads"

    def sending(self, envelope: Any, payload: memoryview) -> bytes:
        assert len(payload) == envelope.size
        return zlib.compress(payload)

    def received(self, _: Any, payload: memoryview) -> bytes:
        return zlib.decompress(payload)


class Prefix:
    looks_at = "payloads"

    def sending(self, _: Any, payload: memoryview) -> bytes:
        return b"12" + bytes(payload)

    def received(self, _: Any, payload: memoryview) -> memoryview:
        return payload[2:]


class Answer:
    looks_at = "envelopes"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def sending(self, _: Any) -> Any:
        return self.answers.pop(0)


class Ends:
    """The two ends of a pair, and what is on its way between them."""

    def __init__(self, *interceptors: Any) -> None:
        self.now = 0.0
        self.on_the_way: list[tuple[bytes, bytes]] = []
        self.matched_sizes: list[int] = []
        self.last = Outgoing()
        links = [[link(one, number) for number, one in enumerate(interceptors)] for _ in range(2)]
        self.sender = Port(links[0], "0:0:0", "1:0:0", self.forward)
        self.receiver = Port(links[1], "1:0:0", "0:0:0", self.forward)

    def forward(self, head: bytes, payload: Sequence[memoryview], sync: bool) -> Outgoing:
        self.on_the_way.append((head, b"".join(payload)))
        return self.last if sync else SENT

    def send(self, data: bytes | bytearray, *, sync: bool = False) -> Outgoing:
        head = HEAD.pack(b"context!", False, 0, 5)
        return self.sender.send(head, [memoryview(data)], sync, lambda: self.now)

    def matched(self, incoming: Incoming) -> None:
        self.matched_sizes.append(incoming.size)

    def arriving(self) -> tuple[Incoming, Incoming]:
        """Return the next message that begins to come in, and what the receiver gets of it."""
        head, data = self.on_the_way.pop(0)
        incoming = Incoming(0, head, len(data), 0, self, asks=False, lent=memoryview(data))
        return incoming, self.receiver.arrived(incoming)


def link(interceptor: Any, number: int) -> InterceptorInPort:
    return InterceptorInPort(
        Named(("interceptor", f"a.B{number}", (), "sites", f"a.xml:{number}")), interceptor
    )


def test_what_changes_payloads_is_undone_and_each_sees_the_size_where_it_stands() -> None:
    before, between, behind = Look(), Look(), Look()
    ends = Ends(before, Compress(), between, Prefix(), behind)
    ends.send(PAYLOAD)
    size = len(zlib.compress(PAYLOAD))
    assert [one.sent for one in (before, between, behind)] == [[1600], [size], [size + 2]]
    _, message = ends.arriving()
    assert [one.got for one in (before, between, behind)] == [[1600], [size], [size + 2]]
    assert (message.size, HEAD.unpack(message.head)) == (1600, (b"context!", False, 0, 5))
    buffer = memoryview(bytearray(1600))
    message.give(buffer)
    assert (message.done, bytes(buffer)) == (True, PAYLOAD)


def test_envelopes_alone_leave_a_message_as_it_is() -> None:
    ends = Ends(Look())
    assert ends.send(PAYLOAD) is SENT
    incoming, message = ends.arriving()
    assert message is incoming


@pytest.mark.parametrize("size", [0, 1, 1600])
def test_a_message_is_matched_when_its_receiver_takes_it_and_not_before(size: int) -> None:
    ends = Ends(Compress())
    ends.send(PAYLOAD[:size])
    _, message = ends.arriving()
    assert (ends.matched_sizes, message.done) == ([], False)
    message.take()
    assert (len(ends.matched_sizes), message.done) == (1, True)
    assert bytes(message.payload or b"") == PAYLOAD[:size]


@pytest.mark.parametrize("size", [0, 1600])
def test_a_message_that_is_matched_early_is_changed_back_once_it_is_all_there(size: int) -> None:
    ends = Ends(Compress())
    ends.send(PAYLOAD[:size])
    head, data = ends.on_the_way.pop()
    incoming = Incoming(0, head, len(data), 0, ends, asks=False)
    message = ends.receiver.arrived(incoming)
    assert isinstance(message, Restored)
    buffer = memoryview(bytearray(size))
    message.give(buffer)
    assert not message.done
    incoming.payload, incoming.done = memoryview(data), True
    message.restore()
    assert (message.done, bytes(buffer)) == (True, PAYLOAD[:size])


def test_messages_behind_a_delayed_one_keep_their_order() -> None:
    ends = Ends(Answer(2.0, None, 0.5))
    assert [ends.send(data) for data in (b"a", b"b", b"c")] == [SENT] * 3
    assert ends.sender.links[0].describe() == "interceptor a.B0 (a.xml:0) holds 2 messages"
    ends.sender.release(1.9)
    assert ends.on_the_way == []
    ends.sender.release(2.0)
    assert [data for _, data in ends.on_the_way] == [b"a", b"b", b"c"]
    assert ends.sender.links[0].describe() == "interceptor a.B0 (a.xml:0)"


def test_small_messages_are_copied_while_they_wait_and_large_ones_are_not_done() -> None:
    ends = Ends(Answer(1.0, 1.0, 1.0))
    small, large = bytearray(b"ab"), bytearray(100_000)
    assert ends.send(small) is SENT
    small[:] = b"xy"
    held = ends.send(large)
    waits = ends.send(b"c", sync=True)
    assert not held.done
    assert ends.sender.release(1.0) == [(SENT, held), (ends.last, waits)]
    assert [len(data) for _, data in ends.on_the_way] == [2, 100_000, 1]
    assert ends.on_the_way[0][1] == b"ab"


def test_a_dropped_message_is_counted_and_one_that_has_to_be_matched_is_never_done() -> None:
    ends = Ends(Answer(DROP, DROP, None))
    assert ends.send(b"a") is SENT
    assert not ends.send(b"a", sync=True).done
    ends.send(b"b")
    assert [data for _, data in ends.on_the_way] == [b"b"]
    assert ends.sender.links[0].describe() == "interceptor a.B0 (a.xml:0) has dropped 2 messages"


def test_what_members_say_of_losses_passes_by_whatever_is_in_the_port() -> None:
    for stands in ([Answer(DROP)], [Answer(1.0)], [Compress()], [Prefix(), Compress()]):
        ends = Ends(*stands)
        head = HEAD.pack(b"context!", True, 0, REVOKED)
        ends.sender.send(head, [memoryview(b"said")], False, lambda: 0.0)
        assert ends.on_the_way == [(head, b"said")]
        incoming, message = ends.arriving()
        assert message is incoming


def test_what_cannot_be_changed_back_fails_the_port_and_is_not_done() -> None:
    class Cut(Compress):
        def received(self, _: Any, payload: memoryview) -> bytes:
            return super().received(_, payload)[1:]

    for interceptor, kind in ((Cut(), ValueError), (Compress(), zlib.error)):
        ends, failures = Ends(Prefix(), interceptor), list[Exception]()
        ends.receiver.fail = failures.append
        ends.send(PAYLOAD)
        if kind is zlib.error:
            ends.on_the_way = [(ends.on_the_way[0][0], b"nonsense")]
        _, message = ends.arriving()
        message.take()
        assert (message.done, [type(one) for one in failures]) == (False, [kind])
        assert ends.receiver.link is ends.receiver.links[1]


def test_a_port_knows_which_interceptor_raises() -> None:
    ends = Ends(Look(), Answer())
    with pytest.raises(IndexError):
        ends.send(b"")
    assert ends.sender.link is ends.sender.links[1]


def test_a_head_grows_by_eight_bytes_for_each_that_changes_payloads() -> None:
    ends = Ends(Compress(), Prefix())
    ends.send(PAYLOAD)
    head, _ = ends.on_the_way[0]
    assert len(head) == HEAD.size + 16
    assert struct.unpack_from("<2q", head, HEAD.size) == (1600, len(zlib.compress(PAYLOAD)))


def test_classes_that_cannot_be_used_are_found_before_the_first_message() -> None:
    places = [RankName(0, 0, 0), RankName(1, 0, 0)]
    told = [("interceptor", "no_such_module.B", (), "sites", "a.xml:7")]
    with pytest.raises(CompositionError, match=r"a\.xml:7.* there is no module 'no_such_module'"):
        Ports(Composition(told, "north/a/wrapper0"), places, 0)
