"""The hosts of a lab as a user knows them: those that a supernode names, and those of last time.

Pure; see `talks`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from runtime.peers.errors import NotAuthentic, PeerError, PeerUnreachable
from runtime.peers.membership.hosts import HostList, text_of
from runtime.peers.membership.rows import Row
from runtime.peers.membership.talks import CallMember, DialMember, KeepHosts, Talk
from runtime.peers.model import Address, Member, MemberRole

MOST_KNOWN = 1 << 20


class LabHosts:
    """What the user `me` of a lab knows of it; `known` are the rows of last time."""

    def __init__(self, me: str, lab: str, known: Sequence[Row] = ()) -> None:
        self.source = ""
        """Where the hosts come from, for people; "" for those of last time."""
        self.is_complete = False
        """Whether the supernode has named all hosts that are there."""
        self._me = me
        self._lab = lab
        self._known = list(known)
        self._hosts = HostList(me, MOST_KNOWN)
        self._remembered: set[str] = set()  # those of last time that no supernode has named now

    def find(self, supernodes: Iterable[Address], most: int) -> Talk[None]:
        """Learn of about `most` hosts from the first supernode that answers.

        Raises:
            PeerError: nobody can be asked, and nothing is known of last time.
        """
        self._hosts = hosts = HostList(self._me, MOST_KNOWN)
        known = self._known
        addresses = dict.fromkeys(supernodes)
        heard = [one.peer for one in known if one.peer.role is MemberRole.SUPERNODE]
        addresses |= dict.fromkeys(at for one in heard for at in one.addresses)
        faults: list[PeerError] = []
        for address in addresses:
            try:
                rows, is_complete = yield from _asked(address, most)
            except PeerError as fault:
                faults.append(fault)
                continue
            alive = {row.name for row in rows}
            if not is_complete:  # those of last time may be there too
                rest = [row for row in known if row.name not in alive]
                self._remembered = {str(row.peer.name) for row in rest}
                rows += rest
            hosts.learn(rows, is_complete=False)
            self.is_complete = is_complete
            self.source = f"the supernode at {address}"
            yield KeepHosts()
            return
        hosts.learn(known, is_complete=False)
        self.source = ""
        if others := [one for one in faults if isinstance(one, NotAuthentic)]:
            raise others[0]
        if not known:
            raise PeerUnreachable(
                "no supernode of the lab answers, and no list of peers is left from last time",
                place=f"lab {self._lab}",
                cause="\n".join(map(str, faults)) or "the credential names no supernode",
                cure="Start one with: gcm-peer supernode, or ask the keeper of the lab",
            )

    @property
    def peers(self) -> dict[str, Member]:
        """All peers that are known, by name."""
        found = (one.row.peer for one in self._hosts.all)
        return {str(one.name): one for one in found if one.role is MemberRole.PEER}

    @property
    def members(self) -> Sequence[Member]:
        """All peers and supernodes that are known."""
        return [one.row.peer for one in self._hosts.all]

    def silent(self, names: Collection[str]) -> bool:
        """Forget those that are silent, and that no supernode names; tell whether there are any."""
        gone = self._remembered & set(names)
        if gone:
            rows = [one.row for one in self._hosts.all if str(one.row.peer.name) not in gone]
            self._hosts.learn(rows, is_complete=True)
        return bool(gone)

    @property
    def text(self) -> str:
        """What is to be known next time."""
        return text_of(self._hosts, 0)


def _asked(address: Address, most: int) -> Talk[tuple[list[Row], bool]]:
    yield DialMember(address)
    answer = yield CallMember("hosts", (most,))
    match answer:
        case {"rows": [*rows], "complete": bool(is_complete)}:
            return [Row.of(one)[0] for one in rows], is_complete
    raise PeerError("its answer is not a list of hosts", place=str(address))
