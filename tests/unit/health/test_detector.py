"""The rules of one detector, each alone."""

from __future__ import annotations

from random import Random

import pytest

from runtime.health import (
    Declare,
    DetectorProtocol,
    DetectorSettings,
    Effect,
    Expel,
    Heartbeat,
    Join,
    Ping,
    PingReply,
    Send,
    Suspect,
    UnfitDetector,
    fitted,
)
from runtime.health.gossip import GossipDetector
from runtime.health.protocols import rounds_to_all, spreading_rounds

SETTINGS = DetectorSettings(DetectorProtocol.DBRR, period=1.0, max_hang=2.0)


def detector(**more: object) -> GossipDetector:
    return GossipDetector("abcd", "a", SETTINGS, 0.0, **more)  # type: ignore[arg-type]


def run(one: GossipDetector, first: int, last: int) -> list[object]:
    return [effect for second in range(first, last + 1) for effect in one.advance(float(second))]


@pytest.mark.parametrize(
    ("members", "brr", "dbrr"), [(16, 4, 6), (32, 5, 7.5), (64, 6, 9), (128, 7, 10.5), (256, 8, 12)]
)
def test_t_cleanup_is_as_published(members: int, brr: float, dbrr: float) -> None:
    assert DetectorSettings(DetectorProtocol.BRR, 0.5).cleanup(members) == brr
    assert DetectorSettings(DetectorProtocol.DBRR, 0.5).cleanup(members) == dbrr


@pytest.mark.parametrize("members", range(2, 70))
def test_a_heartbeat_reaches_all_within_one_cycle_of_brr(members: int) -> None:
    informed = {0}
    for step in DetectorProtocol.BRR.row.offsets(members):
        informed |= {(one + step) % members for one in informed}
    assert len(informed) == members
    assert len(DetectorProtocol.BRR.row.offsets(members)) == rounds_to_all(members)


@pytest.mark.parametrize("members", [16, 64, 128])
def test_round_robin_takes_longer_than_printed_when_a_heartbeat_begins_within_a_cycle(
    members: int,
) -> None:
    steps, worst = DetectorProtocol.ROUND_ROBIN.row.offsets(members), 0
    for first in range(len(steps)):
        informed, rounds = {0}, 0
        while len(informed) < members:
            step = steps[(first + rounds) % len(steps)]
            informed |= {(one + step) % members for one in informed}
            rounds += 1
        worst = max(worst, rounds)
    printed = spreading_rounds(members)
    assert printed < worst <= DetectorProtocol.ROUND_ROBIN.row.cleanup_rounds(members)


def test_the_receivers_of_dbrr_are_those_of_the_formula() -> None:
    one = detector()
    sent = [effect.to for effect in run(one, 1, 4) if isinstance(effect, Send)]
    assert sent[:4] == ["b", "c", "d", "c"]


def test_a_ping_comes_before_a_verdict() -> None:
    effects = run(detector(), 1, 6)
    assert effects.index(Send("b", Ping("a", 0))) == effects.index(Suspect("b", 6.0)) + 1
    assert not any(isinstance(one, Declare) for one in effects)


def test_an_unanswered_ping_is_sent_again_in_each_round() -> None:
    one = detector()
    run(one, 1, 6)
    assert one.advance(7.0).count(Send("b", Ping("a", 0))) == 1


def test_an_answer_to_a_ping_refutes_the_suspicion() -> None:
    one = detector()
    run(one, 1, 7)
    one.receive(PingReply("b", 0, 8), 7.5)
    effects = run(one, 8, 10)  # the late answer has made it distrust itself
    assert "b" not in one.suspects
    assert {effect.member for effect in effects if isinstance(effect, Declare)} == {"c", "d"}


def test_a_late_starter_begins_with_the_heartbeat_of_the_others() -> None:
    # (T - tr + dt) / T_gossip, rounded up, as eq. 4.4 has it
    assert detector(late=4.2).count == 5


def test_members_that_have_never_been_heard_of_may_take_longer_to_start() -> None:
    patient = DetectorSettings(DetectorProtocol.DBRR, 1.0, 2.0, start=20.0)
    one = GossipDetector("ab", "a", patient, 0.0)
    assert not [effect for effect in run(one, 1, 20) if isinstance(effect, Suspect)]
    assert [effect for effect in run(one, 21, 24) if isinstance(effect, Suspect)]


def test_a_watcher_that_comes_late_distrusts_itself_and_then_trusts_itself_again() -> None:
    one = detector()
    one.advance(9.0)
    assert one.distrust == 2
    # Silence before it was back does not count: nothing is suspected before T_cleanup is over.
    assert not [effect for effect in run(one, 10, 13) if isinstance(effect, Suspect)]
    one = GossipDetector("ab", "a", SETTINGS, 0.0)
    one.advance(5.0)
    for second in range(6, 12):
        one.receive(Heartbeat("b", 0, [0, second]), second - 0.5)
        one.advance(float(second))
    assert one.distrust == 1


