"""What a process may do with a window now: MPI's access and exposure epochs, as a machine.

An access epoch is begun by a fence, by `start` for some ranks, by `lock` for one rank or by
`lock_all`; an exposure epoch by a fence or by `post`. A fence after which nothing was accessed can
be followed by any of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class WrongEpoch(Exception):
    """A call that does not fit the epoch; it says which one fits."""


class Epoch(StrEnum):
    """The access epoch that a process is in."""

    NONE = "no epoch"
    FENCED = "the epoch of a fence"
    """Between two fences: all ranks can be accessed."""
    STARTED = "an epoch that Start has begun"
    """Until `complete`: the ranks of its group can be accessed."""
    LOCKED = "an epoch of locks"
    """Until the last `unlock`: the locked ranks can be accessed."""
    ALL_LOCKED = "an epoch of Lock_all"
    """Until `unlock_all`: all ranks can be accessed."""


_CURE = "call Fence, Start, Lock or Lock_all before"


class WindowEpochs:
    """The epochs of a process at one window; ranks are those of the window."""

    def __init__(self) -> None:
        self.access = Epoch.NONE
        self._has_accessed = False
        self.targets: frozenset[int] = frozenset()
        """Whom `start` has named."""
        self.locked: set[int] = set()
        """Who is locked."""
        self.exposed_to: frozenset[int] | None = None
        """Whom `post` has named, None where there is no such epoch."""

    def check_access(self, rank: int, *, requested: bool = False) -> None:
        """Take note of an access to a rank; one with a request needs a lock.

        Raises WrongEpoch.
        """
        state = self.access
        if state is Epoch.LOCKED:
            if rank in self.locked:
                return
            raise WrongEpoch(f"rank {rank} is not locked, but {_ranks(self.locked)}")
        if state is Epoch.ALL_LOCKED:
            return
        if requested:
            raise WrongEpoch(f"this is {state}; one with a request needs Lock or Lock_all before")
        if state is Epoch.FENCED:
            self._has_accessed = True
            return
        if state is Epoch.STARTED:
            if rank in self.targets:
                return
            raise WrongEpoch(f"Start has named {_ranks(self.targets)}, not rank {rank}")
        raise WrongEpoch(f"there is no epoch: {_CURE}")

    def check_locked(self, rank: int | None = None) -> None:
        """Check that a rank is locked, or any; raises WrongEpoch."""
        if self.access is Epoch.ALL_LOCKED:
            return
        if self.access is not Epoch.LOCKED:
            raise WrongEpoch(f"nothing is locked; this is {self.access}")
        if rank is not None and rank not in self.locked:
            raise WrongEpoch(f"rank {rank} is not locked, but {_ranks(self.locked)}")

    def check_free(self) -> None:
        """Check that no epoch is open; raises WrongEpoch."""
        if self.access is Epoch.LOCKED:
            raise WrongEpoch(f"{_ranks(self.locked)} is still locked: call Unlock before")
        if self.access is Epoch.ALL_LOCKED:
            raise WrongEpoch("all ranks are still locked: call Unlock_all before")
        if self.access is Epoch.STARTED:
            raise WrongEpoch("an epoch that Start has begun is open: call Complete before")
        if self.exposed_to is not None:
            raise WrongEpoch("an epoch that Post has begun is open: call Wait before")

    def fence(self, *, succeeds: bool) -> None:
        """End the epoch of a fence, and begin another unless nothing succeeds it.

        Raises WrongEpoch where locks or groups are still in use.
        """
        self.check_free()
        self.access = Epoch.FENCED if succeeds else Epoch.NONE
        self._has_accessed = False

    def start(self, ranks: Iterable[int]) -> None:
        """Begin to access some ranks; raises WrongEpoch."""
        self._begin(Epoch.STARTED)
        self.targets = frozenset(ranks)

    def complete(self) -> frozenset[int]:
        """End what `start` has begun; return its ranks. Raises WrongEpoch."""
        if self.access is not Epoch.STARTED:
            raise WrongEpoch(f"Start was not called; this is {self.access}")
        self.access = Epoch.NONE
        targets, self.targets = self.targets, frozenset()
        return targets

    def post(self, ranks: Iterable[int]) -> None:
        """Let some ranks access this one; raises WrongEpoch."""
        if self.exposed_to is not None:
            raise WrongEpoch("an epoch that Post has begun is open: call Wait before")
        self.exposed_to = frozenset(ranks)

    def wait(self) -> frozenset[int]:
        """Return whom `post` has named; raises WrongEpoch where it was not called."""
        if self.exposed_to is None:
            raise WrongEpoch("Post was not called")
        return self.exposed_to

    def lock(self, rank: int) -> None:
        """Lock a rank; raises WrongEpoch."""
        if self.access is not Epoch.LOCKED:
            self._begin(Epoch.LOCKED)
        elif rank in self.locked:
            raise WrongEpoch(f"rank {rank} is locked already")
        self.locked.add(rank)

    def unlock(self, rank: int) -> None:
        """Take note that a rank is locked no more; raises WrongEpoch."""
        if self.access is not Epoch.LOCKED:
            raise WrongEpoch(f"rank {rank} is not locked by Lock; this is {self.access}")
        self.check_locked(rank)
        self.locked.discard(rank)
        if not self.locked:
            self.access = Epoch.NONE

    def lock_all(self) -> None:
        """Lock all ranks; raises WrongEpoch."""
        self._begin(Epoch.ALL_LOCKED)

    def unlock_all(self) -> None:
        """Take note that they are locked no more; raises WrongEpoch."""
        if self.access is not Epoch.ALL_LOCKED:
            raise WrongEpoch(f"Lock_all was not called; this is {self.access}")
        self.access = Epoch.NONE

    def _begin(self, epoch: Epoch) -> None:
        is_free = self.access is Epoch.FENCED and not self._has_accessed
        if self.access is not Epoch.NONE and not is_free:
            raise WrongEpoch(f"this is {self.access} already, which has to end before")
        self.access = epoch


def _ranks(ranks: Iterable[int]) -> str:
    listed = sorted(ranks)
    return f"rank{'' if len(listed) == 1 else 's'} {', '.join(map(str, listed)) or 'none'}"
