"""How the members of a communicator recover from losses: revoking it, and agreeing on failures.

These notices are sent beside all messages of programs and collectives, are handled as soon as they
arrive, and work on a revoked communicator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from runtime.lazy_import import LazyModule, logger
from runtime.mpi.errors import CommunicatorRevoked, NotOnTheGrid, ProcessGone
from runtime.mpi.progress.losses import LossHandler
from runtime.mpi.progress.mailboxes import AGREEMENT, REVOKED
from runtime.mpi.progress.operations import Operation
from runtime.wire import PeerLeft

if TYPE_CHECKING:
    from runtime.collectives import agreement
    from runtime.collectives import recovery_modes as modes
    from runtime.collectives.agreement import Agreement, Agreements, Value
    from runtime.collectives.recovery_modes import CommunicatorLife, Modes
    from runtime.mpi.errors import FailureError
    from runtime.mpi.progress.driver import Driver
    from runtime.mpi.progress.ranks import CommunicatorRanks
else:
    agreement = LazyModule("runtime.collectives.agreement")
    modes = LazyModule("runtime.collectives.recovery_modes")

_log = logger(__name__)


class Recovery(LossHandler):
    """The state of one member. The engine's lock protects it; processes are indexes."""

    def __init__(self, members: CommunicatorRanks, driver: Driver) -> None:
        super().__init__()
        self._members, self._driver = members, driver
        self.everybody: tuple[int, ...] = tuple(
            sorted({*members.group, *members.peers} - members.gaps)
        )
        """The members of all groups, without gaps."""
        self.revoked_by: int | None = None
        """Who has revoked the communicator, None if nobody has."""
        self.closed_with_it: list[Recovery] = []
        """Those of communicators that serve this one: what waits in them is to fail with it."""
        self._life: CommunicatorLife | None = None
        self._agreements: Agreements | None = None

    @property
    def has_agreed(self) -> bool:
        """Whether others may still ask for results of agreements."""
        return self._agreements is not None

    @property
    def life(self) -> CommunicatorLife:
        """Its modes and its state."""
        if self._life is None:
            self._life = modes.CommunicatorLife()
            if self.failed():
                self._life.happens(modes.CommunicatorEvent.LOSS)
        return self._life

    def report(self) -> tuple[str, str] | None:
        """Return its state and its modes, if it has lost members or is to get over that."""
        life = self._life
        if life is None or (not self.has_modes and life.state is modes.CommunicatorState.OK):
            return None
        return str(life.state), str(life.modes)

    @property
    def has_modes(self) -> bool:
        """Whether a way of recovery was set."""
        life = self._life
        return life is not None and life.modes.recovery is not modes.RecoveryMode.NONE

    @property
    def is_strict(self) -> bool:
        """Whether its collectives end with an agreement."""
        return self._life is not None and self._life.modes.is_strict

    def use(self, chosen: Modes) -> None:
        """Recover from losses according to these modes; the lock is held."""
        self.life.modes = chosen
        if self.failed():
            self._stop()

    def be_like(self, parent: Recovery) -> None:
        """Use the modes of the parent communicator."""
        if parent._life is not None:
            self.use(parent._life.modes)

    def be_joining(self) -> None:
        """Refuse all calls but the recovery: this process is a replacement."""
        self.life.happens(modes.CommunicatorEvent.LOSS)
        self._close(_joining_error)

    @property
    def is_joining(self) -> bool:
        """Whether this process has to join others before it can use it."""
        return self.closing is _joining_error

    @property
    def has_to_recover(self) -> bool:
        """Whether calls that derive communicators first check whether it has to be recovered."""
        return self.is_joining or self.has_modes

    def _revoked_error(self) -> CommunicatorRevoked:
        m, driver, by = self._members, self._driver, self.revoked_by
        assert by is not None, "it was revoked"
        who = "this process" if by == driver.me else driver.name_of(by)
        return CommunicatorRevoked(
            f"{m.native.name or 'the communicator'} was revoked by {who}",
            cure="Call Shrink on it: that returns one of the processes that are left",
        )

    def gone(self) -> list[int]:
        """Return the members that are known here to take part no more, in that order."""
        everybody = set(self.everybody)
        return [one for one in self._driver.losses.gone if one in everybody]

    def failed(self) -> list[int]:
        """Return those of them that have not ended well: only these make a recovery necessary."""
        gone = self._driver.losses.gone
        return [one for one in self.gone() if not isinstance(gone[one], PeerLeft)]

    def revoke(self) -> None:
        """Revoke the communicator at all members, without their participation."""
        self._refuse_replicas("Revoke")
        if self.revoked_by is None:
            self._be_revoked(self._driver.me, self.everybody)

    def agree(self, flag: int) -> AgreementOperation:
        """Begin to agree on a flag, who has failed, and which failures all have acknowledged."""
        self._refuse_replicas("An agreement on losses")
        value = agreement.Value(flag, self.gone(), self.acknowledged)
        return AgreementOperation(self._driver, self._known_agreements().begin(value))

    def _refuse_replicas(self, what: str) -> None:
        """Refuse notices outside of the numbered messages: replicas would not send them alike."""
        if self._driver.has_replicas:
            raise NotOnTheGrid(
                f"{what} is not possible where ranks have replicas",
                cure="Ranks are lost only with all their replicas: start it with failures='return'"
                " and without replicas to survive losses in the program",
            )

    def handle_notice(self, sender: int, tag: int, data: bytes) -> None:
        """Handle a notice of another member."""
        if tag == REVOKED and self.revoked_by is None:
            self._be_revoked(int.from_bytes(data, "big"), self._next_of_ring())
        elif tag == AGREEMENT:
            self._known_agreements().heard(sender, data)

    def lost(self, index: int) -> None:
        """Record that a process is lost."""
        if index not in self.everybody:
            return
        if self._agreements is not None:
            self._agreements.lost(index)
        if self._life is not None and index in self.failed():
            self._life.happens(modes.CommunicatorEvent.LOSS)
            self._stop()

    def _stop(self) -> None:
        """React to a loss as the modes say: ignore it, refuse all calls, or end the run."""
        life = self.life
        if life.modes.recovery is modes.RecoveryMode.ABORT:
            self._abort()
        elif not life.admits_messages and self.closing is None:
            self._close(self._stopped_error)

    def _stopped_error(self) -> FailureError:
        m = self._members
        error = self._driver.losses.of(self.failed()[0])
        assert isinstance(error, ProcessGone), "that is why it is closed"
        name = m.native.name or "the communicator"
        error.cure = f"{name} is closed to all calls but its recovery: call Dup on it, at all ranks"
        return error

    def _abort(self) -> None:
        from runtime.mpi.errors import abort, leave

        lost = self._driver.losses.of(self.failed()[0])
        abort(1, lost)
        leave(1)  # before the program can catch anything

    def close_with_it(self, one: Recovery) -> None:
        """Let calls on a communicator that serves this one fail with it; the lock is held."""
        self.closed_with_it.append(one)
        if self.closing is not None:
            one._close(self.closing)

    def _close(self, closing: Callable[[], FailureError]) -> None:
        self.closing = closing
        self._driver.shut(self._members)
        for one in self.closed_with_it:
            one._close(closing)

    def _be_revoked(self, by: int, told: Sequence[int]) -> None:
        self.revoked_by = by
        self._close(self._revoked_error)
        for one in told:
            self._send(one, REVOKED, by.to_bytes(4, "big"))

    def _next_of_ring(self) -> list[int]:
        """Return whom to forward a revocation to: distances are powers of two.

        The first member tells everybody; this is for the case that it dies meanwhile.
        """
        everybody = self.everybody
        mine, size = everybody.index(self._driver.me), len(everybody)
        steps = (1 << power for power in range((size - 1).bit_length()))
        return [everybody[(mine + step) % size] for step in steps]

    def _known_agreements(self) -> Agreements:
        if self._agreements is None:
            me = self._driver.me
            self._agreements = agreement.Agreements(
                me, self.everybody, lambda to, data: self._send(to, AGREEMENT, data), self.gone()
            )
        return self._agreements

    def _send(self, to: int, tag: int, data: bytes) -> None:
        driver = self._driver
        if to != driver.me and to not in driver.losses.gone:
            driver.send_recovery(self._members.context, to, tag, data)


def _joining_error() -> ProcessGone:
    return ProcessGone(
        "this process was started again in place of a lost one, and belongs to no communicator yet",
        cure="Call Dup on MPI.COMM_WORLD: it joins the others, which recover theirs meanwhile",
    )


class AgreementOperation(Operation):
    """An agreement in progress; its `decision` is set when it is done."""

    __slots__ = ("_agreement", "_driver", "decision", "number")

    def __init__(self, driver: Driver, agreement: Agreement) -> None:
        super().__init__()
        self._driver, self._agreement = driver, agreement
        self.number = agreement.number
        """Its number, the same at all members."""
        self.decision: Value | None = None

    def test(self) -> bool:
        """Test whether it is decided; the decision arrives by itself."""
        if not self.done and self._agreement.decision is not None:
            self.decision = self._agreement.decision
            self.finish()
        return self.done

    def describe(self) -> str:
        """Describe what is waited for."""
        names = ", ".join(map(self._driver.name_of, self.awaited()[:4]))
        return f"an agreement with {names}"

    def awaited(self) -> Sequence[int]:
        """Return the members whose votes are missing."""
        return self._agreement.awaited()
