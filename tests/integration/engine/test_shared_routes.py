"""What ranks learn of routes reaches the others of their cluster through their front-end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from runtime.engine import shared_routes
from runtime.engine.gate import Facts, Gate
from runtime.engine.outcome import Connections, Ways
from runtime.engine.shared_routes import SharedRoutes
from runtime.membership.doorstep import NOWHERE
from runtime.membership.rank_link import AGAIN, COUNTED, FIGURES, LEARNED, RankLink
from runtime.membership.room import write_key
from runtime.routing import Experience
from runtime.routing.tension import RETRY_AFTER
from runtime.transport.credentials import Credentials
from runtime.transport.reactor import Reactor

SECRET = b"a secret of a test of shared routes"
PATIENCE = 20.0
WAY = ((False, (0, 0)), (False, (1, 0)))


class FrontEnd:
    """The part of a front-end that this is about: a gate, and what is kept of routes."""

    def __init__(self, reactor: Reactor, room: str) -> None:
        self.routes = SharedRoutes(reactor)
        self.gate = Gate(reactor, room, None, Credentials(SECRET, "0:0"), self)
        self.routes.gate = self.gate
        write_key(room, self.gate.address, SECRET, NOWHERE)

    def rank_here(self, rank: str) -> None:
        """Know it anyway."""

    def rank_ready(self, rank: str, facts: Facts) -> None:
        raise AssertionError(rank)

    def rank_unable(self, rank: str, why: str, python: str) -> None:
        raise AssertionError(why)

    def rank_ended(self, rank: str, code: int, why: str, *facts: Any) -> None:
        raise AssertionError(why)

    def rank_aborted(self, rank: str, code: int, *facts: Any) -> None:
        raise AssertionError(rank)

    def rank_counted(
        self, rank: str, rows: list[Any], figures: dict[str, int], *, at_end: bool
    ) -> None:
        assert not at_end
        self.routes.counted(rank, rows, figures)

    def rank_learned(self, rank: str, told: list[Any]) -> None:
        self.routes.learned(rank, told)

    def rank_left(self, rank: str) -> None:
        """Expect it: the test is over."""

    def all_left(self) -> None:
        """Expect it."""


class Rank:
    """A rank that keeps what it hears about routes."""

    def __init__(self, room: str, name: str) -> None:
        self.link = RankLink(room, name)
        self._heard: SimpleQueue[tuple[str, tuple[Any, ...]]] = SimpleQueue()
        self.link.when_beckoned(lambda operation, args: self._heard.put((operation, args)))
        self._listening = threading.Thread(target=self.link.listen, args=(lambda _: None,))
        self._listening.start()

    def close(self) -> None:
        """Hang up, once the front-end has."""
        self._listening.join(PATIENCE)
        self.link._channel.close()

    def hears(self) -> tuple[str, tuple[Any, ...]]:
        return self._heard.get(timeout=PATIENCE)


@pytest.fixture
def front_end(tmp_path: Path) -> Iterator[FrontEnd]:
    with ExitStack() as stack:
        made = FrontEnd(stack.enter_context(Reactor()), str(tmp_path))
        stack.callback(made.gate.close)
        yield made


@pytest.fixture
def ranks(front_end: FrontEnd, tmp_path: Path) -> Iterator[list[Rank]]:
    made = [Rank(str(tmp_path), f"0:0:{number}") for number in range(3)]
    yield made
    for rank in made:
        channel = front_end.gate.find(rank.link.name)
        assert channel is not None
        channel.close()
        rank.close()


def test_news_reach_the_others_and_who_told_may_try_again_later(
    front_end: FrontEnd, ranks: list[Rank]
) -> None:
    failed = Experience(WAY, worked=False, age=RETRY_AFTER - 5, failures=1)
    ranks[0].link.note("learned", [failed])
    for other in ranks[1:]:
        assert other.hears() == (LEARNED, ([failed],))
    assert ranks[0].hears() == (AGAIN, ())
    (known,) = front_end.routes.known()
    assert (known.way, known.worked, known.failures) == (WAY, False, 1)
    assert known.age >= RETRY_AFTER - 0.2

    ranks[1].link.note("learned", [Experience(WAY, worked=True, age=0.0)])
    operation, ((news,),) = ranks[0].hears()
    assert (operation, news.worked) == (LEARNED, True)
    assert front_end.routes.known() == []


def test_once_the_rank_that_told_has_gone_the_others_try_again(
    front_end: FrontEnd, ranks: list[Rank]
) -> None:
    failed = Experience(WAY, worked=False, age=RETRY_AFTER - 5, failures=1)
    ranks[0].link.note("learned", [failed])
    for other in ranks[1:]:
        assert other.hears()[0] == LEARNED
    channel = front_end.gate.find("0:0:0")
    assert channel is not None
    channel.close()
    for other in ranks[1:]:
        assert other.hears() == (AGAIN, ())


def test_what_is_known_already_is_not_told_again(front_end: FrontEnd, ranks: list[Rank]) -> None:
    now = Experience(WAY, worked=False, age=0.0, failures=1)
    ranks[0].link.note("learned", [now])
    assert ranks[1].hears()[0] == ranks[2].hears()[0] == LEARNED
    ranks[1].link.note("learned", [Experience(WAY, worked=True, age=100.0)])
    ranks[1].link.note("learned", [Experience(WAY, worked=False, age=0.0, failures=1)])
    ranks[1].link.note("learned", [Experience(WAY, worked=False, age=0.0, failures=2)])
    operation, ((news,),) = ranks[2].hears()
    assert (operation, news.failures) == (LEARNED, 2)
    assert len(front_end.routes.known()) == 1


def test_ranks_are_asked_for_their_figures_and_the_last_ones_are_kept(
    front_end: FrontEnd, ranks: list[Rank], monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer() -> None:
        assert ranks[0].hears() == (FIGURES, ())
        ranks[0].link.note(COUNTED, [("1:0", (), 2, 5, 500)], {"tries": 2, "hits": 3, "misses": 2})

    answering = threading.Thread(target=answer)
    answering.start()
    monkeypatch.setattr(shared_routes, "PATIENCE", 5.0)
    found = front_end.routes.connections(["0:0:0", "0:0:1"])  # the second one says nothing
    answering.join()
    ways = (Ways(("0:0", "1:0"), {"direct": 2}),)
    assert found == Connections(tries=2, hits=3, misses=2, ways=ways)
    monkeypatch.setattr(shared_routes, "PATIENCE", 0.1)
    assert front_end.routes.connections(["0:0:0"]) == found  # nobody answers any more
