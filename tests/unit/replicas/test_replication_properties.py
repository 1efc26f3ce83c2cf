"""Random programs on ranks with replicas, in random order, with random deaths."""

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.replicas import ReplicationLimits
from tools.replication_check.process import Operation
from tools.replication_check.properties import AllProperties
from tools.replication_check.space import Size, Space

TAG_OF_ANY = 9


@st.composite
def sizes(draw: st.DrawFn) -> Size:
    """Draw a run that ends if nothing is lost: each send is before its receive in one order."""
    count = draw(st.integers(2, 3))
    programs: list[list[Operation]] = [[] for _ in range(count)]
    for _ in range(draw(st.integers(1, 8))):
        source, offset = draw(st.integers(0, count - 1)), draw(st.integers(1, count - 1))
        receiver, tag = (source + offset) % count, draw(st.sampled_from([0, 1, TAG_OF_ANY]))
        programs[source].append(("send", receiver, tag))
        if tag == TAG_OF_ANY:
            programs[receiver].append(("any", tag))
            continue
        if draw(st.booleans()):
            programs[receiver].append(("test", source, tag + 2))
        programs[receiver].append(("receive", source, tag))
    replicas = tuple(draw(st.integers(1, 3)) for _ in range(count))
    limits = ReplicationLimits(
        kept_bytes=draw(st.sampled_from([0, 400, 10**6])),
        decisions=draw(st.integers(1, 4)),
        batch=draw(st.integers(1, 8)),
    )
    crashes = draw(st.integers(0, sum(replicas) - count))
    return Size("random", tuple(map(tuple, programs)), replicas, crashes, limits)


@settings(max_examples=25, deadline=None)
@given(size=sizes(), random=st.randoms(use_true_random=False))
def test_whatever_dies_all_programs_end_having_seen_the_same(size: Size, random: object) -> None:
    space = Space(size)
    problem_of = AllProperties(space).problem_of
    state = space.begin
    while True:
        found = list(space.successors(state))
        steps = [one for one in found if one[0][1] >= 0]
        problem = problem_of(state, is_end=not steps)
        assert not problem
        if not steps:
            return
        weights = [1 if one[0][1] < 0 else 20 for one in found]
        state = random.choices(found, weights)[0][1]  # type: ignore[attr-defined]
