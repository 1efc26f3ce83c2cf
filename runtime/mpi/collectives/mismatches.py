"""Detects mismatched collectives of a communicator.

All members count their calls, including those that they refuse. Every message has the number and
the kind of its collective, and where all members have to give as much data the size, and what it
is reduced by. So nothing more has to be sent while all is well and nobody waits for long. A member
that refuses a call tells the others, which would wait for it, and makes no other call before it
knows that they have refused it too: native MPI would match what it sends with the call that it did
not make. A member that detects a mismatch tells the others, too. A member that learns of a loss
tells its cluster: native MPI does not, and members that talk to no other cluster would learn late.
"""

from __future__ import annotations

import re
import struct
from functools import lru_cache
from typing import TYPE_CHECKING

from runtime.calls import COLLECTIVES
from runtime.collectives.choice import PLANS, USUAL, kind_of
from runtime.mpi.collectives.reductions import REDUCTIONS
from runtime.mpi.errors import OutOfStep, ProcessGone
from runtime.mpi.progress.collective_mailbox import BRIEF, SIZED, TAGS
from runtime.topology import member_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runtime.mpi.progress.membership import CommunicatorMembers

KINDS = (
    "a collective",
    *COLLECTIVES,
    "Dup",
    *(kind_of(name, plan) for name, plans in PLANS.items() for plan in plans if plan not in USUAL),
)
"""The names of all kinds of collectives; other names count as the first kind. A call with an
unusual plan is a kind of its own, so that ranks with different plans notice.
"""

_REDUCTIONS = {name for name, call in COLLECTIVES.items() if call.takes("reduction")}

_PLAN = re.compile(r" by [\w-]+")
_SIZE = re.compile(r" with (over )?\d+ bytes| \(little data\)")

_NUMBER_OF = {name: number for number, name in enumerate(KINDS)}
_KIND_BITS = 6
_TURNS = TAGS >> _KIND_BITS
_MANY_TURNS = 1 << 20
_MOST_SIZE = (1 << 31) - 2
_REDUCED = 1 << 23
"""Sizes of reductions are told as lower numbers than this; beside them the operation is."""
_EXACT = _REDUCED // 2
"""Lower sizes are told as they are."""
_SIZELESS = _REDUCED - 1
"""What is told as the size of a reduction of objects."""

_REFUSED, _BROKEN, _LOST, _WAITS = -2, -3, -4, -5
"""Tags of notices: the sender refuses a call that others may refuse too; calls are mismatched; a
process is lost; the sender has waited for long, in this call.
"""

_REMEMBERED = 1024
"""The number of past calls that are remembered."""

_NAMED = 256
"""The number of cached names of calls."""

_WORDS = struct.Struct("<q")
_MOST = 4096
"""The most bytes of a notice that are sent, so that it needs one message only."""


