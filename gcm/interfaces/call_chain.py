"""Chains of waiting requests: those that lead to what a thread is working on.

The thread of an active object records the request that it serves; a request knows the one in whose
service it was made. A call to another process carries the chain in its header.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Protocol

from gcm.records import dataclass


class Link(Protocol):
    """A request that is being served, or waits for its turn."""

    @property
    def caller(self) -> Link | None:
        """The request in whose service this one was made; None if unknown."""

    @property
    def is_awaited(self) -> bool:
        """Whether its caller waits for it, and does nothing else before it is done."""

    @property
    def number(self) -> str:
        """Its number, unique among all processes."""

    @property
    def where(self) -> str:
        """The path of the component, the interface and the operation."""


@dataclass(frozen=True, slots=True)
class LinkElsewhere:
    """A request served in another process that waits for something this process does.

    It `is_arriving` until the call has reached the component that it was made for.
    """

    number: str
    where: str
    caller: Link | None
    is_arriving: bool = False
    is_awaited: bool = True


class RoundCall(Protocol):
    """One call that a round has gathered."""

    waits: Link | None
    """The request that waits for its result, as far as one is known to."""


@dataclass(frozen=True, slots=True)
class LinkOfRound:
    """The call that a gathercast round makes: several requests wait for it, and none calls it.

    The chain goes on with the `last` one to call; questions after calls follow the others too.
    """

    number: str
    where: str
    calls: Sequence[RoundCall]
    last: Link | None
    is_arriving: bool
    """Whether the thread that calls only hands on: else it carries the call out."""

    @property
    def wait(self) -> list[Link]:
        """Those that are known to wait."""
        others = [call.waits for call in self.calls if call.waits not in (None, self.last)]
        return [one for one in (*others, self.caller) if one is not None]

    @property
    def caller(self) -> Link | None:
        """The request whose call made the round full, if it waits or its thread does the work."""
        if not self.is_arriving or any(call.waits is self.last for call in self.calls):
            return self.last
        return None

    @property
    def is_awaited(self) -> bool:
        """Whether the caller waits."""
        return self.caller is not None


class _Thread(threading.local):
    link: Link | None = None


_thread = _Thread()
_numbers = itertools.count(1)


def current() -> Link | None:
    """Return the request that this thread works on, None if there is none."""
    return _thread.link


def work_on(link: Link | None) -> Link | None:
    """Make this thread work on `link`; return what it worked on before."""
    before = _thread.link
    _thread.link = link
    return before


def waiting_for(link: Link | None) -> Iterator[Link]:
    """Yield `link`, and then those that cannot proceed before it is done."""
    while link is not None:
        yield link
        link = link.caller if link.is_awaited else None


def is_arriving(link: Link | None) -> bool:
    """Tell whether a thread only hands on a call that others wait for."""
    return isinstance(link, LinkElsewhere | LinkOfRound) and link.is_arriving


def waiting_in(link: Link | None) -> list[Link]:
    """Return the requests that a thread holds up by waiting: those of a round, or its own."""
    if isinstance(link, LinkOfRound):
        return link.wait
    return [] if link is None else [link]


def numbers_of(link: Link) -> tuple[str, ...]:
    """Return the number of a request, or those of all that wait for the call of a round."""
    return (link.number, *(one.number for one in waiting_in(link)))


def new_number() -> str:
    """Return a unique number for a request."""
    return f"{next(_numbers)}.{_process(os.getpid())}"


@cache
def _process(pid: int) -> str:
    return f"{pid}.{os.urandom(6).hex()}"


def as_header() -> str:
    """Return the chain of a call that this thread waits for, as text for another process."""
    link = _thread.link
    if link is None:
        return ""
    return "\n".join(f"{one.number} {one.where}" for one in waiting_for(link))


def header_of_submitted(number: str, where: str) -> str:
    """Return the chain of a call that nobody waits for yet: who begins to names its number."""
    return f"{number} {where}"


def of_header(text: str, *, is_arriving: bool = False) -> Link | None:
    """Return the chain that came with a call."""
    link: Link | None = None
    for line in reversed(text.splitlines()):
        number, _, where = line.partition(" ")
        link = LinkElsewhere(number, where, link, is_arriving)
    return link
