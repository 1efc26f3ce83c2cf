"""The table of a supernode: who is there, and what other supernodes have not been told yet.

Supernodes compare their tables in pairs, again and again (anti-entropy). Each change has a serial
number in the table where it was made; a supernode tells another one the rows that have changed
since the number up to which that has taken them. A row that is taken over changes the table too, so
that it goes on to others. Nothing of a table is kept on disk: a supernode that comes back is told
by those that live, and by the alive signals of the peers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from gcm.records import dataclass
from runtime.peers.errors import PeerError
from runtime.peers.membership.rows import MemberState, Row
from runtime.peers.model import text

AT_ONCE = 2000
"""The most rows in one comparison."""

ABSENT = 0.5
"""A table that nobody has looked at for so much of the time until members count as gone belongs to
a supernode that was stopped, or is overloaded: it could have heard nobody."""

REMEMBERED = 20.0
"""How many times as long as until it counts as gone a member is remembered as gone."""


@dataclass(slots=True)
class Entry:
    """A row, when its member said so, and the serial number of its last change."""

    row: Row
    heard: float
    serial: int


class MemberTable:
    """Rows by name. `identity` is random, and that of this life of the supernode.

    >>> from runtime.peers.model import Address, Member, PeerName
    >>> north, south = MemberTable("a", 90.0), MemberTable("b", 90.0)
    >>> host7 = Member(PeerName("host7"), (Address("10.0.0.7", 7700),))
    >>> north.take(Row(host7, 1, 1), 0.0, now=5.0)
    True
    >>> south.compare("north", north.news("south", now=6.0), now=100.0)
    >>> [one.name for one in south.living]
    ['peer:host7']
    """

    def __init__(self, identity: str, expire_after: float) -> None:
        self.identity = identity
        self._expire_after = expire_after
        self._looked: float | None = None
        self._entries: dict[str, Entry] = {}  # the last changed one last
        self._serials = itertools.count(1)
        self._serial = 0
        self._taken_by: dict[str, int] = {}
        self._taken: dict[str, tuple[str, int]] = {}

    # --- rows -----------------------------------------------------------------------------------

    def take(self, row: Row, age: float, now: float) -> bool:
        """Take a row that is so old; tell whether it is newer than what was known."""
        known = self._entries.get(row.name)
        if known is not None and row.version <= known.row.version:
            return False
        if row.is_alive and age > self._expire_after:
            return False  # it was too late before it came
        self._change(row, now - age)
        return True

    def known(self, name: str) -> Row | None:
        """Return what is known of a member."""
        entry = self._entries.get(name)
        return entry.row if entry else None

    def age(self, name: str, now: float) -> float:
        """Return how many seconds ago a member was heard of."""
        return max(0.0, now - self._entries[name].heard)

    @property
    def living(self) -> Sequence[Row]:
        """The rows of all who are there."""
        return [entry.row for entry in self._entries.values() if entry.row.is_alive]

    def advance(self, now: float) -> list[Row]:
        """Let go of whom nothing was heard for too long; return who has gone thereby.

        It is called more often than members say that they are there. Time in which that was not
        done is held against nobody.
        """
        absent = 0.0 if self._looked is None else now - self._looked
        self._looked = now
        gone = []
        for name, entry in list(self._entries.items()):
            if entry.row.is_alive and absent > ABSENT * self._expire_after:
                entry.heard = min(now, entry.heard + absent)
            silence = now - entry.heard
            if entry.row.is_alive and silence > self._expire_after:
                row = entry.row
                self._change(
                    Row(row.peer, row.incarnation, row.beat, MemberState.GONE), entry.heard
                )
                gone.append(row)
            elif silence > REMEMBERED * self._expire_after:
                del self._entries[name]
        return gone

    # --- comparing with another supernode -------------------------------------------------------

    def news(self, partner: str, now: float) -> dict[str, Any]:
        """Return what a partner has not taken yet, and what was taken of its own table."""
        begin = self._taken_by.get(partner, 0)
        entries = list(itertools.islice(self._since(begin), AT_ONCE))
        return {
            "table": self.identity,
            "begin": begin,
            "end": entries[-1].serial if entries else begin,
            "rows": [entry.row.plain(max(0.0, now - entry.heard)) for entry in entries],
            "taken": list(self._taken.get(partner, ("", 0))),
        }

    def compare(self, partner: str, news: Any, now: float) -> None:
        """Take what a partner tells; raises PeerError, and takes nothing, if that is no news."""
        match news:
            case {
                "table": str(identity),
                "begin": int(begin),
                "end": int(end),
                "rows": [*plain],
                "taken": [taken_of, int(taken)],
            } if len(plain) <= AT_ONCE:
                rows = [Row.of(one) for one in plain]
                # A partner that began anew has taken nothing, and a serial of ours is never larger.
                is_ours = text(taken_of) == self.identity and 0 <= taken <= self._serial
                self._taken_by[partner] = taken if is_ours else 0
            case _:
                raise PeerError(f"{news!r:.200} is not news of a table")
        for row, age in rows:
            self.take(row, age, now)
        before = self._taken.get(partner, ("", 0))
        has_all = begin <= (before[1] if before[0] == identity else 0)
        if has_all:
            self._taken[partner] = identity, end

    # --------------------------------------------------------------------------------------------

    def _change(self, row: Row, heard: float) -> None:
        self._serial = next(self._serials)
        self._entries.pop(row.name, None)
        self._entries[row.name] = Entry(row, heard, self._serial)

    def _since(self, serial: int) -> Iterator[Entry]:
        """Yield the entries that have changed after a serial number, the oldest change first."""
        changed = itertools.takewhile(
            lambda entry: entry.serial > serial, reversed(self._entries.values())
        )
        yield from reversed(list(changed))
