"""The list of hosts that a peer keeps, also on disk: it lives on while all supernodes are gone.

What stands in it need not be there any more. Nobody is taken out for being silent in a lab without
supernodes; whoever does not answer is asked again later, and less and less often.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from gcm.records import dataclass
from runtime.peers.errors import PeerError
from runtime.peers.membership.rows import Row
from runtime.peers.model import Member, MemberRole

FORMAT = 1
FIRST_PAUSE, LONGEST_PAUSE = 15.0, 600.0
"""How long a host that was silent is left alone, twice as long after each further time."""


@dataclass(slots=True)
class Known:
    """A host, how often it was silent in a row, and until when it is left alone."""

    row: Row
    silences: int = 0
    until: float = 0.0


class HostList:
    """The hosts that a peer knows, itself not among them; at most `most`.

    >>> hosts = HostList("peer:me", 10)
    >>> from runtime.peers.model import Address, PeerName
    >>> host7 = Member(PeerName("host7"), (Address("10.0.0.7", 7700),))
    >>> hosts.learn([Row(host7, 1, 1)], is_complete=True)
    >>> hosts.was_silent("peer:host7", now=0.0)
    >>> [len(hosts.candidates(now)) for now in (1.0, 16.0)]
    [0, 1]
    """

    def __init__(self, me: str, most: int) -> None:
        self._me = me
        self._most = most
        self._known: dict[str, Known] = {}

    def learn(self, rows: Iterable[Row], *, is_complete: bool) -> None:
        """Take what a supernode knows; where that is complete, others are no longer there."""
        alive = {row.name: row for row in rows if row.name != self._me and row.is_alive}
        for name, row in alive.items():
            known = self._known.pop(name, None)
            if known is None or row.incarnation > known.row.incarnation:
                known = Known(row)
            elif row.version > known.row.version:
                # Others hear it, and it did not answer here: that is not forgiven at once.
                known.row = row
            self._known[name] = known
        if is_complete or len(self._known) > self._most:
            for name in [name for name in self._known if name not in alive]:
                if is_complete or len(self._known) > self._most:
                    del self._known[name]

    def learn_from_peer(self, rows: Iterable[Row]) -> None:
        """Take what another peer says: only hosts that are new here, and any other word of them.

        So it cannot hide a host by telling a later version of it that is wrong.
        """
        new = [replace(row, incarnation=0, beat=0) for row in rows if row.name not in self._known]
        self.learn(new, is_complete=False)

    def answered(self, name: str) -> None:
        """Take note that a host is there."""
        if known := self._known.get(name):
            known.silences, known.until = 0, 0.0

    def was_silent(self, name: str, now: float) -> None:
        """Take note that a host did not answer."""
        if known := self._known.get(name):
            pause = min(FIRST_PAUSE * 2**known.silences, LONGEST_PAUSE)
            known.silences, known.until = min(known.silences + 1, 10), now + pause

    def candidates(self, now: float) -> Sequence[Member]:
        """Return the peers that may be there."""
        return [
            known.row.peer
            for known in self._known.values()
            if known.until <= now and known.row.peer.role is MemberRole.PEER
        ]

    def candidate(self, name: str, now: float) -> Member | None:
        """Return a peer by its name if it may be there."""
        known = self._known.get(name)
        if known is None or known.until > now or known.row.peer.role is not MemberRole.PEER:
            return None
        return known.row.peer

    @property
    def supernodes(self) -> Sequence[Member]:
        """All supernodes that were ever heard of and are not known to have gone."""
        found = (known.row.peer for known in self._known.values())
        return [peer for peer in found if peer.role is MemberRole.SUPERNODE]

    def find(self, name: str) -> Member | None:
        """Return a host by its name."""
        known = self._known.get(name)
        return known.row.peer if known else None

    @property
    def all(self) -> Sequence[Known]:
        """Everything that is known."""
        return tuple(self._known.values())

    def __len__(self) -> int:
        """Return how many hosts are known."""
        return len(self._known)


def text_of(hosts: HostList, own_incarnation: int) -> str:
    """Return the text of the file that keeps the list, and the number of the member's own lives."""
    rows = (json.dumps(known.row.plain(), separators=(",", ":")) for known in hosts.all)
    listed = ",\n".join(rows)  # `indent` would have it written in Python, ten times as slowly
    return f'{{"format":{FORMAT},"incarnation":{own_incarnation},"rows":[\n{listed}\n]}}\n'


def read_text(text: str) -> tuple[list[Row], int]:
    """Return the rows and the number of own lives in such a text.

    Raises:
        PeerError: it is damaged. Rows that are damaged alone are left out.
    """
    try:
        document: Any = json.loads(text)
        incarnation, plain = document["incarnation"], document["rows"]
        if document["format"] != FORMAT or not isinstance(incarnation, int) or incarnation < 0:
            raise ValueError("it is of another version")
        if not isinstance(plain, list):
            raise TypeError("it has no rows")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise PeerError("the list of hosts is damaged", cause=str(error)) from error
    rows = []
    for one in plain:
        try:
            rows.append(Row.of(one)[0])
        except PeerError:
            continue
    return rows, incarnation
