"""The mailbox of the rank in this process, opened on first use."""

from __future__ import annotations

import atexit
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from runtime.coupling.directory import CodeDirectory
from runtime.coupling.errors import NotCoupled
from runtime.coupling.mailbox import SEND, CouplingMailbox, Tag
from runtime.coupling.message_paths import DRIVER, identifier_of
from runtime.coupling.peers import Peers
from runtime.lazy_import import logger
from runtime.machine.contracts import Mail
from runtime.matching import ANY

if TYPE_CHECKING:
    from runtime.coupling.code_wire import CodeWire
    from runtime.coupling.exchanging import RankPorts
    from runtime.machine.rank_states import Wait
    from runtime.membership.bind_address import AdvertisedAddresses
    from runtime.membership.rank_link import RankLink

REPORT_AFTER = 5.0
"""Seconds after which a rank reports that it waits for the launcher."""

_log = logger(__name__)


class RankSide:
    """Joins the coupling over the connection to the front-end, and delivers to the mailbox.

    Messages go over direct connections to other ranks where there are any.
    """

    def __init__(self, link: RankLink) -> None:
        self._link = link
        self._answered = threading.Event()
        self._early: list[Callable[[CouplingMailbox], None]] = []
        self._mailbox: CouplingMailbox | None = None
        self._wire: CodeWire | None = None
        self._listeners: list[Any] = []
        self._found: AdvertisedAddresses = ("", ())
        self._lost = ""

    def join(self) -> CouplingMailbox:
        """Return the mailbox once the launcher has answered; raises NotCoupled if it has gone."""
        link = self._link
        if link.wrapper.settings.replicas == 1:
            self._listeners, self._found = link.open_listeners("code")
        link.couple(self, self, self, self._lose)
        link.coupling.attach(link.name, link.incarnation, os.uname().nodename, self._found)
        if not self._answered.wait(REPORT_AFTER):
            _log.warning(
                "for %g s now, this rank waits for the launcher to say which codes run",
                REPORT_AFTER,
            )
            self._answered.wait()
        if self._mailbox is None:
            what = "this rank cannot reach the other codes"
            raise NotCoupled(what, place=link.wrapper.code, cause=self._lost)
        if self._wire is not None:
            atexit.register(self._wire.close)
        return self._mailbox

    def _mail_to(self, path: str) -> Mail:
        over_wire = None if self._wire is None else self._wire.mail_to(identifier_of(path))
        return over_wire or self._link.to(Mail, path)

    # --- from the thread that listens -----------------------------------------------------------

    def welcome(
        self,
        me: tuple[str, int],
        incarnation: int,
        directory: tuple[Any, ...],
        states: dict[str, Any],
        machine: bytes,
    ) -> None:
        """Open the mailbox, and connections to ranks of other codes."""
        link = self._link
        codes = CodeDirectory(*directory)
        peers = Peers(me, incarnation, codes, states)
        mailbox = CouplingMailbox(peers, link.name, link.coupling, self._mail_to, report_after=None)
        if self._listeners:
            from runtime.coupling.code_wire import CodeWire

            listeners = [socket.socket(fileno=listener.detach()) for listener in self._listeners]
            self._wire = CodeWire(link, machine, mailbox, listeners, self._found, codes=codes)
            link.coupling.listens(link.name)
        for call in self._early:
            call(mailbox)
        self._early.clear()
        self._mailbox = mailbox
        self._answered.set()

    def here(self, report: dict[str, Any]) -> None:
        """Connect to a rank."""
        if self._wire is not None:
            self._wire.here(report)

    def come(self, member: str) -> None:
        """Connect to a rank that cannot connect to this one."""
        if self._wire is not None:
            self._wire.come(member)

    def meet(self, front_end: str, token: str) -> None:
        """Connect to a rank at a front-end."""
        if self._wire is not None:
            self._wire.meet(front_end, token)

    def began(self, code: str, incarnation: int) -> None:
        """Deliver at once."""
        self._deliver(lambda mailbox: mailbox.began(code, incarnation))

    def ended(self, code: str, why: str, members: dict[str, int]) -> None:
        """Deliver after everything that the code has sent."""
        self._deliver(lambda mailbox: mailbox.ended(code, why), why, lambda _: members)

    def rank_ended(self, code: str, rank: int, why: str, incarnation: int) -> None:
        """Deliver after everything that the rank has sent."""
        self._deliver(
            lambda mailbox: mailbox.rank_ended(code, rank, why, incarnation),
            why,
            lambda directory: {identifier_of(directory.path(code, rank)): incarnation},
        )

    def rank_began(self, code: str, rank: int, incarnation: int) -> None:
        """Deliver after the end of the process that it follows."""
        self._deliver(lambda mailbox: mailbox.rank_began(code, rank, incarnation))

    def deliver(
        self, member: str, incarnation: int, to: int, number: int, tag: Tag, *parts: Any
    ) -> None:
        """Deliver a message that came through the front-end."""
        self._deliver(lambda mailbox: mailbox.deliver(member, incarnation, to, number, tag, *parts))

    def taken(self, member: str, incarnation: int, weight: int) -> None:
        """Deliver an acknowledgement that came through the front-end."""
        self._deliver(lambda mailbox: mailbox.taken(member, incarnation, weight))

    def _deliver(
        self,
        call: Callable[[CouplingMailbox], None],
        why: str = "",
        ended: Callable[[CodeDirectory], dict[str, int]] = lambda _: {},
    ) -> None:
        """Deliver to the mailbox, once everything sent by ranks that have ended has arrived.

        What comes through the front-end keeps its order: a sender may rely on earlier notices.
        """
        mailbox = self._mailbox
        if self._wire is None or mailbox is None:
            self._pass_on(call)
        else:
            self._wire.pass_on(lambda: call(mailbox), why, ended(mailbox.peers.directory))

    def _pass_on(self, call: Callable[[CouplingMailbox], None]) -> None:
        if self._mailbox is not None:
            call(self._mailbox)
        else:
            self._early.append(call)

    def _lose(self, why: str) -> None:
        self._lost = why
        if self._mailbox is not None:
            self._mailbox.lose(why)
        self._answered.set()


