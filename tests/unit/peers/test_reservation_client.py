"""Booking as a story of its own: what a client does when peers grant, refuse or are silent."""

from __future__ import annotations

import pytest

from runtime.peers.booking import (
    AskPlaces,
    Booked,
    BookingFailed,
    Demand,
    HostSilent,
    NeedHosts,
    Offer,
    ReleasePlaces,
    RenewPlaces,
    ReservationClient,
    ReservationClientState,
    ReservationEffect,
    ReservationSettings,
    Shortfall,
    SpreadStrategy,
    Strategy,
    strategy_named,
)
from runtime.peers.model import Key, PlacesAnswer, Reason

BUSY = PlacesAnswer(0, 0.0, Reason.BUSY, "1 of 1 applications run")
DENIED = PlacesAnswer(0, 0.0, Reason.DENIED, "10.0.0.1 is on its deny list")


class Story:
    """A reservation client, its effects, and short words for what happens to it."""

    def __init__(
        self,
        ranks: int,
        replicas: int = 1,
        *,
        hosts: str = "",
        strategy: Strategy | None = None,
        settings: ReservationSettings | None = None,
    ) -> None:
        self._serial = 0
        self.now = 0.0
        self.client = ReservationClient(
            Demand(ranks, replicas),
            strategy or SpreadStrategy(),
            random=lambda: 0.5,
            new_key=self._key,
            settings=settings,
        )
        self.keys: dict[str, Key] = {}
        self.effects: list[ReservationEffect] = []
        self._note(self.client.begin(offers(hosts), self.now))

    def _key(self) -> Key:
        self._serial += 1
        return Key(f"{self._serial:032x}")

    def _note(self, effects: list[ReservationEffect]) -> None:
        self.effects = effects
        for one in effects:
            if isinstance(one, AskPlaces):
                self.keys[one.peer] = one.key

    def says(self, peers: str, answer: PlacesAnswer | int) -> None:
        """Let peers answer, one after the other; keep what came of the last one."""
        told = PlacesAnswer(answer, 30.0) if isinstance(answer, int) else answer
        for peer in peers:
            self._note(self.client.answered(self.keys[peer], told, self.now))

    def lost(self, peer: str) -> None:
        self._note(self.client.lost(self.keys[peer], "it is dead", self.now))

    def known(self, hosts: str) -> None:
        self._note(self.client.add_offers(offers(hosts), self.now))

    def wait(self) -> None:
        """Let time pass until something is due."""
        assert self.client.next_time < float("inf")
        self.now = self.client.next_time
        self._note(self.client.advance(self.now))

    def of(self, kind: type) -> str:
        """Return the peers of all effects of a kind."""
        return "".join(one.peer for one in self.effects if isinstance(one, kind))  # type: ignore[union-attr]

    @property
    def booked(self) -> dict[str, list[tuple[int, int]]]:
        """Who runs which copies."""
        (found,) = [one for one in self.effects if isinstance(one, Booked)]
        assert all(self.keys[one.allocation.offer.peer] == one.key for one in found.hosts)
        return {
            one.allocation.offer.peer: [(copy.rank, copy.replica) for copy in one.allocation.copies]
            for one in found.hosts
        }

    @property
    def shortfall(self) -> Shortfall:
        (found,) = [one for one in self.effects if isinstance(one, Shortfall)]
        return found


def offers(hosts: str) -> list[Offer]:
    """Return a host for each letter, a the nearest."""
    return [Offer(name, 1, ord(name) / 1000, "lab") for name in hosts]


def test_the_nearest_hosts_are_asked_with_a_surplus_and_a_key_each() -> None:
    story = Story(3, hosts="zyxwvutabcdefg")
    assert story.of(AskPlaces) == "abcdefgt"
    assert len(set(story.keys.values())) == 8
    assert {one.processes for one in story.effects if isinstance(one, AskPlaces)} == {3}


def test_more_hosts_are_looked_for_when_fewer_are_known_than_are_asked() -> None:
    story = Story(3, hosts="abc")
    assert NeedHosts(8) in story.effects
    assert NeedHosts(8) not in Story(3, hosts="abcdefgh").effects


def test_what_is_decided_takes_the_nearest_and_gives_back_the_rest() -> None:
    story = Story(2, hosts="abcde")
    story.says("edc", 1)
    assert story.effects == []  # nearer ones may still say yes
    story.says("ba", 1)
    assert story.booked == {"a": [(0, 0)], "b": [(1, 0)]}
    assert story.of(ReleasePlaces) == "edc"


def test_nobody_waits_for_hosts_that_are_farther_than_those_that_are_enough() -> None:
    story = Story(2, hosts="abcde")
    story.says("ba", 1)
    assert list(story.booked) == ["a", "b"]
    assert story.of(ReleasePlaces) == "cde"
    story.says("c", 1)  # what comes too late was given back
    assert story.effects == []


