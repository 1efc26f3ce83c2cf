"""Point-to-point calls on a communicator of two clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpi4py import MPI

from runtime.mpi.point_to_point.messages import Message
from runtime.mpi.requests.requests import Request
from runtime.mpi.surface.communicator_classes import Comm

if TYPE_CHECKING:
    pass


def received(comm: Comm, buf: Any, source: int, tag: int) -> MPI.Status:
    status = MPI.Status()
    comm.Recv(buf, source, tag, status)
    return status


def test_derived_datatypes_cross_clusters(here: Comm, there: Comm) -> None:
    every_other = MPI.INT.Create_vector(3, 1, 2).Commit()
    sent, got = np.arange(6, dtype="i"), np.full(6, -1, dtype="i")
    here.Send([sent, 1, every_other], 1)
    status = received(there, [got, 1, every_other], 0, 0)
    assert got.tolist() == [0, -1, 2, -1, 4, -1]
    assert (status.Get_count(every_other), status.Get_elements(MPI.INT)) == (1, 3)
    here.Send([sent, 1, every_other], 1)
    received(there, [got, 3, MPI.INT], 0, 0)
    assert got[:3].tolist() == [0, 2, 4]
    every_other.Free()


def test_a_derived_datatype_is_truncated_like_memory(here: Comm, there: Comm) -> None:
    pairs = MPI.INT.Create_vector(2, 1, 2).Commit()
    here.Send(np.arange(3, dtype="i"), 1)
    with pytest.raises(MPI.Exception) as caught:
        there.Recv([np.zeros(4, dtype="i"), 1, pairs], 0)
    assert caught.value.error_class == MPI.ERR_TRUNCATE
    pairs.Free()


@pytest.mark.parametrize(
    ("arguments", "error_class"),
    [
        ((2, 0), MPI.ERR_RANK),
        ((-7, 0), MPI.ERR_RANK),
        ((1, -1), MPI.ERR_TAG),
        ((1, 2**31 - 1), MPI.ERR_TAG),
    ],
)
def test_wrong_ranks_and_tags_are_errors_of_mpi(
    here: Comm, arguments: tuple[int, int], error_class: int
) -> None:
    calls = (here.Send, here.Isend, here.Ssend, here.Recv, here.Irecv, here.Send_init)
    for call in calls:
        if error_class == MPI.ERR_TAG and arguments[1] == -1 and call in calls[3:5]:
            continue  # that is ANY_TAG
        with pytest.raises(MPI.Exception) as caught:
            call(bytearray(1), *arguments)
        assert caught.value.error_class == error_class


def test_wrong_memory_is_refused_at_once(here: Comm, there: Comm) -> None:
    with pytest.raises(TypeError):
        there.Irecv(object(), 0)
    with pytest.raises(BufferError):
        there.Irecv(b"read-only", 0)
    with pytest.raises(ValueError, match="negative count"):
        here.Isend([b"x", -1, MPI.BYTE], 1)
    assert not there.Iprobe(0)


def test_a_probe_sees_what_the_receive_will_get(here: Comm, there: Comm) -> None:
    there.Isend(b"near", 1, 5)
    here.Send(b"far", 1, 6)
    for _ in range(2):
        status = MPI.Status()
        there.Probe(MPI.ANY_SOURCE, MPI.ANY_TAG, status)
        seen = status.source, status.tag, status.count
        memory = bytearray(4)
        got = received(there, memory, MPI.ANY_SOURCE, MPI.ANY_TAG)
        assert (got.source, got.tag, got.count) == seen
    assert not there.Iprobe()


@pytest.mark.parametrize("sender", [0, 1])
def test_a_matched_message_belongs_to_whoever_probed_it(
    here: Comm, there: Comm, sender: int
) -> None:
    for text in (b"first", b"later"):
        (here, there)[sender].Isend(text, 1, 5)
    status, memory = MPI.Status(), bytearray(5)
    message = there.Mprobe(MPI.ANY_SOURCE, 5, status)
    assert (status.source, status.count) == (sender, 5)
    there.Recv(memory, sender, 5)
    assert memory == b"later"
    assert message
    message.Recv(memory, status)
    assert memory == b"first"
    assert (status.source, status.tag, status.count) == (sender, 5, 5)
    assert not message
    assert there.Improbe(sender, 5) is None


@pytest.mark.parametrize("sender", [0, 1])
def test_a_matched_object_can_be_received_later(here: Comm, there: Comm, sender: int) -> None:
    sent = [(here, there)[sender].isend({"n": number}, 1, 5) for number in range(2)]
    status = MPI.Status()
    message = Message.probe(there, MPI.ANY_SOURCE, 5, status)
    assert message.recv(status) == {"n": 0}
    assert status.source == sender
    later = Message.iprobe(there, sender, 5)
    assert later is not None
    assert later.irecv().wait() == {"n": 1}
    assert Message.iprobe(there, sender, 5) is None
    Request.Waitall(sent)


def test_a_probe_leaves_alone_what_an_earlier_receive_waits_for(here: Comm, there: Comm) -> None:
    memory = bytearray(1)
    request = there.Irecv(memory, MPI.ANY_SOURCE, 5)
    there.Isend(b"x", 1, 5)
    assert not there.Iprobe(1, 5)
    assert request.Test()
    assert memory == b"x"


def test_a_receive_after_a_wildcard_waits_its_turn(here: Comm, there: Comm) -> None:
    first, second = bytearray(1), bytearray(1)
    requests = [there.Irecv(first, MPI.ANY_SOURCE, 5), there.Irecv(second, 1, 5)]
    for text in (b"1", b"2"):
        there.Isend(text, 1, 5)
    Message.Iprobe(there, 0, 9)
    type(requests[0]).Waitall(requests)
    assert [bytes(first), bytes(second)] == [b"1", b"2"]


def test_synchronous_sends_are_done_when_received(here: Comm, there: Comm) -> None:
    for request in (here.Issend(b"x", 1), here.issend("x", 1)):
        assert not there.Iprobe(0, 99)
        assert not request.Test()
    there.Recv(bytearray(1), 0)
    assert there.recv(None, 0) == "x"


def test_buffered_sends_leave_their_memory_free(here: Comm, there: Comm) -> None:
    data, got = bytearray(b"x"), bytearray(1)
    here.Bsend(data, 1)
    request = here.Ibsend(data, 1)
    data[:] = b"y"
    request.Wait()
    for _ in range(2):
        there.Recv(got, 0)
        assert got == b"x"


def test_what_is_sent_is_replaced_by_what_comes(here: Comm, there: Comm) -> None:
    first, second = bytearray(b"a"), bytearray(b"b")
    begun = here.Isendrecv_replace(first, 1, 3, 1, 3)
    status = MPI.Status()
    there.Sendrecv_replace(second, 0, 3, 0, 3, status)
    begun.Wait()
    assert [bytes(first), bytes(second)] == [b"b", b"a"]
    assert (status.source, status.tag, status.count) == (0, 3, 1)


def test_sending_and_receiving_at_once(here: Comm, there: Comm) -> None:
    got, back = bytearray(1), bytearray(1)
    begun = here.Isendrecv(b"a", 1, 3, got, 1, 4)
    there.Sendrecv(b"b", 0, 4, back, 0, 3)
    begun.Wait()
    assert [bytes(got), bytes(back)] == [b"b", b"a"]


def test_objects_may_be_received_in_memory_of_the_program(here: Comm, there: Comm) -> None:
    for place in (100, bytearray(100)):
        request = there.irecv(place, 0, 1)
        here.send([1, 2, 3], 1, 1)
        assert request.wait() == [1, 2, 3]
    request = there.irecv(bytearray(2), 0, 1)
    here.send("too long for it", 1, 1)
    with pytest.raises(MPI.Exception) as caught:
        request.wait()
    assert caught.value.error_class == MPI.ERR_TRUNCATE


def test_nobody_can_be_a_partner(here: Comm) -> None:
    status = MPI.Status()
    here.Sendrecv(None, MPI.PROC_NULL, 0, None, MPI.PROC_NULL, 0, status)
    assert (status.source, status.tag, status.count) == (MPI.PROC_NULL, MPI.ANY_TAG, 0)
    assert here.recv(source=MPI.PROC_NULL) is None
    assert here.mprobe(MPI.PROC_NULL) == MPI.MESSAGE_NO_PROC
