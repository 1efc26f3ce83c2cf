"""What every protocol of failure detection promises, as tests that each of them can be asked."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

from benchmarks.detectors.simulated_members import AnyDetector, World, deaths
from runtime.health import Declare, DetectorProtocol, DetectorSettings, Effect, Expelled, Suspect
from runtime.health.gossip import GossipDetector
from runtime.health.hierarchical import Groups, HierarchicalDetector


class Watched:
    """A world of members that watch each other by one protocol, and what they have said."""

    def __init__(self, protocol: DetectorProtocol, members: int = 12, **world: Any) -> None:
        self.settings = DetectorSettings(protocol, period=0.5, max_hang=1.0)
        self.names = [f"n{number}" for number in range(members)]
        self.seen: list[tuple[float, str, Effect]] = []
        self.groups = Groups([self.names[at : at + 4] for at in range(0, members, 4)])
        random = Random(7)
        self.world = World(
            {name: self.detector(name, random.uniform(0, 0.5)) for name in self.names},
            random=random,
            seen=lambda *one: self.seen.append(one),
            **world,
        )

    def detector(self, name: str, now: float, incarnation: int = 0) -> AnyDetector:
        """Return a fresh detector of a member."""
        if self.settings.protocol is DetectorProtocol.HIERARCHICAL:
            return HierarchicalDetector(self.groups, name, self.settings, now)
        is_random = self.settings.protocol is DetectorProtocol.RANDOM
        return GossipDetector(
            self.names, name, self.settings, now, incarnation=incarnation,
            random=Random(name) if is_random else None,
        )  # fmt: skip

    @property
    def longest(self) -> float:
        """The time in which everybody knows of any death."""
        settings, members = self.settings, len(self.names)
        if settings.protocol is not DetectorProtocol.HIERARCHICAL:
            return settings.cleanup(members) + settings.ping_timeout + 2 * settings.period
        inner, upper = settings.cleanup(4), settings.cleanup(math.ceil(members / 4))
        found = inner + settings.ping_timeout
        return 2 * found + upper + settings.ping_timeout + 2 * (inner + upper)

    def verdicts(self) -> set[str]:
        """Return whom anybody has declared dead."""
        return {one.member for _, _, one in self.seen if isinstance(one, Declare)}

    def said(self, kind: type[Effect]) -> list[Effect]:
        """Return what was said of one kind."""
        return [one for _, _, one in self.seen if isinstance(one, kind)]


class DetectorContract:
    """Derive from it and set `protocol`."""

    protocol: DetectorProtocol

    @pytest.fixture
    def watched(self) -> Watched:
        """Yield twelve members that have run for a while."""
        made = Watched(self.protocol)
        made.world.run(20.0)
        return made

    def test_nobody_is_suspected_while_all_live(self, watched: Watched) -> None:
        watched.world.run(100.0)
        assert watched.seen == []

    def test_each_member_sends_one_message_in_a_period(self, watched: Watched) -> None:
        rounds = watched.world.now / watched.settings.period * len(watched.names)
        # The first members of three groups are in two groups.
        most = 1.0 if self.protocol is not DetectorProtocol.HIERARCHICAL else 1.25
        assert watched.world.messages <= most * rounds

    @pytest.mark.parametrize("dead", ["n0", "n5", "n11"])
    def test_all_living_know_of_a_death_in_time(self, watched: Watched, dead: str) -> None:
        watched.world.kill(dead)
        begun = watched.world.now
        watched.world.run(watched.longest)
        known = deaths(watched.seen, dead)
        assert sorted(known) == sorted(watched.world.living)
        assert watched.verdicts() == {dead}
        assert min(known.values()) - begun >= watched.settings.ping_timeout

    def test_several_deaths_at_once_are_all_known(self, watched: Watched) -> None:
        dead = {"n1", "n4", "n10"}
        watched.world.kill(*dead)
        watched.world.run(watched.longest)
        assert watched.verdicts() == dead
        assert all(
            watched.world.knows_dead(one, other) for one in watched.world.living for other in dead
        )

    def test_a_connection_that_ends_is_a_verdict_at_once_and_is_passed_on(
        self, watched: Watched
    ) -> None:
        watched.world.close("n2", "exit code 1", "n1")
        assert watched.seen[-1][2] == Declare("n2", 0, "exit code 1")
        watched.world.run(watched.longest)
        assert sorted(deaths(watched.seen, "n2")) == sorted(watched.world.living)

    def test_a_lost_message_is_no_death(self) -> None:
        watched = Watched(self.protocol, loss=0.02)
        watched.world.run(100.0)
        assert watched.verdicts() == set()

    def test_a_member_frozen_for_less_than_the_time_is_trusted_again(
        self, watched: Watched
    ) -> None:
        watched.world.freeze("n3")
        watched.world.run(watched.settings.ping_timeout)
        watched.world.thaw("n3")
        watched.world.run(watched.longest)
        assert watched.verdicts() == set()

    def test_a_watcher_that_was_frozen_accuses_nobody(self, watched: Watched) -> None:
        watched.world.freeze("n6")
        watched.world.run(watched.settings.ping_timeout)
        before = len(watched.seen)
        watched.world.thaw("n6")
        watched.world.run(watched.longest)
        after = [one for _, watcher, one in watched.seen[before:] if watcher == "n6"]
        assert not [one for one in after if isinstance(one, Suspect | Declare)]

    @pytest.mark.parametrize("frozen", ["n4", "n7"])
    def test_a_member_declared_dead_that_wakes_up_is_told_and_ends(
        self, watched: Watched, frozen: str
    ) -> None:
        watched.world.freeze(frozen)
        watched.world.run(watched.longest)
        assert watched.verdicts() == {frozen}
        watched.world.thaw(frozen)
        watched.world.run(watched.longest)
        assert len(watched.said(Expelled)) == 1
        assert frozen not in watched.world.living
        assert watched.verdicts() == {frozen}

    def test_a_message_lost_in_one_direction_is_no_death(self, watched: Watched) -> None:
        watched.world.cut("n1", "n2")
        watched.world.run(4 * watched.longest)
        assert watched.verdicts() == set()

    def test_the_same_seed_gives_the_same_run(self) -> None:
        traces: list[list[tuple[float, str, Effect]]] = []
        for _ in range(2):
            watched = Watched(self.protocol, loss=0.05)
            watched.world.run(20.0)
            watched.world.kill("n4")
            watched.world.run(watched.longest)
            traces.append(watched.seen)
        assert traces[0] == traces[1]
        assert traces[0]


class TestRoundRobin(DetectorContract):
    protocol = DetectorProtocol.ROUND_ROBIN


class TestBrr(DetectorContract):
    protocol = DetectorProtocol.BRR


class TestDbrr(DetectorContract):
    protocol = DetectorProtocol.DBRR


class TestHierarchical(DetectorContract):
    protocol = DetectorProtocol.HIERARCHICAL
