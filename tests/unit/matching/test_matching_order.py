"""The queues of a receiver against ones that are searched from their first to their last."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from runtime.matching import ANY, Envelope, Matcher, Pattern, PostedReceive


class Plain:
    """What MPI says about the order of messages, and nothing else."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, Pattern]] = []
        self.kept: list[tuple[Envelope, int]] = []

    def post(self, who: int, pattern: Pattern) -> int | None:
        found = self.find(pattern)
        if found is None:
            self.asked.append((who, pattern))
            return None
        self.kept.remove(found)
        return found[1]

    def arrive(self, envelope: Envelope, message: int) -> int | None:
        for place, (who, pattern) in enumerate(self.asked):
            if fits(pattern, envelope):
                del self.asked[place]
                return who
        self.kept.append((envelope, message))
        return None

    def find(self, pattern: Pattern) -> tuple[Envelope, int] | None:
        return next((one for one in self.kept if fits(pattern, one[0])), None)

    def cancel(self, who: int) -> None:
        self.asked = [one for one in self.asked if one[0] != who]


def fits(pattern: Pattern, envelope: Envelope) -> bool:
    asked = (pattern.code, pattern.rank, pattern.tag)
    return all(one is ANY or one == found for one, found in zip(asked, envelope, strict=True))


Step = tuple[str, Envelope | Pattern | int]


def check(steps: list[Step]) -> None:
    matcher, plain, asked = Matcher(), Plain(), list[PostedReceive]()
    for number, (what, of) in enumerate(steps):
        if isinstance(of, Pattern) and what == "post":
            asked.append(matcher.post(of))
            expected = plain.post(len(asked) - 1, of)
            assert (asked[-1].has_come, asked[-1].message) == (expected is not None, expected)
        elif isinstance(of, Pattern):
            assert matcher.find(of) == plain.find(of)
        elif isinstance(of, Envelope):
            who = plain.arrive(of, number)
            assert matcher.arrive(of, number) is (None if who is None else asked[who])
            assert who is None or (asked[who].envelope, asked[who].message) == (of, number)
        elif of < len(asked):
            matcher.cancel(asked[of])
            plain.cancel(of)
        assert matcher.waiting == tuple(pattern for _, pattern in plain.asked)
        assert list(matcher.unexpected()) == [envelope for envelope, _ in plain.kept]


CODES, NUMBERS = st.sampled_from(["ocean", "ice"]), st.integers(0, 1)
ENVELOPES = st.builds(Envelope, CODES, NUMBERS, NUMBERS)
PATTERNS = st.builds(Pattern, CODES | st.just(ANY), NUMBERS | st.just(ANY), NUMBERS | st.just(ANY))
STEPS = (
    st.tuples(st.just("arrive"), ENVELOPES)
    | st.tuples(st.just("post"), PATTERNS)
    | st.tuples(st.just("find"), PATTERNS)
    | st.tuples(st.just("cancel"), st.integers(0, 20))
)


@given(st.lists(STEPS, max_size=50))
def test_messages_and_receives_are_matched_as_by_looking_at_each(steps: list[Step]) -> None:
    check(steps)


def test_so_are_many() -> None:
    dice = random.Random(7)

    def some(*choices: object) -> list[object]:
        return [dice.choice((one, ANY, one)) for one in choices]

    steps: list[Step] = []
    for phase in range(12):
        for _ in range(150):
            envelope = Envelope("", dice.randrange(3), dice.randrange(3))
            is_pattern = dice.random() < (0.35, 0.75)[phase % 2]
            pattern = Pattern(*some(*envelope))  # type: ignore[arg-type] # of its parts
            what = dice.choice(("post", "post", "post", "find"))
            steps.append((what, pattern) if is_pattern else ("arrive", envelope))
    check(steps)
