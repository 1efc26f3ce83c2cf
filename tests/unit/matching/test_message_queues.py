from __future__ import annotations

import gc
from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from runtime.matching import ANY, Envelope, Matcher, Pattern, PostedReceive
from runtime.matching.unexpected_messages import SLACK, UnexpectedMessage

CODES, NUMBERS = st.sampled_from(["ocean", "ice"]), st.integers(0, 1)
ENVELOPES = st.builds(Envelope, CODES, NUMBERS, NUMBERS)
PATTERNS = st.builds(Pattern, CODES | st.just(ANY), NUMBERS | st.just(ANY), NUMBERS | st.just(ANY))
STEPS = st.lists(ENVELOPES | PATTERNS, max_size=40)


def run(steps: list[Envelope | Pattern]) -> tuple[Matcher, list[PostedReceive], list[Envelope]]:
    matcher = Matcher()
    asked: list[PostedReceive] = []
    sent: list[Envelope] = []
    for step in steps:
        if isinstance(step, Pattern):
            asked.append(matcher.post(step))
        else:
            matcher.arrive(step, len(sent))
            sent.append(step)
    return matcher, asked, sent


@given(STEPS)
def test_every_message_is_taken_once_or_still_kept(steps: list[Envelope | Pattern]) -> None:
    matcher, asked, sent = run(steps)
    taken = [one.message for one in asked if one.has_come]
    assert len(set(taken)) == len(taken)
    assert sorted([*(sent[number] for number in taken), *matcher.unexpected()]) == sorted(sent)


@given(STEPS)
def test_a_receiver_gets_only_what_it_asked_for(steps: list[Envelope | Pattern]) -> None:
    _, asked, sent = run(steps)
    for one in asked:
        if one.has_come:
            assert one.envelope == sent[one.message]
            assert one.envelope is not None
            assert one.pattern.fits(one.envelope)


@given(STEPS)
def test_nothing_kept_fits_anything_that_is_waited_for(steps: list[Envelope | Pattern]) -> None:
    matcher, _, _ = run(steps)
    kept = list(matcher.unexpected())
    assert not [(one, two) for one in matcher.waiting for two in kept if one.fits(two)]


@given(STEPS)
def test_what_one_sender_sent_under_one_tag_is_taken_in_order(
    steps: list[Envelope | Pattern],
) -> None:
    _, asked, sent = run(steps)
    order = defaultdict(list)
    for one in asked:
        if one.has_come:
            order[sent[one.message]].append(one.message)
    # Receivers were answered in the order in which they asked, for equal patterns at least.
    by_pattern = defaultdict(list)
    for one in asked:
        if one.has_come:
            key = (one.pattern.code, one.pattern.rank, one.pattern.tag, sent[one.message])
            by_pattern[key].append(one.message)
    assert all(numbers == sorted(numbers) for numbers in by_pattern.values())
    for envelope, numbers in order.items():
        everything = [number for number, one in enumerate(sent) if one == envelope]
        assert sorted(numbers) == everything[: len(numbers)]


@given(st.lists(ENVELOPES, max_size=20), PATTERNS)
def test_a_wildcard_takes_the_message_that_came_first(
    sent: list[Envelope], pattern: Pattern
) -> None:
    matcher, asked, _ = run([*sent, pattern])
    fitting = [number for number, envelope in enumerate(sent) if pattern.fits(envelope)]
    assert asked[0].has_come is bool(fitting)
    assert asked[0].message == (fitting[0] if fitting else None)
    assert list(matcher.unexpected()) == [
        one for number, one in enumerate(sent) if not fitting or number != fitting[0]
    ]


def test_a_message_goes_to_whoever_asked_first() -> None:
    matcher = Matcher()
    other, first, second = (
        matcher.post(Pattern("ice", ANY, ANY)),
        matcher.post(Pattern("ocean", ANY, 5)),
        matcher.post(Pattern("ocean", 1, 5)),
    )
    matcher.arrive(Envelope("ocean", 1, 5), "a")
    assert (other.has_come, first.message, second.has_come) == (False, "a", False)
    assert matcher.waiting == (other.pattern, second.pattern)


def test_who_waits_no_longer_gets_nothing() -> None:
    matcher = Matcher()
    asked = matcher.post(Pattern("ocean", 1, 5))
    matcher.cancel(asked)
    matcher.cancel(asked)
    matcher.arrive(Envelope("ocean", 1, 5), "a")
    assert not asked.has_come
    assert list(matcher.unexpected()) == [("ocean", 1, 5)]


def test_finding_leaves_the_message_where_it_is() -> None:
    matcher = Matcher()
    assert matcher.find(Pattern(ANY, ANY, ANY)) is None
    matcher.arrive(Envelope("ocean", 1, 5), "a")
    assert matcher.find(Pattern(ANY, 1, ANY)) == (("ocean", 1, 5), "a")
    assert matcher.find(Pattern("ocean", 1, 5)) == (("ocean", 1, 5), "a")
    assert matcher.find(Pattern("ocean", 1, 6)) is None
    assert matcher.post(Pattern(ANY, ANY, 5)).message == "a"


def test_a_pattern_says_what_it_asks_for() -> None:
    assert str(Pattern("ocean", 1, 5)) == "a message with tag 5 from rank 1 of ocean"
    assert str(Pattern(ANY, ANY, ANY)) == "a message with any tag from any rank of any code"
    assert (repr(ANY), repr(Envelope("a", 1, 2))) == ("ANY", "Envelope('a', 1, 2)")


def test_an_envelope_has_names_for_what_is_on_it() -> None:
    envelope = Envelope("ocean", 1, 5)
    assert (envelope.code, envelope.rank, envelope.tag) == ("ocean", 1, 5)


def test_nothing_is_left_of_messages_that_are_taken_in_another_way_than_others() -> None:
    matcher = Matcher()
    matcher.arrive(Envelope("ice", 1, 5), "kept")
    for tag in range(4 * SLACK):
        assert matcher.find(Pattern("ice", ANY, ANY)) == (Envelope("ice", 1, 5), "kept")
        matcher.arrive(Envelope("ocean", 1, tag), tag)
        assert matcher.post(Pattern("ocean", 1, tag)).message == tag
    gc.collect()
    assert sum(isinstance(one, UnexpectedMessage) for one in gc.get_objects()) < 2 * SLACK
