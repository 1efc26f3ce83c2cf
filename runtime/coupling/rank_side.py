"""The mailbox of the rank that this process is: opened when the program first uses it."""

from __future__ import annotations

import threading

from runtime.coupling.errors import NotCoupled
from runtime.coupling.mailbox import Mailbox
from runtime.coupling.peers import Peers
from runtime.coupling.words import ATTACH, HUB_PATH, WELCOME

TYPE_CHECKING = False  # known to type checkers; ranks import this and do without `typing`
if TYPE_CHECKING:
    from typing import Any

    from runtime.membership.rank_link import RankLink

PATIENCE = 30.0


class RankSide:
    """Joins the coupling over the connection to the front-end."""

    def __init__(self, link: RankLink) -> None:
        self._link = link
        self._answered = threading.Event()
        self._early: list[tuple[str, tuple[Any, ...]]] = []
        self._mailbox: Mailbox | None = None
        self._lost = ""

    def join(self) -> Mailbox:
        """Return the mailbox once the launcher has answered; raises NotCoupled."""
        self._link.couple(self._hear, self._lose)
        self._post(HUB_PATH, ATTACH, self._link.name)
        in_time = self._answered.wait(PATIENCE)
        if self._mailbox is None:
            why = self._lost if in_time else f"no answer within {PATIENCE:g} s"
            raise NotCoupled(
                "this rank cannot reach the other codes", place=self._link.name, cause=why
            )
        return self._mailbox

    def _post(self, path: str, operation: str, *args: Any) -> None:
        self._link.post(path, operation, *args)

    # --- from the thread that listens -----------------------------------------------------------

    def _hear(self, operation: str, args: tuple[Any, ...]) -> None:
        if operation == WELCOME:
            self._welcome(*args)
        elif self._mailbox is not None:
            self._mailbox.hear(operation, args)
        else:
            self._early.append((operation, args))

    def _welcome(self, code: str, rank: int, life: int, directory: Any, states: Any) -> None:
        mailbox = Mailbox(Peers((code, rank), life, directory, states), self._post)
        for operation, args in self._early:
            mailbox.hear(operation, args)
        self._early.clear()
        self._mailbox = mailbox
        self._answered.set()

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
