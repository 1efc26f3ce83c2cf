"""WakeUps between ranks of one machine: who can ring whom, and what is heard."""

from __future__ import annotations

import select
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.wire.dialling.directory import Party, RankDirectory
from runtime.wire.wake_ups import WakeUps


@pytest.fixture
def directory(tmp_path: Path) -> RankDirectory:
    """Two ranks of one machine, one of another, and one that listens at no Unix socket."""
    return RankDirectory(
        (
            Party("0:0:0", "one", "m1", (f"unix:{tmp_path}/rank0",)),
            Party("0:0:1", "one", "m1", (f"unix:{tmp_path}/rank1",)),
            Party("0:1:0", "two", "m2", (f"unix:{tmp_path}/rank2",)),
            Party("0:1:1", "one", "m1", ("127.0.0.1:4711",)),
        )
    )


@pytest.fixture
def pair(directory: RankDirectory) -> Iterator[tuple[WakeUps, WakeUps]]:
    first, second = WakeUps(0, directory), WakeUps(1, directory)
    yield first, second
    first.close()
    second.close()


def rings(wake_ups: WakeUps) -> bool:
    return bool(select.select([wake_ups.fileno()], [], [], 0)[0])


def test_a_ring_wakes_who_sleeps_at_the_bell(pair: tuple[WakeUps, WakeUps]) -> None:
    first, second = pair
    first.wake(1)
    assert rings(second)
    assert not rings(first)


def test_all_rings_are_forgotten_at_once(pair: tuple[WakeUps, WakeUps]) -> None:
    first, second = pair
    for _ in range(3):
        first.wake(1)
    assert second.drain() is True
    assert not rings(second)
    assert second.drain() is False


def test_only_ranks_of_this_machine_with_a_unix_socket_are_reached(
    pair: tuple[WakeUps, WakeUps],
) -> None:
    first, _ = pair
    assert first.reach([0, 1])
    assert not first.reach([0, 2])
    assert not first.reach([3])
    first.wake(2)
    first.wake(3)


def test_nobody_waits_for_a_rank_that_has_heard_enough(pair: tuple[WakeUps, WakeUps]) -> None:
    first, second = pair
    for _ in range(10_000):
        first.wake(1)
    assert first.reach([1])
    assert second.drain() is True


def test_a_rank_that_has_ended_is_rung_no_more(pair: tuple[WakeUps, WakeUps]) -> None:
    first, second = pair
    second.close()
    first.wake(1)
    assert not first.reach([1])


def test_a_closed_bell_is_silent_and_leaves_no_file(
    pair: tuple[WakeUps, WakeUps], tmp_path: Path
) -> None:
    first, second = pair
    first.close()
    first.wake(1)
    assert first.fileno() == -1
    assert first.drain() is False
    assert not rings(second)
    assert [file.name for file in tmp_path.iterdir()] == ["rank1.bell"]


def test_without_a_place_for_it_there_is_no_bell(directory: RankDirectory) -> None:
    wake_ups = WakeUps(3, directory)
    assert wake_ups.fileno() == -1
    assert not wake_ups.reach([0])
    wake_ups.wake(0)


def test_the_bell_of_a_rank_that_was_here_before_is_replaced(
    directory: RankDirectory, tmp_path: Path
) -> None:
    (tmp_path / "rank0.bell").touch()
    wake_ups = WakeUps(0, directory)
    wake_ups.wake(0)
    assert wake_ups.drain() is True
    wake_ups.close()
