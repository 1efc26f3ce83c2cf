"""Compares the calls of several ranks: collectives by their order, sends with their receives.

All members of a communicator make the same collectives in the same order, so the n-th call of each
one is compared with the n-th of who made it first. The n-th message between two ranks with one tag
is received by the n-th receive of it that was posted, so these two are compared. A receive from any
source is compared with each message that it might have taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import field

from gcm.records import dataclass
from runtime.calls import SYNCHRONOUS
from runtime.checks.reports import (
    ANY_SOURCE,
    OTHERS_AWAITED,
    SENDS_AWAITED,
    CallReport,
    CheckedCall,
    CheckedCommunicator,
    FaultFound,
    Messages,
)
from runtime.topology import NO_NAMES, RankNames

COLLECTIVE, BLOCKING, CALLS, TYPE, LENGTH, ORDER, BUFFERING = (
    *("collective", "blocking", "calls", "type", "length", "order", "buffering"),
)
"""Kinds of faults: collectives that do not fit, blocking ones against others, missing ones;
messages of another type or longer than their receive; receives from any source that rely on an
order; sends that rely on buffers.
"""

OF_ONE_RANK = ("changed", "request", "freed", "access")
"""Kinds of faults that a rank finds by itself: nothing that other ranks do follows from them."""

OUT_OF_STEP = (COLLECTIVE, BLOCKING, LENGTH)
"""Kinds of faults after which ranks may be in different collectives."""

MOST_AHEAD = 1 << 20
"""A communicator of which one member is so many calls ahead is compared no further."""


@dataclass(slots=True)
class _First:
    """A collective as the first rank that has made it: others are compared with it."""

    rank: str
    call: CheckedCall
    is_at_fault: bool = False
    """Whether a member was found that does not fit; of others no more is told."""


class _Calls:
    """The collectives of a communicator: what each member has made, and who made it first."""

    def __init__(self, comm: CheckedCommunicator) -> None:
        self.comm = comm
        self.counts = dict.fromkeys(comm.members, 0)
        self.first: deque[_First] = deque()  # of the calls that some member has still to make
        self.begun = 0  # so many calls were made by all
        self.is_compared = True

    def add(self, rank: str, call: CheckedCall) -> _First | None:
        """Count a call; return the call of that number of another rank, if somebody made it."""
        turn = self.counts[rank]
        self.counts[rank] = turn + 1
        place = turn - self.begun
        if place == len(self.first):
            self.first.append(_First(rank, call))
            self.is_compared = place < MOST_AHEAD
            return None
        return self.first[place]

    def forget(self) -> None:
        """Forget the calls that all have made."""
        least = min(self.counts.values())
        while self.begun < least:
            self.begun += 1
            self.first.popleft()


class _Stream:
    """The messages from one rank to another with one tag that are not compared yet."""

    def __init__(self) -> None:
        self.sent: deque[tuple[CheckedCall, int]] = deque()
        self.received: deque[tuple[CheckedCall, int]] = deque()
        self.choices: dict[int, list[CheckedCall]] = {}
        """The receives that might have taken a message, by its number."""
        self._compared = 0

    def pairs(self) -> Iterator[tuple[CheckedCall, CheckedCall]]:
        """Yield sends with their receives, each pair of calls once."""
        while self.sent and self.received:
            (send, sent), (receive, received) = self.sent.popleft(), self.received.popleft()
            yield send, receive
            both = min(sent, received)
            self._compared += both
            for number in [one for one in self.choices if one < self._compared]:
                for other in self.choices.pop(number):
                    yield send, other
            if sent > both:
                self.sent.appendleft((send, sent - both))
            if received > both:
                self.received.appendleft((receive, received - both))


@dataclass(slots=True)
class _Rank:
    """What the numbers of a rank stand for, and its last choice: a receive, and whose message."""

    communicators: dict[int, CheckedCommunicator] = field(default_factory=dict)
    calls: dict[int, CheckedCall] = field(default_factory=dict)
    choice: tuple[CheckedCall, str] | None = None


class CallComparison:
    """Takes the reports of ranks, in the order of each, and returns the faults that are new.

    Once calls of several ranks have been found not to fit, whatever these ranks do next may follow
    from that: data are wrong, a rank raises, another one waits. Nothing more is compared then.

    >>> from runtime.checks.reports import report_from
    >>> def told(root):
    ...     comm = ["w", "MPI_COMM_WORLD", "", ["0:0:0", "0:0:1"], ["0:0:0", "0:0:1"]]
    ...     call = ["Bcast", f"a.py:{root}", "Bcast", root, "float64", 32, ""]
    ...     rows = [[1, (1).to_bytes(4, "little")]]
    ...     new = {"communicators": {1: comm}, "calls": {1: call}}
    ...     return report_from(new | {"collectives": rows})
    >>> compared = CallComparison()
    >>> compared.add("0:0:0", told(0))
    []
    >>> print(compared.add("0:0:1", told(1))[0].text)
    the roots differ in a collective of COMM_WORLD: 0:0:0 is in Bcast of root 0, 4 x float64 \
