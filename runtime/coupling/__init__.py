"""Messages between the codes of a deployment: the API for a rank's program.

    from runtime import coupling

    coupling.send(heat, code="atmosphere", rank=0, tag=5)
    wind = coupling.recv(code="atmosphere", rank=0, tag=5)

    coupling.exchange("sst", surface)      # at a port that the descriptor connects

`coupling.code` is the name of the code of this process, `coupling.rank` its rank among the
`coupling.size` ranks of the code on all clusters, and `coupling.codes` maps each code to its number
of ranks. Importing this module is cheap and starts nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar

from runtime.coupling.errors import (
    CodeBusy,
    CodeEnded,
    CodeNotRunning,
    CodeNotStarted,
    CouplingError,
    LayoutFault,
    NoSuchPort,
    NoSuchRank,
    NotCoupled,
    UnknownCode,
    UnknownSetting,
)
from runtime.coupling.mailbox import CouplingMailbox, Message
from runtime.coupling.message_paths import DRIVER
from runtime.coupling.settings import setting_of
from runtime.matching import ANY, Wildcard

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.coupling.layouts import Layout

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
    "LayoutFault",
    "Message",
    "NoSuchPort",
    "NoSuchRank",
    "NotCoupled",
    "UnknownCode",
    "UnknownSetting",
    "bcast",
    "exchange",
    "has",
    "receive",
    "recv",
    "send",
    "setting",
]

_Value = TypeVar("_Value")


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


def exchange(port: str, array: Any, *, layout: Layout = "blocks", every: int = 1) -> bool:
    """Give an array to another code, or take it from there: each row goes to the rank that has it.

    All ranks of both codes call it. `<connect from="ocean.sst" to="air.sst"/>` in the descriptor
    says who gives; whoever takes finds the rows in its own array, which may be one of NumPy or
    anything else with a buffer that can be written to. Rows, along the first axis, are dealt to the
    ranks of a code in their order (`blocks`, any number each), in turn (`cyclic`), or as each rank
    lists the numbers of its own. With `every` only one call of so many moves anything, the first of
    them; the result says whether this one did.

    Raises:
        NoSuchPort: the descriptor connects no such port of this code.
        LayoutFault: the arrays of the two codes do not fit together; all ranks get it.
        CodeEnded: a rank of the other code has ended, or was started again during the exchange.
        NotCoupled: this program is not a rank of a deployment.

    >>> coupling.exchange("sst", surface, every=3)                    # doctest: +SKIP
    """
    from runtime.coupling.rank_side import ports

    return ports().exchange(port, array, layout, every)


def bcast(value: Any = None, *, code: str, rank: int = 0) -> Any:
    """Return the value of one rank at all ranks of all codes, each of which calls it.

    `code` and `rank` say whose value it is; what others give does not count.

    Raises:
        UnknownCode, NoSuchRank: there is no such rank.
        CodeEnded: a rank that passes it on has ended.
        NotSendable: the value cannot be pickled, or not be unpickled.
        NotCoupled: this program is not a rank of a deployment.

    >>> step = coupling.bcast(step, code="ocean")                     # doctest: +SKIP
    """
    from runtime.coupling.broadcasting import broadcast

    return broadcast(_mailbox(), value, code, rank)


def setting(name: str, of: Callable[[str], _Value] = str) -> _Value:  # type: ignore[assignment]  # the default is for one type
    """Return what `<setting name="..." value="..."/>` gives this code, or `--set CODE.NAME=VALUE`.

    `of` makes a value of the text, such as `int`.

    Raises:
        UnknownSetting: the code has no such setting, or `of` refuses its text.
        NotCoupled: this program is not a rank of a deployment.

    >>> depth = coupling.setting("depth", float)                      # doctest: +SKIP
    """
    peers = _mailbox().peers
    return setting_of(peers.me[0], peers.directory.settings, name, of)


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
