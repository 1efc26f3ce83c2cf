"""The calls that send, made from the table of calls.

Each is mpi4py's own on a communicator of one cluster, native with a wait that does not poll where
the receiver is near, and an operation of the engine where it is far.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from mpi4py import MPI

from runtime.calls import BEGUN, BLOCKING, MpiCall, of_kind
from runtime.mpi.point_to_point.sends import (
    begin_buffered,
    checked,
    complete,
    send_data,
    send_object,
    send_spec,
)
from runtime.mpi.progress.latest_calls import begun, entered, mine, sole
from runtime.mpi.progress.native_waits import settle
from runtime.mpi.requests.requests import (
    Prequest,
    native_request,
    near_persistent,
    new_request,
    persistent_request,
    started_in_cluster,
)
from runtime.mpi.values.handles import named_like
from runtime.mpi.values.specs import read

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.progress.operations import Operation

_Call: TypeAlias = "Callable[..., Any]"


class SendCalls(MPI.Comm):
    """Calls that send buffers and objects."""

    __slots__ = ()


def _blocking(row: MpiCall, native: _Call, begin: _Call, far: _Call) -> _Call:
    name, is_object = row.name, row.takes_objects

    def call(self: Any, buf: Any, dest: int, tag: int = 0) -> None:
        try:
            m, latest = self._members, sole.latest or mine.latest
        except AttributeError:
            m, latest = entered(self)
        if m is None:
            latest.call = name, self, dest, tag
            native(self, buf, dest, tag)
        elif (near := m.near.get(dest) if type(dest) is int else m.near_to(dest)) is None:
            latest.call = name, self, dest, tag
            complete(m, far(m, buf, dest, tag))
        elif not (request := begin(m.native, buf, near, tag)).Test():
            latest.call = name, self, dest, tag
            settle(m.engine, request.Test, None if is_object else buf)

    return call


def _buffered(row: MpiCall, native: _Call, _: _Call, far: _Call) -> _Call:
    name = row.name

    def call(self: Any, buf: Any, dest: int, tag: int = 0) -> None:
        try:
            m, latest = self._members, sole.latest or mine.latest
        except AttributeError:
            m, latest = entered(self)
        if m is None:
            latest.call = name, self, dest, tag
            native(self, buf, dest, tag)
        elif (near := m.near_to(dest)) is not None:
            native(m.native, buf, near, tag)
        else:
            begin_buffered(m, far(m, buf, dest, tag))

    return call


def _begun(row: MpiCall, native: _Call, _: _Call, far: _Call) -> _Call:
    is_object = row.takes_objects

    def call(self: Any, buf: Any, dest: int, tag: int = 0) -> MPI.Request:
        try:
            m = self._members
        except AttributeError:  # of mpi4py's own
            m = None
        if m is None:
            begun.comm = self
            if is_object:
                begun.objects = True
            return native(self, buf, dest, tag)  # type: ignore[no-any-return]
        near = m.near.get(dest) if type(dest) is int else m.near_to(dest)
        if near is not None:
            return native_request(m, native(m.native, buf, near, tag))
        return new_request(m, far(m, buf, dest, tag))

    return call


def _persistent(_row: MpiCall, native: _Call, _: _Call, far: _Call) -> _Call:
    def call(self: Any, buf: Any, dest: int, tag: int = 0) -> MPI.Prequest:
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        if m is None:
            return started_in_cluster(native(self, buf, dest, tag), self)
        near = m.near_to(dest)
        if near is not None:
            return near_persistent(m, native(m.native, buf, near, tag))
        return far(m, buf, dest, tag)  # type: ignore[no-any-return]

    return call


def _far_persistent(
    m: CommunicatorMembers, buf: Any, dest: int, tag: int, *, sync: bool = False, copy: bool = False
) -> Prequest:
    there = checked(m, dest, tag)
    if there is None:
        return Prequest()
    spec = read(buf, readonly=True)

    def begin() -> Operation:
        data = spec.pack()
        return send_data(m, bytes(data) if copy else data, there, sync=sync)

    return persistent_request(m, begin)


def _add(row: MpiCall) -> None:
    """Add a call that sends. A ready one does what a standard one does, as MPI allows."""
    operation = row.operation.removeprefix("R").capitalize() if row.has("ready") else row.operation
    begin = f"i{operation}" if row.takes_objects else f"I{operation.lower()}"
    names = {BLOCKING: operation, BEGUN: begin}
    native: _Call = getattr(MPI.Comm, names.get(row.how, f"{operation}_init"))
    far: _Call = send_object if row.takes_objects else send_spec
    far = far if row.how in names else _far_persistent
    if row.has("synchronous"):
        far = partial(far, sync=True)
    elif row.has("buffered") and not row.takes_objects:
        far = partial(far, copy=True)
    make = {BLOCKING: _blocking, BEGUN: _begun}.get(row.how, _persistent)
    if row.how == BLOCKING and row.has("buffered"):
        make = _buffered
    call = make(row, native, getattr(MPI.Comm, begin), far)
    taken = [one.name for one in row.arguments]
    setattr(SendCalls, row.name, named_like(getattr(MPI.Comm, row.name), call, taken))


for _row in of_kind("send").values():
    _add(_row)