class MismatchDetector:
    """The state of one member; `members` are all that take part."""

    def __init__(self, members: CommunicatorMembers) -> None:
        self._members = members
        self._engine = members.engine
        self._box = self._engine.collective_box(members)
        self._box.listen = self.listen
        self.count = 0
        """The number of calls that this process has begun."""
        self._refused: dict[int, str] = {}
        """The notices of this process on calls that it refuses, until all others do."""
        self._heard: dict[int, dict[int, str]] = {}
        """The notices of others, by the number of the call and the rank."""
        self._calls: dict[int, str] = {}
        """The last calls of this process."""
        self._asked: list[tuple[int, int, str]] = []
        """Who waits in calls that this process has not made yet: rank, number, call."""
        self._has_asked = 0
        """The last call that was announced to others."""
        self._trouble: tuple[int, str] | None = None
        """The first call that cannot complete, and why."""
        self._lost: dict[int, ProcessGone] = {}

    def go_on(self, count: int) -> None:
        """Go on where another replica of this rank is, which has begun so many calls."""
        self.count = count

    def next_turn(self, call: str) -> int:
        """Count a call, and return its number."""
        with self._engine.lock:
            turn = self._counted(call)
            if self._asked:
                self._answer()
            return turn

    def _counted(self, call: str) -> int:
        self.count = turn = self.count + 1
        self._calls[turn] = call
        self._calls.pop(turn - _REMEMBERED, None)
        return turn

    def refuse(self, kind: str, why: BaseException | str) -> None:
        """Count a call that this process refuses, and tell the others."""
        with self._engine.lock:
            turn = self._counted(kind)
            text = self._refused[turn] = self._notice("refused", turn, kind, why)
            self._notify(_REFUSED, turn, text)
            self._answer()

    def give_up(self, turn: int, kind: str, why: BaseException) -> None:
        """Tell the others that this process does not do its part of a call."""
        self._break(turn, self._notice("gave up", turn, kind, why))

    def announce(self, turn: int, leaders: Sequence[int]) -> None:
        """Tell others which call this process has waited in for long; once for each call.

        Members tell the first one of their cluster, which tells them and the `leaders` of others:
        otherwise two members in different calls may have nothing to say to each other.
        """
        call = self._calls.get(turn)
        if turn == self._has_asked or call is None:
            return
        self._has_asked = turn
        m = self._members
        if m.recovery.is_closed:
            return
        first, *others = self._cluster()
        told = [first]
        if first == m.rank:
            told = [*others, *map(m.group.index, leaders)]
        self._notify(_WAITS, turn, call, told)

    def _cluster(self) -> list[int]:
        return sorted(rank for rank in self._members.near if rank >= 0)

    @property
    def is_troubled(self) -> bool:
        """Whether a call may be unable to complete."""
        is_revoked = self._members.recovery.is_closed
        known = self._trouble is not None or self._lost or self._heard
        return bool(is_revoked or known or self._engine.losses.gone) or self._box.has_news

    @property
    def is_calm(self) -> bool:
        """Whether calls can be made at once: nothing is wrong, and none was refused."""
        return not (self._refused or self.is_troubled)

    def problem(self, turn: int) -> OutOfStep | None:
        """Return why a call cannot complete any more, or None; with the engine's lock held."""
        if self._box.has_news or self._heard:
            self.listen()
        if self._trouble is None or turn < self._trouble[0]:
            return None
        name = self._members.native.name.removeprefix("MPI_")
        return OutOfStep(
            f"the collectives of {name or 'this communicator'} are out of step",
            cause=self._trouble[1],
            cure="Let all ranks make the same calls, with arguments that fit. "
            "Messages on it go on, collectives on a duplicate",
        )

    def is_settled(self, turn: int) -> bool:
        """Return whether others have refused all earlier calls that this process has refused."""
        return not self._refused or min(self._refused) > turn

    @property
    def revoked(self) -> Exception | None:
        """The error of all calls if the communicator was revoked."""
        return self._members.recovery.error

    def lost(self, indexes: Sequence[int]) -> Exception | None:
        """Return the error that names a lost one of some processes, or None."""
        if self._box.has_news:
            self.listen()
        if not (self._lost or self._engine.losses.gone):
            return None
        for index in indexes:
            if index in self._lost:
                return self._lost[index]
            loss = self._engine.losses.among([index], near=True)
            if isinstance(loss, ProcessGone):
                self._lost[index] = loss
                said = "\n".join([loss.what, loss.cure, loss.cause])
                self._notify(_LOST, index, said, [one for one in self._members.near if one >= 0])
                return loss
        return None

    def listen(self) -> None:
        """Take note of a notice."""
        for rank, tag, said in self._box.words():
            (number,) = _WORDS.unpack_from(said)
            text = said[_WORDS.size :].decode(errors="replace")
            if tag == _BROKEN:
                self._keep(number, text)
            elif tag == _WAITS:
                self._asked.append((rank, number, text))
            elif tag == _LOST:
                what, cure, cause = text.split("\n", 2)
                self._lost.setdefault(number, ProcessGone(what, cause=cause, cure=cure))
            else:
                self._heard.setdefault(number, {})[rank] = text
        for turn in [one for one in self._heard if one <= self.count]:
            refusals = self._heard[turn]
            if turn not in self._refused:
                text = next(iter(refusals.values()))
                self._notify(_BROKEN, *self._keep(turn, text), list(refusals))
                del self._heard[turn]
            elif len(refusals) == self._members.size - 1:
                del self._heard[turn], self._refused[turn]
        if self._asked:
            self._answer()
        stray, self._box.stray = self._box.stray, None
        if stray is not None and self._trouble is None:
            self._part(*stray)

    def _answer(self) -> None:
        """Check whether those that wait are in the same calls as this process was."""
        asked, self._asked = self._asked, []
        for rank, turn, theirs in asked:
            mine = self._calls.get(turn, theirs)
            if turn > self.count:
                self._asked.append((rank, turn, theirs))
            elif mine != theirs and turn not in self._refused:
                here = f"{self._name(self._members.rank)} is in {mine} (call {turn})"
                text = f"{here} while {self._name(rank)} waits for it in {theirs}"
                self._break(turn, text + _differently(mine, theirs))
            elif turn < self.count and rank not in self._members.near:
                # ranks that are behind this call ask nobody about it, so others of this cluster are
                # asked
                self._notify(_WAITS, turn, theirs, self._cluster())

    def _part(self, rank: int, came: int, wanted: int) -> None:
        """Tell the others that a member is in another call than this one waits for."""
        turn, other = self._turn_of(wanted), self._turn_of(came)
        theirs, mine = _shown(came, other), _shown(wanted, turn)
        who = self._name(rank), self._name(self._members.rank)
        text = f"{who[0]} is in {theirs} while {who[1]} waits for it in {mine}"
        there = self._calls.get(other, "")
        if turn == other:
            text += _differently(mine, theirs)
        elif other < turn and there and _kind_in(there) != _kind_in(theirs):
            text = f"{who[0]} is in {theirs} where {who[1]} made {there} (call {other})"
            text += f", and waits for it in {mine}"
        else:
            ahead, behind = ("former", "latter") if other > turn else ("latter", "former")
            text += f". The {ahead} has made a collective before that the {behind} has not"
        if mine == theirs and came // SIZED != wanted // SIZED and not (came | wanted) & BRIEF:
            text = f"{who[0]} and {who[1]} are both in {mine}, and give different sizes"
            text += ". All ranks have to give as many bytes"
        elif mine == theirs:  # one of them sends little data, the other one does not
            text = f"{who[0]} and {who[1]} send the data of {mine} in different ways"
            text += ". Operations, datatypes and the plan-choice have to be alike at all ranks"
        self._break(min(turn, other), text)

    def compare(self, turn: int, tag: int, told: Mapping[int, int]) -> None:
        """Compare the tags of this call that members have told with the one of this process.

        Raises:
            OutOfStep: one of them is another.
        """
        for rank, other in told.items():
            if other != tag:
                self._part(rank, other, tag)
                problem = self.problem(turn)
                assert problem is not None, "it is just broken"
                raise problem

    def _break(self, turn: int, text: str) -> None:
        self._notify(_BROKEN, *self._keep(turn, text))

    def _keep(self, turn: int, text: str) -> tuple[int, str]:
        """Keep the first problem, and return it."""
        if self._trouble is None or turn < self._trouble[0]:
            self._trouble = turn, text
            self._box.is_broken = True
        return self._trouble

    def _notify(self, tag: int, number: int, text: str, ranks: Sequence[int] | None = None) -> None:
        """Send a notice on a call or a process to other members, to all if none is given.

        Those of this cluster are told in the same way: in native MPI they wait for this process.
        """
        words = _WORDS.pack(number) + text.encode(errors="backslashreplace")[:_MOST]
        for rank in range(self._members.size) if ranks is None else ranks:
            if rank != self._members.rank:
                self._engine.send_notice(self._members, rank, tag, words)

    def _notice(self, verb: str, turn: int, kind: str, why: BaseException | str) -> str:
        reason = why if isinstance(why, str) else f"{type(why).__name__}: {why}"
        return f"{self._name(self._members.rank)} {verb} {kind} (call {turn}): {reason}"

    def _name(self, rank: int) -> str:
        return member_in_words(rank, self._engine.name_of(self._members.group[rank]))

    def _turn_of(self, tag: int) -> int:
        """Return the number of the call with a tag.

        Tags repeat, so it is the one nearest to the current number.
        """
        turns = _MANY_TURNS if tag & BRIEF else _TURNS
        half, turn = turns // 2, (tag % BRIEF) >> _KIND_BITS
        return self.count + (turn - self.count + half) % turns - half


