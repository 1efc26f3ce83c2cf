"""The mailbox of the rank that this process is: opened when the program first uses it."""

from __future__ import annotations

import threading

from runtime.coupling.directory import Directory
from runtime.coupling.errors import NotCoupled
from runtime.coupling.mailbox import Mailbox
from runtime.coupling.peers import Peers

TYPE_CHECKING = False  # known to type checkers; ranks import this and do without `typing`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from runtime.membership.rank_link import RankLink

PATIENCE = 30.0


class RankSide:
    """Joins the coupling over the connection to the front-end; what comes is for its mailbox."""

    def __init__(self, link: RankLink) -> None:
        self._link = link
        self._answered = threading.Event()
        self._early: list[Callable[[Mailbox], None]] = []
        self._mailbox: Mailbox | None = None
        self._lost = ""

    def join(self) -> Mailbox:
        """Return the mailbox once the launcher has answered; raises NotCoupled."""
        link = self._link
        link.couple(self, self, self._lose)
        link.coupling.attach(link.name)
        in_time = self._answered.wait(PATIENCE)
        if self._mailbox is None:
            why = self._lost if in_time else f"no answer within {PATIENCE:g} s"
            raise NotCoupled("this rank cannot reach the other codes", place=link.name, cause=why)
        return self._mailbox

    # --- from the thread that listens -----------------------------------------------------------

    def welcome(
        self, code: str, rank: int, life: int, directory: tuple[Any, bool], states: dict[str, Any]
    ) -> None:
        """Open the mailbox."""
        peers = Peers((code, rank), life, Directory(*directory), states)
        mailbox = Mailbox(peers, self._link.name, self._link.coupling, self._link.mail_to)
        for call in self._early:
            call(mailbox)
        self._early.clear()
        self._mailbox = mailbox
        self._answered.set()

    def began(self, code: str, life: int) -> None:
        """Pass it on."""
        self._pass_on(lambda mailbox: mailbox.began(code, life))

    def ended(self, code: str, why: str) -> None:
        """Pass it on."""
        self._pass_on(lambda mailbox: mailbox.ended(code, why))

    def rank_ended(self, code: str, rank: int, why: str) -> None:
        """Pass it on."""
        self._pass_on(lambda mailbox: mailbox.rank_ended(code, rank, why))

    def deliver(self, member: str, life: int, tag: int, *parts: Any) -> None:
        """Pass it on."""
        self._pass_on(lambda mailbox: mailbox.deliver(member, life, tag, *parts))

    def taken(self, member: str, life: int, weight: int) -> None:
        """Pass it on."""
        self._pass_on(lambda mailbox: mailbox.taken(member, life, weight))

    def _pass_on(self, call: Callable[[Mailbox], None]) -> None:
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
_mailbox: Mailbox | None = None


def mailbox() -> Mailbox:
    """Return the mailbox of this rank; raises NotCoupled if this process is none."""
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
