"""Partitioned messages to and from other clusters: each part goes as soon as it is ready.

The n-th `Psend_init` to a rank with a tag belongs to the n-th `Precv_init` from there with that
tag, whatever is started when. Both know a context of their own for it. The sender says first how it
cuts its message, since the receiver may cut it otherwise; then each part is a message, which goes
into the memory of the receiver wherever that is contiguous.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.matching.partitions import Partitioning
from runtime.mpi.errors import report, tell
from runtime.mpi.point_to_point.sends import checked
from runtime.mpi.progress.landings import InMemory
from runtime.mpi.progress.membership import derived_context
from runtime.mpi.progress.operations import Finished, NativeOperation, Operation
from runtime.mpi.requests.requests import Prequest, persistent_request
from runtime.mpi.values.numbers import integer
from runtime.mpi.values.specs import Spec, read

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers

_CUT = struct.Struct("<qq")

_CUT_TAG = 32_768
"""The tag of how a message is cut; those of its parts follow. Collectives have lower ones."""

_MOST_PARTS = (1 << 30) - _CUT_TAG - 1

_serial: dict[tuple[bytes, int, int, int], count[int]] = defaultdict(count)
"""The next number among those with one communicator, sender, receiver and tag."""


def send_parts(m: CommunicatorMembers, buf: Any, partitions: int, dest: int, tag: int) -> Prequest:
    """Return the request that sends a message to another cluster in parts."""
    there = checked(m, dest, tag)
    if there is None or not _are_valid(m, partitions):
        return Prequest()
    whole, cut = _read(buf, partitions, readonly=True)
    ends = m.context, m.index, m.peers[there[0]], there[1]
    return _request(m, SentParts(_channel(m, ends), there[0], whole, cut))


def receive_parts(
    m: CommunicatorMembers, buf: Any, partitions: int, source: int, tag: int
) -> Prequest:
    """Return the request that receives a message of another cluster in parts."""
    there = checked(m, source, tag)  # a wildcard is none
    if there is None or not _are_valid(m, partitions):
        return Prequest()
    whole, cut = _read(buf, partitions, readonly=False)
    ends = m.context, m.peers[there[0]], m.index, there[1]
    return _request(m, ReceivedParts(_channel(m, ends), there, whole, cut))


def near_parts(m: CommunicatorMembers, native: MPI.Prequest) -> Prequest:
    """Return the request that has one of native MPI, whose other end is in this cluster."""
    request = persistent_request(m, (parts := NearParts(m, native)).begin)
    request._parts = parts
    return request


def no_parts(m: CommunicatorMembers, partitions: int) -> Prequest:
    """Return the request of a message with PROC_NULL, at which MPICH 5.0.2 crashes."""
    if not _are_valid(m, partitions):
        return Prequest()
    request = persistent_request(m, Finished)
    request._parts = NoParts()
    return request


def _are_valid(m: CommunicatorMembers, partitions: int) -> bool:
    """Return whether there can be so many; raises unless the program's error handler returns."""
    if 0 < partitions <= _MOST_PARTS:
        return True
    error = MPI.Exception(MPI.ERR_ARG)
    error.add_note(f"a message has 1 to {_MOST_PARTS} partitions, and not {partitions}")
    tell(m.native, error)
    return False


def _read(buf: Any, partitions: int, *, readonly: bool) -> tuple[Spec, Partitioning]:
    """Return all of a message, and how it is cut."""
    part = read(buf, readonly=readonly, blocks=partitions)
    cut = Partitioning(partitions, part.nbytes)
    return (part if partitions == 1 else part.resized(part.count * partitions)), cut


def _channel(m: CommunicatorMembers, ends: tuple[bytes, int, int, int]) -> CommunicatorMembers:
    """Return the communicator with a context for one pair of requests alone."""
    from copy import copy  # ranks that send no parts have loaded this module, and not that

    channel = copy(m)
    channel.context = derived_context(b"", "partitioned", *ends, next(_serial[ends]))
    with m.engine.lock:
        m.engine.box(channel.context, True).open(channel, m.inner)
    return channel


def _request(m: CommunicatorMembers, parts: Parts) -> Prequest:
    request = persistent_request(m, parts.begin)
    request._parts = parts
    return request


class NoParts:
    """A partitioned message with PROC_NULL: it is done as soon as it is started."""

    def ready(self, parts: Iterable[int]) -> None:
        """Do nothing."""

    def has_arrived(self, part: int) -> bool:  # noqa: ARG002 - there is nothing of any part
        """Return that nothing is left to come."""
        return True

    def close(self) -> None:
        """Do nothing."""


