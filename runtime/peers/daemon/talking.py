"""Holds the talks of a daemon over real connections."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from runtime.peers.connections.connection import CALL_TIMEOUT, MemberConnection
from runtime.peers.connections.dialling import MemberDialler
from runtime.peers.contracts import LabMembership
from runtime.peers.errors import PeerError
from runtime.peers.membership import (
    CallMember,
    DialMember,
    KeepHosts,
    MeasureRoundTrip,
    ReachMember,
    Talk,
    TalkStep,
)

T = TypeVar("T")


class TalkHolder:
    """Carries out the steps of talks; any thread may hold one.

    Talks go on under `lock`, which nobody has while a step takes its time. `keep` writes the list
    of hosts.
    """

    def __init__(
        self,
        dialler: MemberDialler,
        lock: threading.Lock,
        keep: Callable[[], None] = lambda: None,
    ) -> None:
        self._dialler = dialler
        self._lock = lock
        self._keep = keep

    def hold(self, talk: Talk[T]) -> T:
        """Carry a talk out to its end; return what it found out.

        Raises:
            PeerError: the talk ends with it.
        """
        line = _Line(self._dialler, self._keep)
        answer: Any = None
        fault: PeerError | None = None
        try:
            while True:
                with self._lock:
                    step = talk.throw(fault) if fault is not None else talk.send(answer)
                try:
                    answer, fault = line.carry_out(step), None
                except PeerError as error:
                    fault = error
        except StopIteration as over:
            found: T = over.value
            return found
        finally:
            line.close()


class _Line:
    """The connection of a talk, once it has one."""

    def __init__(self, dialler: MemberDialler, keep: Callable[[], None]) -> None:
        self._dialler = dialler
        self._keep = keep
        self._connection: MemberConnection | None = None

    def carry_out(self, step: TalkStep) -> Any:
        """Do a step and return what came; raises PeerError."""
        match step:
            case DialMember(address, timeout):
                self.close()
                self._connection = self._dialler.dial(address, timeout=timeout)
                return self._connection.principal
            case ReachMember(member, timeout):
                self.close()
                self._connection = self._dialler.reach(member, timeout)
                return self._connection.principal
            case KeepHosts():
                return self._keep()
            case CallMember(operation, arguments, timeout):
                stub = self._opened.stub(LabMembership, timeout or CALL_TIMEOUT)
                return getattr(stub, operation)(self._dialler.me, *arguments)
            case MeasureRoundTrip():
                return self._opened.round_trip(self._dialler.me)

    @property
    def _opened(self) -> MemberConnection:
        assert self._connection is not None, "a talk dials before it says anything"
        return self._connection

    def close(self) -> None:
        """Close the connection, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
