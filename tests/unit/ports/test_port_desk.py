"""The desk of a rank: who is paired at a port, and who is sent away."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import pytest

from runtime.ports import PortAnswer, PortDesk, PortName, PortQuestion, PortRequest
from runtime.services import Effect, SendRequest

ACCEPT, CONNECT = PortRequest.ACCEPT, PortRequest.CONNECT


class Desks:
    """The desks of several ranks, and what is under way between them; all comes in order."""

    def __init__(self, size: int) -> None:
        self.of = [PortDesk(rank) for rank in range(size)]
        self._under_way: deque[tuple[int, SendRequest]] = deque()

    def come(self, rank: int, side: PortRequest, port: PortName, *group: int) -> PortQuestion:
        """Let a rank accept or connect with a group."""
        question, send = self.of[rank].ask(side, port, group or (rank,))
        self.carry(rank, [send])
        return question

    def carry(self, rank: int, effects: Iterable[Effect] | None) -> None:
        """Bring what a desk sends, and what follows from it."""
        self._send(rank, effects)
        while self._under_way:
            sender, one = self._under_way.popleft()
            body = memoryview(b"".join(one.body)) if one.body else None
            self._send(one.to, self.of[one.to].handle(sender, one.header, body))

    def _send(self, rank: int, effects: Iterable[Effect] | None) -> None:
        assert effects is not None, "the port is there"
        for one in effects:
            assert isinstance(one, SendRequest)
            self._under_way.append((rank, one))


@pytest.fixture
def desks() -> Desks:
    made = Desks(5)
    made.of[1].open(7)
    return made


PORT = PortName(1, 7)


@pytest.mark.parametrize("first", [ACCEPT, CONNECT])
def test_both_sides_learn_one_context_and_the_other_group_whoever_comes_first(
    desks: Desks, first: PortRequest
) -> None:
    second = CONNECT if first == ACCEPT else ACCEPT
    mine = desks.come(2, first, PORT, 2, 0)
    assert not mine.body
    theirs = desks.come(3, second, PORT, 4, 3)
    assert mine.outcome == theirs.outcome == PortAnswer.DONE
    (context, there), (same, here) = map(PortDesk.pairing, (mine.body, theirs.body))
    assert (context, there, here) == (same, (4, 3), (2, 0))


def test_those_that_wait_are_paired_in_their_order_each_with_a_context_of_its_own(
    desks: Desks,
) -> None:
    waiting = [desks.come(rank, CONNECT, PORT) for rank in (2, 3, 4)]
    for _ in range(2):
        desks.come(1, ACCEPT, PORT)
    assert [one.outcome for one in waiting] == [PortAnswer.DONE, PortAnswer.DONE, None]
    assert len({PortDesk.pairing(one.body)[0] for one in waiting[:2]}) == 2


def test_contexts_of_the_ports_of_other_ranks_differ(desks: Desks) -> None:
    desks.of[0].open(7)
    contexts = set()
    for port in (PORT, PortName(0, 7)):
        desks.come(2, ACCEPT, port)
        contexts.add(PortDesk.pairing(desks.come(3, CONNECT, port).body)[0])
    assert len(contexts) == 2


def test_a_port_that_is_not_there_says_so_and_so_does_one_that_is_closed_meanwhile(
    desks: Desks,
) -> None:
    assert desks.come(2, CONNECT, PortName(1, 8)).outcome == PortAnswer.NO_PORT
    waiting = [desks.come(rank, ACCEPT, PORT) for rank in (1, 2)]
    desks.carry(1, desks.of[1].close(7))
    assert {one.outcome for one in waiting} == {PortAnswer.NO_PORT}
    assert desks.come(3, CONNECT, PORT).outcome == PortAnswer.NO_PORT
    assert desks.of[1].close(7) is None


def test_only_the_desk_that_was_asked_answers(desks: Desks) -> None:
    mine = desks.come(2, CONNECT, PORT)
    _, forged = PortDesk(4).ask(CONNECT, PortName(2, 0), ())
    answer = SendRequest(2, bytes([PortRequest.ANSWER]) + forged.header[1:])
    desks.carry(4, [answer])
    assert mine.outcome is None


def test_nobody_is_paired_with_itself(desks: Desks) -> None:
    mine = desks.come(2, ACCEPT, PORT, 2, 3)
    theirs = desks.come(4, CONNECT, PORT, 4, 3)
    assert mine.outcome == theirs.outcome == PortAnswer.BOTH_SIDES


def test_who_is_lost_or_has_given_up_is_paired_with_nobody(desks: Desks) -> None:
    desks.come(2, CONNECT, PORT)
    given_up = desks.come(3, CONNECT, PORT)
    waiting = desks.come(4, CONNECT, PORT)
    assert not [*desks.of[1].lost(2)]
    desks.carry(3, [desks.of[3].withdraw(given_up)])
    found = desks.come(1, ACCEPT, PORT)
    assert PortDesk.pairing(found.body)[1] == (4,)
    assert (given_up.outcome, waiting.outcome) == (None, PortAnswer.DONE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gcm-port",
        "gcm-port:1",
        "gcm-port:1:-2",
        "gcm-port:1:2:3",
        "other:1:2",
        "gcm-port:१:2",
        "gcm-port:1:" + "9" * 5000,
    ],
)
def test_other_texts_are_no_names_of_ports(text: str) -> None:
    assert PortName.of(text) is None
