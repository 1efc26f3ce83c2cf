"""Near and far senders, checked against what MPI says about the order of messages."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.matching import ANY, Envelope, JointMatcher, JointReceive, Pattern
from runtime.matching.joint import PROBES

NEAR = (0, 1)
FAR = (2, 3)


def pattern(rank: int | None, tag: int | None) -> Pattern:
    return Pattern("", ANY if rank is None else rank, ANY if tag is None else tag)


@dataclass
class Model:
    """Native MPI as the standard describes it, and a record of who got which message."""

    waiting: list[JointReceive] = field(default_factory=list)
    kept: list[tuple[Envelope, int]] = field(default_factory=list)
    posted: list[JointReceive] = field(default_factory=list)
    sent: list[Envelope] = field(default_factory=list)
    got: dict[int, int] = field(default_factory=dict)
    cancelled: set[int] = field(default_factory=set)
    prefers: int = 0
    peeks: int = 0

    def __post_init__(self) -> None:
        self.matcher = JointMatcher(self)

    def give(self, asked: JointReceive) -> None:
        envelope = self.peek(asked.pattern)
        if envelope is None or not self.take(asked, envelope):
            self.waiting.append(asked)

    def peek(self, pattern: Pattern) -> Envelope | None:
        """Only the order of the messages of one sender is certain."""
        self.peeks += 1
        fitting = [found for found, _ in self.kept if pattern.fits(found)]
        return next((one for one in fitting if one.rank == self.prefers), (*fitting, None)[0])

    def take(self, asked: JointReceive, envelope: Envelope) -> bool:
        place = next(place for place, kept in enumerate(self.kept) if kept[0] == envelope)
        _, number = self.kept.pop(place)
        self.matched(asked, number)
        return True

    def post(self, rank: int | None, tag: int | None, unsized: bool) -> None:
        near, far = rank is None or rank in NEAR, rank is None or rank in FAR
        asked = JointReceive(pattern(rank, tag), None, near=near, far=far, sought=unsized)
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

    def cancel(self, place: int) -> None:
        if place < len(self.posted) and self.matcher.cancel(self.posted[place]):
            assert place not in self.got
            self.cancelled.add(place)

    def matched(self, asked: JointReceive, number: int) -> None:
        place = self.posted.index(asked)
        for earlier in range(place):
            if earlier not in self.got and earlier not in self.cancelled:
                assert not self.posted[earlier].pattern.fits(self.sent[number])
        for before in range(number):
            if before not in self.got.values() and self.sent[before].rank == self.sent[number].rank:
                assert not asked.pattern.fits(self.sent[before])
        assert place not in self.got
        assert place not in self.cancelled
        self.got[place] = number

    def look_at_all(self) -> None:
        for _ in range(-(-len(self.posted) // PROBES) + 1):
            self.matcher.look()

    def check_nothing_is_left_that_fits(self) -> None:
        self.look_at_all()
        ended = {*self.got, *self.cancelled}
        left = [asked for place, asked in enumerate(self.posted) if place not in ended]
        for number, envelope in enumerate(self.sent):
            if number not in self.got.values():
                assert not [asked for asked in left if asked.pattern.fits(envelope)]
        assert self.matcher.pending() == [one for one in left if one not in self.waiting]
        assert bool(self.matcher.queue) == any(one.near for one in self.matcher.pending())


RANKS = st.sampled_from((*NEAR, *FAR))
TAGS = st.sampled_from((5, 6, 7))
POSTS = st.tuples(st.just("post"), st.none() | RANKS, st.none() | TAGS, st.booleans())
SENDS = st.tuples(st.just("send"), RANKS, TAGS)
LOOKS = st.tuples(st.just("look"))
CANCELS = st.tuples(st.just("cancel"), st.integers(0, 20))
PREFERS = st.tuples(st.just("prefer"), st.sampled_from(NEAR))
STEPS = POSTS | SENDS | LOOKS | CANCELS | PREFERS


@given(st.lists(STEPS, max_size=40))
def test_messages_of_both_sides_are_matched_in_the_order_of_mpi(steps: list[tuple]) -> None:  # type: ignore[type-arg] # of three kinds
    model = Model()
    for what, *rest in steps:
        if what == "post":
            model.post(*rest)
        elif what == "send":
            model.send(*rest)
        elif what == "cancel":
            model.cancel(*rest)
        elif what == "prefer":
            model.prefers = rest[0]
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
    assert not model.matcher.queue


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


def test_one_question_is_enough_where_nothing_has_come() -> None:
    model = Model()
    for tag in range(100):
        model.post(None, tag, unsized=False)
    model.peeks = 0
    assert not model.matcher.look()
    assert model.peeks == 1


def test_a_post_costs_one_question() -> None:
    model = Model()
    for tag in range(100):
        model.post(None, tag, unsized=False)
    assert model.peeks == 100


def test_behind_a_message_that_nobody_wants_patterns_have_their_turn() -> None:
    model = Model()
    for tag in range(2 * PROBES):
        model.post(None, tag, unsized=False)
    model.send(0, 99)
    model.send(0, 2 * PROBES - 1)
    model.peeks = 0
    assert not model.matcher.look()
    assert model.peeks == 1 + PROBES
    assert model.matcher.look()
    assert model.got == {2 * PROBES - 1: 1}


def test_a_message_that_somebody_wants_is_handed_over() -> None:
    model = Model()
    model.post(0, None, unsized=True)
    model.send(0, 5)
    model.send(0, 5)
    assert model.matcher.wants(Envelope("", 0, 5))
    assert model.matcher.hand_over(Envelope("", 0, 5))
    assert model.got == {0: 0}
    assert not model.matcher.wants(Envelope("", 0, 5))


def test_what_nothing_holds_back_any_more_is_left_to_native_mpi_in_order() -> None:
    model = Model()
    model.post(None, 5, unsized=False)
    for tag in (None, 5, None):
        model.post(0, tag, unsized=False)
    model.matcher.cancel(model.posted[0])
    assert model.matcher.look()
    assert model.waiting == model.posted[1:]
    assert not model.matcher.queue


def test_a_post_does_not_take_what_came_for_an_earlier_one() -> None:
    model = Model()
    model.send(2, 5)
    model.post(None, 5, unsized=False)
    assert model.matcher.near_first
    model.post(None, None, unsized=False)
    model.send(0, 5)
    model.send(0, 5)
    model.post(None, 5, unsized=False)
    assert model.got == {0: 0, 1: 1, 2: 2}


def test_a_post_lets_an_earlier_one_have_what_was_sent_earlier() -> None:
    model = Model()
    model.post(0, None, unsized=True)
    model.send(0, 5)
    model.send(0, 6)
    model.post(None, 6, unsized=False)
    assert model.got == {0: 0, 1: 1}


@dataclass
class Slow(Model):
    """Native MPI that notices one more message with each question in vain."""

    coming: list[Envelope] = field(default_factory=list)

    def peek(self, pattern: Pattern) -> Envelope | None:
        found = super().peek(pattern)
        if found is None and self.coming:
            self.send(*self.coming.pop(0)[1:])
        return found


def test_messages_that_come_one_after_the_other_are_taken_at_once() -> None:
    model = Slow()
    for _ in range(3):
        model.post(None, None, unsized=False)
    model.coming = [Envelope("", 0, 5)] * 3
    assert not model.matcher.look()
    assert model.matcher.look()
    assert model.got == {0: 0, 1: 1, 2: 2}
