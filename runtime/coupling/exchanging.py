"""Arrays that go from all ranks of one code to all ranks of another one, at ports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from runtime.code_port import CodePort, PortLink
from runtime.coupling.errors import CodeEnded, CouplingError, LayoutFault, NoSuchPort
from runtime.coupling.layouts import ArrayShare, Dealing, Layout, check_pair, places_of, share_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runtime.coupling.mailbox import CouplingMailbox
    from runtime.coupling.peers import Peer

EXCHANGE = "exchange"
"""What begins the tags of these messages."""


class RankPorts:
    """The ports of one rank."""

    def __init__(self, mailbox: CouplingMailbox) -> None:
        self._mailbox = mailbox
        self._turns: dict[str, int] = {}
        self._ends: dict[PortLink, _LinkEnd] = {}

    def exchange(self, name: str, array: Any, layout: Layout, every: int) -> bool:
        """Give or take the rows of an array, as the descriptor says; return whether they moved.

        Raises:
            NoSuchPort: the descriptor connects no such port.
            LayoutFault: the array, or what the other ranks say of theirs, does not fit.
            CodeEnded: a rank of the other code has ended, or is another process by now.
            NotCoupled: nothing can be sent or received any more.
        """
        me = self._mailbox.peers.me
        links = _links_of(me[0], name, self._mailbox.peers.directory.links)
        takes = links[0].taker.code == me[0]
        ends = [self._end_of(link) for link in links]
        turn = self._turns.get(name, 0)
        self._turns[name] = turn + 1
        try:
            if type(every) is not int or every < 1:
                raise LayoutFault(f"every={every!r} is no number of calls", cure="Give 1 or more")
            rows = _rows_of(array, written=takes)
            if turn % every:
                return False
            share = share_of(rows, layout)
        except LayoutFault as fault:
            for end in ends:
                end.fail(fault)
            raise
        for end in ends:
            end.move(rows, share)
        return True

    def _end_of(self, link: PortLink) -> _LinkEnd:
        if link not in self._ends:
            self._ends[link] = _LinkEnd(self._mailbox, link)
        return self._ends[link]


class _Declaration(NamedTuple):
    """What a rank says before the first exchange: which process it is, and what it has."""

    life: int
    given: int | None
    """How many exchanges this process has given; None before its first one."""
    share: ArrayShare | None
    fault: str = ""
    """Why it has nothing that could be exchanged."""


class _Ended(NamedTuple):
    """What the head answers in place of declarations: who has ended, so that they are not all."""

    what: str
    code: str
    rank: int | None
    cause: str


class _Agreement:
    """What the ranks of both codes have agreed on: who has which rows, as long as all live.

    `epoch` is greater in each later one: the sum of the lives of all ranks.
    """

    def __init__(
        self, link: PortLink, told: dict[Peer, _Declaration], me: Peer, changes: int
    ) -> None:
        """Compare what all ranks have declared; raises LayoutFault."""
        for (code, rank), one in sorted(told.items()):
            if one.share is None:
                raise LayoutFault(f"rank {rank} of {code} cannot exchange {link}: {one.fault}")
        self.lives = {peer: one.life for peer, one in told.items()}
        self.epoch = sum(self.lives.values())
        self.share = told[me].share
        self.changes = changes
        """How much had changed among all codes when it was last found to hold."""
        gives, takes = (
            Dealing(
                code,
                [one.share for peer, one in sorted(told.items()) if one.share and peer[0] == code],
            )
            for code in (link.giver.code, link.taker.code)
        )
        check_pair(gives, takes)
        counts = [one.given for peer, one in told.items() if peer[0] == gives.code]
        self.first = max((one for one in counts if one is not None), default=0)
        """The first exchange that is given after it: ranks may notice it at different ones."""
        own, other = (gives, takes) if me[0] == gives.code else (takes, gives)
        self.places = places_of(own, me[1], other)
        """Where the rows of each rank of the other code are in the array of this one."""


class _LinkEnd:
    """One rank's end of a link.

    The first call agrees with all ranks of both codes, over rank 0 of the code that gives; so does
    the next one after a rank has become another process.
    """

    def __init__(self, mailbox: CouplingMailbox, link: PortLink) -> None:
        self._mailbox, self._peers, self._link = mailbox, mailbox.peers, link
        self._me = mailbox.peers.me
        self._gives = self._me[0] == link.giver.code
        self._other = link.taker.code if self._gives else link.giver.code
        self._head: Peer = (link.giver.code, 0)
        self._given: int | None = None
        self._agreed: _Agreement | None = None

    def move(self, rows: NDArray[Any], share: ArrayShare) -> None:
        """Give the rows, or take them."""
        agreed = self._agreement(share)
        if self._gives:
            given = agreed.first if self._given is None else self._given
            self._given = given + 1
            if given < agreed.first:
                return  # others have given that already, to processes that are no more
        tag = self._tag(agreed.epoch)
        for rank, places in agreed.places:
            if self._gives:
                self._mailbox.send(rows[places], self._other, rank, tag, fault=self._fault)
            else:
                message = self._mailbox.receive(self._other, rank, tag, fault=self._fault)
                rows[places] = message.value

    def fail(self, fault: LayoutFault) -> None:
        """Tell others, who wait to agree, that this rank has nothing that could be exchanged."""
        if self._agreed is None:
            mine = _Declaration(self._peers.incarnation, self._given, None, str(fault))
            with suppress(CouplingError):  # what this rank raises is its own fault
                if self._me == self._head:
                    self._lead(mine)
                else:  # it needs no answer
                    self._mailbox.send(mine, *self._head, self._tag(0))

    # -- agreeing ----------------------------------------------------------------------------------

    def _agreement(self, share: ArrayShare) -> _Agreement:
        known = self._agreed
        if known is not None and self._outlived(known) is None:
            if share != known.share:
                assert known.share is not None, "it has agreed"
                raise LayoutFault(
                    f"the array of {self._link} is not what it was at the first call:"
                    f" {_words(share)}, and not {_words(known.share)}",
                    cure="Give each call an array of the same rows, dealt alike",
                )
            return known
        if known is not None:
            self._forget(known)
        changes = self._peers.changes
        mine = _Declaration(self._peers.incarnation, self._given, share)
        told = self._lead(mine) if self._me == self._head else self._follow(mine)
        self._agreed = _Agreement(self._link, told, self._me, changes)
        return self._agreed

    def _follow(self, mine: _Declaration) -> dict[Peer, _Declaration]:
        """Declare a share to the head, and return what all have declared."""
        tag = self._tag(0)
        self._mailbox.send(mine, *self._head, tag)
        life = self._peers.incarnation_of(*self._head)

        def is_another() -> CodeEnded | None:
            is_new = self._peers.incarnation_of(*self._head) > life
            return self._is_new(self._head) if is_new else None

        told = self._mailbox.receive(*self._head, tag, fault=is_another).value
        if isinstance(told, _Ended):
            raise CodeEnded(told.what, code=told.code, rank=told.rank, cause=told.cause)
        found: dict[Peer, _Declaration] = told
        return found

    def _lead(self, mine: _Declaration) -> dict[Peer, _Declaration]:
        """Hear what all ranks declare, tell it to all, and return it."""
        told, tag = {self._me: mine}, self._tag(0)
        everybody = [
            (end.code, rank)
            for end in self._link
            for rank in range(self._peers.directory.sizes[end.code])
        ]
        try:
            while missing := [peer for peer in everybody if not self._is_current(peer, told)]:
                told[missing[0]] = self._mailbox.receive(*missing[0], tag).value
        except CodeEnded as ended:
            self._answer(told, _Ended(ended.what, ended.code, ended.rank, ended.cause))
            raise
        self._answer(told, told)
        return told

    def _is_current(self, peer: Peer, told: dict[Peer, _Declaration]) -> bool:
        life = 0 if peer == self._me else self._peers.incarnation_of(*peer)
        return peer in told and told[peer].life >= life

    def _answer(self, told: dict[Peer, _Declaration], answer: object) -> None:
        for peer, declared in told.items():
            if peer == self._me or declared.share is None:
                continue
            with suppress(CodeEnded):  # it needs no answer any more
                self._mailbox.send(answer, *peer, self._tag(0))

    # -- others that become other processes --------------------------------------------------------

    def _fault(self) -> CodeEnded | None:
        """Tell which rank is another process than the one with which this was agreed."""
        assert self._agreed is not None, "nothing moves before"
        return self._outlived(self._agreed)

    def _outlived(self, agreed: _Agreement) -> CodeEnded | None:
        if agreed.changes == self._peers.changes:
            return None
        changes = self._peers.changes
        for peer, life in agreed.lives.items():
            if peer != self._me and self._peers.incarnation_of(*peer) > life:
                return self._is_new(peer)
        agreed.changes = changes
        return None

    def _is_new(self, peer: Peer) -> CodeEnded:
        code, rank = peer
        what = f"rank {rank} of {code} was started again during an exchange of {self._link}"
        return CodeEnded(what, code=code, rank=rank)

    def _forget(self, agreed: _Agreement) -> None:
        """Take away what has come for nobody: it would count as not received."""
        self._agreed = None
        tag = self._tag(agreed.epoch)
        for rank, _ in () if self._gives else agreed.places:
            while self._mailbox.has(self._other, rank, tag):
                self._mailbox.receive(self._other, rank, tag)

    def _tag(self, epoch: int) -> tuple[str, str, int]:
        return EXCHANGE, str(self._link), epoch


def _links_of(code: str, name: str, links: Iterable[PortLink]) -> Sequence[PortLink]:
    """Return the links of a port: those to all that take from it, or the one it takes from.

    Raises NoSuchPort.
    """
    port = CodePort(code, name)
    known = [one for one in links if code in (one.giver.code, one.taker.code)]
    found = [one for one in known if port in one]
    if found:
        return found
    from gcm.suggestion import did_you_mean  # imported here: slow, and needed for errors only

    names = [end.name for one in known for end in one if end.code == code]
    raise NoSuchPort(
        f"the descriptor connects no port '{name}' of {code}",
        cure=did_you_mean(name, names)
        or f'Add <connect from="{port}" to="..."/>, or with it as "to"',
    )


def _rows_of(array: Any, *, written: bool) -> NDArray[Any]:
    """Return an array that shares the memory of one, or of anything with a buffer."""
    if not isinstance(array, np.ndarray):
        try:
            memory = memoryview(array)
        except TypeError:
            raise LayoutFault(
                f"a {type(array).__name__} cannot be exchanged",
                cure="Give an array of NumPy, or something else with a buffer",
            ) from None
        rows: NDArray[Any] = np.asarray(memory)
        return _rows_of(rows, written=written)
    if written and not array.flags.writeable:
        raise LayoutFault("the array cannot be written to, and this code takes at the port")
    return array


def _words(share: ArrayShare) -> str:
    return f"{share.rows} rows of '{share.row}', {share.layout}"
