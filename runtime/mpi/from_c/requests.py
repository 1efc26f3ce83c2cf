"""The requests and messages of a C program, as numbers; and the calls that wait for them."""

# ruff: noqa: PLR0917 - addresses and counts, as the library has them

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from typing import Any

from mpi4py import MPI

from runtime.mpi.from_c.values import (
    native_handle,
    read_handle,
    write,
    write_handle,
    write_status,
    write_statuses,
)
from runtime.mpi.requests.parts import operation_of
from runtime.mpi.requests.requests import Request

DONE, PENDING = 0, 1
"""What the library is told of a request, as `core.c` numbers it."""

_MOST = 1 << 24
_HANDLE = MPI._sizeof(MPI.Request)


class Requests:
    """The pending requests of the program, by their numbers; each number is used again."""

    def __init__(self, first: int) -> None:
        """Number them; `first` is the handle of number 0."""
        self._first = first
        self._things: dict[int, Any] = {}
        self._comms: dict[int, int] = {}
        self._world = native_handle(MPI.COMM_WORLD)
        self._blamed = threading.local()
        self._free: list[int] = []
        self._new = count()
        self._null = native_handle(MPI.REQUEST_NULL)

    def keep(self, thing: Any, comm: int = 0) -> int:
        """Return the handle of a request or a message; raises MPI.Exception if there is none.

        `comm` is the handle of its communicator, window or file, whose error handler is asked.
        """
        try:  # in one step, since threads may begin requests at once
            number = self._free.pop()
        except IndexError:
            number = next(self._new)
        if number >= _MOST:
            raise MPI.Exception(MPI.ERR_NO_MEM)
        self._things[number] = thing
        self._comms[number] = comm or self._world
        return self._first + number

    def take(self, handle: int) -> Any:
        """Return a message, or a request, whose handle ends; raises MPI.Exception."""
        number = handle - self._first
        thing = self._of(number)
        self._end(number)
        return thing

    def blamed(self) -> int:
        """Return the handle of what the request is of that this thread saw fail."""
        return int(getattr(self._blamed, "comm", self._world))

    def forget(self, owner: int) -> None:
        """Let requests of a window or file that ends have the error handler of COMM_WORLD."""
        for number, one in list(self._comms.items()):  # other threads begin some
            if one == owner:
                self._comms[number] = self._world

    def _of(self, number: int) -> Any:
        self._blamed.comm = self._comms.get(number, self._world)
        try:
            return self._things[number]
        except KeyError:
            raise MPI.Exception(MPI.ERR_REQUEST) from None

    def _end(self, number: int) -> None:
        del self._things[number]
        self._free.append(number)

    # --- one --------------------------------------------------------------------------------------

    def wait(self, address: int, status: int) -> int:
        """Wait for one."""
        handle = read_handle(address, 0)
        request, found = self._of(handle - self._first), MPI.Status()
        try:
            request.Wait(found)
        finally:
            self._write(address, 0, handle, request)
            write_status(status, found)
        return DONE

    def test(self, address: int, status: int) -> int:
        """Look whether one is done."""
        handle = read_handle(address, 0)
        request, found, is_done = self._of(handle - self._first), MPI.Status(), True
        try:
            is_done = request.Test(found)
        finally:
            self._write(address, 0, handle, request)
            if is_done:
                write_status(status, found)
        return DONE if is_done else PENDING

    def get_status(self, number: int, status: int) -> int:
        """Look whether one is done, and leave it as it is."""
        found = MPI.Status()
        if not self._of(number).Get_status(found):
            return PENDING
        write_status(status, found)
        return DONE

    def cancel(self, number: int) -> int:
        """Cancel one."""
        self._of(number).Cancel()
        return 0

    def free(self, number: int) -> int:
        """Let one complete by itself."""
        request = self._of(number)
        self._end(number)
        request.Free()
        return 0

    def start(self, number: int) -> int:
        """Start a persistent one."""
        self._of(number).Start()
        return 0

    # --- several ----------------------------------------------------------------------------------

    def _read(self, count: int, array: int) -> tuple[list[int], list[Any]]:
        handles = [read_handle(array, at) for at in range(count)]
        return handles, [self._of(one - self._first) if self._is_ours(one)
                         else MPI.Request.fromhandle(one) for one in handles]  # fmt: skip

    def _is_ours(self, handle: int) -> bool:
        return 0 <= handle - self._first < _MOST

    def _write(self, array: int, at: int, handle: int, request: Any) -> None:
        """Write what has become of a request into the array of the program.

        One of ours has ended if it is false; after an error others may be pending still.
        """
        if not self._is_ours(handle):
            write_handle(array, at, native_handle(request))
        elif not request:
            self._end(handle - self._first)
            write_handle(array, at, self._null)

    def waitall(self, count: int, array: int, statuses: int) -> int:
        """Wait for all."""
        handles, requests = self._read(count, array)
        found = [MPI.Status() for _ in requests]
        try:
            Request.Waitall(requests, found)
        finally:
            self._all(array, handles, requests, statuses, found)
        return 0

    def testall(self, count: int, array: int, statuses: int) -> int:
        """Look whether all are done."""
        handles, requests = self._read(count, array)
        found = [MPI.Status() for _ in requests]
        try:
            if not Request.Testall(requests, found):
                return PENDING
        except MPI.Exception:
            self._all(array, handles, requests, statuses, found)
            raise
        self._all(array, handles, requests, statuses, found)
        return 0

    def _all(
        self,
        array: int,
        handles: list[int],
        requests: list[Any],
        statuses: int,
        found: list[MPI.Status],
    ) -> None:
        for at, (handle, request) in enumerate(zip(handles, requests, strict=True)):
            self._write(array, at, handle, request)
        write_statuses(statuses, found)

    def waitany(self, count: int, array: int, which: int, status: int) -> int:
        """Wait for one of several."""
        handles, requests = self._read(count, array)
        found, before = MPI.Status(), list(map(_work_of, requests))
        try:
            at = Request.Waitany(requests, found)
        except MPI.Exception:
            self._failed(before, array, handles, requests, which, status, found)
            raise
        self._one(array, handles, requests, at, which, status, found)
        return 0

    def get_status_any(self, count: int, array: int, which: int, status: int) -> int:
        """Look whether one of several is done, and leave it as it is."""
        _, requests = self._read(count, array)
        found = MPI.Status()
        at, is_done = Request.Get_status_any(requests, found)
        write(which, at)
        write_status(status, found)
        return DONE if is_done else PENDING

    def get_status_all(self, count: int, array: int, statuses: int) -> int:
        """Look whether all are done, and leave them as they are."""
        _, requests = self._read(count, array)
        found = [MPI.Status() for _ in requests]
        if not Request.Get_status_all(requests, found):
            return PENDING
        write_statuses(statuses, found)
        return DONE

    def get_status_some(self, count: int, array: int, done: int, which: int, statuses: int) -> int:
        """Look which are done, and leave them as they are."""
        _, requests = self._read(count, array)
        found = [MPI.Status() for _ in requests]
        places = Request.Get_status_some(requests, found)
        write(done, MPI.UNDEFINED if places is None else len(places))
        write(which, *(places or ()))
        write_statuses(statuses, found[: len(places or ())])
        return DONE

    def testany(self, count: int, array: int, which: int, status: int) -> int:
        """Look whether one of several is done."""
        handles, requests = self._read(count, array)
        found, before = MPI.Status(), list(map(_work_of, requests))
        try:
            at, is_done = Request.Testany(requests, found)
        except MPI.Exception:
            self._failed(before, array, handles, requests, which, status, found)
            raise
        self._one(array, handles, requests, at, which, status, found)
        return DONE if is_done else PENDING

    def _failed(
        self,
        before: list[object],
        array: int,
        handles: list[int],
        requests: list[Any],
        which: int,
        status: int,
        found: MPI.Status,
    ) -> None:
        """Tell which has failed, if one has."""
        for at in _ended_since(before, requests):
            self._one(array, handles, requests, at, which, status, found)

    def _one(
        self,
        array: int,
        handles: list[int],
        requests: list[Any],
        at: int,
        which: int,
        status: int,
        found: MPI.Status,
    ) -> None:
        write(which, at)
        if at != MPI.UNDEFINED:
            self._write(array, at, handles[at], requests[at])
        write_status(status, found)

    def waitsome(self, count: int, array: int, done: int, which: int, statuses: int) -> int:
        """Wait for some."""
        return self._some(Request.Waitsome, count, array, done, which, statuses)

    def testsome(self, count: int, array: int, done: int, which: int, statuses: int) -> int:
        """Look which are done."""
        return self._some(Request.Testsome, count, array, done, which, statuses)

    def _some(
        self,
        call: Callable[..., list[int] | None],
        count: int,
        array: int,
        done: int,
        which: int,
        statuses: int,
    ) -> int:
        handles, requests = self._read(count, array)
        found = [MPI.Status() for _ in requests]
        before = list(map(_work_of, requests))
        try:
            places = call(requests, found)
        except MPI.Exception:
            ended = _ended_since(before, requests)
            ended.sort(key=lambda at: self._is_ours(handles[at]))  # as their statuses are
            self._ended(ended, array, handles, requests, done, which, statuses, found)
            raise
        if places is None:
            write(done, MPI.UNDEFINED)
            return 0
        self._ended(places, array, handles, requests, done, which, statuses, found)
        return 0

    def _ended(
        self,
        places: list[int],
        array: int,
        handles: list[int],
        requests: list[Any],
        done: int,
        which: int,
        statuses: int,
        found: list[MPI.Status],
    ) -> None:
        write(done, len(places))
        write(which, *places)
        for at in places:
            self._write(array, at, handles[at], requests[at])
        write_statuses(statuses, found[: len(places)])


def _work_of(request: Any) -> object:
    """Return what a request waits for, which is another one or nothing when it has ended.

    A persistent one is there as before then, and so is one that goes on after a loss.
    """
    operation = operation_of(request)
    return bool(request) if operation is None else operation


def _ended_since(before: list[object], requests: list[Any]) -> list[int]:
    """Return the places of those that have ended; `before` is what they waited for."""
    return [at for at, was in enumerate(before) if _work_of(requests[at]) is not was]
