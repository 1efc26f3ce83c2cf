"""Several routes to one peer, tried beside each other: by script, with a time that is handed in."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest

from runtime.rank_name import RankName
from runtime.routing import Route, routes
from runtime.topology import Cluster, Grid, Node, Site
from runtime.wire.dialling.connecting import Attempt
from runtime.wire.dialling.line import READ
from runtime.wire.dialling.trying import (
    CALLED_AFTER_REFUSAL,
    HEAD_START,
    TAKEN_HEAD_START,
    UNANSWERED,
    Race,
)
from runtime.wire.errors import PeerLost, PeerSilent

GRID = Grid(tuple(Site(f"s{n}", (Cluster("c", (Node("n", ranks=1),)),)) for n in range(2)))
DIRECT, CALLED, THEIRS, MINE = routes(GRID, RankName(0, 0, 0), RankName(1, 0, 0))[:4]


class Scripted:
    """An attempt that does what it is told at its next step."""

    def __init__(self, stack: ExitStack, *, is_passive: bool) -> None:
        self.is_passive = is_passive
        self.is_taken = self.has_proved = self.is_closed = False
        self.deadline = 1e9
        self.events = READ
        self.fault: PeerLost | None = None
        self.opened: socket.socket | None = None
        self._descriptor = os.eventfd(0, os.EFD_CLOEXEC)
        stack.callback(os.close, self._descriptor)

    def fileno(self) -> int:
        return self._descriptor

    def describe(self) -> str:
        return "it goes on"

    def step(self, now: float) -> tuple[socket.socket, bytes] | None:
        assert now >= 0
        if self.fault is not None:
            raise self.fault
        return None if self.opened is None else (self.opened, b"rest")

    def close(self) -> None:
        self.is_closed = True


class Routing:
    """Begins attempts, and keeps what is learned."""

    tries = failures = 0

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.begun: dict[Route, Scripted] = {}
        self.learned: list[tuple[Route, list[Route]]] = []
        self.silent: list[int] = []

    def begin(self, peer: int, route: Route, now: float) -> Attempt:
        assert (peer, now >= 0) == (1, True)
        made = self.begun[route] = Scripted(self._stack, is_passive=route == CALLED)
        return made

    def reached(
        self, peer: int, route: Route, now: float, *, after: Sequence[tuple[Route, float]]
    ) -> None:
        assert (peer, now >= 0) == (1, True)
        self.learned.append((route, [failed for failed, _ in after]))

    def unanswered(self, peer: int, seconds: float) -> None:
        assert seconds == UNANSWERED
        self.silent.append(peer)


@pytest.fixture
def routing() -> Iterator[Routing]:
    with ExitStack() as stack:
        yield Routing(stack)


def race(routing: Routing, *tried: Route) -> Race:
    made = Race(routing, 1, tried, 0.0)
    assert made.step(0.0) is None
    return made


def test_each_route_has_a_head_start_before_the_next_one(routing: Routing) -> None:
    one = race(routing, DIRECT, THEIRS, MINE)
    assert list(routing.begun) == [DIRECT]
    assert one.deadline == HEAD_START
    one.step(HEAD_START - 0.01)
    assert list(routing.begun) == [DIRECT]
    one.step(HEAD_START)
    assert list(routing.begun) == [DIRECT, THEIRS]
    one.close()


def test_a_route_on_which_the_connection_was_taken_has_a_longer_head_start(
    routing: Routing,
) -> None:
    """The way is open: a busy process would be as slow on all other routes."""
    one = race(routing, DIRECT, THEIRS, MINE)
    routing.begun[DIRECT].is_taken = True
    one.step(HEAD_START)
    assert list(routing.begun) == [DIRECT]
    assert one.deadline == TAKEN_HEAD_START
    one.step(TAKEN_HEAD_START)
    assert list(routing.begun) == [DIRECT, THEIRS]
    one.close()


def test_it_is_told_once_that_nothing_answers_on_the_direct_route(routing: Routing) -> None:
    one = race(routing, DIRECT, THEIRS)
    one.step(HEAD_START)
    assert one.deadline == UNANSWERED
    one.step(UNANSWERED - 0.01)
    assert routing.silent == []
    one.step(UNANSWERED)
    one.step(UNANSWERED + 1)
    assert routing.silent == [1]
    one.close()


def test_nothing_is_told_where_the_system_of_the_peer_has_answered(routing: Routing) -> None:
    one = race(routing, DIRECT, THEIRS)
    routing.begun[DIRECT].is_taken = True
    one.step(UNANSWERED)
    assert routing.silent == []
    one.close()


def test_a_route_that_fails_after_the_connection_was_taken_waits_for_nothing(
    routing: Routing,
) -> None:
    one = race(routing, DIRECT, THEIRS)
    routing.begun[DIRECT].is_taken = True
    one.step(HEAD_START)
    routing.begun[DIRECT].fault = PeerLost("somebody else", cause="1.2.3.4:5: another member")
    one.step(HEAD_START)
    assert list(routing.begun) == [DIRECT, THEIRS]
    one.close()


def test_a_route_that_fails_lets_the_next_one_begin_at_once(routing: Routing) -> None:
    one = race(routing, DIRECT, THEIRS)
    routing.begun[DIRECT].fault = PeerLost("not there", cause="1.2.3.4:5: Connection refused")
    one.step(0.01)
    assert list(routing.begun) == [DIRECT, THEIRS]
    one.close()


@pytest.mark.parametrize(("is_taken", "expected"), [(False, [DIRECT]), (True, [])])
def test_the_first_one_that_is_open_is_taken_and_silent_routes_have_failed(
    routing: Routing, is_taken: bool, expected: list[Route]
) -> None:
    """A route whose connection the peer's system has taken is not closed, but slow."""
    one = race(routing, DIRECT, THEIRS)
    one.step(HEAD_START)
    routing.begun[DIRECT].is_taken = is_taken
    with socket.socket() as connected:
        routing.begun[THEIRS].opened = connected
        assert one.step(HEAD_START + 0.1) == (connected, b"rest")
    assert routing.learned == [(THEIRS, expected)]
    assert routing.begun[DIRECT].is_closed


