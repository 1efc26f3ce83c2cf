"""The launcher's registry of coupled codes: notifies participants which codes and ranks run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from runtime.coupling.directory import CodeDirectory
from runtime.coupling.errors import NotCoupled
from runtime.coupling.mailbox import CouplingMailbox
from runtime.coupling.message_paths import DRIVER
from runtime.coupling.peers import Peer, Peers
from runtime.machine.calls import CallRefused, DispatchTable
from runtime.machine.contracts import Coupling, CouplingNews, Mail
from runtime.machine.paths import COUPLING, DRIVER_PATH, RANKS
from runtime.membership.whereabouts import Report

NewsTo = Callable[[str], CouplingNews]
"""Returns the news interface of a rank; calling it does not block."""

TellFrontEnds = Callable[[Report], None]
"""Sends all front-ends the address at which a rank accepts other codes; does not block."""

MailTo = Callable[[str], Mail]
"""Returns the `Mail` of a path; calling it may block until there is room."""


class CouplingRegistry:
    """The registry of participants. Ranks join when they first use coupling; others cost nothing.

    It notifies participants when a code starts and ends. The address and the end of a single rank
    are sent only to those that exchange messages with it.

    A code that had ended before another one was started may be started again too: codes are
    restarted one after the other. The other one waits for that, but not for ever.
    """

    def __init__(self, directory: CodeDirectory, machine: bytes = b"") -> None:
        self.directory = directory
        self._machine = machine
        self._reports: dict[str, Report] = {}
        self._listening: set[str] = set()
        self._lock = threading.Lock()
        self._states: dict[str, tuple[int, str | None]] = dict.fromkeys(directory.codes, (0, None))
        self._events = 0
        self._began_at: dict[str, int] = {}
        self._ended_at: dict[str, int] = {}
        self._joined: set[str] = set()
        self._watchers: dict[Peer, set[str]] = {}
        self._ended_ranks: dict[Peer, tuple[str, int]] = {}
        self._awaited_again: set[Peer] = set()
        """Ranks that are started again alone, until they attach."""
        self._lives: dict[Peer, int] = {}
        """The incarnations of ranks that were started again alone."""
        self._news_to: NewsTo = _nobody
        self._mail_to: MailTo = _nobody
        self._tell_front_ends: TellFrontEnds = lambda _: None
        self._driver: CouplingMailbox | None = None
        self._dispatch = {COUPLING: DispatchTable(), DRIVER_PATH: DispatchTable()}
        self._dispatch[COUPLING].serve(Coupling, self)
        if directory.has_driver:
            self._joined.add(DRIVER)
            peers = Peers((DRIVER, 0), 1, directory, self._states)
            self._driver = CouplingMailbox(peers, DRIVER, self, self._mail_of_driver)
            self._dispatch[DRIVER_PATH].serve(Mail, self._driver)

    @property
    def driver(self) -> CouplingMailbox:
        """The mailbox of the program that holds the machine; raises NotCoupled."""
        if self._driver is None:
            raise NotCoupled(
                "no Python program drives this run",
                cure="Make the machine with Machine(plan, steered=True)",
            )
        return self._driver

    def connect(self, news_to: NewsTo, mail_to: MailTo, tell_front_ends: TellFrontEnds) -> None:
        """Connect to ranks and front-ends; what was queued first is sent first."""
        self._news_to, self._mail_to = news_to, mail_to
        self._tell_front_ends = tell_front_ends

    # -- from the connections, which must not block ------------------------------------------------

    def handle_call(
        self, sender: str, path: str, interface: str, operation: str, args: tuple[Any, ...]
    ) -> None:
        """Handle a call of a rank to the launcher, or to the driver.

        Raises:
            CallRefused: there is no such operation, or the caller's name is not its own.
        """
        if args[:1] != (sender,):
            raise CallRefused(f"{interface}.{operation} was called in the name of another member")
        self._dispatch[path].call(interface, operation, args)

    def attach(
        self, member: str, incarnation: int, host: str, advertised: tuple[str, tuple[str, ...]]
    ) -> None:
        """Add a rank to the participants, and tell it which codes run.

        Raises:
            CallRefused: what it says of itself, which others are told, makes no sense.
        """
        if type(incarnation) is not int or not _are_addresses(host, advertised):
            raise CallRefused(f"{member} attaches with an incarnation or addresses that are none")
        code, rank = self.directory.whose(member)
        report = {"rank": member, "incarnation": incarnation, "host": host, "doors": advertised}
        # Front-ends must know it before the rank does, and before anybody asks them to forward to
        # it.
        self._tell_front_ends(report)
        with self._lock:
            self._joined.add(member)
            self._reports[member] = report
            self._listening.discard(member)
            own, _ = self._states[code]
            states = {name: self._state_for(code, name) for name in self._states}
            others: set[str] = set()
            if (code, rank) in self._awaited_again:
                self._awaited_again.discard((code, rank))
                self._ended_ranks.pop((code, rank), None)
                own = self._lives[code, rank] = incarnation
                others = self._joined - {member}
            lives = self._lives.copy()
        news = self._news_to(member)
        news.welcome((code, rank), own, self.directory.plain, states, self._machine)
        for peer, its in lives.items():
            news.rank_began(*peer, its)
        for other in self._all(others):
            other.rank_began(code, rank, own)

    def listens(self, member: str) -> None:
        """Tell the ranks that asked where a rank accepts connections."""
        with self._lock:
            self._listening.add(member)
            report = self._reports[member]
            watchers = set(self._watchers.get(self.directory.whose(member), ())) - {DRIVER}
        for watcher in sorted(watchers):
            self._news_to(watcher).here(report)

    def _state_for(self, code: str, other: str) -> tuple[int, str | None]:
        ended_before = self._ended_at.get(other, 0) < self._began_at.get(code, 0)
        incarnation, why = self._states[other]
        return (0, why) if why is not None and ended_before else (incarnation, why)

    def watch(self, member: str, code: str, rank: int) -> None:
        """Tell a member the address of a rank, and when it ends or that it has ended.

        Raises:
            CallRefused: that is no name of a code, or no number.
        """
        if type(code) is not str or type(rank) is not int:
            raise CallRefused(f"{member} asks for a rank of a code that is none")
        name = self.directory.path(code, rank).removeprefix(RANKS)
        with self._lock:
            end = self._ended_ranks.get((code, rank))
            report = self._reports[name] if name in self._listening else None
            if end is None:
                self._watchers.setdefault((code, rank), set()).add(member)
        if report is not None and member != DRIVER:
            self._news_to(member).here(report)
        if end is not None:
            self._news_of(member).rank_ended(code, rank, *end)

    # -- from the engine -------------------------------------------------------------------------

    def began(self, code: str, incarnation: int) -> None:
        """Tell all participants that a code runs."""
        with self._lock:
            self._states[code] = (incarnation, None)
            self._events += 1
            self._began_at[code] = self._events
            joined = set(self._joined)
        for news in self._all(joined):
            news.began(code, incarnation)

    def rank_ended(self, code: str, rank: int, why: str) -> None:
        """Tell those that asked that a rank has ended."""
        name = self.directory.path(code, rank).removeprefix(RANKS)
        with self._lock:
            end = why, self._reports[name]["incarnation"] if name in self._reports else 0
            self._ended_ranks[code, rank] = end
            watchers = self._watchers.pop((code, rank), set())
        for news in self._all(watchers):
            news.rank_ended(code, rank, *end)

    def starts_again(self, code: str, rank: int) -> None:
        """Tell all participants that a process of a rank has ended: another one takes its place.

        Also those that did not ask: what they have of the former one does not count against this.
        """
        name = self.directory.path(code, rank).removeprefix(RANKS)
        with self._lock:
            self._awaited_again.add((code, rank))
            if name not in self._reports:
                return  # it has sent nothing
            why, _ = self._ended_ranks.get((code, rank), ("it was started again", 0))
            incarnation = self._reports[name]["incarnation"]
            joined = self._joined - {name}
        for news in self._all(joined):
            news.rank_ended(code, rank, why, incarnation)

    def ended(self, code: str, why: str) -> None:
        """Tell all participants that a code has ended."""
        with self._lock:
            incarnation, _ = self._states[code]
            self._states[code] = (incarnation, why)
            self._events += 1
            self._ended_at[code] = self._events
            self._ended_ranks = {
                peer: end for peer, end in self._ended_ranks.items() if peer[0] != code
            }
            self._awaited_again = {peer for peer in self._awaited_again if peer[0] != code}
            self._lives = {peer: life for peer, life in self._lives.items() if peer[0] != code}
            gone = {member for member in self._joined if self.directory.whose(member)[0] == code}
            self._joined -= gone
            self._listening -= gone
            for watchers in self._watchers.values():
                watchers.difference_update(gone)
            joined = set(self._joined)
            members = {member: self._reports[member]["incarnation"] for member in sorted(gone)}
        for news in self._all(joined):
            news.ended(code, why, members)

    def lose(self, why: str) -> None:
        """Wake up everybody who waits: the machine has ended."""
        if self._driver is not None:
            self._driver.lose(why)

    # -- inside ----------------------------------------------------------------------------------

    def _mail_of_driver(self, path: str) -> Mail:
        return self._mail_to(path)

    def _all(self, members: set[str]) -> list[CouplingNews | CouplingMailbox]:
        # The driver is told last: the program may react by sending to ranks, which must know by
        # then.
        return [self._news_of(one) for one in sorted(members, key=lambda one: (one == DRIVER, one))]

    def _news_of(self, member: str) -> CouplingNews | CouplingMailbox:
        return self.driver if member == DRIVER else self._news_to(member)


def _are_addresses(host: object, advertised: object) -> bool:
    match advertised:
        case (str(), tuple(addresses) | list(addresses)):
            return isinstance(host, str) and all(isinstance(one, str) for one in addresses)
    return False


class _Nobody:
    """Accepts every operation and does nothing: the machine has not started."""

    def __getattr__(self, operation: str) -> Callable[..., None]:
        return lambda *_: None


def _nobody(_: str) -> Any:
    return _Nobody()
