"""The arguments of a C program as Python has them: communicators, types, memory, statuses."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any

from mpi4py import MPI

from runtime.mpi.communicators.background import Followed, NativeDuplicate, await_earlier
from runtime.mpi.communicators.classes import near
from runtime.mpi.communicators.copies import begin_copy
from runtime.mpi.communicators.groups import Group, spans_clusters
from runtime.mpi.communicators.members import members_behind
from runtime.mpi.from_c.library import (
    COMMUNICATOR,
    FILE,
    GROUP,
    OPERATION,
    TYPE,
    WINDOW,
    ShimLibrary,
)
from runtime.mpi.requests.requests import new_request
from runtime.mpi.values.specs import EMPTY, Given, Spec, is_dense

IN_PLACE = 1
"""The address by which the library tells MPI_IN_PLACE, which each MPI has elsewhere."""

UNWEIGHTED, EMPTY_WEIGHTS = 0, 1
"""Likewise for arrays of weights of edges."""

STATUS_SIZE = MPI._sizeof(MPI.Status)
HANDLE_SIZE = MPI._sizeof(MPI.Comm)

_memory = MPI.buffer.fromaddress

_MOST_MESSAGES = 4096
"""How many messages are kept as they were given, since most programs send the same ones again."""


def native_handle(thing: Any) -> int:
    """Return the handle of an object of mpi4py as the library tells it."""
    size = MPI._sizeof(thing)
    return int.from_bytes(ctypes.string_at(MPI._addressof(thing), size), "little")


class DataType:
    """A datatype, and how much memory its entries take."""

    __slots__ = ("_begin", "_end", "datatype", "extent", "is_dense")

    def __init__(self, datatype: MPI.Datatype) -> None:
        self.datatype = datatype
        self.is_dense = is_dense(datatype)
        self.extent = datatype.extent
        self._begin, self._end = datatype.true_lb, datatype.true_lb + datatype.true_extent

    def span(self, count: int) -> int:
        """Return how many bytes from the address on so many entries may take."""
        if count <= 0:
            return 0
        return max(0, self._end + max(0, (count - 1) * self.extent))


class _Copy(MPI.Datatype):
    """The copy of a type of the program, which may free its own while messages are pending."""

    def __del__(self) -> None:
        if self != MPI.DATATYPE_NULL and not MPI.Is_finalized():
            self.Free()


class Values:
    """What the handles of a program stand for in Python."""

    def __init__(self, library: ShimLibrary, world: Any) -> None:
        self.library = library
        self.comms: dict[int, Any] = {native_handle(MPI.COMM_WORLD): world}
        self.groups: dict[int, Any] = {}
        self.windows: dict[int, Any] = {}
        self.files: dict[int, Any] = {}
        everything = vars(MPI).values()
        self._types: dict[int, DataType] = {}
        self._ops = {
            native_handle(one): one
            for one in everything
            if isinstance(one, MPI.Op) and one != MPI.OP_NULL
        }
        self._messages: dict[tuple[int, int, int, int], Given] = {}
        self._own = MPI.COMM_SELF.Dup()
        """Of this all tokens are copies; it has none of the attributes of the program."""
        self._me = MPI.COMM_SELF.Get_group()
        self._to_copy: list[int] = []
        """The tokens of which duplicates are begun, but not there yet; each time once."""
        self._freed: list[int] = []
        """Those of them that the program has freed."""

    # --- communicators and groups -----------------------------------------------------------------

    def comm(self, handle: int) -> Any:
        """Return a communicator, of several clusters or of one."""
        known = self.comms.get(handle)
        return _native_comm(handle) if known is None else known

    def hand_out(self, comm: Any, parent: int = 0, *, handler: MPI.Errhandler | None = None) -> int:
        """Return the handle of a new communicator, with the error handler of its parent, or one."""
        members = getattr(comm, "_members", None)
        if members is None:
            handle = native_handle(comm)
            if comm == MPI.COMM_NULL:
                return handle
            token: MPI.Comm = comm
        else:
            await_earlier(members.engine, 1)
            token = self._own.Dup()
            handle = native_handle(token)
            self.remember(handle, comm, comm.Get_rank(), comm.Get_size())
        found = MPI.Comm.fromhandle(parent).Get_errhandler() if handler is None else handler
        MPI.Comm.Set_errhandler(token, found)
        self._kept[handle] = comm, token
        return handle

    def predefined(self, comm: Any) -> int:
        """Return the handle of a communicator that is there from the start."""
        known = (handle for handle, one in self.comms.items() if one is comm)
        handle = next(known, native_handle(comm))
        is_known = handle in self.comms or handle == native_handle(MPI.COMM_WORLD)
        return handle if is_known else self.hand_out(comm, handler=MPI.ERRORS_ARE_FATAL)

    def remember(self, handle: int, comm: Any, rank: int, size: int) -> None:
        """Let a token stand for a communicator, in which this process has a rank."""
        self.library.remember(handle, COMMUNICATOR, rank, size)
        self.comms[handle] = comm

    _kept: dict[int, tuple[Any, Any]] = {}  # noqa: RUF012 - a process has one program
    """What mpi4py made for the program stays until that frees it."""

    def duplicate(self, handle: int, info: int) -> int:
        """Return the handle of a duplicate."""
        of = self.comm(handle)
        made = of.Dup()
        try:
            token = self._copied_token(handle, info)
        except MPI.Exception:
            made.Free()
            raise
        return self._stands_for(token, made, of.Get_rank(), of.Get_size())

    def begin_duplicate(self, handle: int, info: int, give: Callable[[int], None]) -> MPI.Request:
        """Begin a duplicate, and give its handle at the end; return its request."""
        given, of = MPI.Comm.fromhandle(handle), self.comm(handle)
        handler, rank, size = given.Get_errhandler(), of.Get_rank(), of.Get_size()
        token = NativeDuplicate(given, _hints(info))
        made, copying = begin_copy(of, token=token)

        def end() -> None:
            MPI.Comm.Set_errhandler(token.made, handler)
            give(self._stands_for(token.made, made, rank, size))
            self._copied(handle)

        self._to_copy.append(handle)
        return new_request(of._members, Followed((copying,), end))

    def _copied(self, handle: int) -> None:
        """Free a token that had to stay for a duplicate, if the program has freed it."""
        self._to_copy.remove(handle)
        if handle in self._freed and handle not in self._to_copy:
            self._freed.remove(handle)
            MPI.Comm.fromhandle(handle).Free()

    def _copied_token(self, handle: int, info: int) -> MPI.Comm:
        """Return a duplicate of a token: attributes are copied by functions they have for that."""
        given = MPI.Comm.fromhandle(handle)
        members = members_behind(self.comm(handle))
        if members is not None:
            await_earlier(members.engine, given.Get_size())
        token = given.Dup(_hints(info))
        MPI.Comm.Set_errhandler(token, given.Get_errhandler())
        return token

    def _stands_for(self, token: MPI.Comm, comm: Any, rank: int, size: int) -> int:
        """Let a token stand for a communicator; return its handle."""
        made = native_handle(token)
        self.remember(made, comm, rank, size)
        self._kept[made] = comm, token
        return made

    def free(self, handle: int) -> int:
        """Free a communicator, whose token the library frees: LEFT in `core.c`.

        A token of which a duplicate cannot be made yet is freed later: FREED.
        """
        self.library.forget(handle, COMMUNICATOR)
        self._kept.pop(handle, None)
        self.comms.pop(handle).Free()
        if handle not in self._to_copy:
            return 0
        self._freed.append(handle)
        return 1

    def hand_out_window(self, win: Any) -> int:
        """Return the handle of a new window over clusters: of a native one of this process."""
        handle = native_handle(win)
        MPI.Win.Set_errhandler(win, MPI.ERRORS_ARE_FATAL)
        self.library.remember(handle, WINDOW, win._grid.flavor)
        self.windows[handle] = win
        return handle

    def free_window(self, handle: int, fail: Callable[[Any, str, Exception], None]) -> None:
        """Free a window with its native one; `fail` is told what keeps it from that, and raises."""
        from runtime.mpi.windows.making import free

        win = self.windows[handle]
        try:
            free(win, fail)
        finally:  # it may have failed when the native one was freed already
            if win._grid is None:
                self.library.forget(handle, WINDOW)
                del self.windows[handle]

    def hand_out_file(self, file: Any) -> int:
        """Return the handle of an open file over clusters: of a native one of this process."""
        handle = native_handle(file)
        handler = MPI.FILE_NULL.Get_errhandler()
        MPI.File.Set_errhandler(file, handler)
        handler.Free()
        self.library.remember(handle, FILE)
        self.files[handle] = file
        return handle

    def close_file(self, handle: int, fail: Callable[[Any, str, Exception], None]) -> None:
        """Close a file and its native one; `fail` is told what has failed, and raises."""
        from runtime.mpi.files.making import close

        self.library.forget(handle, FILE)
        close(self.files.pop(handle), fail)

    def group(self, handle: int) -> Any:
        """Return a group, of several clusters or of one."""
        known = self.groups.get(handle)
        return Group(MPI.Group.fromhandle(handle)) if known is None else known

    def hand_out_group(self, group: Any) -> int:
        """Return the handle of a new group."""
        if not spans_clusters(group):
            return native_handle(group)
        token = MPI.Group.Incl(self._me, [0])  # a copy would have the same handle
        handle = native_handle(token)
        self.library.remember(handle, GROUP)
        self.groups[handle] = group
        self._kept_groups[handle] = token
        return handle

    _kept_groups: dict[int, MPI.Group] = {}  # noqa: RUF012 - likewise

    def forget_group(self, handle: int) -> None:
        """Let a token of a group end."""
        self.library.forget(handle, GROUP)
        self.groups.pop(handle, None)
        self._kept_groups.pop(handle, None)

    # --- types and operations ---------------------------------------------------------------------

    def type(self, handle: int) -> DataType:
        """Return a datatype; raises MPI.Exception for a null one."""
        known = self._types.get(handle)
        if known is None:
            given = MPI.Datatype.fromhandle(handle)
            if given == MPI.DATATYPE_NULL:
                raise MPI.Exception(MPI.ERR_TYPE)
            is_predefined = given.is_predefined
            known = DataType(given if is_predefined else _Copy(given.Dup()))
            if not is_predefined:
                self.library.remember(handle, TYPE)
            self._types[handle] = known
        return known

    def forget_type(self, handle: int) -> None:
        """Let the handle of a type be used for another one."""
        self.library.forget(handle, TYPE)
        del self._types[handle]
        self._messages.clear()

    def op(self, handle: int) -> MPI.Op:
        """Return an operation; raises MPI.Exception for a null one."""
        known = self._ops.get(handle)
        if known is None:
            known = MPI.Op.fromhandle(handle)
            if known == MPI.OP_NULL:
                raise MPI.Exception(MPI.ERR_OP)
            self.library.remember(handle, OPERATION)
            self._ops[handle] = known
        return known

    # --- memory -----------------------------------------------------------------------------------

    def one(self, address: int, count: int, kind: int, blocks: int = 1) -> Any:
        """Return the specification of a message, or of blocks of equal size behind each other."""
        known = self._messages.get((address, count, kind, blocks))
        return self._new(address, count, kind, blocks) if known is None else known

    def message(self, address: int, count: int, kind: int, peer: int) -> Any:
        """Return the specification of a message to or from a rank."""
        return _NO_MESSAGE if peer == MPI.PROC_NULL else self.one(address, count, kind)

    def _new(self, address: int, count: int, kind: int, blocks: int) -> Any:
        if address == IN_PLACE:
            return MPI.IN_PLACE
        if count < 0:
            raise MPI.Exception(MPI.ERR_COUNT)
        known = self.type(kind)
        if address == 0:
            return Given(Spec(MPI.BOTTOM, EMPTY, count, known.datatype))
        buffer: Any = _memory(address, known.span(count * blocks))
        is_plain = known.is_dense and blocks == 1
        made = Given(Spec(buffer, memoryview(buffer), count, known.datatype, is_plain=is_plain))
        if len(self._messages) >= _MOST_MESSAGES:
            self._messages.clear()
        self._messages[address, count, kind, blocks] = made
        return made

    def each(
        self, address: int, counts: Sequence[int], places: Sequence[int], kinds: Sequence[int]
    ) -> Any:
        """Return the specification of blocks each of which has a type, and a place in bytes.

        Raises MPI.Exception.
        """
        if address == IN_PLACE:
            return MPI.IN_PLACE
        if min(counts, default=0) < 0:
            raise MPI.Exception(MPI.ERR_COUNT)
        known = [self.type(kind) for kind in kinds]
        ends = (
            place + one.span(count)
            for count, place, one in zip(counts, places, known, strict=True)
            if count
        )
        types = [one.datatype for one in known]
        memory = _memory(address, max((0, *ends))) if address else MPI.BOTTOM
        return [memory, (list(counts), list(places)), types]

    def several(
        self, address: int, counts: Sequence[int], places: Sequence[int] | None, kind: int
    ) -> Any:
        """Return the specification of blocks of different sizes; raises MPI.Exception."""
        if address == IN_PLACE:
            return MPI.IN_PLACE
        if min(counts, default=0) < 0:
            raise MPI.Exception(MPI.ERR_COUNT)
        known = self.type(kind)
        if places is None:
            places = [sum(counts[:at]) for at in range(len(counts))]
        ends = (
            place * known.extent + known.span(count)
            for count, place in zip(counts, places, strict=True)
            if count
        )
        memory = _memory(address, max((0, *ends)))
        return [memory, (list(counts), list(places)), known.datatype]


_NO_MESSAGE = Given(Spec(MPI.BOTTOM, EMPTY, 0, MPI.BYTE))
"""What is sent to nobody, and received of nobody: programs give anything for that."""


def _hints(info: int) -> MPI.Info | None:
    found = MPI.Info.fromhandle(info)
    return None if found == MPI.INFO_NULL else found


def _native_comm(handle: int) -> Any:
    """Return a communicator of one cluster, of the class that it has for mpi4py."""
    found = MPI.Comm.fromhandle(handle)
    if found == MPI.COMM_NULL:
        raise MPI.Exception(MPI.ERR_COMM)
    kind = MPI.Intercomm if found.Is_inter() else _OF_TOPOLOGY.get(found.Get_topology())
    return near((kind or MPI.Intracomm)(found))


_OF_TOPOLOGY: dict[int, type[MPI.Intracomm]] = {
    MPI.CART: MPI.Cartcomm,
    MPI.GRAPH: MPI.Graphcomm,
    MPI.DIST_GRAPH: MPI.Distgraphcomm,
}


def check_given(address: int) -> None:
    """Raise MPI.Exception for NULL."""
    if address == 0:
        error = MPI.Exception(MPI.ERR_ARG)
        error.add_note("an argument is NULL that has to be an address")
        raise error


def integers(address: int, count: int) -> list[int]:
    """Return an array of the program; raises MPI.Exception if it has none."""
    if count <= 0:
        return []
    check_given(address)
    return list((ctypes.c_int * count).from_address(address))


def addresses(address: int, count: int) -> list[int]:
    """Return an array of addresses, or of handles of that size; raises MPI.Exception for NULL."""
    if count <= 0:
        return []
    check_given(address)
    return list((ctypes.c_ssize_t * count).from_address(address))


def handles(address: int, count: int) -> list[int]:
    """Return an array of handles of the program; raises MPI.Exception if it has none."""
    if count > 0:
        check_given(address)
    return [read_handle(address, at) for at in range(count)]


def write(address: int, *values: int) -> None:
    """Write numbers into an array of the program; raises MPI.Exception if it has none."""
    if not values:
        return
    check_given(address)
    target = (ctypes.c_int * len(values)).from_address(address)
    target[:] = list(values)


def _place_of_error() -> int:
    """Return where in a status its error is, which each MPI has elsewhere."""
    mark, status = 0x1B2C3D4E, MPI.Status()
    status.error = mark
    found = ctypes.string_at(MPI._addressof(status), STATUS_SIZE)
    return found.index(mark.to_bytes(4, sys.byteorder))


_ERROR = _place_of_error()
_AFTER = _ERROR + 4


def write_status(address: int, status: MPI.Status) -> None:
    """Write the status of one message, unless the program ignores it.

    Its error stays as it is, as MPI wants: the code that the call returns says it.
    """
    if address:
        given = MPI._addressof(status)
        ctypes.memmove(address, given, _ERROR)
        ctypes.memmove(address + _AFTER, given + _AFTER, STATUS_SIZE - _AFTER)


def write_statuses(address: int, statuses: Sequence[MPI.Status]) -> None:
    """Write the statuses of several messages with their errors, unless the program ignores them."""
    for at, one in enumerate(statuses if address else ()):
        ctypes.memmove(address + at * STATUS_SIZE, MPI._addressof(one), STATUS_SIZE)


def write_handle(address: int, at: int, handle: int) -> None:
    """Write a handle into an array of the program."""
    ctypes.memmove(address + at * HANDLE_SIZE, handle.to_bytes(HANDLE_SIZE, "little"), HANDLE_SIZE)


def read_handle(address: int, at: int) -> int:
    """Return a handle in an array of the program."""
    return int.from_bytes(ctypes.string_at(address + at * HANDLE_SIZE, HANDLE_SIZE), "little")
