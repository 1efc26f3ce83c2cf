"""Replication of a rank as a machine without input, time or threads: events in, effects out."""

from __future__ import annotations

from gcm.records import dataclass

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Sequence as Several
    from typing import Any

    from runtime.replicas.effects import Effect, Sequence, Stream, Word


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept at most."""

    kept_bytes: int = 64 << 20
    """Of messages that a replica has sent and its master has not; beyond that sends wait."""
    decisions: int = 4096
    """So many decisions the master may be ahead of its slowest replica; beyond that it waits."""
    batch: int = 64
    """So many acknowledgements or commits are collected before they are said by themselves."""


UNKNOWN = object()
"""The value of a decision that is not known yet."""


class Replication:
    """What one process knows and does as one of the replicas of a rank. Not safe for threads.

    All methods that return effects want them carried out in that order, and before the next call.

        core = Replication(me=1, ranks=[(0, 2), (1, 3)])
        number, effects = core.send(("world", 1, 0, 7), message, size)
    """

    def __init__(self, me: int, ranks: Several[Several[int]], limits: Limits = Limits()) -> None:
        """Begin as process `me`; `ranks` has the processes of each rank, the first master first."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------- who is who

    @property
    def leads(self) -> bool:
        """Whether this process is the master of its rank, and knows what the last one decided."""
        raise NotImplementedError

    @property
    def settled(self) -> bool:
        """Whether all living replicas know all decisions of this master; else wait for `Settled`.

        Ask before the program has an effect outside of messages, such as a line of output. A
        process that does not lead has none.
        """
        raise NotImplementedError

    def processes_of(self, rank: int) -> tuple[int, ...]:
        """Return the living processes of a rank, its master first; none if the rank is lost."""
        raise NotImplementedError

    def lost(self, process: int) -> list[Effect]:
        """Record that a process is dead for good. Nothing is transmitted to it any more."""
        raise NotImplementedError

    # --------------------------------------------------------------------------------- messages

    def send(self, stream: Stream, message: Any, size: int) -> tuple[int, list[Effect]]:
        """Send a message: `message` stands for it in effects. Return its number, and what to do.

        If there is a `Transmit`, `Keep` or `Drop` with it among the effects now, that says when the
        program may go on; else the program has to wait for a later `Transmit` or `Drop` with it (a
        non-blocking send returns at once, and its request is done then).
        """
        raise NotImplementedError

    def arrive(self, process: int, stream: Stream, number: int, message: Any) -> list[Effect]:
        """Record a message that a process has transmitted: it is delivered, or discarded."""
        raise NotImplementedError

    # -------------------------------------------------------------------------------- decisions

    def ask(self, sequence: Sequence) -> tuple[int, Any]:
        """Come to the next decision of a sequence: return its number, and its value or UNKNOWN.

        If it is unknown and this process leads, `decide` it, now or when there is something to
        decide; else wait for `Decided`, or for `Lead` and decide it then.
        """
        raise NotImplementedError

    def decide(self, sequence: Sequence, number: int, value: Any) -> list[Effect]:
        """Decide what was asked for. Among the effects, now or later, is `Decided`: act then.

        Raises:
            ProtocolError: this process does not lead, or it is decided already.
        """
        raise NotImplementedError

    # ---------------------------------------------------------------------------- between cores

    def hear(self, process: int, word: Word) -> list[Effect]:
        """Record what the core of another process has said with `Tell`."""
        raise NotImplementedError

    def flush(self) -> list[Effect]:
        """Say what was collected. Call it before waiting and when there is nothing else to do."""
        raise NotImplementedError
