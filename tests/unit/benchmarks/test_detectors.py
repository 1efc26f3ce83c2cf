"""The simulation of failure detectors, in small: figures beside those that were published."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from benchmarks.detectors.arrays import ArrayTable
from benchmarks.detectors.reliability import PUBLISHED, failure_probability
from benchmarks.detectors.simulation import Case, Run
from runtime.health import DetectorProtocol as P
from runtime.health.table import ListTable


@pytest.mark.parametrize(("members", "brr", "dbrr"), [(16, 4.0, 6.0), (32, 5.0, 7.5)])
def test_a_death_is_known_half_a_second_after_the_published_t_cleanup(
    members: int, brr: float, dbrr: float
) -> None:
    for protocol, cleanup in ((P.BRR, brr), (P.DBRR, dbrr)):
        found = Run(Case(protocol, members, 40.0, deaths=2)).found()
        assert cleanup - 0.5 < found.first <= found.mean <= found.last < cleanup + 1.0
        assert (found.unaware, found.suspicions, found.false_verdicts) == (0, 0, 0)
        assert found.messages == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize(("members", "name"), [one for one in PUBLISHED if one[0] < 16])
def test_the_detector_fails_as_rarely_as_published(members: int, name: str) -> None:
    published = PUBLISHED[members, name]
    assert failure_probability(P(name), members, 0.05) == pytest.approx(published, rel=1e-3)


def test_groups_of_groups_keep_small_tables_and_miss_no_death() -> None:
    found = Run(Case(P.HIERARCHICAL, 400, 50.0)).found()
    assert found.entries == 20
    assert (found.unaware, found.false_verdicts) == (0, 0)


@pytest.mark.parametrize("protocol", P)
def test_one_lost_message_in_a_hundred_kills_nobody(protocol: P) -> None:
    found = Run(Case(protocol, 16, 120.0, deaths=0, loss=0.01, max_hang=1.0)).found()
    assert found.false_verdicts == 0


def test_random_gossip_has_to_wait_longer_to_be_right() -> None:
    patient = Case(P.RANDOM, 16, 60.0, deaths=2)
    usual = replace(patient, protocol=P.BRR)
    hasty = replace(usual, at_random=True)
    found, brr, wrong = (Run(one).found() for one in (patient, usual, hasty))
    assert (found.suspicions, brr.suspicions) == (0, 0)
    assert wrong.suspicions > 0
    assert found.first > brr.last
    assert found.messages == pytest.approx(brr.messages, rel=0.05)


def test_an_overloaded_group_that_distrusts_itself_is_wrong_less_often() -> None:
    case = Case(P.BRR, 32, 120.0, deaths=0, overload=0.1, stop=5.0, max_hang=2.0)
    wrong = [Run(replace(case, most_distrust=most)).found().false_verdicts for most in (0, 8)]
    assert wrong[1] < wrong[0]


def test_tables_of_lists_and_of_arrays_do_the_same() -> None:
    random = Random(1)
    tables = ListTable(9), ArrayTable(9)
    for _ in range(50):
        told, member, count = [random.randrange(99) for _ in range(9)], random.randrange(9), 50
        assert tables[0].merge(told) == tables[1].merge(told)
        for table in tables:
            table.put(member, count)
        assert list(tables[0].counts()) == list(tables[1].counts())
        assert list(tables[0].below(60)) == list(tables[1].below(60))
        assert tables[0].count(member) == tables[1].count(member)
