"""Windows of a C program over clusters, and the accesses to them."""

# ruff: noqa: PLR0917 - the arguments are those of MPI

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mpi4py import MPI

from runtime.mpi.from_c.calls import Call, Calls
from runtime.mpi.from_c.values import check_given, write
from runtime.mpi.progress.latest_calls import write_down
from runtime.mpi.surface import mpi_module
from runtime.mpi.values.faults import WrongArgument
from runtime.windows.epochs import WrongEpoch


class WindowCalls(Calls):
    """The functions that make, access, synchronise and ask windows over several clusters."""

    def table(self) -> dict[str, Call]:
        """Return them by their names."""
        made: dict[str, Call] = {
            "MPI_Win_create": self._create,
            "MPI_Win_allocate": self._allocate,
            "MPI_Win_allocate_shared": self._allocate_shared,
            "MPI_Win_create_dynamic": self._create_dynamic,
            "MPI_Win_attach": self._attach,
            "MPI_Win_detach": self._detach,
            "MPI_Win_shared_query": self._shared_query,
            "MPI_Win_get_group": self._group,
            "MPI_Win_start": self._of_group("Start"),
            "MPI_Win_post": self._of_group("Post"),
            "MPI_Win_test": self._test,
            "MPI_Win_fence": self._call("Fence", lambda assertion, _: (assertion,)),
            "MPI_Win_lock": self._call("Lock", lambda kind, rank, a, _: (rank, kind, a)),
            "MPI_Win_lock_all": self._call("Lock_all", lambda assertion, _: (assertion,)),
        }
        for name in ("Unlock", "Flush", "Flush_local"):
            made[f"MPI_Win_{name.lower()}"] = self._call(name, lambda rank, _: (rank,))
        for name in ("Complete", "Wait", "Sync", "Unlock_all", "Flush_all", "Flush_local_all"):
            made[f"MPI_Win_{name.lower()}"] = self._call(name, lambda _: ())
        for name, prepare, arity in (
            ("Put", self._moved, 8),
            ("Get", self._moved, 8),
            ("Accumulate", self._reduced, 9),
            ("Get_accumulate", self._fetched, 12),
        ):
            made[f"MPI_{name}"] = self._access(name, prepare)
            begun = f"R{name.lower()}"
            made[f"MPI_{begun}"] = self._begun_access(begun, prepare, arity)
        made["MPI_Fetch_and_op"] = self._access("Fetch_and_op", self._fetch_and_op)
        made["MPI_Compare_and_swap"] = self._access("Compare_and_swap", self._compare_and_swap)
        return made

    # --- making -----------------------------------------------------------------------------------

    def _create(self, base: int, size: int, unit: int, info: int, comm: int, _: int) -> int:
        if size < 0:
            raise MPI.Exception(MPI.ERR_SIZE)
        if size:
            check_given(base)
        memory = MPI.buffer.fromaddress(base, size) if size else None
        return self._made("Create", comm, memory, unit, MPI.Info.fromhandle(info))

    def _allocate(self, size: int, unit: int, info: int, comm: int, base: int, _: int) -> int:
        return self._allocated("Allocate", size, unit, info, comm, base)

    def _allocate_shared(
        self, size: int, unit: int, info: int, comm: int, base: int, _: int
    ) -> int:
        return self._allocated("Allocate_shared", size, unit, info, comm, base)

    def _allocated(self, name: str, size: int, unit: int, info: int, comm: int, base: int) -> int:
        handle = self._made(name, comm, size, unit, MPI.Info.fromhandle(info))
        win = self._values.windows[handle]
        _write_address(base, MPI.Get_address(win.tomemory()) if size else 0)
        return handle

    def _create_dynamic(self, info: int, comm: int, _: int) -> int:
        return self._made("Create_dynamic", comm, MPI.Info.fromhandle(info))

    def _made(self, name: str, comm: int, *args: Any) -> int:
        """Make a window, and return its handle: that of a native one of this process alone."""
        of = self._values.comm(comm)
        if of.Is_inter():
            raise MPI.Exception(MPI.ERR_COMM)
        win = getattr(mpi_module.Win, name)(*args, of)
        return self._values.hand_out_window(win)

    # --- the rest ---------------------------------------------------------------------------------

    def _grid(self, win: int) -> Any:
        grid = self._values.windows[win]._grid
        assert grid is not None, "it is freed by Python, and forgotten"
        return grid

    def _call(self, name: str, prepare: Callable[..., tuple[Any, ...]]) -> Call:
        """Return a call of a method, whose last argument is the window."""

        def call(*words: int) -> int:
            grid = self._grid(words[-1])
            write_down(f"Win.{name}", grid.comm)
            with _as_mpi(name):
                getattr(grid, name)(*prepare(*words))
            return 0

        return call

    def _access(self, name: str, prepare: Callable[..., tuple[Any, ...]]) -> Call:
        return self._call(name, lambda *words: prepare(*words[:-1]))

    def _begun_access(self, name: str, prepare: Callable[..., tuple[Any, ...]], arity: int) -> Call:
        def call(*words: int) -> int:
            win = words[arity - 1]
            with _as_mpi(name):
                request = getattr(self._grid(win), name)(*prepare(*words[: arity - 1]))
            return self._requests.keep(request, win)

        return call

    def _moved(
        self, address: int, count: int, kind: int, rank: int, place: int, number: int, other: int
    ) -> tuple[Any, ...]:
        return self._values.one(address, count, kind), rank, self._target(place, number, other)

    def _reduced(
        self, address: int, count: int, kind: int, rank: int, place: int, number: int, other: int,
        op: int,
    ) -> tuple[Any, ...]:  # fmt: skip
        moved = self._moved(address, count, kind, rank, place, number, other)
        return (*moved, self._values.op(op))

    def _fetched(
        self, address: int, count: int, kind: int, result: int, got: int, type_of_result: int,
        rank: int, place: int, number: int, other: int, op: int,
    ) -> tuple[Any, ...]:  # fmt: skip
        reduction, values = self._values.op(op), self._values
        given = None if reduction == MPI.NO_OP else values.one(address, count, kind)
        taken = values.one(result, got, type_of_result)
        return given, taken, rank, self._target(place, number, other), reduction

    def _fetch_and_op(
        self, address: int, result: int, kind: int, rank: int, place: int, op: int
    ) -> tuple[Any, ...]:
        reduction, values = self._values.op(op), self._values
        given = None if reduction == MPI.NO_OP else values.one(address, 1, kind)
        return given, values.one(result, 1, kind), rank, place, reduction

    def _compare_and_swap(
        self, address: int, expected: int, result: int, kind: int, rank: int, place: int
    ) -> tuple[Any, ...]:
        each = [self._values.one(one, 1, kind) for one in (address, expected, result)]
        return (*each, rank, place)

    def _target(self, place: int, number: int, kind: int) -> tuple[int, int, MPI.Datatype]:
        return place, number, self._values.type(kind).datatype

    def _of_group(self, name: str) -> Call:
        return self._call(name, lambda group, assertion, _: (self._values.group(group), assertion))

    def _test(self, win: int, flag: int) -> int:
        with _as_mpi("Test"):
            write(flag, int(self._grid(win).Test()))
        return 0

    def _group(self, win: int, _: int) -> int:
        return self._values.hand_out_group(self._grid(win).Get_group())

    def _attach(self, win: int, base: int, size: int) -> int:
        if size < 0:
            raise MPI.Exception(MPI.ERR_SIZE)
        with _as_mpi("Attach"):
            self._grid(win).Attach(MPI.buffer.fromaddress(base, size))
        return 0

    def _detach(self, win: int, base: int) -> int:
        with _as_mpi("Detach"):
            self._grid(win).Detach(MPI.buffer.fromaddress(base, 1))
        return 0

    def _shared_query(self, win: int, rank: int, size: int, unit: int, base: int) -> int:
        with _as_mpi("Shared_query"):
            memory, found = self._grid(win).Shared_query(rank)
        length = len(memory)
        _write_address(size, length)
        write(unit, found)
        _write_address(base, MPI.Get_address(memory) if length else 0)
        return 0


@contextmanager
def _as_mpi(name: str) -> Iterator[None]:
    """Raise MPI.Exception for what a window raises of its arguments and epochs."""
    from runtime.mpi.windows.making import error_of

    try:
        yield
    except (WrongArgument, WrongEpoch) as fault:
        raise error_of(name, fault) from None


def raised(_: MPI.Win, name: str, fault: Exception) -> None:
    """Raise what has failed: the library calls the error handler of the window."""
    with _as_mpi(name):
        raise fault


def _write_address(address: int, value: int) -> None:
    """Write an address, or a number of that size, for the program."""
    check_given(address)
    ctypes.c_ssize_t.from_address(address).value = value
