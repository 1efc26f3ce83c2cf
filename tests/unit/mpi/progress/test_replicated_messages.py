"""Messages of ranks with replicas: each is delivered once and whole, whoever has sent it."""

from __future__ import annotations

import pytest

from runtime.mpi.progress.replicated_messages import (
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
        self.inbox = ReplicatedInbox(
            self.delivered.append,
            self.completed.append,
            lambda process, one: self.acknowledged.append((process, one.number)),
        )


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


def test_what_was_delivered_is_discarded_and_acknowledged_again(receiver: Receiver) -> None:
    line = Line()
    receiver.inbox.arrived(FIRST, STREAM, 0, line.message(4, 4, 10))
    receiver.inbox.arrived(SECOND, STREAM, 0, line.message(4, 4, 20))
    receiver.inbox.arrived(SECOND, STREAM, 1, line.message(4, 4, 21))
    assert [one.number for one in receiver.delivered] == [10, 21]
    assert line.taken == [20]
    assert receiver.acknowledged == [(FIRST, 0), (SECOND, 0), (SECOND, 1)]


def test_messages_are_acknowledged_in_the_order_of_their_sender_once_they_are_whole(
    receiver: Receiver,
) -> None:
    line = Line()
    large = line.message(4, 0, 10)
    receiver.inbox.arrived(FIRST, STREAM, 0, large)
    receiver.inbox.arrived(FIRST, STREAM, 1, line.message(4, 4, 11))
    assert len(receiver.delivered) == 2
    assert receiver.acknowledged == []
    receiver.delivered[0].take()
    assert bring(large, b"data")
    assert receiver.acknowledged == [(FIRST, 0), (FIRST, 1)]


@pytest.mark.parametrize("is_matched_before", [True, False])
@pytest.mark.parametrize("is_sent_before", [True, False])
def test_a_message_that_is_half_here_when_its_sender_dies_comes_from_another_replica(
    receiver: Receiver, is_matched_before: bool, is_sent_before: bool
) -> None:
    line, into = Line(), memoryview(bytearray(4))
    again = line.message(4, 0, 20)
    receiver.inbox.arrived(FIRST, STREAM, 0, line.message(4, 2, 10))
    (delivered,) = receiver.delivered
    if is_matched_before:
        delivered.give(into)
    if is_sent_before:
        receiver.inbox.arrived(SECOND, STREAM, 0, again)
        assert not again.is_matched
    receiver.inbox.lost(FIRST)
    if not is_sent_before:
        receiver.inbox.arrived(SECOND, STREAM, 0, again)
    if not is_matched_before:
        delivered.give(into)
    assert not delivered.done
    assert bring(again, b"data")
    assert (bytes(into), delivered.done) == (b"data", True)
    assert receiver.acknowledged == [(SECOND, 0)]
    assert len(receiver.delivered) == 1


@pytest.mark.parametrize("ending", [(FIRST,), (FIRST, SECOND), (SECOND, FIRST)])
def test_a_message_that_is_all_here_is_received_though_its_senders_have_ended_before(
    receiver: Receiver, ending: tuple[int, ...]
) -> None:
    line = Line()
    flows = {FIRST: line.message(4, 2, 10), SECOND: line.message(4, 2, 20)}
    for process, flow in flows.items():
        receiver.inbox.arrived(process, STREAM, 0, flow)
        flow.payload, flow.came = memoryview(b"abcd"), 4
    for process in ending:
        receiver.inbox.lost(process)
    (landing,) = receiver.delivered
    landing.take()
    assert landing.done
    assert bytes(landing.payload or b"") == b"abcd"


def test_a_sending_is_done_when_all_copies_are_and_a_lost_receiver_counts_no_more() -> None:
    sending = ReplicatedSending(1, b"head", [memoryview(b"data")], False)
    first, second = Outgoing(), Outgoing()
    sending.transmitted(first)
    sending.transmitted(second)
    assert not sending.look()
    first.done = True
    assert not sending.look()
    second.done, second.error = True, OSError("gone")
    assert sending.look()
    assert sending.error is None


def test_a_sending_that_is_kept_has_a_copy_and_only_a_synchronous_one_still_waits() -> None:
    for sync in (True, False):
        memory = bytearray(b"data")
        sending = ReplicatedSending(1, b"head", [memoryview(memory)], sync)
        sending.keep()
        memory[:] = b"xxxx"
        assert bytes(sending.payload[0]) == b"data"
        assert sending.done is not sync
        sending.drop()
        assert sending.done
