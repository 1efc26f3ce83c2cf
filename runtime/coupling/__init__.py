"""Messages between the codes of a deployment: the API for a rank's program.

    from runtime import coupling

    coupling.send(heat, code="atmosphere", rank=0, tag=5)
    wind = coupling.recv(code="atmosphere", rank=0, tag=5)

`coupling.code` is the name of the code of this process, `coupling.rank` its rank among the
`coupling.size` ranks of the code on all clusters, and `coupling.codes` maps each code to its number
of ranks. Importing this module is cheap and starts nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

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
from runtime.coupling.message_paths import DRIVER
from runtime.matching import ANY, Wildcard

if TYPE_CHECKING:
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

    Returns as soon as the message is on its way; the value may then be changed. Blocks while 8 MiB
    or more sent to that rank have not been received, and until the code has been started for the
    first time.

    Raises:
        UnknownCode, NoSuchRank: the receiver does not exist.
        CodeEnded: the receiver has ended.
        NotSendable: the value cannot be pickled.
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

    Messages of one rank arrive in the order in which it sent them.

    Raises:
        UnknownCode, NoSuchRank: the sender does not exist.
        CodeEnded: the sender has ended, and all its messages have been received.
        NotSendable: the value cannot be unpickled in this process.
        TimeoutError: no message came within `timeout` seconds.
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
    """Return whether a matching message has arrived and would be received without blocking."""
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