def test_a_distrustful_watcher_gives_more_time_to_answer() -> None:
    verdicts = []
    for late in (0.0, 0.6):
        one = GossipDetector("ab", "a", SETTINGS, 0.0)
        seconds = [second + (late if second in (3, 4) else 0.0) for second in range(1, 20)]
        verdicts.append(
            next(
                second
                for second in seconds
                if any(isinstance(effect, Declare) for effect in one.advance(second))
            )
        )
    assert verdicts[1] > verdicts[0]


def test_what_a_dead_incarnation_says_is_refused_and_it_is_told() -> None:
    one = detector()
    one.gone("b", "exit code 1", 0.0)
    assert one.receive(Heartbeat("b", 0, [0, 99, 0, 0]), 1.0) == [Send("b", Expel("a", 0))]
    assert one.count == 1


def test_a_higher_incarnation_is_welcome() -> None:
    one = detector()
    one.gone("b", "exit code 1", 0.0)
    assert one.receive(Ping("b", 1), 1.0)[0] == Join("b", 1)
    assert not one.is_dead("b")
    assert one.receive(Ping("b", 0), 1.0) == [Send("b", Expel("a", 0))]


def test_a_stranger_is_not_heard() -> None:
    assert detector().receive(Ping("x", 0), 1.0) == []


def test_who_is_only_suspected_is_never_declared_for_silence_but_is_when_it_has_ended() -> None:
    one = detector(only_suspected=["b"])
    effects = run(one, 1, 30)
    assert {effect.member for effect in effects if isinstance(effect, Declare)} == {"c", "d"}
    assert one.suspects == ["b"]
    assert one.gone("b", "exit code 1", 31.0) == [Declare("b", 0, "exit code 1")]


def test_a_period_that_does_not_fit_the_timeout_is_refused_with_one_that_does() -> None:
    with pytest.raises(UnfitDetector, match=r"0\.375 s .* 4 s"):
        fitted(DetectorProtocol.DBRR, 4, timeout=3.0, period=0.5)


@pytest.mark.parametrize("protocol", DetectorProtocol)
@pytest.mark.parametrize("members", [2, 3, 17, 300])
def test_fitted_settings_keep_to_the_timeout(protocol: DetectorProtocol, members: int) -> None:
    found = fitted(protocol, members, timeout=3.0)
    assert found.cleanup(members) + found.max_hang == pytest.approx(3.0)
    assert found.period <= 0.5


def test_other_bytes_of_a_member_show_that_it_lives() -> None:
    watcher = GossipDetector(["a", "b"], "a", DetectorSettings(period=1.0, max_hang=1.0), now=0.0)
    found: list[Effect] = []
    for second in range(1, 20):
        found += watcher.alive("b", float(second))
        found += watcher.advance(float(second))
    assert not [one for one in found if isinstance(one, Suspect | Declare)]
    for second in range(20, 30):
        found += watcher.advance(float(second))
    assert [one.member for one in found if isinstance(one, Declare)] == ["b"]


def test_random_gossip_goes_to_whom_the_random_numbers_say() -> None:
    settings = DetectorSettings(DetectorProtocol.RANDOM, period=1.0)
    with pytest.raises(ValueError, match="needs random numbers"):
        GossipDetector("abcd", "a", settings, 0.0)
    one = GossipDetector("abcd", "a", settings, 0.0, random=Random(1))
    told = [effect.to for effect in run(one, 1, 60) if isinstance(effect, Send)]
    expected = Random(1)
    assert told[:9] == [expected.choice("bcd") for _ in range(9)]
    assert set(told) == set("bcd")


def test_a_member_that_was_gone_and_begins_late_is_watched_from_then_on() -> None:
    one = detector()
    assert one.gone("d", "it has not come yet", 1.0) == [Declare("d", 0, "it has not come yet")]
    run(one, 1, 50)
    assert one.expect("d") == 1
    assert not one.is_dead("d")
    for second in range(51, 54):  # no sooner than others would be
        for member in "bc":
            one.receive(PingReply(member, 0, one.count), float(second))
        assert Suspect not in map(type, one.advance(float(second)))
    found = run(one, 54, 60)
    verdicts = [effect for effect in found if isinstance(effect, Declare) and effect.member == "d"]
    assert [effect.incarnation for effect in verdicts] == [1]


def test_a_member_that_begins_late_and_speaks_is_as_all_others() -> None:
    one = detector()
    one.gone("d", "it has not come yet", 1.0)
    run(one, 1, 5)
    late = GossipDetector("abcd", "d", SETTINGS, 5.0, incarnation=one.expect("d"), late=5.0)
    for second in range(6, 30):
        for sender, to in ((late, one), (one, late)):
            for effect in sender.advance(float(second)):
                if isinstance(effect, Send) and effect.to == to.own:
                    to.receive(effect.message, float(second))
        assert not one.is_dead("d")
    assert one.suspects == []
