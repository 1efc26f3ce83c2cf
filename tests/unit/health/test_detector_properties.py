"""What holds whatever happens to the members of a group."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.detectors.simulated_members import World
from runtime.health import (
    Declare,
    DetectorProtocol,
    DetectorSettings,
    Effect,
    Expel,
    Heartbeat,
    Join,
    Message,
    Ping,
    PingReply,
    plain,
    read,
)
from runtime.health.gossip import GossipDetector
from runtime.health.messages import NotUnderstood
from runtime.health.table import ListTable

FLAT = [one for one in DetectorProtocol if one is not DetectorProtocol.HIERARCHICAL]
HANG = 3.0

counts = st.lists(st.integers(0, 99), min_size=4, max_size=4)
names = st.sampled_from("abcd")
numbers = st.integers(0, 9)
incarnations = st.dictionaries(names, numbers)
messages = st.one_of(
    st.builds(Heartbeat, names, numbers, counts, incarnations, incarnations),
    st.builds(Ping, names, numbers),
    st.builds(PingReply, names, numbers, numbers),
    st.builds(Expel, names, numbers),
)
plain_data = st.recursive(
    st.none() | st.integers() | st.text(max_size=3) | st.floats(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=6,
)


def chance(protocol: DetectorProtocol, random: Random) -> Random | None:
    return random if protocol is DetectorProtocol.RANDOM else None


def world(protocol: DetectorProtocol, members: int, seed: int, **more: Any) -> World:
    random = Random(seed)
    group = [f"n{number}" for number in range(members)]
    how = DetectorSettings(protocol, period=0.5, max_hang=HANG)
    detectors = {
        name: GossipDetector(
            group, name, how, random.uniform(0, 0.5), random=chance(protocol, random)
        )
        for name in group
    }
    return World(detectors, random=random, **more)


@settings(max_examples=25, deadline=None)
@given(st.data(), st.sampled_from(FLAT), st.integers(2, 9), st.integers(0, 999))
def test_the_dead_are_known_to_all_and_the_living_are_never_declared(
    data: st.DataObject, protocol: DetectorProtocol, members: int, seed: int
) -> None:
    declared = set()

    def seen(_: float, __: str, effect: Effect) -> None:
        if isinstance(effect, Declare):
            declared.add(effect.member)

    made = world(protocol, members, seed, seen=seen, loss=0.01)
    made.run(10.0)
    dead: set[str] = set()
    for _ in range(data.draw(st.integers(1, 4))):
        who = data.draw(st.sampled_from(made.living))
        if data.draw(st.booleans()) and len(made.living) > 1:
            made.kill(who)
            dead.add(who)
        else:
            made.freeze(who)
            made.run(data.draw(st.floats(0.0, HANG)))
            made.thaw(who)
        made.run(data.draw(st.floats(0.0, 5.0)))
    made.run(40.0)
    assert declared <= dead
    assert all(made.knows_dead(one, other) for one in made.living for other in dead)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.none() | messages), max_size=12))
def test_a_verdict_is_final_for_an_incarnation(
    happenings: list[tuple[float, Message | None]],
) -> None:
    detector = GossipDetector("abcd", "a", DetectorSettings(period=0.5, max_hang=0.5), 0.0)
    now = 0.0
    for passed, message in happenings:
        now += passed
        before = {name for name in "abcd" if detector.is_dead(name)}
        effects = detector.advance(now) if message is None else detector.receive(message, now)
        back = {one.member for one in effects if isinstance(one, Join)}
        assert before - {name for name in "abcd" if detector.is_dead(name)} <= back
        assert not detector.is_dead("a")


@given(counts, counts, counts)
def test_tables_merge_in_any_order_and_any_number_of_times(
    one: list[int], two: list[int], three: list[int]
) -> None:
    merged = []
    for order in ((one, two, three), (three, two, one, two)):
        table = ListTable(4)
        for told in order:
            table.merge(told)
        merged.append(table.counts())
    assert merged[0] == merged[1] == [max(all_) for all_ in zip(one, two, three, strict=True)]


@given(messages)
def test_a_message_is_the_same_after_its_way_as_plain_data(message: Message) -> None:
    kind, fields = plain(message)
    assert read(kind, fields, 4) == message


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(["beat", "ping", "reply", "expel", "other"]), st.lists(plain_data, max_size=6)
)
def test_nonsense_is_refused_and_nothing_else_happens(kind: str, fields: list[Any]) -> None:
    try:
        message = read(kind, fields, 4)
    except NotUnderstood:
        return
    GossipDetector("abcd", "a", DetectorSettings(), 0.0).receive(message, 1.0)


@pytest.mark.parametrize("protocol", FLAT)
def test_a_clock_that_runs_faster_makes_no_other_clock_run_faster_than_itself(
    protocol: DetectorProtocol,
) -> None:
    how = DetectorSettings(protocol, period=0.5, max_hang=1.0)
    fast = DetectorSettings(protocol, period=0.49, max_hang=1.0)
    random = Random(3)
    group = [f"n{number}" for number in range(8)]
    seen: list[Effect] = []
    made = World(
        {
            name: GossipDetector(
                group,
                name,
                fast if name == "n0" else how,
                random.uniform(0, 0.5),
                random=chance(protocol, random),
            )
            for name in group
        },
        random=random,
        seen=lambda _, __, effect: seen.append(effect),
    )
    made.run(500.0)
    assert seen == []
    ticks = [
        detector.count
        for name in group
        if isinstance(detector := made.detector(name), GossipDetector)
    ]
    assert max(ticks) == ticks[0] == pytest.approx(500 / 0.49, abs=2)
    assert min(ticks) >= ticks[0] - 4
