"""Output that the launcher does not take is held up to a bound; whoever brings more waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from runtime.processes.front_end.output_credit import BESIDE, OutputCredit
from runtime.transport.reactor import Reactor

WAIT = 20.0
MOST = 10


class Sent:
    """The credit of a front-end, and the output it has sent."""

    def __init__(self, reactor: Reactor) -> None:
        self.credit = OutputCredit(reactor, MOST)
        self.words: list[str] = []
        self.reactor = reactor

    def say(self, word: str) -> None:
        self.credit.put(len(word), partial(self.words.append, word))

    def after(self, *calls: Callable[[], object]) -> list[str]:
        """Return what is sent once the reactor has made the calls, and all that came before."""
        done = threading.Event()
        for call in (*calls, done.set):
            self.reactor.soon(partial(_do, call))
        assert done.wait(WAIT)
        return self.words


def _do(call: Callable[[], object]) -> None:
    call()


@pytest.fixture
def sent() -> Iterator[Sent]:
    with Reactor() as reactor:
        yield Sent(reactor)


def test_what_is_not_taken_is_held_and_sent_in_order(sent: Sent) -> None:
    for word in ("abc", "de", "fgh"):
        sent.say(word)
    assert sent.after() == []
    assert sent.after(lambda: sent.credit.output_taken(4)) == ["abc", "de"]
    assert sent.after(lambda: sent.say("i")) == ["abc", "de"]
    assert sent.after(lambda: sent.credit.output_taken(5)) == ["abc", "de", "fgh", "i"]


def test_what_has_no_size_waits_only_for_what_came_before(sent: Sent) -> None:
    assert sent.after(lambda: sent.say("")) == [""]
    assert sent.after(lambda: sent.say("a"), lambda: sent.say("")) == [""]
    assert sent.after(lambda: sent.credit.output_taken(1)) == ["", "a", ""]


def test_small_blocks_count_for_the_memory_they_take(sent: Sent) -> None:
    credit = OutputCredit(sent.reactor, 2 * BESIDE)
    taken: list[int] = []
    for _ in range(2):
        assert credit.is_there
        credit.put(1, lambda: taken.append(1))
    assert not credit.is_there
    sent.after(lambda: credit.output_taken(2))
    assert (len(taken), credit.is_there) == (2, True)
    credit.put(1, lambda: taken.append(2), blocks=2)
    assert not credit.is_there
    sent.after(lambda: credit.output_taken(1))
    assert (len(taken), credit.is_there, credit.holds_any) == (3, True, False)


def test_who_brings_more_than_can_be_held_waits_until_some_is_taken(sent: Sent) -> None:
    sent.say("x" * MOST)
    waiting = threading.Thread(target=sent.credit.wait, args=(lambda: False,))
    waiting.start()
    called: list[str] = []
    sent.after(lambda: sent.credit.when_there(lambda: called.append("there")))
    assert (called, waiting.is_alive()) == ([], True)
    sent.after(lambda: sent.credit.output_taken(1))
    waiting.join(WAIT)
    assert (called, waiting.is_alive()) == (["there"], False)


def test_who_waits_stops_when_it_is_over(sent: Sent) -> None:
    sent.say("x" * MOST)
    waiting = threading.Thread(target=sent.credit.wait, args=(lambda: True,))
    waiting.start()
    waiting.join(WAIT)
    assert not waiting.is_alive()