@lru_cache(_NAMED)
def call_of(
    kind: str, root: int | None, size: int | None, reduction: int | None = None,
    *, is_little: bool = False,
) -> str:  # fmt: skip
    """Return the name of a call; calls with equal names match. Little data has another name.

    >>> call_of("Barrier", None, None), call_of("Bcast", 3, 8, is_little=True)
    ('Barrier', 'Bcast of rank 3 with 8 bytes (little data)')
    >>> call_of("gather", 3, None), call_of("Reduce", 3, 8, REDUCTIONS.index("MAX float64"))
    ('gather of rank 3', 'Reduce of rank 3 (MAX float64) with 8 bytes')
    """
    said = kind if root is None else f"{kind} of rank {root}"
    if reduction:
        said = f"{said} ({REDUCTIONS[reduction]})"
    if size is not None:
        said = f"{said} with {size} bytes"
    return f"{said} (little data)" if is_little else said


def tag_of(kind: str, turn: int) -> int:
    """Return the tag of the messages of a call.

    >>> tag_of("Barrier", 1), tag_of("Barrier", 513)
    (65, 65)
    """
    return (turn % _TURNS) << _KIND_BITS | _NUMBER_OF.get(kind, 0)


def brief_tag_of(kind: str, turn: int) -> int:
    """Return the tag of the messages of a brief call, which are matched by tag and not by order.

    It repeats after more calls than a sender can be ahead.

    >>> brief_tag_of("Barrier", 1) - BRIEF, brief_tag_of("Barrier", 513) % TAGS
    (65, 65)
    """
    return BRIEF + ((turn % _MANY_TURNS) << _KIND_BITS | _NUMBER_OF.get(kind, 0))


