"""The requests of a C program, whose numbers are used again."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from mpi4py import MPI

from runtime.mpi.from_c.requests import Requests
from runtime.mpi.from_c.values import STATUS_SIZE, native_handle, read_handle, write_handle
from runtime.mpi.surface.communicator_classes import Comm


class Busy(dict[int, Any]):
    """Begins a request while another one is taken out, as another thread might just then."""

    def __init__(self, requests: Requests) -> None:
        self.requests, self.handles = requests, list[int]()

    def __delitem__(self, number: int) -> None:
        super().__delitem__(number)
        self.handles.append(self.requests.keep("begun meanwhile"))


def test_two_requests_never_have_one_number_where_threads_begin_and_end_them_at_once() -> None:
    requests = Requests(1000)
    requests._things = busy = Busy(requests)
    first, second = requests.keep("first"), requests.keep("second")
    assert requests.take(first) == "first"
    assert len({first, second, *busy.handles}) == 3
    assert requests.keep("another") == first
    assert requests.take(second) == "second"


class Arrays:
    """What a program in C has: requests, statuses, and places for what it is told."""

    def __init__(self, *requests: Any) -> None:
        self.requests, self.first = Requests(1 << 25), 1 << 25
        self.handles = (ctypes.c_char * 64)()
        self.array = ctypes.addressof(self.handles)
        for at, one in enumerate(requests):
            write_handle(self.array, at, self.requests.keep(one))
        self.statuses = [MPI.Status() for _ in requests]
        self.memory = (ctypes.c_char * (STATUS_SIZE * len(requests)))()
        self.done, self.which = ctypes.c_int(-7), (ctypes.c_int * 4)(-7, -7, -7, -7)

    def call(self, name: str, *words: Any) -> Any:
        """Call with the addresses of these."""
        addresses = [one if isinstance(one, int) else ctypes.addressof(one) for one in words]
        return getattr(self.requests, name)(*addresses, ctypes.addressof(self.memory))

    def tag(self) -> int:
        """Return the tag in the first status."""
        found = MPI.Status()
        ctypes.memmove(MPI._addressof(found), self.memory, STATUS_SIZE)
        return found.tag

    def is_null(self, at: int) -> bool:
        """Return whether the program has no such request any more."""
        return read_handle(self.array, at) == native_handle(MPI.REQUEST_NULL)


@pytest.mark.parametrize("name", ["waitany", "testany"])
def test_a_request_that_fails_is_the_one_that_has_ended_of_any(
    name: str, here: Comm, there: Comm
) -> None:
    arrays = Arrays(there.Irecv(bytearray(1), 0, 2), there.Irecv(bytearray(1), 0, 1))
    here.Send(b"long", 1, 1)
    with pytest.raises(MPI.Exception, match="truncate"):
        arrays.call(name, 2, arrays.array, arrays.which)
    assert (arrays.which[0], arrays.tag()) == (1, 1)
    assert [arrays.is_null(0), arrays.is_null(1)] == [False, True]
    arrays.requests.cancel(0)


@pytest.mark.parametrize("name", ["wait", "test"])
def test_a_request_that_fails_has_a_status(name: str, here: Comm, there: Comm) -> None:
    arrays = Arrays(there.Irecv(bytearray(1), 0, 3))
    here.Send(b"long", 1, 3)
    with pytest.raises(MPI.Exception, match="truncate"):
        arrays.call(name, arrays.array)
    assert (arrays.is_null(0), arrays.tag()) == (True, 3)


@pytest.mark.parametrize("name", ["waitsome", "testsome"])
def test_a_persistent_request_that_fails_is_told_and_stays(
    name: str, here: Comm, there: Comm
) -> None:
    request = there.Recv_init(bytearray(1), 0, 1)
    request.Start()
    arrays = Arrays(there.Irecv(bytearray(1), 0, 2), request)
    here.Send(b"long", 1, 1)
    with pytest.raises(MPI.Exception):
        arrays.call(name, 2, arrays.array, arrays.done, arrays.which)
    assert (arrays.done.value, arrays.which[0], arrays.tag()) == (1, 1, 1)
    assert [arrays.is_null(0), arrays.is_null(1)] == [False, False]
    request.Start()  # it is not active
    arrays.requests.cancel(0)
