"""What ranks learn of routes reaches the others of their cluster through their front-end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from runtime.lifecycle.outcome import Connections, Ways
from runtime.machine.calls import DispatchTable, stub
from runtime.machine.contracts import References, Routes
from runtime.membership.rank_link import RankLink
from runtime.membership.run_directory import Bootstrap, write_key
from runtime.processes.front_end.gate import Gate
from runtime.processes.front_end.shared_routes import SharedRoutes
from runtime.routing import Experience, experiences_of, plain
from runtime.routing.tension import RETRY_AFTER
from runtime.transport.channel import Channel
from runtime.transport.credentials import Credentials
from runtime.transport.keys import RunKeys, audience_of
from runtime.transport.reactor import Reactor

SECRET = b"a secret of a test of shared routes"
KEYS = RunKeys(SECRET).keyring([audience_of("0:0"), audience_of("0:0:0")])
RANKS = ["0:0:0", "0:0:1", "0:0:2"]
PATIENCE = 20.0
WAY = ((False, (0, 0)), (False, (1, 0)))


class FrontEnd:
    """The part of a front-end that this is about: a gate, and what is kept of routes."""

    def __init__(self, reactor: Reactor, run_directory: str) -> None:
        self.routes = SharedRoutes(reactor)
        dispatch = DispatchTable()
        dispatch.serve(References, self)
        self.gate = Gate(
            reactor,
            run_directory,
            None,
            Credentials(KEYS, "0:0"),
            self,
            dispatch=dispatch,
            ranks=RANKS,
            incarnation=1,
        )
        self.routes.gate = self.gate
        write_key(run_directory, RANKS, Bootstrap(self.gate.address, (), 1, KEYS))

    def rank_here(self, rank: str, channel: Channel) -> None:
        """Know it anyway."""

    def rank_left(self, rank: str, *, is_silence: bool) -> None:
        """Expect it: the test is over."""

    def all_left(self) -> None:
        """Expect it."""

    def learned(self, member: str, experiences: list[Any]) -> None:
        self.routes.learned(member, experiences)

    def counted(self, member: str, rows: list[Any], figures: dict[str, int]) -> None:
        self.routes.counted(member, rows, figures)

    def exchanged(self, member: str, rows: list[Any], figures: dict[str, int]) -> None:
        raise AssertionError(member)


class Rank:
    """A rank that keeps what it hears about routes."""

    def __init__(self, run_directory: str, name: str) -> None:
        self.link = RankLink(run_directory, name)
        self._heard: SimpleQueue[tuple[str, tuple[Any, ...]]] = SimpleQueue()
        self.link.wrapper.attach(stub(Routes, lambda _, *call: self._heard.put(call)))
        self._listening = threading.Thread(target=self.link.listen, args=(lambda: None,))
        self._listening.start()

    def close(self) -> None:
        """Hang up, once the front-end has."""
        self._listening.join(PATIENCE)
        self.link._channel.close()

    def learned(self, *experiences: Experience) -> None:
        self.link.wrapper.references.learned(self.link.name, plain(experiences))

    def hears(self) -> tuple[str, tuple[Any, ...]]:
        return self._heard.get(timeout=PATIENCE)

    def hears_news(self) -> list[Experience]:
        operation, (told,) = self.hears()
        assert operation == "news"
        return experiences_of(told)


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
    ranks[0].learned(failed)
    for other in ranks[1:]:
        assert other.hears_news() == [failed]
    assert ranks[0].hears() == ("try_again", ())
    (known,) = experiences_of(front_end.routes.experiences())
    assert (known.way, known.worked, known.failures) == (WAY, False, 1)
    assert known.age >= RETRY_AFTER - 0.2

    ranks[1].learned(Experience(WAY, worked=True, age=0.0))
    (news,) = ranks[0].hears_news()
    assert news.worked
    assert front_end.routes.experiences() == []


def test_once_the_rank_that_told_has_gone_the_others_try_again(
    front_end: FrontEnd, ranks: list[Rank]
) -> None:
    failed = Experience(WAY, worked=False, age=RETRY_AFTER - 5, failures=1)
    ranks[0].learned(failed)
    for other in ranks[1:]:
        assert other.hears()[0] == "news"
    channel = front_end.gate.find("0:0:0")
    assert channel is not None
    channel.close()
    for other in ranks[1:]:
        assert other.hears() == ("try_again", ())


def test_what_is_known_already_is_not_told_again(front_end: FrontEnd, ranks: list[Rank]) -> None:
    now = Experience(WAY, worked=False, age=0.0, failures=1)
    ranks[0].learned(now)
    assert ranks[1].hears()[0] == ranks[2].hears()[0] == "news"
    ranks[1].learned(Experience(WAY, worked=True, age=100.0))
    ranks[1].learned(Experience(WAY, worked=False, age=0.0, failures=1))
    ranks[1].learned(Experience(WAY, worked=False, age=0.0, failures=2))
    (news,) = ranks[2].hears_news()
    assert news.failures == 2
    assert len(front_end.routes.experiences()) == 1


def test_ranks_are_asked_for_their_figures_and_the_last_ones_are_kept(
    front_end: FrontEnd, ranks: list[Rank]
) -> None:
    def answer() -> None:
        assert ranks[0].hears() == ("count", ())
        ranks[0].link.wrapper.references.counted(
            "0:0:0", [("1:0", (), 2, 5, 500)], {"tries": 2, "hits": 3, "misses": 2}
        )

    answering = threading.Thread(target=answer)
    answering.start()
    found = front_end.routes.connections(
        ["0:0:0", "0:0:1"], timeout=5.0
    )  # the second one says nothing
    answering.join()
    ways = (Ways(("0:0", "1:0"), {"direct": 2}),)
    assert found == Connections(tries=2, hits=3, misses=2, ways=ways)
    assert front_end.routes.connections(["0:0:0"], timeout=0.1) == found  # nobody answers any more