class NearParts:
    """A partitioned message of native MPI.

    It is asked for each one alone: `Testall` of MPICH 5.0.2 fails for those that are under way.
    """

    def __init__(self, m: CommunicatorMembers, native: MPI.Prequest) -> None:
        self._m, self._native = m, native

    def begin(self) -> Operation:
        """Begin the next transfer."""
        self._native.Start()
        return NativeOperation(self._native, self._m.rank_from, "a partitioned message")

    def ready(self, parts: Iterable[int]) -> None:
        """Send parts."""
        self._native.Pready_list([integer(one) for one in parts])

    def has_arrived(self, part: int) -> bool:
        """Return whether a part is there."""
        return self._native.Parrived(part)

    def close(self) -> None:
        """Free it."""
        self._native.Free()


class Parts:
    """One end of a partitioned message, and the operation of its last start."""

    _operation: Operation | None = None

    def __init__(self, channel: CommunicatorMembers, whole: Spec, cut: Partitioning) -> None:
        self._m, self._whole, self._cut = channel, whole, cut

    def begin(self) -> Operation:
        """Begin the next transfer."""
        raise NotImplementedError

    def ready(self, parts: Iterable[int]) -> None:
        """Send parts."""
        del parts
        self._fail(MPI.ERR_REQUEST, "a receive has no parts to be marked as ready")

    def has_arrived(self, part: int) -> bool:
        """Return whether a part is there."""
        del part
        self._fail(MPI.ERR_REQUEST, "no part of a send arrives here")
        return False

    def close(self) -> None:
        """Forget the other end."""
        self._m.engine.close_box(self._m.context)

    def _check(self, part: int) -> int:
        number = integer(part)
        if not 0 <= number < self._cut.parts:
            self._fail(MPI.ERR_ARG, f"partition {number} is not one of {self._cut.parts}")
        return number

    def _fail(self, kind: int, text: str) -> None:
        error = MPI.Exception(kind)
        error.add_note(text)
        report(self._m.native, error)


class SentParts(Parts):
    """The end that sends."""

    _operation: PartsSend | None = None

    def __init__(
        self, channel: CommunicatorMembers, dest: int, whole: Spec, cut: Partitioning
    ) -> None:
        super().__init__(channel, whole, cut)
        self._dest = dest
        said = _CUT.pack(cut.parts, cut.size)
        channel.engine.leave_alone(channel.engine.send(channel, dest, _CUT_TAG, said, inner=True))

    def begin(self) -> Operation:
        """Begin: parts that are ready go."""
        self._operation = PartsSend(self._m, self._dest, self._cut.parts)
        return self._operation

    def ready(self, parts: Iterable[int]) -> None:
        """Send parts."""
        operation = self._operation
        for part in map(self._check, parts):
            if operation is None or operation.done:
                self._fail(MPI.ERR_REQUEST, f"partition {part} is ready, but nothing is started")
            elif part in operation.sent:
                self._fail(MPI.ERR_ARG, f"partition {part} was marked as ready already")
            else:
                data, engine = self._bytes_of(part), self._m.engine
                with engine.lock:
                    operation.sent[part] = engine.send(
                        self._m, self._dest, _CUT_TAG + 1 + part, data, inner=True
                    )

    def _bytes_of(self, part: int) -> memoryview:
        whole, cut = self._whole, self._cut
        view = whole.view
        if view is None and whole.memory:  # the others may be written just now
            entries = whole.count // cut.parts
            at = whole.offset + part * entries * whole.datatype.extent
            return Spec(whole.buffer, whole.memory, entries, whole.datatype, at).pack()
        return (whole.pack() if view is None else view)[cut.place(part)]


class PartsSend(Operation):
    """A transfer of a partitioned message, as its sender sees it."""

    __slots__ = ("_dest", "_m", "_parts", "sent")

    def __init__(self, m: CommunicatorMembers, dest: int, parts: int) -> None:
        super().__init__()
        self._m, self._dest, self._parts = m, dest, parts
        self.sent: dict[int, Operation] = {}
        """The sends of the parts that are ready."""

    def test(self) -> bool:
        """Test whether all parts are ready and gone; the lock is held."""
        if not self.done:
            under_way = [one for one in tuple(self.sent.values()) if not one.test()]
            errors = (one.error for one in tuple(self.sent.values()) if one.error is not None)
            if (error := next(errors, None)) is not None:
                self.finish(error)
            elif self._m.recovery.is_closed:
                self.finish(self._m.recovery.error)
            elif len(self.sent) == self._parts and not under_way:
                self.finish()
        return self.done

    def describe(self) -> str:
        """Describe what is waited for."""
        left = self._parts - len(self.sent)
        if left:
            return f"{left} of {self._parts} partitions that this rank has not marked by Pready"
        return ", ".join(one.describe() for one in self.sent.values() if not one.done)

    def awaited(self) -> Sequence[int]:
        """Return the receiver."""
        return (self._m.peers[self._dest],)


