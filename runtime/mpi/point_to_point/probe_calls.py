"""Probes on communicators of the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mpi4py import MPI

from runtime.mpi.errors import report
from runtime.mpi.point_to_point.probing import AvailableMessage, BlockingProbe, match, probe_once
from runtime.mpi.point_to_point.sends import checked_source, source_or_refusal
from runtime.mpi.progress.mailboxes import pattern_of
from runtime.mpi.values.faults import check_status
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

    def Mprobe(
        self,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> MPI.Message:
        """Wait for a message and match it."""
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        if m is None or m.near_to(source) == MPI.PROC_NULL:
            return _native(self, m).Mprobe(source, tag, status)
        check_status(status)
        return _await_match(m, source, tag, status, lower=False)

    def Improbe(
        self,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> MPI.Message | None:
        """Match a message if there is one."""
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        if m is None or m.near_to(source) == MPI.PROC_NULL:
            return _native(self, m).Improbe(source, tag, status)
        check_status(status)
        return _match_once(m, source, tag, status, lower=False)

    def probe(
        self,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> Literal[True]:
        """Wait for a message."""
        return ProbeCalls.Probe(self, source, tag, status)

    def iprobe(
        self,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> bool:
        """Return whether there is a message."""
        return ProbeCalls.Iprobe(self, source, tag, status)

    def mprobe(
        self,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> MPI.Message:
        """Wait for a message with an object and match it."""
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        if m is None or m.near_to(source) == MPI.PROC_NULL:
            return _native(self, m).mprobe(source, tag, status)
        check_status(status)
        return _await_match(m, source, tag, status, lower=True)

    def improbe(
        self,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> MPI.Message | None:
        """Match a message with an object if there is one."""
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        if m is None or m.near_to(source) == MPI.PROC_NULL:
            return _native(self, m).improbe(source, tag, status)
        check_status(status)
        return _match_once(m, source, tag, status, lower=True)


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
