"""Probes on communicators of the grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from mpi4py import MPI

from runtime.mpi.errors import report
from runtime.mpi.point_to_point.probing import AvailableMessage, BlockingProbe, match, probe_once
from runtime.mpi.point_to_point.sends import checked_source, source_or_refusal
from runtime.mpi.progress.latest_calls import note, write_down
from runtime.mpi.progress.mailboxes import pattern_of
from runtime.mpi.values.faults import check_status
from runtime.mpi.values.handles import named_like
from runtime.mpi.values.statuses import write

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers


class ProbeCalls(MPI.Comm):
    """Calls that look for messages without receiving them, or match them."""

    __slots__ = ()

    def Probe(
        self,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> Literal[True]:
        """Wait for a message."""
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        write_down("Probe", self, source, tag)
        if m is None or m.near_to(source) == MPI.PROC_NULL:
            return _native(self, m).Probe(source, tag, status)
        check_status(status)
        there = checked_source(m, source, tag)
        if there is not None:
            there = _agreed(m, *there, waits=True) or there
            _tell(_await(m, *there), status)
        return True

    def Iprobe(
        self,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> bool:
        """Return whether there is a message."""
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        if m is None:
            return _Native(self).Iprobe(source, tag, status)
        if status is not None:
            check_status(status)
        near = m.near.get(source) if type(source) is int else m.near_to(source)
        if near is not None and (near == MPI.PROC_NULL or not m.sought):
            is_there = m.native.Iprobe(near, tag, status)
            if is_there and status is not None:
                status.source = source
            return is_there
        found = _probe_once(m, source, tag)
        if found is None:
            return False
        _tell(found, status)
        return True

    def probe(
        self,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> Literal[True]:
        """Wait for a message."""
        note("probe", self, source, tag)
        return ProbeCalls.Probe(self, source, tag, status)

    def iprobe(
        self,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> bool:
        """Return whether there is a message."""
        return ProbeCalls.Iprobe(self, source, tag, status)


class _Native(MPI.Comm):
    """Native calls on any communicator object, bypassing the methods of the grid's classes."""


def _native(comm: MPI.Comm, m: CommunicatorMembers | None) -> MPI.Comm:
    return m.native if m is not None else _Native(comm)


def _agreed(
    m: CommunicatorMembers, source: int, tag: int, *, waits: bool
) -> tuple[int, int] | None:
    """Return the source and tag to look for: those the master sees if this rank has replicas."""
    decisions = m.engine.decisions
    if decisions is None:
        return source, tag
    probe = BlockingProbe(m, source, tag)

    def probe_now() -> tuple[int, int] | None:
        if waits and probe.test() and probe.error is not None:
            report(m.native, probe.error)
        found = probe_once(m, probe.pattern)
        return None if found is None else (found.envelope.rank, found.envelope.tag)

    there = decisions.sees(probe, probe_now, waits=waits)
    if there is not None:
        _await(m, *there)
    return there


def _await(m: CommunicatorMembers, source: int, tag: int) -> AvailableMessage:
    probe = BlockingProbe(m, source, tag)
    m.engine.waits.wait(probe.test, lambda: (probe,))
    if probe.error is not None or probe.found is None:
        report(m.native, probe.error or RuntimeError("a probe ended without a message"))
    return probe.found


def _probe_once(m: CommunicatorMembers, source: int, tag: int) -> AvailableMessage | None:
    there = checked_source(m, source, tag)
    there = None if there is None else _agreed(m, *there, waits=False)
    if there is None:
        return None
    with m.engine.lock:
        m.engine.ask()
        return probe_once(m, pattern_of(*there))


def _await_match(
    m: CommunicatorMembers, source: int, tag: int, status: MPI.Status | None, *, lower: bool
) -> MPI.Message:
    there = source_or_refusal(m, source, tag)
    there = _agreed(m, *there, waits=True) or there
    while True:
        with m.engine.lock:  # no other receiver of the grid may take what was seen
            found = probe_once(m, pattern_of(*there))
            message = None if found is None else match(m, found, MPI.Status(), lower=lower)
        if found is not None and message is not None:
            _tell(found, status)
            return message
        _await(m, *there)


def _match_once(
    m: CommunicatorMembers, source: int, tag: int, status: MPI.Status | None, *, lower: bool
) -> MPI.Message | None:
    there = checked_source(m, source, tag)
    there = None if there is None else _agreed(m, *there, waits=False)
    if there is None:
        return None
    with m.engine.lock:
        m.engine.ask()
        found = probe_once(m, pattern_of(*there))
        message = None if found is None else match(m, found, MPI.Status(), lower=lower)
    if found is None or message is None:
        return None
    _tell(found, status)
    return message


def _tell(found: AvailableMessage, status: MPI.Status | None) -> None:
    if status is not None:
        write(status, found.envelope.rank, found.envelope.tag, found.nbytes)


def _made(name: str, match: Callable[..., Any]) -> Callable[..., Any]:
    def call(
        self: MPI.Comm, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG, status: Any = None
    ) -> Any:
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        write_down(name, self, source, tag)
        if m is None or m.near_to(source) == MPI.PROC_NULL:
            return getattr(_native(self, m), name)(source, tag, status)
        check_status(status)
        return match(m, source, tag, status, lower=name.islower())

    return named_like(getattr(MPI.Comm, name), call)


for _name, _match in (
    *(("Mprobe", _await_match), ("Improbe", _match_once)),
    *(("mprobe", _await_match), ("improbe", _match_once)),
):
    setattr(ProbeCalls, _name, _made(_name, _match))
