"""Lost processes, and what that means for calls that wait for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runtime.mpi.errors import FailureError, ProcessGone
from runtime.wire import LinkLost, PeerAbsent, PeerLeft


class Losses:
    """The lost processes, and why they are lost."""

    def __init__(
        self, name_of: Callable[[int], str], process_of: Callable[[int], str] = str
    ) -> None:
        self._name_of, self._process_of = name_of, process_of
        self.gone: dict[int, Exception] = {}
        self.survived: set[int] = set()
        """Those that the program has recovered from or acknowledged: later failures are its own."""

    def add(self, peer: int, why: Exception) -> None:
        """Record a lost process."""
        self.gone[peer] = why

    def of(self, peer: int) -> Exception | None:
        """Return the error of a call that waits for a process if it is lost."""
        why = self.gone.get(peer)
        return None if why is None else self.problem(peer, why)

    def among(self, senders: Sequence[int], *, near: bool) -> Exception | None:
        """Return why no message of any of these can be waited for, or None.

        That is when one of them has died, or when no `near` process could send it and all have left
        or were never reached.
        """
        if not self.gone:
            return None
        gone = [index for index in senders if index in self.gone]
        dead = [index for index in gone if not isinstance(self.gone[index], PeerLeft | PeerAbsent)]
        if dead or (gone and len(gone) == len(senders) and not near):
            return self.of((dead or gone)[0])
        return None

    def problem(self, peer: int, why: Exception) -> Exception:
        """Return the error of a call that waits for a lost process."""
        cut = isinstance(why, LinkLost)
        name = self._name_of(peer)
        error = ProcessGone(
            f"{name} {'cannot be reached any more' if cut else 'is gone'}",
            cause=str(why),
            cure="What it has sent before can still be received, nothing else.",
        )
        error.process = self._process_of(peer)
        return error


class LossHandler:
    """What a communicator does about losses; see `recovery`, which does more than admit calls."""

    def __init__(self) -> None:
        self.closing: Callable[[], FailureError] | None = None
        """Returns the error of calls on a communicator that is closed to them."""
        self.acknowledged: set[int] = set()
        """The failures that the program has acknowledged here."""

    @property
    def is_closed(self) -> bool:
        """Whether calls are refused: it was revoked, or has to be recovered first."""
        return self.closing is not None

    @property
    def error(self) -> FailureError | None:
        """The error of calls on a communicator that is closed to them; None while it works."""
        return None if self.closing is None else self.closing()

    @property
    def has_agreed(self) -> bool:
        """Whether others may still ask for results of agreements."""
        return False

    def lost(self, index: int) -> None:
        """Handle the loss of a process."""

    def handle_notice(self, sender: int, tag: int, data: bytes) -> None:
        """Handle a notice of another member."""
