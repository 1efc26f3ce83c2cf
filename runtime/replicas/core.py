"""Replication of a rank as a machine without input, time or threads: events in, effects out.

Messages with one communicator, sender, receiver and tag are a *stream*, numbered from 0. A process
keeps numbers about it only: up to which message its program has sent, its master has committed, or
the stream has arrived; so nothing grows with the number of messages.

- The *master* of a rank, its living replica with the lowest number, sends a message to all living
  replicas of the receiver, and commits it once all have acknowledged it: it tells the other
  replicas of its rank. Not once it is sent: what a host sends just before it dies may be lost.
- Another replica keeps a copy of what its program sends until it hears of the commit. A receiver
  delivers the next message of a stream and discards duplicates.
- A new master asks the others which decisions they know, sends each of them the missing ones,
  tells what is committed, and sends what it has copies of, in the order of the program.
- Where replicas could diverge, the master decides. A decision has a position in a sequence:
  a replica that gets there before the master waits, one that gets there later does the same. The
  master does not wait until the others know it, but holds back later messages until all do, so no
  other rank has seen effects of a decision that is lost with its master.
- A process that joins begins at a checkpoint of all ranks, which opens an *epoch*, in which streams
  count from 0 anew. A replica gives its state once all that it has sent is acknowledged and its
  decisions are known to all, since nobody else could send them again.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from runtime.replicas.arrivals import Arrivals
from runtime.replicas.decisions import Decisions
from runtime.replicas.effects import Drop, Lead, Tell
from runtime.replicas.limits import ReplicationError, ReplicationLimits
from runtime.replicas.roster import Roster
from runtime.replicas.sends import Sends

if TYPE_CHECKING:
    from runtime.replicas.effects import Effect, Stream, Word


class Replication:
    """What one process knows and does as one of the replicas of a rank. Not safe for threads.

    All methods that return effects want them carried out in that order, and before the next call.
    After `lost` nothing of that process may be given to `arrived` or `hear` any more.

    >>> core = Replication(me=1, ranks=[(0, 2), (1, 3)])
    >>> number, effects = core.send(("world", 1, 0, 7), "hello", size=5)
    >>> [(effect.to, effect.number) for effect in effects]
    [((0, 2), 0)]
    """

    def __init__(
        self,
        me: int,
        ranks: Sequence[Sequence[int]],
        limits: ReplicationLimits | None = None,
        *,
        restarts: bool = False,
    ) -> None:
        """Begin as process `me`; `ranks` has the processes of each rank, the first master first.

        With `restarts` others may `join` in place of lost ones.
        """
        limits = limits or ReplicationLimits()
        self._roster = Roster(me, ranks)
        self._sends = Sends(self._roster, limits, restarts=restarts)
        self._arrivals = Arrivals(limits)
        self._decisions = Decisions(self._roster, limits)
        self._master = self._roster.master  # the last that was heard of
        self.leads = self._master == me
        """Whether this process is its rank's master, and knows what the last one decided."""
        self._unheard: set[int] = set()  # who has to answer before this process leads
        self._restarts = restarts
        self._waiting: set[int] = set()  # who has said that it waits to join
        self.epoch = 0
        """How often others have joined. It belongs to the context of all messages sent since."""

    # ------------------------------------------------------------------------------- who is who

    @property
    def made(self) -> int:
        """How many decisions are known here."""
        return self._decisions.made

    @property
    def settled(self) -> int:
        """How many decisions all living replicas know, if this process leads.

        Before the program has an effect outside of messages, such as a line of output, as many have
        to be settled as are `made` at that moment: wait for `DecisionsSettled`.
        """
        return self._decisions.settled

    @property
    def kept_bytes(self) -> int:
        """How many bytes the copies take that `Keep` asked for."""
        return self._sends.kept

    @property
    def owes(self) -> bool:
        """Whether messages of the program would be lost if all replicas left now.

        A process whose program has come to its end may not leave before.
        """
        return bool(self._sends.backup)

    def processes_of(self, rank: int) -> tuple[int, ...]:
        """Return the living processes of a rank, its master first; none if the rank is lost."""
        return self._roster.living[rank]

    def lost(self, process: int) -> list[Effect]:
        """Record that a process is dead for good. Nothing is transmitted to it any more."""
        is_twin = process in self._roster.twins
        if not self._roster.remove(process):
            return []
        self._sends.lost(process)
        if not is_twin:
            return self._commit()
        effects = self._decisions.lost(process, leads=self.leads)
        if self.leads:
            return effects + self._transmit()
        if self._roster.master == self._roster.me:
            effects += self._succeed(process)
        return effects

    def _succeed(self, dead: int) -> list[Effect]:
        """Become the master; the others are asked first, for they may know more decisions."""
        effects: list[Effect] = []
        if self._master == self._roster.me:
            self._unheard.discard(dead)
        else:
            self._master = self._roster.me
            self._unheard = set(self._roster.twins)
            word = ("succeeds", self._decisions.made)
            effects += [Tell(twin, word) for twin in self._roster.twins]
        return effects if self._unheard else effects + self._lead()

    def _lead(self) -> list[Effect]:
        """Begin to lead: all replicas get what the last master may have told some of them only."""
        self.leads = True
        self._sends.commit_all()
        effects = self._decisions.teach() + self._sends.commit()
        return [*effects, *self._transmit(), Lead()]

    # ------------------------------------------------------------------------ others that join

    @property
    def may_hand_over(self) -> bool:
        """Whether what the program has done so far is done for good, whoever dies.

        Before it is handed over to another process the program has to be where nothing is open: all
        that was sent to it was received, and no request is under way.
        """
        decisions = self._decisions
        return self._sends.is_settled and (not self.leads or decisions.settled == decisions.made)

    @property
    def ready(self) -> tuple[int, ...]:
        """Who can join: they wait for it. All others would wait for anybody else who joins."""
        return tuple(sorted(filter(self._roster.is_new, self._waiting)))

    @staticmethod
    def wait(others: Sequence[int]) -> list[Effect]:
        """Tell others that this process can join now; one that does not is not to be waited for."""
        return [Tell(one, ("waits",)) for one in others]

    def join(self, newcomers: Sequence[tuple[int, int]]) -> list[Effect]:
        """Count processes among the replicas of ranks, from this place in the program on.

        Each of `newcomers` is a process and its rank. The programs of all replicas of all ranks say
        so at the same place, behind which messages are those of another epoch. A replica of a rank
        that gets one gives it what it has to `hand_over` after that.
        """
        self.epoch += 1
        self._sends.begin_epoch()
        added = [one for one, rank in newcomers if self._roster.add(one, rank)]
        twins = [one for one in added if one in self._roster.twins]
        self._decisions.join(twins)
        if not twins or self._master != self._roster.me:
            return []
        # One that has died may have handed over too, and have decided more since.
        self.leads = False
        self._unheard.update(twins)
        return [Tell(twin, ("succeeds", self._decisions.made)) for twin in twins]

    def hand_over(self) -> tuple[Any, ...]:
        """Return plain values with which `take_over` makes the core of one that has joined."""
        return self.epoch, tuple(self._roster.ranks), self._decisions.hand_over()

    @classmethod
    def take_over(
        cls, me: int, handed: tuple[Any, ...], limits: ReplicationLimits | None = None
    ) -> Replication:
        """Begin as a process that joins another replica of its rank, where that has handed over.

        What has come for it before, and who has died, is to be told now.
        """
        epoch, ranks, asked = handed
        core = cls(me, ranks, limits, restarts=True)
        core.epoch = epoch
        core._decisions.take_over(asked)
        return core

    # --------------------------------------------------------------------------------- messages

    def send(self, stream: Stream, message: Any, size: int) -> tuple[int, list[Effect]]:
        """Send a message: `message` stands for it in effects. Return its number, and what to do.

        If there is a `Transmit`, `Keep` or `Drop` with it among the effects now, that says when the
        program may go on; else the program has to wait for a later `Transmit` or `Drop` with it (a
        non-blocking send returns at once, and its request is done then).
        """
        sends, decisions = self._sends, self._decisions
        line, number = sends.count(stream)
        if number < line.committed:
            return number, [Drop(message)]
        after = decisions.made
        if self.leads and not sends.backup and after <= decisions.settled:
            effects = sends.transmit_one(line, number, message)
            return number, effects + self._commit()
        return number, sends.back_up(line, number, message, size, after)

    def is_new(self, process: int, stream: Stream, number: int) -> bool:
        """Record that a message begins to arrive from a process that has transmitted it.

        Return whether it is to be delivered; else it was before, and is discarded. Once all of it
        is here, `arrived` has to be told.

        Raises:
            ReplicationError: an earlier message of the stream has not come.
        """
        return self._arrivals.is_new(process, stream, number)

    def arrived(self, process: int, size: int = 0) -> list[Effect]:
        """Record that a message is here, in the order in which a process has transmitted them.

        It may be of an earlier epoch, when this process was no replica yet; then it is discarded.
        Nobody who sends it has to wait for its acknowledgement, unless there is no memory left or
        the message is synchronous; so many of them are acknowledged at once. Call `acknowledge`
        for those that are urgent, and after a while for the others.
        """
        return self.acknowledge() if self._arrivals.count(process, size) else []

    @property
    def has_to_acknowledge(self) -> bool:
        """Whether messages have arrived that were not acknowledged."""
        return self._arrivals.unsaid > 0

    def acknowledge(self) -> list[Effect]:
        """Acknowledge what has arrived."""
        return self._arrivals.acknowledge(self._wants_to_know)

    def _transmit(self) -> list[Effect]:
        return self._sends.transmit(self._decisions.settled) + self._commit()

    def _commit(self) -> list[Effect]:
        return self._sends.commit() if self.leads else []

    # -------------------------------------------------------------------------------- decisions

    def ask(self, sequence: Hashable) -> tuple[int, Any]:
        """Come to the next decision of a sequence: return its number, and its value or UNKNOWN.

        If it is unknown and this process leads, `decide` it, now or when there is something to
        decide; else wait for `Decided`, or for `Lead` and decide it then.
        """
        return self._decisions.ask(sequence)

    def is_open(self, sequence: Hashable, number: int) -> bool:
        """Tell whether a decision was asked for, and neither made nor given to `decide`."""
        return self._decisions.is_open(sequence, number)

    def decide(
        self, sequence: Hashable, number: int, value: Any, *, at_once: bool = False
    ) -> list[Effect]:
        """Decide what was asked for. Among the effects, now or later, is `Decided`: act then.

        It is later if the slowest replica is too far behind. With `at_once` it is now even so:
        for what has happened already, of which the program itself bounds how much there is.

        Raises:
            ReplicationError: this process does not lead, or it is decided already.
        """
        if not self.leads or not self.is_open(sequence, number):
            raise ReplicationError(
                f"decision {number} of {sequence} is not for process {self._roster.me} to make"
            )
        return self._decisions.decide((sequence, number, value), at_once=at_once)

    # ---------------------------------------------------------------------------- between cores

    def hear(self, process: int, word: Word) -> list[Effect]:
        """Record what the core of another process has said with `Tell`."""
        name, *facts = word
        if name == "arrived":
            self._sends.acknowledged(process, *facts)
            return self._commit()
        if name == "waits":
            self._waiting.add(process)
            return []
        if self._master == self._roster.me:
            return self._handle_as_master(process, name, facts)
        if name == "succeeds" and self._is_next(process):
            self._master = process
            return [Tell(process, ("facts", *self._decisions.facts(*facts)))]
        if process != self._master:
            return []  # of a master that this process has been told is dead
        if name == "committed":
            return self._sends.committed(*facts)
        place, settled, *made = facts
        return self._decisions.heard(place, settled, (made[0], made[1], made[2]))

    def _handle_as_master(self, process: int, name: str, facts: list[Any]) -> list[Effect]:
        if name == "known":
            effects = self._decisions.known(process, *facts)
            return effects + self._transmit() if self.leads else effects
        if name != "facts":
            return []
        self._unheard.remove(process)
        effects = self._decisions.learn(process, *facts)
        return effects if self._unheard else effects + self._lead()

    def _is_next(self, process: int) -> bool:
        """Tell whether a process may say that it is the master, once more or after another one."""
        return process == self._master or self._roster.is_before(self._master, process)

    def answer(self) -> list[Effect]:
        """Tell the master which decisions have come; it may hold messages back until then.

        Call it before waiting and when there is nothing else to do.
        """
        if self._master in self._roster.twins:
            return self._decisions.tell(self._master)
        return []

    def _wants_to_know(self, process: int) -> bool:
        """Tell whether a sender lives and has replicas to whom it commits."""
        if self._restarts:
            return self._roster.is_living(process)
        living = self._roster.living[self._roster.rank_of[process]]
        return process in living and len(living) > 1