def test_a_peer_that_dials_when_it_is_asked_shows_that_the_direct_route_is_closed(
    routing: Routing,
) -> None:
    one = race(routing, DIRECT, CALLED)
    one.step(HEAD_START)
    one.overtaken(HEAD_START + 0.1)
    assert routing.learned == [(CALLED, [DIRECT])]


def test_who_refuses_may_still_dial_for_a_moment(routing: Routing) -> None:
    one = race(routing, DIRECT, CALLED)
    routing.begun[DIRECT].fault = PeerLost("not there", cause="1.2.3.4:5: Connection refused")
    assert one.step(0.1) is None
    assert one.deadline == 0.1 + CALLED_AFTER_REFUSAL
    with pytest.raises(PeerLost, match="by 0:0:0 -> 1:0:0: 1.2.3.4:5: Connection refused"):
        one.step(one.deadline)
    assert routing.begun[CALLED].is_closed


def test_a_peer_that_is_silent_on_one_route_is_there(routing: Routing) -> None:
    one = race(routing, DIRECT, THEIRS)
    routing.begun[DIRECT].fault = PeerLost("not there", cause="1.2.3.4:5: no answer within 4 s")
    one.step(0.1)
    routing.begun[THEIRS].fault = PeerSilent("it does not answer")
    with pytest.raises(PeerSilent) as raised:
        one.step(0.2)
    assert [line.split(": ")[0] for line in raised.value.cause.splitlines()] == [
        "by 0:0:0 -> 1:0:0",
        "by 0:0:0 -> 1:0 -> 1:0:0",
    ]
