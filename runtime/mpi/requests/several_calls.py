"""Calls that complete several requests, of the grid and of native MPI in any mix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from mpi4py import MPI

from runtime.mpi.requests import several


class SeveralCalls(MPI.Request):
    """The calls of requests that complete several of them."""

    __slots__ = ()

    @classmethod
    def Waitany(cls, requests: Sequence[MPI.Request], status: MPI.Status | None = None) -> int:
        """Wait until one is done; return which."""
        return several.any_of(requests, status, waits=True)[0]

    @classmethod
    def Testany(
        cls, requests: Sequence[MPI.Request], status: MPI.Status | None = None
    ) -> tuple[int, bool]:
        """Return whether one is done, and which."""
        return several.any_of(requests, status)[:2]

    @classmethod
    def Waitall(
        cls, requests: Sequence[MPI.Request], statuses: Sequence[MPI.Status] | None = None
    ) -> Literal[True]:
        """Wait until all are done."""
        several.all_of(requests, statuses, waits=True)
        return True

    @classmethod
    def Testall(
        cls, requests: Sequence[MPI.Request], statuses: Sequence[MPI.Status] | None = None
    ) -> bool:
        """Return whether all are done."""
        return several.all_of(requests, statuses) is not None

    @classmethod
    def Waitsome(
        cls, requests: Sequence[MPI.Request], statuses: Sequence[MPI.Status] | None = None
    ) -> list[int] | None:
        """Wait until some are done; return which, or None if there is nothing to wait for."""
        return several.some_of(requests, statuses, waits=True)[0]

    @classmethod
    def Testsome(
        cls, requests: Sequence[MPI.Request], statuses: Sequence[MPI.Status] | None = None
    ) -> list[int] | None:
        """Return which are done, or None if there is nothing to wait for."""
        return several.some_of(requests, statuses)[0]

    @classmethod
    def waitany(
        cls, requests: Sequence[MPI.Request], status: MPI.Status | None = None
    ) -> tuple[int, Any]:
        """Wait until one is done; return which, and what it has received."""
        index, _, found = several.any_of(requests, status, objects=True, waits=True)
        return index, found

    @classmethod
    def testany(
        cls, requests: Sequence[MPI.Request], status: MPI.Status | None = None
    ) -> tuple[int, bool, Any | None]:
        """Return whether one is done, which, and what it has received."""
        return several.any_of(requests, status, objects=True)

    @classmethod
    def waitall(
        cls, requests: Sequence[MPI.Request], statuses: Sequence[MPI.Status] | None = None
    ) -> list[Any]:
        """Wait until all are done; return what they have received."""
        return several.all_of(requests, statuses, objects=True, waits=True) or []

    @classmethod
    def testall(
        cls, requests: Sequence[MPI.Request], statuses: Sequence[MPI.Status] | None = None
    ) -> tuple[bool, list[Any] | None]:
        """Return whether all are done, and what they have received."""
        found = several.all_of(requests, statuses, objects=True)
        return found is not None, found

    @classmethod
    def waitsome(
        cls, requests: Sequence[MPI.Request], statuses: Sequence[MPI.Status] | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Wait until some are done; return which, and what they have received."""
        return several.some_of(requests, statuses, objects=True, waits=True)

    @classmethod
    def testsome(
        cls, requests: Sequence[MPI.Request], statuses: Sequence[MPI.Status] | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Return which are done, and what they have received."""
        return several.some_of(requests, statuses, objects=True)

    @classmethod
    def Get_status_any(
        cls, requests: Sequence[MPI.Request], status: MPI.Status | None = None
    ) -> tuple[int, bool]:
        """Return whether one is done, and which; leave all as they are."""
        return several.status_any(requests, status)

    @classmethod
    def Get_status_all(
        cls, requests: Sequence[MPI.Request], statuses: Sequence[MPI.Status] | None = None
    ) -> bool:
        """Return whether all are done; leave all as they are."""
        return several.status_all(requests, statuses)

    @classmethod
    def Get_status_some(
        cls, requests: Sequence[MPI.Request], statuses: Sequence[MPI.Status] | None = None
    ) -> list[int] | None:
        """Return which are done; leave all as they are."""
        return several.status_some(requests, statuses)

    get_status_any = Get_status_any
    get_status_all = Get_status_all
    get_status_some = Get_status_some
