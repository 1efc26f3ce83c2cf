"""What a run takes of a launcher and of a front-end does not grow with the number of clusters."""

from __future__ import annotations

import logging

import pytest

from runtime.testing.world.reach import count_barrier, count_lab, count_run


def test_each_cluster_takes_as_much_however_many_there_are(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.CRITICAL + 1):
        few, many = count_run(8, 2), count_run(32, 4)
    assert (few.failures, many.failures) == ((), ())
    assert many.own < few.own + 1.0
    assert many.own_bytes < few.own_bytes * 1.1
    assert many.between <= 2.0
    assert many.most < few.most + 4 * (32 // 4 + 4)
    assert many.seconds < few.seconds + 0.5


def test_a_barrier_of_many_clusters_takes_three_ways() -> None:
    found = count_barrier(1000, 25)
    assert found.messages < 6.0
    assert found.most == 2 * (40 - 1) + 2 * (25 - 1)
    assert found.seconds == pytest.approx(0.015)


def test_peers_join_soon_and_none_that_stands_still_is_taken_for_gone() -> None:
    found = count_lab(20, supernodes=2, hours=0.05)
    assert found.joined is not None
    assert found.joined < 30.0
    assert found.gone == ()