class ReceivedParts(Parts):
    """The end that receives."""

    _operation: PartsReceive | None = None

    def __init__(
        self, channel: CommunicatorMembers, there: tuple[int, int], whole: Spec, cut: Partitioning
    ) -> None:
        super().__init__(channel, whole, cut)
        self._there = there
        self._told = channel.engine.receive(channel, there[0], _CUT_TAG, None, inner=True)

    def begin(self) -> Operation:
        """Begin: parts that have come are taken."""
        self._operation = PartsReceive(self._m, self._there, self._told, self._whole, self._cut)
        with self._m.engine.lock:
            self._operation.test()
        return self._operation

    def has_arrived(self, part: int) -> bool:
        """Return whether a part is there; makes progress."""
        number, operation, engine = self._check(part), self._operation, self._m.engine
        if operation is None:
            return True
        with engine.lock:
            if not operation.has(number):
                engine.ask()
            return operation.has(number)


class PartsReceive(Operation):
    """A transfer of a partitioned message, as its receiver sees it."""

    __slots__ = ("_cut", "_m", "_memory", "_receives", "_sent", "_there", "_told", "_whole")

    def __init__(
        self,
        m: CommunicatorMembers,
        there: tuple[int, int],
        told: Operation,
        whole: Spec,
        cut: Partitioning,
    ) -> None:
        super().__init__()
        self._m, self._there, self._told, self._whole, self._cut = m, there, told, whole, cut
        self._sent: Partitioning | None = None
        self._receives: list[Operation] = []
        view = whole.view
        self._memory = memoryview(bytearray(cut.nbytes)) if view is None else view

    def has(self, part: int) -> bool:
        """Return whether a part is there; those that are not contiguous come together."""
        if self.test() or self._sent is None or self._whole.view is None:
            return self.done and self.error is None
        needed = self._sent.needed_for(self._cut, part)
        return all(self._receives[one].done for one in needed)

    def test(self) -> bool:
        """Test whether all parts are there; the lock is held."""
        if self.done:
            return True
        if self._m.recovery.is_closed:
            self.finish(self._m.recovery.error)
        elif self._told.test():
            self._advance()
        return self.done

    def _advance(self) -> None:
        """Receive the parts, once it is known how the sender cuts them."""
        if self._told.error is not None:
            self.finish(self._told.error)
            return
        if self._sent is None:
            self._sent = Partitioning(*_CUT.unpack(bytes(self._told.data or b"")))
            if self._sent.nbytes > self._cut.nbytes:
                self.finish(self._too_long(self._sent))
                return
            self._post(self._sent)
        left = [one for one in self._receives if not one.test()]
        errors = (one.error for one in self._receives if one.error is not None)
        if (error := next(errors, None)) is not None:
            self.finish(error)
        elif not left:
            self._land(self._sent)

    def _too_long(self, sent: Partitioning) -> MPI.Exception:
        error = MPI.Exception(MPI.ERR_TRUNCATE)
        error.add_note(
            f"the sender has {sent.parts} partitions of {sent.size} bytes, the receiver"
            f" {self._cut.parts} of {self._cut.size}"
        )
        return error

    def _post(self, sent: Partitioning) -> None:
        """Receive the parts that the sender makes."""
        for part in range(sent.parts):
            landing, tag = InMemory(self._memory[sent.place(part)]), _CUT_TAG + 1 + part
            self._receives.append(
                self._m.engine.receive(self._m, self._there[0], tag, landing, inner=True)
            )

    def _land(self, sent: Partitioning) -> None:
        if self._whole.view is None:
            self._whole.unpack(self._memory[: sent.nbytes])
        self.source, self.tag = self._there
        self.nbytes = sent.nbytes
        self.finish()

    def describe(self) -> str:
        """Describe what is waited for."""
        left = sum(not one.done for one in self._receives)
        name = self._m.engine.name_of(self._m.peers[self._there[0]])
        if self._sent is None:
            return f"a partitioned message, which {name} has not made yet"
        return f"{left} of {self._sent.parts} partitions of a message from {name}"

    def awaited(self) -> Sequence[int]:
        """Return the sender."""
        return (self._m.peers[self._there[0]],)