(a.py:0), 0:0:1 in Bcast of root 1, 4 x float64 (a.py:1)
    """

    def __init__(self, names: RankNames = NO_NAMES) -> None:
        self._names = names
        self._ranks: dict[str, _Rank] = {}
        self._calls: dict[str, _Calls] = {}
        self._streams: dict[tuple[str, str, str, int], _Stream] = {}
        self._ended: set[str] = set()
        self._told: set[tuple[str, frozenset[str]]] = set()
        self.first = ""
        """The kind of the first fault of several ranks: others may be what follows from it."""
        self._have_failed = False  # whether ranks have: others wait for them
        self.choices: dict[str, str] = {}
        """A sentence about each receive that had a choice, which is no fault in itself."""

    def add(self, name: str, report: CallReport) -> list[FaultFound]:
        """Take a report of a rank."""
        rank = self._ranks.setdefault(name, _Rank())
        rank.communicators |= report.communicators
        rank.calls |= report.calls
        faults = [
            FaultFound(kind, (name,), (call,), f"{self._names.rank(name)}: {text}: {call}")
            for kind, text, call in report.faults
            if self.is_new(kind, call)
        ]
        for number, numbers in report.collectives:
            comm = rank.communicators[number]
            faults += self._collectives(name, comm, [rank.calls[one] for one in numbers])
        for number, call, messages in report.choices:
            comm = rank.communicators[number]
            rank.choice = rank.calls[call], comm.peers[messages[0][0]]
            text = f"{self._names.rank(name)} takes one of several messages in {rank.calls[call]}"
            self.choices.setdefault(str(rank.calls[call]), text)
            for peer, tag, place in messages:
                stream = self._stream(comm, comm.peers[peer], name, tag)
                stream.choices.setdefault(place, []).append(rank.calls[call])
        for rows, is_sent in ((report.sends, True), (report.receives, False)):
            for row in rows:
                faults += self._messages(name, rank, row, is_sent=is_sent)
        self._have_failed |= bool(report.code)
        if report.code == 0:
            self._ended.add(name)
            for calls in self._calls.values():
                faults += self._missing(calls)
        return self.told(faults, most=1)

    def told(self, faults: Sequence[FaultFound], most: int | None = None) -> list[FaultFound]:
        """Return those that are to be told; of several ranks the first ones, at most so many."""
        alone = [one for one in faults if one.kind in OF_ONE_RANK]
        joint = [one for one in faults if one.kind not in OF_ONE_RANK]
        if self.first:
            return alone
        self.first = joint[0].kind if joint else ""
        return alone + joint[:most]

    def is_new(self, wrong: str, *calls: str) -> bool:
        """Return whether something wrong with calls, or lines, is found for the first time."""
        told = wrong, frozenset(calls)
        is_new = told not in self._told
        self._told.add(told)
        return is_new

    # --- collectives ------------------------------------------------------------------------------

    def _collectives(
        self, rank: str, comm: CheckedCommunicator, made: list[CheckedCall]
    ) -> Iterator[FaultFound]:
        calls = self._calls.get(comm.key)
        if calls is None:
            calls = self._calls[comm.key] = _Calls(comm)
            origin = self._calls.get(comm.origin)
            calls.is_compared = origin is None or origin.is_compared
        if rank not in calls.counts:
            return
        for call in made:
            if not calls.is_compared:
                return
            other = calls.add(rank, call)
            if other is None or other.call == call:
                continue
            theirs = other.call
            difference = _difference(theirs, call)
            if difference is None:
                continue
            kind, wrong = difference
            # what comes after another operation is of another number at each rank
            calls.is_compared = theirs.operation == call.operation
            if not other.is_at_fault and self.is_new(wrong, theirs.place, call.place):
                who = self._names.rank(other.rank), self._names.rank(rank)
                text = f"{wrong} {calls.comm}: {who[0]} is in {theirs}, {who[1]} in {call}"
                yield FaultFound(kind, (other.rank, rank), (str(theirs), str(call)), text)
            other.is_at_fault = True
        calls.forget()
        yield from self._missing(calls)

    def _missing(self, calls: _Calls) -> Iterator[FaultFound]:
        """Yield that ranks have ended of which others are in a call that they have not made."""
        if not calls.is_compared or not calls.first:
            return
        for rank in self._ended.intersection(calls.counts):
            place = calls.counts[rank] - calls.begun
            if place < len(calls.first):
                more = calls.first[place]
                text = (
                    f"{self._names.rank(rank)} has ended after {calls.counts[rank]} collectives of"
                    f" {calls.comm}, {self._names.rank(more.rank)} has made one more: {more.call}"
                )
                calls.is_compared = False
                if self.is_new(CALLS, more.call.place):
                    yield FaultFound(CALLS, (rank, more.rank), (str(more.call),), text)
                return

    def stuck(self, name: str, where: str, *, for_sends_alone: bool = False) -> FaultFound | None:
        """Return the fault of a rank that waits for ever on a line; None if another may be why.

        In a receive, one from any source may have taken the message. In a send, the program may
        have left it to buffers that it goes on before its receive. `for_sends_alone` is whether
        messages that it waited for, too, are known to have come.
        """
        awaited = {SENDS_AWAITED, OTHERS_AWAITED} if for_sends_alone else {SENDS_AWAITED}
        rank = self._ranks.get(name, _Rank())
        here = [one for one in rank.calls.values() if one.where == where and not one.operation]
        called = self._names.rank(name)
        for call in () if self._have_failed else here:
            if call.name in ("Send", "send") or call.root in awaited:
                text = (
                    f"{called} relies on buffers: it waits for ever in {call}, unless that returns"
                    " before the message is received"
                )
                return FaultFound(BUFFERING, (name,), (str(call),), text)
            if rank.choice is not None and call.root != ANY_SOURCE:
                taker, sender = rank.choice
                text = (
                    f"{called} waits for ever in {call}: {taker} has taken a message of"
                    f" {self._names.rank(sender)} while others waited, which MPI may do, too"
                )
                return FaultFound(ORDER, (name, sender), (str(taker), str(call)), text)
        return None

    def may_rely_on_buffers(self, name: str, where: str) -> bool:
        """Return whether a rank that waits on a line would perhaps go on if sends were buffered."""
        calls = self._ranks.get(name, _Rank()).calls.values()
        return any(one.where == where and one.name in SYNCHRONOUS for one in calls)

    # --- messages ---------------------------------------------------------------------------------

    def _stream(self, comm: CheckedCommunicator, sender: str, receiver: str, tag: int) -> _Stream:
        return self._streams.setdefault((comm.key, sender, receiver, tag), _Stream())

    def _messages(
        self, name: str, rank: _Rank, row: Messages, *, is_sent: bool
    ) -> Iterator[FaultFound]:
        number, peer, tag, runs = row
        comm = rank.communicators[number]
        ends = (name, comm.peers[peer]) if is_sent else (comm.peers[peer], name)
        stream = self._stream(comm, *ends, tag)
        queue = stream.sent if is_sent else stream.received
        queue.extend((rank.calls[call], count) for call, count in runs)
        receiver = self._ranks.get(ends[1], rank)
        for send, receive in stream.pairs():
            kind = _misfit(send, receive)
            if kind and self.is_new(kind, send.place, receive.place):
                what = "of another type than" if kind == TYPE else "longer than"
                has_choice = receive.root == ANY_SOURCE and receiver.choice is not None
                which = "a receive that may take it" if has_choice else "its receive"
                text = (
                    f"a message on {comm} is {what} {which}: {self._names.rank(ends[0])} sends"
                    f" it in {send}, {self._names.rank(ends[1])} receives in {receive}"
                )
                kind = ORDER if has_choice else kind
                yield FaultFound(kind, ends, (str(send), str(receive)), text)


def _difference(theirs: CheckedCall, mine: CheckedCall) -> tuple[str, str] | None:
    """Return how two collectives that should be one do not fit: the kind of fault, and in words."""
    if theirs.operation != mine.operation:
        return COLLECTIVE, "ranks make different collectives of"
    if theirs.root != mine.root:
        return COLLECTIVE, "the roots differ in a collective of"
    if theirs.kind and mine.kind and theirs.kind != mine.kind:
        return COLLECTIVE, "the types differ in a collective of"
    if None not in (theirs.size, mine.size) and theirs.size != mine.size:
        return COLLECTIVE, "the sizes differ in a collective of"
    if theirs.reduction and mine.reduction and theirs.reduction != mine.reduction:
        return COLLECTIVE, "the reductions differ in a collective of"
    if theirs.blocks != mine.blocks:
        return BLOCKING, f"a {theirs.blocks} call meets one of another kind in a collective of"
    return None


def _misfit(send: CheckedCall, receive: CheckedCall) -> str:
    """Return how a message does not fit its receive, "" if it does.

    >>> send = CheckedCall("Send", "a.py:1", kind="int64", size=32)
    >>> _misfit(send, CheckedCall("Recv", "a.py:2", kind="float64", size=32))
    'type'
    >>> _misfit(send, CheckedCall("Recv", "a.py:2", kind="int64", size=8))
    'length'
    >>> _misfit(send, CheckedCall("Recv", "a.py:2", kind="int64", size=800))
    ''
    """
    if send.kind and receive.kind and send.kind != receive.kind and send.size != 0:
        return TYPE
    too_long = None not in (send.size, receive.size) and send.size > receive.size  # type: ignore[operator]  # neither is None
    return LENGTH if too_long else ""
