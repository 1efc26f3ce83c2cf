"""Finds circles of requests that wait for each other across processes.

Each process knows for which calls its own requests wait, and what their calls wait for at the other
end. So a wait that lasts sends a question after its call; every process through which the waiting
goes on passes it on, and where it comes to a queue in which the request that asks is served, the
circle is closed. All waits of a circle ask, and one of them, whose number is the greatest, breaks
it: of the requests that wait behind it in that queue, the one of the circle is refused.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from gcm.interfaces.call_chain import Link, numbers_of, waiting_in
from gcm.invocation import Invocation
from runtime.transport.errors import ChannelClosed, TransportError
from runtime.transport.reactor import Reactor, Timer

ASKED = "is_awaited"
"""The operation of the binding interface by which a question comes."""

EVERY_SECONDS = 1.0
"""How long a call is waited for before anybody asks; then after two seconds, four, and so on."""

SELDOM = 32
"""Every how many times that long a wait asks in the end."""


class CircleQuestion(NamedTuple):
    """Does what is done for the call `number` wait for the request `asks`?"""

    asks: str
    number: str
    places: tuple[str, ...] = ()
    """Where the requests are that wait for each other, from the one that asks."""
    waited_behind: tuple[str, ...] = ()
    """The numbers of requests behind which others wait in a queue: they ask as well."""
    asked: tuple[tuple[str, str], ...] = ()
    """The waits through which it went: the number of who waits, and the component waited for."""


class _Wait:
    """A call of this process to another one that is waited for."""

    __slots__ = ("age", "component", "link", "number")

    def __init__(self, link: Link, component: str, number: str) -> None:
        self.link = link
        self.component = component
        self.number = number
        self.age = 0


class AwaitedCalls:
    """The calls to other processes that requests of this one wait for."""

    def __init__(self, binding: str, note: Callable[[Invocation], None], reactor: Reactor) -> None:
        self._binding = binding
        self._note = note
        self._reactor = reactor
        self._waits: dict[int, _Wait] = {}
        self._keys = itertools.count()
        self._timer: Timer | None = None
        self._lock = threading.Lock()  # a wait that came too late for the timer would never ask

    def begin(self, link: Link, component: str, number: str) -> int:
        """Say that the request `link` waits for the call `number`; return what `end` needs."""
        key = next(self._keys)
        with self._lock:
            self._waits[key] = _Wait(link, component, number)
            if self._timer is None:
                self._timer = self._reactor.later(EVERY_SECONDS, self._ask)
        return key

    def end(self, key: int) -> None:
        """Say that a wait is over."""
        with self._lock:
            self._waits.pop(key, None)

    @contextmanager
    def wait(self, link: Link, component: str, number: str) -> Iterator[None]:
        """Wait for a call, in the body."""
        key = self.begin(link, component, number)
        try:
            yield
        finally:
            self.end(key)

    def _ask(self) -> None:
        with self._lock:
            waits = list(self._waits.values())
            self._timer = self._reactor.later(EVERY_SECONDS, self._ask) if waits else None
        for wait in waits:
            if wait.age and (wait.age & (wait.age - 1) == 0 or wait.age % SELDOM == 0):
                for one in waiting_in(wait.link):
                    self._pass_on(CircleQuestion(one.number, "", (one.where,)), wait)
            wait.age += 1

    def answer(self, *words: object) -> None:
        """Take a question that came: refuse what closes a circle, or pass the question on."""
        from gcm.membranes.requests.circles import stretches

        question = CircleQuestion(*words)  # type: ignore[arg-type]  # as they were sent
        for stretch in stretches(question.number, question.asks):
            last = stretch.last.number
            if last != question.asks:
                onward = question._replace(places=(*question.places, *stretch.places))
                if stretch.has_queued:
                    onward = onward._replace(waited_behind=(*question.waited_behind, last))
                self._follow(onward, last)
            elif stretch.has_queued and last == max((last, *question.waited_behind)):
                stretch.refuse(question.places)
        self._follow(question, question.number)  # through components that have no queue

    def _follow(self, question: CircleQuestion, number: str) -> None:
        with self._lock:
            waits = list(self._waits.values())
        for wait in waits:
            if number in numbers_of(wait.link):
                self._pass_on(question, wait)

    def _pass_on(self, question: CircleQuestion, wait: _Wait) -> None:
        step = wait.link.number, wait.component
        if step in question.asked:
            return  # a circle that does not lead to who asks
        onward = question._replace(number=wait.number, asked=(*question.asked, step))
        with suppress(ChannelClosed, TransportError):  # then the wait ends by itself
            self._note(Invocation(wait.component, self._binding, ASKED, tuple(onward)))
