"""Near and far senders, checked against what MPI says about the order of messages."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.matching import ANY, Asked, Envelope, JointMatcher, Pattern

NEAR = (0, 1)
FAR = (2, 3)


def pattern(rank: int | None, tag: int | None) -> Pattern:
    return Pattern("", ANY if rank is None else rank, ANY if tag is None else tag)


@dataclass
class Model:
    """Native MPI as the standard describes it, and a record of who got which message."""

    waiting: list[Asked] = field(default_factory=list)
    kept: list[tuple[Envelope, int]] = field(default_factory=list)
    posted: list[Asked] = field(default_factory=list)
    sent: list[Envelope] = field(default_factory=list)
    got: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.matcher = JointMatcher(self)

    def give(self, asked: Asked) -> None:
        envelope = self.peek(asked.pattern)
        if envelope is None or not self.take(asked, envelope):
            self.waiting.append(asked)

    def peek(self, pattern: Pattern) -> Envelope | None:
        return next((found for found, _ in self.kept if pattern.fits(found)), None)

    def take(self, asked: Asked, envelope: Envelope) -> bool:
        place = next(place for place, kept in enumerate(self.kept) if kept[0] == envelope)
        _, number = self.kept.pop(place)
        self.matched(asked, number)
        return True

    def post(self, rank: int | None, tag: int | None, unsized: bool) -> None:
        near, far = rank is None or rank in NEAR, rank is None or rank in FAR
        asked = Asked(pattern(rank, tag), None, near=near, far=far, sought=unsized)
        self.posted.append(asked)
        self.matcher.post(asked)
        if asked.has_come:
            self.matched(asked, asked.message)

    def send(self, rank: int, tag: int) -> None:
        envelope, number = Envelope("", rank, tag), len(self.sent)
        self.sent.append(envelope)
        if rank in FAR:
            asked = self.matcher.arrive(envelope, number)
            if asked is not None:
                self.matched(asked, number)
            return
        for asked in self.waiting:
            if asked.pattern.fits(envelope):
                self.waiting.remove(asked)
                self.matched(asked, number)
                return
        self.kept.append((envelope, number))

    def matched(self, asked: Asked, number: int) -> None:
        place = self.posted.index(asked)
        for earlier in range(place):
            if earlier not in self.got:
                assert not self.posted[earlier].pattern.fits(self.sent[number])
        for before in range(number):
            if before not in self.got.values() and self.sent[before].rank == self.sent[number].rank:
                assert not asked.pattern.fits(self.sent[before])
        assert place not in self.got
        self.got[place] = number

    def check_nothing_is_left_that_fits(self) -> None:
        self.matcher.look()
        for number, envelope in enumerate(self.sent):
            if number not in self.got.values():
                for place, asked in enumerate(self.posted):
                    assert place in self.got or not asked.pattern.fits(envelope)


RANKS = st.sampled_from((*NEAR, *FAR))
TAGS = st.sampled_from((5, 6))
POSTS = st.tuples(st.just("post"), st.none() | RANKS, st.none() | TAGS, st.booleans())
SENDS = st.tuples(st.just("send"), RANKS, TAGS)
LOOKS = st.tuples(st.just("look"))


@given(st.lists(POSTS | SENDS | LOOKS, max_size=40))
def test_messages_of_both_sides_are_matched_in_the_order_of_mpi(steps: list[tuple]) -> None:  # type: ignore[type-arg] # of three kinds
    model = Model()
    for what, *rest in steps:
        if what == "post":
            model.post(*rest)
        elif what == "send":
            model.send(*rest)
        else:
            model.matcher.look()
    model.check_nothing_is_left_that_fits()


def test_a_later_receive_of_a_near_sender_is_held_back_by_a_wildcard() -> None:
    model = Model()
    model.post(None, None, unsized=False)
    model.post(0, 5, unsized=False)
    assert model.waiting == []
    model.send(0, 5)
    model.send(0, 5)
    model.check_nothing_is_left_that_fits()
    assert model.got == {0: 0, 1: 1}


def test_what_an_earlier_receive_cannot_take_goes_to_the_one_it_holds_back() -> None:
    model = Model()
    model.post(None, 5, unsized=False)
    model.post(0, None, unsized=False)
    model.send(0, 6)
    model.check_nothing_is_left_that_fits()
    assert model.got == {1: 0}


def test_without_a_wildcard_native_mpi_waits_itself() -> None:
    model = Model()
    model.post(0, 5, unsized=False)
    assert model.waiting == model.posted
    assert model.matcher.queue == []


def test_a_receive_with_another_tag_is_not_held_back() -> None:
    model = Model()
    model.post(None, 6, unsized=False)
    model.post(0, 5, unsized=False)
    assert model.waiting == model.posted[1:]


@pytest.mark.parametrize("rank", [None, 0, 2])
def test_what_is_cancelled_gets_nothing(rank: int | None) -> None:
    model = Model()
    model.post(rank, 5, unsized=True)
    assert model.matcher.cancel(model.posted[0])
    model.send(2 if rank is None else rank, 5)
    model.matcher.look()
    assert model.got == {}
    assert not model.matcher.cancel(model.posted[0])


def test_what_native_mpi_has_cannot_be_cancelled_here() -> None:
    model = Model()
    model.post(None, 5, unsized=False)
    model.send(0, 5)
    model.matcher.look()
    assert model.got == {0: 0}
    assert not model.matcher.cancel(model.posted[0])


def test_a_kept_message_is_found_and_left_where_it_is() -> None:
    model = Model()
    model.send(2, 5)
    assert model.matcher.find(pattern(None, 5)) == (Envelope("", 2, 5), 0)
    assert model.matcher.find(pattern(3, 5)) is None
    assert model.matcher.drain() == [0]
    assert model.matcher.find(pattern(None, 5)) is None


def test_both_sides_have_their_turn() -> None:
    model = Model()
    for rank in (0, 0, 2, 2):
        model.send(rank, 5)
    for _ in range(4):
        model.post(None, None, unsized=False)
    assert model.got == {0: 2, 1: 0, 2: 3, 3: 1}


def test_a_picked_message_is_gone() -> None:
    model = Model()
    model.send(2, 5)
    model.send(2, 5)
    assert model.matcher.pick(Envelope("", 2, 5)) == 0
    assert model.matcher.find(pattern(2, 5)) == (Envelope("", 2, 5), 1)


def test_what_waits_here_wants_what_fits() -> None:
    model = Model()
    model.post(None, 5, unsized=False)
    model.post(2, 6, unsized=False)
    assert model.matcher.wants(Envelope("", 0, 5))
    assert not model.matcher.wants(Envelope("", 0, 6))
    assert model.matcher.pending() == model.posted
