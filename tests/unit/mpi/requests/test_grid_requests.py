"""Requests of the grid, alone and mixed with native ones, and the calls that make them."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest
from mpi4py import MPI

from runtime.mpi.errors import ProcessGone
from runtime.mpi.progress.operations import Operation
from runtime.mpi.requests.requests import Prequest, Request, new_request
from runtime.mpi.requests.several import Mix
from runtime.mpi.surface.communicator_classes import Comm
from runtime.wire import PeerLost

if TYPE_CHECKING:
    from tests.unit.mpi.conftest import Pair


def test_near_and_far_requests_are_waited_for_together(here: Comm, there: Comm) -> None:
    far, near, statuses = bytearray(3), bytearray(4), [MPI.Status()]
    requests = [there.Irecv(far, 0, 1), there.Irecv(near, 1, 2), MPI.REQUEST_NULL]
    requests.append(there.Isend(b"near", 1, 2))
    here.Send(b"far", 1, 1)
    assert Request.Waitall(requests, statuses) is True
    assert [bytes(far), bytes(near)] == [b"far", b"near"]
    assert [(status.source, status.tag, status.count) for status in statuses[:2]] == [
        (0, 1, 3),
        (1, 2, 4),
    ]
    assert len(statuses) == 4
    assert not any(requests)


def test_all_are_left_as_they_are_until_all_are_done(here: Comm, there: Comm) -> None:
    near, far = there.Irecv(bytearray(1), 1, 2), there.Irecv(bytearray(1), 0, 1)
    there.Send(b"n", 1, 2)
    assert not Request.Testall([near, far])
    assert near
    here.Send(b"f", 1, 1)
    assert Request.Testall([near, far])
    assert not near
    assert not far


class Counted(Operation):
    """Something that goes on and counts how often it is asked about."""

    asked = 0

    def test(self) -> bool:
        self.asked += 1
        return self.done


def test_only_the_first_that_is_not_done_is_asked_again(pair: Pair) -> None:
    going = [Counted() for _ in range(4)]
    mix = Mix([new_request(pair.members[1], one) for one in going])
    going[0].finish()
    going[2].finish()
    assert [mix.are_done(), mix.are_done()] == [False, False]
    assert [one.asked for one in going] == [1, 2, 0, 0]
    assert mix.left == [going[3], going[2], going[1]]
    for one in (going[1], going[3]):
        one.finish()
    assert mix.are_done()
    assert mix.left == []


def test_one_of_any_kind_is_found(here: Comm, there: Comm) -> None:
    requests = [there.Irecv(bytearray(1), 0, 1), there.Irecv(bytearray(1), 1, 2)]
    status = MPI.Status()
    assert Request.Testany(requests, status) == (MPI.UNDEFINED, False)
    there.Send(b"n", 1, 2)
    assert Request.Waitany(requests, status) == 1
    assert (status.source, status.tag) == (1, 2)
    here.Send(b"f", 1, 1)
    assert Request.Waitany(requests, status) == 0
    assert (status.source, status.tag) == (0, 1)
    assert Request.Waitany(requests, status) == MPI.UNDEFINED
    assert status.source == MPI.ANY_SOURCE


def test_some_are_found_and_the_rest_stays(here: Comm, there: Comm) -> None:
    requests = [there.irecv(None, 0, 1), there.irecv(None, 1, 2), there.irecv(None, 0, 3)]
    assert Request.testsome(requests) == ([], [])
    here.send("far", 1, 1)
    there.send("near", 1, 2)
    statuses: list[MPI.Status] = []
    indices, objects = Request.waitsome(requests, statuses)
    found = dict(zip(indices or (), objects or (), strict=True))
    while len(found) < 2:
        more, objects = Request.waitsome(requests, statuses)
        found.update(zip(more or (), objects or (), strict=True))
    assert found == {0: "far", 1: "near"}
    assert requests[2]
    here.send("last", 1, 3)
    assert Request.waitsome(requests) == ([2], ["last"])
    assert Request.waitsome(requests) == (None, None)
    assert Request.Testsome(requests) is None


def test_objects_of_all_are_returned(here: Comm, there: Comm) -> None:
    requests = [there.irecv(None, 0, 1), there.isend({"a": 1}, 1, 2), there.irecv(None, 1, 2)]
    here.isend([1, 2], 1, 1)
    assert Request.waitall(requests) == [[1, 2], None, {"a": 1}]


def test_a_status_can_be_asked_for_without_an_end(here: Comm, there: Comm) -> None:
    request, status = there.Irecv(bytearray(2), 0, 1), MPI.Status()
    assert not request.Get_status(status)
    assert Request.Get_status_some([request]) == []
    here.Send(b"x", 1, 1)
    assert Request.Get_status_all([request], [status])
    assert (status.source, status.tag, status.count) == (0, 1, 1)
    assert Request.Get_status_any([request]) == (0, True)
    assert Request.Get_status_some([request]) == [0]
    assert request
    assert request.Test()
    assert not request


def test_one_error_among_several_is_in_its_status(here: Comm, there: Comm) -> None:
    requests = [there.Irecv(bytearray(1), 0, 1), there.Irecv(bytearray(2), 0, 2)]
    here.Send(b"long", 1, 1)
    here.Send(b"ok", 1, 2)
    statuses: list[MPI.Status] = []
    with pytest.raises(MPI.Exception) as caught:
        Request.Waitall(requests, statuses)
    assert caught.value.error_class == MPI.ERR_IN_STATUS
    assert [status.error for status in statuses] == [MPI.ERR_TRUNCATE, MPI.SUCCESS]
    assert not any(requests)


def test_a_lost_process_is_named_by_every_kind_of_wait(pair: Pair, there: Comm) -> None:
    requests = [there.Irecv(bytearray(1), 0, tag) for tag in range(3)]
    pair.connections[1].lose(0, PeerLost("reset"))
    for wait in (Request.Waitall, Request.Waitany, Request.Waitsome):
        with pytest.raises(ProcessGone, match="0:0:0 on node is gone"):
            wait([requests.pop()])


def test_a_persistent_request_is_started_again_and_again(here: Comm, there: Comm) -> None:
    memory, data = bytearray(1), bytearray(b"a")
    receive, send = there.Recv_init(memory, 0, 1), here.Send_init(data, 1, 1)
    assert receive.Test()  # not started
    for text in (b"a", b"b"):
        data[:] = text
        Prequest.Startall([receive, send])
        assert receive != MPI.REQUEST_NULL
        Request.Waitall([receive, send])
        assert bytes(memory) == text
        assert receive
    receive.Start()
    with pytest.raises(MPI.Exception):
        receive.Start()
    receive.Cancel()
    receive.Wait()
    for request in (receive, send):
        request.Free()
        assert request == MPI.REQUEST_NULL


def test_a_persistent_receive_of_a_near_rank_says_its_rank(there: Comm) -> None:
    memory, status = bytearray(1), MPI.Status()
    receive, send = there.Recv_init(memory, 1, 1), there.Send_init(b"x", 1, 1)
    Prequest.Startall([receive, send])
    assert Request.Waitany([receive], status) == 0
    assert status.source == 1
    send.Wait()
    send.Free()


def test_a_cancelled_receive_says_so(there: Comm) -> None:
    request, status = there.Irecv(bytearray(1), 0, 1), MPI.Status()
    request.Cancel()
    request.Wait(status)
    assert status.Is_cancelled()


def test_a_freed_receive_goes_on(here: Comm, there: Comm) -> None:
    memory = bytearray(1)
    request = there.Irecv(memory, 0, 1)
    request.Free()
    assert request == MPI.REQUEST_NULL
    here.Send(b"x", 1, 1)
    there.Iprobe(0, 99)
    assert memory == b"x"


def test_a_request_of_the_grid_is_itself_and_cannot_be_pickled(there: Comm) -> None:
    request, other = there.Irecv(bytearray(1), 0, 1), there.Irecv(bytearray(1), 0, 1)
    assert request == Request(request)
    assert request != other
    assert request != MPI.REQUEST_NULL
    assert Request() == MPI.REQUEST_NULL
    assert isinstance(request, MPI.Request)
    assert isinstance(MPI.REQUEST_NULL, Request)
    with pytest.raises(ValueError, match="cannot serialize"):
        pickle.dumps(request)
    for one in (request, other):
        one.Cancel()
        one.Wait()