_opening = threading.Lock()
_mailbox: CouplingMailbox | None = None
_ports: RankPorts | None = None


def mailbox() -> CouplingMailbox:
    """Return the mailbox of this rank; raises NotCoupled if this process is no rank."""
    global _mailbox  # noqa: PLW0603 - a process is one rank at most
    from runtime.membership.rank_link import current

    with _opening:
        if _mailbox is None:
            link = current()
            if link is None:
                raise NotCoupled(
                    "this program is not a rank of a deployment",
                    cure="Start it with gcm-deploy, as <application script='...'>",
                )
            _mailbox = RankSide(link).join()
        return _mailbox


def ports() -> RankPorts:
    """Return the ports of this rank; raises NotCoupled if this process is no rank."""
    global _ports  # noqa: PLW0603 - as above
    box = mailbox()
    with _opening:
        if _ports is None:
            from runtime.coupling.exchanging import RankPorts  # it needs NumPy

            _ports = RankPorts(box)
        return _ports


def awaited(line_of: Callable[[int], str]) -> Iterator[Wait]:
    """Yield what threads of this rank wait for; `line_of` says in which line of the program one is.

    A message that the driving program may send or receive has no parts: nobody tells what it does.
    """
    if _mailbox is None:
        return
    from runtime.machine.rank_states import (  # only where somebody asks
        KnownCommunicator,
        Part,
        Wait,
    )

    directory = _mailbox.peers.directory
    for one in tuple(_mailbox.awaited):
        code, rank, tag = one.pattern.key
        codes = directory.codes if code is ANY else (code,)
        is_for_driver = code == DRIVER or (code is ANY and directory.has_driver)
        peer = "" if rank is ANY or code is ANY else identifier_of(directory.path(code, rank))
        members = [part for name in codes for part in directory.clusters(name)]
        inner = tag if isinstance(tag, tuple) else None
        part = Part(one.kind, peer, None if tag is ANY or inner is not None else tag)
        call = inner[0] if inner is not None else "send" if one.kind == SEND else "recv"
        yield Wait(
            f"coupling.{call}",
            () if is_for_driver else (part,),
            KnownCommunicator("codes", "", tuple((cluster, 0, n - 1) for cluster, n in members)),
            seconds=time.monotonic() - one.since,
            where=line_of(one.thread),
            serial=-one.serial,
            is_of_mpi=False,
        )
