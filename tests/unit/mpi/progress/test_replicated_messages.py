"""Messages of ranks with replicas: each is delivered once and whole, whoever has sent it."""

from __future__ import annotations

import pytest

from runtime.mpi.progress.replicated_messages import (
    MOST_SPARE,
    CopyMemory,
    ReplicatedInbox,
    ReplicatedIncoming,
    ReplicatedSending,
)
from runtime.wire import Incoming, Outgoing

STREAM = ((b"world", False), 0, 1, 7)
FIRST, SECOND = 0, 2
"""The processes that are replicas of the sender."""


class Line:
    """Where messages come from; what it is told to bring is here."""

    def __init__(self) -> None:
        self.taken: list[int] = []

    def message(self, size: int, came: int, number: int = 0) -> Incoming:
        incoming = Incoming(0, b"head", size, number, self, asks=False)
        incoming.came = came
        incoming.reach = 0
        return incoming

    def matched(self, incoming: Incoming) -> None:
        self.taken.append(incoming.number)


def bring(incoming: Incoming, payload: bytes) -> bool:
    """Let the rest of a message come in; return whether that completes what was delivered."""
    assert incoming.is_matched
    if incoming.payload is None:
        incoming.payload = memoryview(bytearray(len(payload)))
    incoming.payload[:] = payload
    incoming.done = True
    owner = incoming.owner
    return isinstance(owner, ReplicatedIncoming) and owner.land()


class Receiver:
    """An inbox, and what it has delivered, completed and acknowledged."""

    def __init__(self) -> None:
        self.delivered: list[Incoming] = []
        self.completed: list[Incoming] = []
        self.acknowledged: list[tuple[int, int]] = []
        """The process and the size of each message."""
        self.inbox = ReplicatedInbox(
            self.delivered.append,
            self.completed.append,
            lambda process, size, _: self.acknowledged.append((process, size)),
        )


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


def test_what_was_delivered_is_discarded_and_acknowledged_again(receiver: Receiver) -> None:
    line = Line()
    receiver.inbox.arrived(FIRST, STREAM, 0, line.message(4, 4, 10), True)
    receiver.inbox.arrived(SECOND, STREAM, 0, line.message(4, 4, 20), False)
    receiver.inbox.arrived(SECOND, STREAM, 1, line.message(5, 5, 21), True)
    assert [one.number for one in receiver.delivered] == [10, 21]
    assert line.taken == [20]
    assert receiver.acknowledged == [(FIRST, 4), (SECOND, 4), (SECOND, 5)]


def test_messages_are_acknowledged_in_the_order_of_their_sender_once_they_are_whole(
    receiver: Receiver,
) -> None:
    line = Line()
    large = line.message(4, 0, 10)
    receiver.inbox.arrived(FIRST, STREAM, 0, large, True)
    receiver.inbox.arrived(FIRST, STREAM, 1, line.message(5, 5, 11), True)
    assert len(receiver.delivered) == 2
    assert receiver.acknowledged == []
    receiver.delivered[0].take()
    assert bring(large, b"data")
    assert receiver.acknowledged == [(FIRST, 4), (FIRST, 5)]


@pytest.mark.parametrize("is_matched_before", [True, False])
@pytest.mark.parametrize("is_sent_before", [True, False])
def test_a_message_that_is_half_here_when_its_sender_dies_comes_from_another_replica(
    receiver: Receiver, is_matched_before: bool, is_sent_before: bool
) -> None:
    line, into = Line(), memoryview(bytearray(4))
    again = line.message(4, 0, 20)
    receiver.inbox.arrived(FIRST, STREAM, 0, line.message(4, 2, 10), True)
    (delivered,) = receiver.delivered
    if is_matched_before:
        delivered.give(into)
    if is_sent_before:
        receiver.inbox.arrived(SECOND, STREAM, 0, again, False)
        assert not again.is_matched
    receiver.inbox.lost(FIRST)
    if not is_sent_before:
        receiver.inbox.arrived(SECOND, STREAM, 0, again, False)
    if not is_matched_before:
        delivered.give(into)
    assert not delivered.done
    assert bring(again, b"data")
    assert (bytes(into), delivered.done) == (b"data", True)
    assert receiver.acknowledged == [(SECOND, 4)]
    assert len(receiver.delivered) == 1


@pytest.mark.parametrize("ending", [(FIRST,), (FIRST, SECOND), (SECOND, FIRST)])
def test_a_message_that_is_all_here_is_received_though_its_senders_have_ended_before(
    receiver: Receiver, ending: tuple[int, ...]
) -> None:
    line = Line()
    flows = {FIRST: line.message(4, 2, 10), SECOND: line.message(4, 2, 20)}
    for process, flow in flows.items():
        receiver.inbox.arrived(process, STREAM, 0, flow, process == FIRST)
        flow.payload, flow.came = memoryview(b"abcd"), 4
    for process in ending:
        receiver.inbox.lost(process)
    (landing,) = receiver.delivered
    landing.take()
    assert landing.done
    assert bytes(landing.payload or b"") == b"abcd"


def test_a_sending_is_done_when_all_copies_are_and_a_lost_receiver_counts_no_more() -> None:
    sending = ReplicatedSending(1, b"head", 0, [memoryview(b"data")], False)
    first, second = Outgoing(), Outgoing()
    sending.await_part(first)
    sending.await_part(second)
    sending.is_transmitted = True
    assert not sending.look()
    first.done = True
    assert not sending.look()
    second.done, second.error = True, OSError("gone")
    assert sending.look()
    assert sending.error is None


def test_a_sending_that_is_kept_has_a_copy_and_only_a_synchronous_one_still_waits() -> None:
    for sync in (True, False):
        memory = bytearray(b"data")
        sending = ReplicatedSending(1, b"head", 0, [memoryview(memory)], sync)
        sending.keep(CopyMemory())
        memory[:] = b"xxxx"
        assert bytes(sending.payload[0]) == b"data"
        assert sending.done is not sync
        sending.drop(CopyMemory())
        assert sending.done


def test_memory_of_large_copies_is_used_again_for_others_of_their_size() -> None:
    memory, size = CopyMemory(), 1 << 20
    pieces = [memoryview(b"a" * (size // 2)), memoryview(b"b" * (size // 2))]
    first = memory.copy(pieces, size)
    assert first == b"".join(pieces)
    assert isinstance(first, bytearray)
    memory.free(first)
    second = memory.copy(pieces[::-1], size)
    assert second is first
    assert second == b"".join(pieces[::-1])
    assert memory.copy(pieces, size) is not second
    assert memory.copy(pieces[:1], size // 2) == bytes(pieces[0])


def test_memory_for_copies_that_nobody_needs_is_bounded() -> None:
    memory, sizes = CopyMemory(), range(1 << 20, 40 << 20, 1 << 20)
    for size in sizes:
        memory.free(bytearray(size))
    assert memory.spare_bytes <= MOST_SPARE
