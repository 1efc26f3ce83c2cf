"""Messages between the codes of a deployment: what a rank's program uses.

    from runtime import coupling

    coupling.send(heat, code="atmosphere", rank=0, tag=5)
    wind = coupling.recv(code="atmosphere", rank=0, tag=5)

`coupling.code` is the name of the code that this process is a rank of, `coupling.rank` its number
among `coupling.size` ranks over all clusters of the code, and `coupling.codes` gives the number of
ranks of every code. Importing this costs little and starts nothing.
"""

from __future__ import annotations

from runtime.coupling.errors import (
    CodeBusy,
    CodeEnded,
    CodeNotRunning,
    CodeNotStarted,
    CouplingError,
    NoSuchRank,
    NotCoupled,
    UnknownCode,
)
from runtime.coupling.mailbox import CouplingMailbox, Message
from runtime.coupling.words import DRIVER
from runtime.matching import ANY, Wildcard

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from typing import Any, Literal

    code: str
    rank: int
    size: int
    codes: dict[str, int]

__all__ = [
    "ANY",
    "DRIVER",
    "CodeBusy",
    "CodeEnded",
    "CodeNotRunning",
    "CodeNotStarted",
    "CouplingError",
    "Message",
    "NoSuchRank",
    "NotCoupled",
    "UnknownCode",
    "has",
    "receive",
    "recv",
    "send",
]


def send(
    value: Any, *, code: str, rank: int = 0, tag: int = 0, timeout: float | None = None
) -> None:
    """Send a value to a rank of a code; arrays are not copied into the message.

    It returns as soon as the message is on its way, so the value may be changed again. It waits
    while 8 MiB or more that were sent to that rank have not been received yet, and as long as the
    code was never started.

    Raises:
        UnknownCode, NoSuchRank: there is nobody to send to.
        CodeEnded: who should receive it has ended.
        NotSendable: it cannot be pickled.
        TimeoutError: there was no room within `timeout` seconds.
        NotCoupled: this program is not a rank of a deployment.

    >>> coupling.send(heat, code="atmosphere", rank=0, tag=5)         # doctest: +SKIP
    """
    _mailbox().send(value, code, rank, tag, timeout)


def recv(
    *,
    code: str | Literal[Wildcard.ANY],
    rank: int | Literal[Wildcard.ANY] = ANY,
    tag: int | Literal[Wildcard.ANY] = ANY,
    timeout: float | None = None,
) -> Any:
    """Wait for a message and return its value; `receive` also tells where it came from.

    Messages of one rank come in the order in which it sent them.

    Raises:
        UnknownCode, NoSuchRank: nobody can send it.
        CodeEnded: who should send it has ended, and nothing of it is left.
        NotSendable: it cannot be rebuilt in this process.
        TimeoutError: it did not come within `timeout` seconds.
        NotCoupled: this program is not a rank of a deployment, or its front-end has gone.

    >>> wind = coupling.recv(code="atmosphere", tag=5)                # doctest: +SKIP
    """
    return _mailbox().receive(code, rank, tag, timeout).value


def receive(
    *,
    code: str | Literal[Wildcard.ANY],
    rank: int | Literal[Wildcard.ANY] = ANY,
    tag: int | Literal[Wildcard.ANY] = ANY,
    timeout: float | None = None,
) -> Message:
    """Wait for a message and return it with its code, rank and tag; raises as `recv` does.

    >>> message = coupling.receive(code=coupling.ANY)                 # doctest: +SKIP
    >>> message.code, message.rank, message.tag                       # doctest: +SKIP
    ('atmosphere', 3, 5)
    """
    return _mailbox().receive(code, rank, tag, timeout)


def has(
    *,
    code: str | Literal[Wildcard.ANY],
    rank: int | Literal[Wildcard.ANY] = ANY,
    tag: int | Literal[Wildcard.ANY] = ANY,
) -> bool:
    """Tell whether such a message has come and would be received at once."""
    return _mailbox().has(code, rank, tag)


def __getattr__(name: str) -> Any:
    if name in ("code", "rank"):
        return _mailbox().peers.me[name == "rank"]
    if name == "codes":
        return dict(_mailbox().peers.directory.sizes)
    if name == "size":
        peers = _mailbox().peers
        return peers.directory.sizes[peers.me[0]]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _mailbox() -> CouplingMailbox:
    from runtime.coupling.rank_side import mailbox

    return mailbox()
