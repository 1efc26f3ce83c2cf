"""Agreement on a value among members that may fail: the protocol as a pure state machine.

The lowest live rank leads. It gathers all contributions, proposes the combined value, and decides
once all have accepted it. When the leader dies the next one proposes what it has accepted itself,
if it has: no other value can have been decided, since all live members had to accept it first. So
all members that decide, even those that fail afterwards, decide alike.

Every failure has to be reported to the members, and no live member may be reported as failed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum

_HEAD = struct.Struct("!qBiqH")
"""The wire format: number of the agreement, kind, ballot, flag, bytes of a set."""

NO_BALLOT = -1


class Kind(IntEnum):
    """The kinds of messages."""

    CONTRIBUTION = 0
    PROPOSAL = 1
    ACCEPTANCE = 2
    DECISION = 3


class Value:
    """The value to agree on: a flag, who has failed, and which failures all have acknowledged."""

    __slots__ = ("acknowledged", "failed", "flag")

    def __init__(
        self, flag: int, failed: Iterable[int] = (), acknowledged: Iterable[int] = ()
    ) -> None:
        self.flag = flag
        self.failed = frozenset(failed)
        self.acknowledged = frozenset(acknowledged)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        return f"Value{self._parts()}"

    def _parts(self) -> tuple[object, ...]:
        return self.flag, tuple(sorted(self.failed)), tuple(sorted(self.acknowledged))


class AgreementMessage:
    """A message from one member to another."""

    __slots__ = ("ballot", "kind", "number", "value")

    def __init__(
        self, number: int, kind: Kind, value: Value | None = None, ballot: int = NO_BALLOT
    ) -> None:
        self.number, self.kind, self.value, self.ballot = number, kind, value, ballot

    def encoded(self) -> bytes:
        """Return the encoded message.

        >>> one = AgreementMessage(3, Kind.PROPOSAL, Value(5, {1, 9}, {9}), 2)
        >>> other = AgreementMessage.decoded(one.encoded())
        >>> other.number, other.kind.name, other.value, other.ballot
        (3, 'PROPOSAL', Value(5, (1, 9), (9,)), 2)
        """
        value = self.value or Value(0)
        failed, acknowledged = _bits(value.failed), _bits(value.acknowledged)
        head = _HEAD.pack(self.number, self.kind, self.ballot, value.flag, len(failed))
        return head + failed + acknowledged

    @classmethod
    def decoded(cls, data: bytes) -> AgreementMessage:
        """Return a decoded message; raises `struct.error` or ValueError if it is malformed."""
        number, kind, ballot, flag, size = _HEAD.unpack_from(data)
        sets = data[_HEAD.size :]
        return cls(number, Kind(kind), Value(flag, _set(sets[:size]), _set(sets[size:])), ballot)


class Agreement:
    """One agreement as one member sees it.

    Its methods return messages to send, as pairs of a member and a message. `decision` is the
    value, once there is one.
    """

    def __init__(
        self, number: int, me: int, members: Sequence[int], dead: Iterable[int] = ()
    ) -> None:
        self.number, self._me, self._members = number, me, tuple(sorted(members))
        self._dead = set(dead)
        self._mine: Value | None = None
        self._kept: Value | None = None  # the accepted value,
        self._ballot = NO_BALLOT  # and its proposer
        self._answers: dict[int, Value | None] = {}
        self._proposed: Value | None = None
        self._accepted_by: set[int] = set()
        self.decision: Value | None = None

    @property
    def leader(self) -> int:
        """The leader, as far as is known here."""
        return next(one for one in self._members if one not in self._dead)

    def awaited(self) -> list[int]:
        """Return the members whose next message is awaited."""
        if self.decision is not None:
            return []
        if self.leader != self._me:
            return [self.leader]
        have = self._answers.keys() if self._proposed is None else self._accepted_by
        return [one for one in self._others() if one not in have]

    def begin(self, value: Value) -> list[tuple[int, AgreementMessage]]:
        """Contribute a value."""
        self._mine = value
        return self._notify_leader()

    def lost(self, member: int) -> list[tuple[int, AgreementMessage]]:
        """Record that a member has failed."""
        if member in self._dead or member not in self._members:
            return []
        before = self.leader
        self._dead.add(member)
        if self.leader != before:
            return self._notify_leader()
        return self._lead()

    def heard(self, sender: int, message: AgreementMessage) -> list[tuple[int, AgreementMessage]]:
        """Handle a message of another member."""
        if sender in self._dead:
            return []  # others have been told what was known of it
        if message.kind is Kind.DECISION:
            return self._decide(message.value)
        if self.decision is not None:
            decided = message.kind is Kind.CONTRIBUTION
            return [(sender, self._said(Kind.DECISION, self.decision))] if decided else []
        if message.kind is Kind.CONTRIBUTION:
            self._answers[sender] = message.value
            return self._lead()
        if message.kind is Kind.ACCEPTANCE:
            if message.ballot == self._me:
                self._accepted_by.add(sender)
            return self._lead()
        if message.ballot < self._ballot:
            return []  # its sender has failed: another one leads already
        self._kept, self._ballot = message.value, message.ballot
        return [(sender, self._said(Kind.ACCEPTANCE, ballot=message.ballot))]

    def _others(self) -> list[int]:
        return [one for one in self._members if one != self._me and one not in self._dead]

    def _said(
        self, kind: Kind, value: Value | None = None, ballot: int = NO_BALLOT
    ) -> AgreementMessage:
        return AgreementMessage(self.number, kind, value, ballot)

    def _notify_leader(self) -> list[tuple[int, AgreementMessage]]:
        """Tell a new leader what is known here, or continue as the leader."""
        if self.leader == self._me:
            if self.decision is not None:
                return [(one, self._said(Kind.DECISION, self.decision)) for one in self._others()]
            return self._lead()
        if self.decision is not None:
            return [(self.leader, self._said(Kind.DECISION, self.decision))]
        if self._mine is None:
            return []
        return [(self.leader, self._said(Kind.CONTRIBUTION, self._mine))]

    def _lead(self) -> list[tuple[int, AgreementMessage]]:
        """Propose once all have answered, decide once all have accepted."""
        if self.decision is not None or self._mine is None or self.leader != self._me:
            return []
        others = self._others()
        said: list[tuple[int, AgreementMessage]] = []
        if self._proposed is None:
            if any(one not in self._answers for one in others):
                return []
            self._proposed = self._kept = self._combined()
            self._ballot = self._me
            said = [(one, self._said(Kind.PROPOSAL, self._kept, self._me)) for one in others]
        if all(one in self._accepted_by for one in others):
            said += self._decide(self._proposed)
        return said

    def _combined(self) -> Value:
        """Return the value accepted here, or the combination of all contributions.

        If another leader has decided, all live members had accepted, including this one.
        """
        if self._kept is not None:
            return self._kept
        values = [one for one in (self._mine, *self._answers.values()) if one is not None]
        flag = values[0].flag
        for one in values:
            flag &= one.flag
        return Value(
            flag,
            self._dead.union(*(one.failed for one in values)),
            frozenset.intersection(*(one.acknowledged for one in values)),
        )

    def _decide(self, value: Value | None) -> list[tuple[int, AgreementMessage]]:
        if self.decision is not None:
            return []
        self.decision = value
        if self.leader != self._me:
            return []
        return [(one, self._said(Kind.DECISION, value)) for one in self._others()]


class Agreements:
    """The agreements of one communicator, one after the other; `send` sends a message to a member.

    The last decided one is kept for members that lose its leader. A member that begins the next one
    has decided all before.
    """

    def __init__(
        self,
        me: int,
        members: Sequence[int],
        send: Callable[[int, bytes], None],
        dead: Iterable[int] = (),
    ) -> None:
        self._me, self._members, self._send = me, members, send
        self._dead = set(dead)
        self._count = 0
        self._open: dict[int, Agreement] = {}

    def begin(self, value: Value) -> Agreement:
        """Begin the next one."""
        self._count += 1
        found = self._of(self._count)
        self._pass_on(found.begin(value))
        return found

    def heard(self, sender: int, data: bytes) -> None:
        """Handle a message."""
        message = AgreementMessage.decoded(data)
        found = self._of(message.number)
        self._pass_on(found.heard(sender, message))
        if found.decision is not None:  # a member that has decided this one knows those before
            for number in [one for one in self._open if one < message.number]:
                if self._open[number].decision is not None:
                    del self._open[number]

    def lost(self, member: int) -> None:
        """Record that a member has failed."""
        self._dead.add(member)
        for one in tuple(self._open.values()):
            self._pass_on(one.lost(member))

    def _of(self, number: int) -> Agreement:
        found = self._open.get(number)
        if found is None:
            found = Agreement(number, self._me, self._members, self._dead)
            self._open[number] = found
        return found

    def _pass_on(self, messages: Iterable[tuple[int, AgreementMessage]]) -> None:
        for to, message in messages:
            self._send(to, message.encoded())


def _bits(members: frozenset[int]) -> bytes:
    whole = 0
    for one in members:
        whole |= 1 << one
    return whole.to_bytes((whole.bit_length() + 7) // 8, "little")


def _set(bits: bytes) -> frozenset[int]:
    whole = int.from_bytes(bits, "little")
    return frozenset(one for one in range(whole.bit_length()) if whole >> one & 1)