def test_refusals_are_made_up_for_by_the_next_hosts_at_once() -> None:
    story = Story(2, hosts="abcdefgh")
    story.says("abc", BUSY)
    assert story.effects == []
    story.says("d", BUSY)
    assert story.of(AskPlaces) == "f"
    story.says("ef", 1)
    assert list(story.booked) == ["e", "f"]


def test_nearer_hosts_are_waited_for_only_for_a_moment_when_there_are_places_enough() -> None:
    story = Story(2, hosts="abcde")
    story.says("bcde", 1)
    assert story.effects == []
    story.wait()
    assert story.now == ReservationSettings().nearer
    assert story.of(ReleasePlaces) == "dea"
    assert list(story.booked) == ["b", "c"]


def test_a_moment_is_not_over_for_places_that_were_lost_meanwhile() -> None:
    story = Story(2, hosts="abcde")
    story.says("bc", 1)
    story.lost("c")
    story.wait()
    assert story.of(HostSilent) == "ade"


def test_a_host_that_does_not_answer_in_time_is_silent_and_released() -> None:
    story = Story(2, hosts="abcdef")
    story.says("bcd", BUSY)
    story.says("e", 1)
    story.wait()
    assert story.now == ReservationSettings().answer
    assert story.of(HostSilent) == "a"
    assert story.of(ReleasePlaces) == "a"
    assert story.of(AskPlaces) == "f"
    story.says("f", 1)
    assert list(story.booked) == ["e", "f"]


def test_replicas_of_a_rank_are_on_different_hosts() -> None:
    story = Story(2, 2, hosts="ab")
    story.says("ab", 8)
    assert story.booked == {"a": [(0, 0), (1, 0)], "b": [(0, 1), (1, 1)]}
    story = Story(2, 2, hosts="ab", settings=ReservationSettings(search=0))
    story.says("a", 8)
    story.says("b", BUSY)
    assert (story.shortfall.found, story.shortfall.hosts) == (2, 1)


def test_too_few_give_all_back_and_the_next_round_begins_after_a_random_pause() -> None:
    story = Story(3, hosts="abc")
    story.says("ab", 1)
    story.says("c", BUSY)
    assert story.client.state is ReservationClientState.PAUSING
    assert story.of(ReleasePlaces) == "ab"
    assert NeedHosts(8) in story.effects
    story.wait()
    assert story.now == 0.25  # half of twice the first pause
    assert story.of(AskPlaces) == "abc"
    story.says("abc", 1)
    assert list(story.booked) == ["a", "b", "c"]
    assert story.client.rounds == 2


def test_pauses_become_longer_up_to_a_bound() -> None:
    story = Story(2, hosts="a", settings=ReservationSettings(search=100, longest_pause=3.0))
    pauses = []
    for _ in range(6):
        story.says("a", BUSY)
        begun = story.now
        story.wait()
        pauses.append(story.now - begun)
    assert pauses == [0.25, 0.5, 1.0, 1.5, 1.5, 1.5]


def test_who_denied_is_not_asked_again_and_who_was_silent_is_asked_last() -> None:
    story = Story(3, hosts="abcd")
    story.says("a", DENIED)
    story.says("c", BUSY)
    story.wait()  # b and d do not answer
    story.wait()
    assert story.of(AskPlaces) == "cbd"


def test_hosts_that_become_known_are_asked_when_places_are_lacking() -> None:
    story = Story(2, hosts="a")
    assert story.of(AskPlaces) == "a"
    story.known("b")
    assert story.of(AskPlaces) == "b"
    story.says("ab", 1)
    assert list(story.booked) == ["a", "b"]


def test_the_search_ends_with_what_was_found_what_is_missing_and_why() -> None:
    story = Story(4, 2, hosts="abcde", settings=ReservationSettings(search=0.0))
    story.says("a", 2)
    story.says("bc", BUSY)
    story.says("d", DENIED)
    story.wait()
    assert story.of(ReleasePlaces) == "ea"
    assert str(story.shortfall).splitlines() == [
        "8 places for 4 processes with 2 replicas each were not found in 3.0 s: "
        "1 host offered 2, 6 are missing",
        "b, c: 1 of 1 applications run",
        "d: 10.0.0.1 is on its deny list",
        "e: no answer within 3 s",
    ]
    assert story.client.next_time == float("inf")