def sized(tag: int, size: int | None, reduction: int | None = None) -> int:
    """Return the tag of a call's messages between clusters, which tells the size of the data.

    In a `reduction` the tag tells its number as well; objects have no size.

    >>> sized(65, None), sized(65, 8) == 9 * SIZED + 65
    (65, True)
    """
    if size is None:
        if not reduction:
            return tag
        size = _SIZELESS
    elif reduction is not None and size >= _EXACT:
        size = _EXACT + size % (_EXACT - 1)
    if reduction is not None:
        size += reduction * _REDUCED
    return (min(size, _MOST_SIZE) + 1) * SIZED + tag


def tags_inside(tag: int) -> tuple[int, int, int]:
    """Return three more tags of a call, for messages within a cluster; no kind uses them.

    >>> tags_inside(tag_of("Barrier", 1))
    (126, 127, 125)
    """
    last = tag | (1 << _KIND_BITS) - 1
    return last - 1, last, last - 2


def _kind_in(call: str) -> str:
    """Return the kind of a call.

    >>> _kind_in("Bcast of rank 0 with 8 bytes"), _kind_in("Barrier (call 1)")
    ('Bcast', 'Barrier')
    """
    return call.partition(" ")[0]


def _differently(one: str, other: str) -> str:
    """Return what to add to an error if two calls differ in their plans or sizes only.

    >>> _differently("Bcast by chain (call 1)", "Bcast by flat (call 1)")
    '. The plan-choice has to answer alike at all ranks'
    >>> _differently("Bcast of rank 0", "Bcast of rank 1"), _differently("Bcast", "Barrier")
    ('', '')
    >>> _differently("Gather with 8 bytes", "Gather with 9 bytes")
    '. All ranks have to give as many bytes'
    """
    sizeless = [_SIZE.sub("", call) for call in (one, other)]
    if one != other and sizeless[0] == sizeless[1]:
        return ". All ranks have to give as many bytes"
    plain = [_PLAN.sub("", call) for call in sizeless]
    is_alike = one != other and plain[0] == plain[1]
    return ". The plan-choice has to answer alike at all ranks" if is_alike else ""


def _shown(tag: int, turn: int) -> str:
    """Return the name of the call of a tag.

    >>> _shown(sized(tag_of("Scan", 1), 8, REDUCTIONS.index("SUM int32")), 1)
    'Scan (SUM int32) with 8 bytes (call 1)'
    >>> _shown(sized(tag_of("Scan", 1), 1 << 40, 0), 1)
    'Scan with over 4194303 bytes (call 1)'
    >>> _shown(sized(tag_of("scan", 1), None, REDUCTIONS.index("MAX")), 1)
    'scan (MAX) (call 1)'
    """
    kind, size, reduction = KINDS[tag & ((1 << _KIND_BITS) - 1)], tag // SIZED - 1, 0
    if size >= 0 and _kind_in(kind) in _REDUCTIONS:
        reduction, size = divmod(size, _REDUCED)
        if size == _SIZELESS:
            size = -1
        elif size >= _EXACT:
            return (
                f"{call_of(kind, None, None, reduction)} with over {_EXACT - 1} bytes (call {turn})"
            )
    return f"{call_of(kind, None, None if size < 0 else size, reduction)} (call {turn})"