def test_where_all_hosts_lend_what_they_have_only_those_that_join_are_waited_for() -> None:
    story = Story(3, hosts="ab", settings=ReservationSettings(search=100, joining=1.0))
    rounds = 0
    while not any(isinstance(one, Shortfall) for one in story.effects):
        story.says("ab", 1)
        rounds += 1
        if story.client.state is ReservationClientState.PAUSING:
            story.wait()
    assert (rounds, story.now, story.shortfall.known) == (3, 0.75, 2)


def test_where_nobody_is_known_that_is_said() -> None:
    story = Story(1, settings=ReservationSettings(search=0.0))
    assert str(story.shortfall).splitlines()[1:] == ["no other peer is known"]


def test_what_is_held_is_renewed_until_it_has_begun() -> None:
    story = Story(2, hosts="ab")
    story.says("a", PlacesAnswer(1, 12.0))
    story.says("b", 1)
    story.wait()
    assert (story.now, story.of(RenewPlaces)) == (4.0, "ab")
    story.client.begun(story.keys["a"])
    story.wait()
    assert (story.now, story.of(RenewPlaces)) == (8.0, "b")
    story.client.begun(story.keys["b"])
    assert story.client.state is ReservationClientState.OVER
    assert story.client.next_time == float("inf")


def test_a_host_that_is_lost_is_replaced_and_what_has_begun_stays() -> None:
    story = Story(2, hosts="abc")
    story.says("ab", 1)
    first = story.keys["b"]
    story.client.begun(first)
    story.lost("a")
    assert story.of(AskPlaces) == "c"
    story.says("c", 1)
    assert story.booked == {"b": [(0, 0)], "c": [(1, 0)]}
    assert story.keys["b"] == first
    story.client.begun(story.keys["c"])
    assert story.client.state is ReservationClientState.OVER


def test_a_host_that_is_lost_for_good_is_not_asked_again() -> None:
    story = Story(3, hosts="ab", settings=ReservationSettings(search=3.0))
    story.says("ab", 2)
    story._note(story.client.lost(story.keys["a"], "b is not reached", 0.0, for_good=True))
    while story.client.state is not ReservationClientState.OVER:
        assert "a" not in story.of(AskPlaces)
        story.wait()
    assert "a: b is not reached" in str(story.shortfall)


def test_a_peer_that_gave_up_a_reservation_is_lost() -> None:
    story = Story(2, hosts="abc")
    story.says("ab", 1)
    story._note(story.client.renewed(story.keys["b"], True, 1.0))
    assert story.effects == []
    story._note(story.client.renewed(story.keys["b"], False, 1.0))
    assert (story.of(ReleasePlaces), story.of(AskPlaces)) == ("b", "c")


def test_a_booking_that_is_cancelled_gives_back_what_is_held_and_what_is_asked_for() -> None:
    story = Story(3, hosts="abcd")
    story.says("ab", 1)
    story._note(story.client.cancel())
    assert story.of(ReleasePlaces) == "abcd"
    assert story.client.state is ReservationClientState.OVER
    story.says("c", 1)
    assert story.effects == []


def test_a_strategy_that_decides_what_cannot_be_ends_the_booking_and_holds_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys

    class AllOnTheFirst(SpreadStrategy):
        def place(self, offers: object, processes: int) -> list[int]:
            return [processes]

    module = type(sys)("strategies_of_somebody")
    module.AllOnTheFirst = AllOnTheFirst  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    story = Story(2, hosts="ab", strategy=strategy_named("strategies_of_somebody.AllOnTheFirst"))
    story.says("ab", 1)
    assert story.of(ReleasePlaces) == "ab"
    assert any(isinstance(one, BookingFailed) for one in story.effects)
    assert story.client.state is ReservationClientState.OVER


def test_a_host_that_is_lost_after_the_search_is_replaced_all_the_same() -> None:
    story = Story(2, hosts="abcdefghi", settings=ReservationSettings(search=30.0))
    story.says("ab", 1)
    assert list(story.booked) == ["a", "b"]
    story.now = 31.0
    story.lost("a")
    assert story.of(AskPlaces) != ""
    assert story.client.state is ReservationClientState.ASKING


@pytest.mark.parametrize(
    ("demand", "known", "cure"),
    [
        (
            Demand(1, 4),
            3,
            "Each replica of a rank needs a host of its own, and 3 hosts are known: ",
        ),
        (Demand(4, 2), 5, "Ask for fewer replicas (-r) or ranks (-n), wait longer (-w SECONDS), "),
        (Demand(40), 5, "Ask for fewer ranks (-n), wait longer (-w SECONDS), "),
        (Demand(40), 1, "Ask for fewer ranks (-n), or let more hosts join"),
    ],
)
def test_the_cure_is_one_that_helps(demand: Demand, known: int, cure: str) -> None:
    assert Shortfall(demand, 1, 1, known, {}, 3.0).cure.startswith(cure)
